from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.memory import MemoryLayout, memory_layout
from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import (
    MEMORY_LOAD,
    MEMORY_RELOAD,
    MEMORY_STORE,
    NONE,
    Locations,
    graph,
    new_cycles,
    new_values,
)
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.dags import dags
from tests.sw.compiler.dpu.passes import SMALL, binary_dag, configs, run_passes

ADD = 2
CHAIN = binary_dag(4, [(ADD, 0, 1), (ADD, 4, 2), (ADD, 5, 3)], [6])


def loads(*masks: list[int]) -> Schedule:
    """A schedule of nothing but loads, of input 0 to these banks in each cycle."""
    values = new_values(graph(CHAIN), SMALL.banks, SMALL.registers)
    values.row[6], values.lane[6] = 0, 5
    cycles = new_cycles(len(masks) + 1, SMALL.banks, SMALL.pes)
    banks: list[int] = []
    for cycle, mask in enumerate(masks):
        cycles.memory[cycle] = MEMORY_LOAD
        for bank in mask:
            cycles.load[cycle, bank] = len(banks)
            banks.append(bank)
    cycles.memory[-1], cycles.row[-1] = MEMORY_STORE, 0
    locations = Locations(np.zeros(len(banks), np.int32), np.array(banks, np.uint8))
    return Schedule(len(masks) + 1, cycles, values, locations, 1, 0, 0)


def moves(*rows: int) -> Schedule:
    """A schedule of stores (of rows from 0 up, the last of them the output's) and, as -1 - row, of
    loads of these."""
    found = loads()
    cycles = new_cycles(len(rows), SMALL.banks, SMALL.pes)
    for cycle, row in enumerate(rows):
        cycles.memory[cycle] = MEMORY_STORE if row >= 0 else MEMORY_RELOAD
        cycles.row[cycle] = row if row >= 0 else -1 - row
    found.values.row[6] = max(rows)
    return dataclasses.replace(found, length=len(rows), cycles=cycles, memory_rows=1 + max(rows))


def test_loads_of_different_banks_share_a_row():
    layout = memory_layout(loads([0, 1], [2], [1, 3], [4], [0]), CHAIN, SMALL)
    assert layout.row.tolist() == [0, 0, 1, 0, 1, 2]
    assert layout.word_row.tolist() == [0, 0, 0, 1, 1, 0, 1]
    assert layout.word_bank.tolist() == [0, 1, 2, 1, 3, 4, 0]
    assert (layout.output_row.tolist(), layout.output_bank.tolist()) == ([2], [5])
    assert layout.rows == 3


def test_rows_of_spilled_values_are_used_again():
    # Rows 0 and 1 are loaded once each, 2 at the very end; 3 is the output's.
    layout = memory_layout(moves(0, 1, -1, 2, -2, 3, -3), CHAIN, SMALL)
    assert layout.row.tolist() == [0, 1, 0, 0, 1, 1, 0]
    assert (layout.output_row.tolist(), layout.rows) == ([1], 2)


def test_rows_of_outputs_are_kept():
    found = moves(0, 1, -2, 2, -3)
    found.values.row[6] = 0
    layout = memory_layout(found, CHAIN, SMALL)
    assert layout.row.tolist() == [0, 1, 1, 1, 1]
    assert (layout.output_row.tolist(), layout.rows) == ([0], 2)


def test_outputs_that_are_leaves_have_no_row():
    binary = dataclasses.replace(CHAIN, outputs=np.array([2, 6, 0], np.int32))
    layout = memory_layout(loads([0]), binary, SMALL)
    assert layout.output_row.tolist() == [-1, 1, -1]
    assert layout.output_bank.tolist() == [2, 5, 0]


def test_too_few_rows():
    found = loads(*[[0]] * 4)
    text = "data_rows = 4: this DAG needs at least 5 rows"
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        memory_layout(found, CHAIN, dataclasses.replace(SMALL, data_rows=4))
    assert memory_layout(found, CHAIN, dataclasses.replace(SMALL, data_rows=5)).rows == 5


def require_sound(
    found: Schedule, layout: MemoryLayout, binary: BinaryDag, config: DpuConfig
) -> None:
    places = list(zip(layout.word_row.tolist(), layout.word_bank.tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert (layout.word_value < binary.leaves).all()
    # The host's words, as every load of inputs wants them.
    words = dict(zip(places, layout.word_value.tolist(), strict=True))
    for cycle in range(found.length):
        row, kind = int(layout.row[cycle]), found.cycles.memory[cycle]
        assert 0 <= row < layout.rows <= config.data_rows
        for bank in np.flatnonzero(found.cycles.load[cycle] != NONE).tolist():
            value = found.locations.value[found.cycles.load[cycle, bank]]
            assert words[row, bank] == value
        for bank in np.flatnonzero(found.cycles.store[cycle] != NONE).tolist():
            assert kind == MEMORY_STORE
            # Never over an input: a program can be started again.
            assert words.get((row, bank), binary.leaves) >= binary.leaves
            words[row, bank] = int(found.locations.value[found.cycles.store[cycle, bank]])
    for k, value in enumerate(binary.outputs.tolist()):
        row, bank = int(layout.output_row[k]), int(layout.output_bank[k])
        if value < binary.leaves:
            assert (row, bank) == (-1, value)
        else:
            assert words[row, bank] == value


@settings(max_examples=30, deadline=None)
@given(dags(max_nodes=800), configs())
def test_memory_holds_what_loads_and_the_host_expect(dag: Dag, config: DpuConfig):
    found = run_passes(dag, config)
    require_sound(found.schedule, found.layout, found.binary, config)
