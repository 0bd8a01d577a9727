from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from gnarl.hw.dpu.assembly import assemble, disassemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode, instruction, opcodes
from gnarl.sw.compiler.dpu.state import MEMORY_IDLE, MEMORY_STORE
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.dags import dags, shape
from tests.sw.compiler.dpu.passes import SMALL, configs, run_passes

EXECUTING = (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE)


@settings(max_examples=30, deadline=None)
@given(dags(max_nodes=500), configs())
def test_instructions_say_what_the_schedule_does(dag: Dag, config: DpuConfig):
    found = run_passes(dag, config)
    cycles, length, columns = found.schedule.cycles, found.schedule.length, found.columns
    assert set(found.opcode.tolist()) <= set(opcodes(config))
    assert found.opcode[length] == Opcode.HALT
    assert (found.opcode[:length] != Opcode.HALT).all()
    executing = np.isin(found.opcode[:length], EXECUTING)
    copying = found.opcode[:length] == Opcode.COPY
    assert np.array_equal(cycles.busy[:length], executing | copying)
    loading = np.isin(found.opcode[:length], (Opcode.LOAD, Opcode.EXEC_LOAD))
    storing = np.isin(found.opcode[:length], (Opcode.STORE, Opcode.EXEC_STORE))
    memory = cycles.memory[:length]
    assert np.array_equal(memory == MEMORY_STORE, storing)
    assert np.array_equal((memory != MEMORY_IDLE) & (memory != MEMORY_STORE), loading)

    # What an opcode's format lacks must not be needed: after HALT, or where nothing happens.
    for opcode in Opcode:
        rows = np.flatnonzero(found.opcode == opcode)
        fields = instruction(config, opcode).members if opcode in opcodes(config) else {}
        for name in ("read_enable", "valid_reset", "load_enable"):
            assert name in fields or not columns[name][rows].any()
        if opcode == Opcode.STORE:
            assert np.array_equal(columns["read_enable"][rows], columns["store_enable"][rows])
        elif "store_enable" not in fields:
            assert not columns["store_enable"][rows].any()
        if "write_source" not in fields:
            copied = columns["write_enable"][rows]
            assert np.array_equal(columns["write_source"][rows] > 0, copied)
            assert "write_enable" in fields or not copied.any()
    assert not (columns["valid_reset"] & ~columns["read_enable"]).any()


@settings(max_examples=15, deadline=None)
@given(dags(max_nodes=500), configs())
def test_bytes_hold_every_field(dag: Dag, config: DpuConfig):
    found = run_passes(dag, config)
    opcode, columns, _ = disassemble(config, assemble(config, found.opcode, found.columns))
    assert np.array_equal(opcode, found.opcode)
    for name, column in columns.items():
        rows = np.array([name in instruction(config, Opcode(int(o))).members for o in opcode])
        assert np.array_equal(column[rows], found.columns[name][rows]), name


def test_without_operations_there_is_only_the_end():
    found = run_passes(shape("one_input"), SMALL)
    assert found.opcode.tolist() == [Opcode.HALT]
    assert found.columns["read_enable"].shape == (1, SMALL.banks)


@pytest.mark.parametrize("overlap", [True, False])
def test_one_operation(overlap: bool):
    config = DpuConfig(depth=2, banks=8, registers=8, overlap=overlap)
    found = run_passes(shape("one_operation"), config)
    names = [Opcode(int(opcode)).name for opcode in found.opcode]
    assert names == ["LOAD", "NOP", "EXEC", "NOP", "STORE", "HALT"]


def test_loads_and_stores_go_beside_execution_where_the_machine_can():
    counts = {}
    for overlap in (True, False):
        config = DpuConfig(depth=2, banks=8, registers=8, overlap=overlap)
        found = run_passes(shape("butterfly"), config)
        counts[overlap] = np.bincount(found.opcode, minlength=len(Opcode))
    assert counts[True][Opcode.EXEC_LOAD] > 0
    assert counts[True][Opcode.EXEC_STORE] > 0
    assert counts[False][[Opcode.EXEC_LOAD, Opcode.EXEC_STORE]].sum() == 0
    assert counts[False].sum() > counts[True].sum()
