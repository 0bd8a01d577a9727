"""Cycles in which everything fits, everything has arrived, and everything gets done."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import WRITE_COPY
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu import schedule as module
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.check import check_instructions
from gnarl.sw.compiler.dpu.schedule import Policy, Schedule, TooLongError, schedule
from gnarl.sw.compiler.dpu.simplify import simplify
from gnarl.sw.compiler.dpu.state import (
    MEMORY_IDLE,
    MEMORY_LOAD,
    MEMORY_RELOAD,
    MEMORY_STORE,
    NONE,
)
from gnarl.sw.compiler.dpu.walk import STUCK
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import SHAPES, dags, seeded_dag, shape
from tests.sw.compiler.dpu.passes import SMALL, Passes, built, configs, run_passes

windows = st.sampled_from([0, 0, 64, 1000])


def require_sound(binary: BinaryDag, found: Schedule, config: DpuConfig) -> None:
    """Every rule of the machine that a schedule can break, by the arrays alone."""
    cycles, values = found.cycles, found.values
    assert values.done.all()
    assert not values.pending.any()
    length = found.length
    # Nothing is issued beyond the end; results may still be on their way.
    assert (cycles.memory[length:] == MEMORY_IDLE).all()
    assert not cycles.busy[length:].any()
    assert (cycles.read[length:] == NONE).all()

    # A stay in a register begins with its one write, in its own bank.
    at, bank = np.nonzero(cycles.write != NONE)
    stay = cycles.write[at, bank]
    assert len(np.unique(stay)) == len(stay)
    assert np.array_equal(found.locations.bank[stay], bank)
    written = np.full(len(found.locations.bank), -1, np.int64)
    written[stay] = at
    # It is read when it is there, no more after its release, and released no more than once.
    read_at, read_bank = np.nonzero(cycles.read != NONE)
    read = cycles.read[read_at, read_bank]
    assert np.array_equal(found.locations.bank[read], read_bank)
    assert (written[read] >= 0).all()
    assert (written[read] <= read_at).all()
    last = cycles.release[read_at, read_bank]
    assert len(np.unique(read[last])) == last.sum()
    released = np.full(len(written), np.iinfo(np.int64).max)
    released[read[last]] = read_at[last]
    assert (read_at <= released[read]).all()
    assert not (cycles.release & (cycles.read == NONE)).any()
    # No bank ever holds more than its registers.
    change = np.zeros((len(cycles.memory) + 1, config.banks), np.int64)
    np.add.at(change, (written[stay], bank), 1)
    np.add.at(change, (released[read[last]] + 1, read_bank[last]), -1)
    assert change.cumsum(axis=0).max() <= config.registers

    loads = np.isin(cycles.memory, (MEMORY_LOAD, MEMORY_RELOAD))
    stores = cycles.memory == MEMORY_STORE
    assert np.array_equal((cycles.load != NONE).any(axis=1), loads)
    assert np.array_equal((cycles.store != NONE).any(axis=1), stores)
    assert (cycles.read[cycles.store != NONE] == cycles.store[cycles.store != NONE]).all()
    if not config.overlap:
        assert not (cycles.busy & (loads | stores)).any()

    assert found.copies == (cycles.write_source == WRITE_COPY).sum()
    outputs = np.unique(binary.outputs[binary.outputs >= binary.leaves])
    assert (cycles.store != NONE).sum() == found.spills + len(outputs)
    assert (values.row[outputs] >= 0).all()
    assert stores.sum() == found.memory_rows


def require_right(found: Passes) -> None:
    require_sound(found.binary, found.schedule, found.config)
    check_instructions(found.opcode, found.columns, found.layout, found.binary, found.config)


@settings(max_examples=50, deadline=None)
@given(dags(max_nodes=1000) | dags(max_nodes=1000).map(simplify), configs(), windows)
def test_any_dag_on_any_machine(dag: Dag, config: DpuConfig, window: int):
    require_right(run_passes(dag, config, window))


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_odd_shapes(name: str, overlap: bool):
    for banks, depth, interconnect in ((8, 1, "single"), (8, 3, "layered"), (16, 4, "crossbar")):
        config = DpuConfig(
            depth=depth,
            banks=banks,
            registers=8,
            output_interconnect=interconnect,
            overlap=overlap,
        )
        require_right(run_passes(shape(name), config))


def wide(builder: DagBuilder) -> None:
    """150 products that all live until the last, in an order that helps no one."""
    inputs = [builder.input() for _ in range(30)]
    random = np.random.default_rng(1)
    products = [
        builder.operation(Op.MUL, [inputs[a], inputs[b]])
        for a, b in random.integers(30, size=(150, 2))
    ]
    total = builder.operation(Op.MAX, products)
    for product in random.permutation(products).tolist():
        total = builder.operation(Op.ADD, [total, product])


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("overlap", [True, False])
def test_values_that_find_no_register_are_spilled(depth: int, overlap: bool):
    found = run_passes(built(wide), DpuConfig(depth=depth, banks=8, registers=8, overlap=overlap))
    require_right(found)
    assert found.schedule.spills > 0


def test_with_registers_enough_nothing_is_spilled():
    found = run_passes(built(wide), DpuConfig(depth=2, banks=32, registers=64))
    require_right(found)
    assert found.schedule.spills == 0


def test_outputs_that_are_needed_again_are_stored_and_stay():
    def build(builder: DagBuilder) -> None:
        inputs = [builder.input() for _ in range(13)]
        early = [builder.operation(Op.MUL, pair) for pair in pairwise(inputs)]
        late = inputs[0]
        for _ in range(40):
            late = builder.operation(Op.ADD, [late, inputs[1]])
        for value in early:
            builder.output(value)
            builder.operation(Op.ADD, [value, late])

    found = run_passes(built(build), SMALL)
    require_right(found)
    assert not (found.schedule.cycles.memory == MEMORY_RELOAD).any()


def test_a_program_longer_than_the_first_arrays():
    # A chain on slow PEs for many cycles, and a broad DAG for many stays in registers.
    slow = run_passes(shape("chain"), DpuConfig(depth=1, banks=8, registers=8, pe_stages=8))
    require_right(slow)
    assert slow.schedule.length > 1024
    broad = run_passes(seeded_dag(3000, seed=5), DpuConfig(depth=2, banks=32, registers=32))
    require_right(broad)
    assert (broad.schedule.cycles.write != NONE).sum() > 4096


@pytest.mark.parametrize("banks", [8, 12])
def test_cycles_that_are_packed_meanwhile_change_nothing(
    banks: int, monkeypatch: pytest.MonkeyPatch
):
    dag, config = seeded_dag(3000, seed=2), DpuConfig(depth=1, banks=banks, registers=8)
    found = run_passes(dag, config)
    assert found.schedule.length > 3 * 1024
    assert found.schedule.spills
    monkeypatch.setattr(module, "MOST_ROWS", 1024)
    again = run_passes(dag, config)
    require_right(again)
    for name in ("read", "load", "store", "write", "release", "source", "operation", "memory"):
        first, second = (getattr(each.schedule.cycles, name) for each in (found, again))
        assert np.array_equal(first, second)
    with pytest.raises(AttributeError, match="held"):
        _ = found.schedule.cycles.held


@pytest.mark.parametrize(
    "dag, registers, with_overlap, without",
    [
        (seeded_dag(150, 1), 8, 77, 106),
        (seeded_dag(150, 1), 16, 71, 97),
        (seeded_dag(300, 3), 8, 210, 219),
        (seeded_dag(300, 3), 16, 204, 209),
        (shape("butterfly"), 8, 43, 58),
        (shape("balanced_tree"), 8, 36, 55),
        (shape("high_fan_out"), 8, 137, 218),
    ],
)
def test_no_cycle_too_many(dag: Dag, registers: int, with_overlap: int, without: int):
    """A schedule that is legal, but worse than it was."""
    for overlap, most in ((True, with_overlap), (False, without)):
        config = dataclasses.replace(SMALL, registers=registers, overlap=overlap)
        assert run_passes(dag, config).schedule.length <= most


def test_without_operations_no_cycle_is_needed():
    assert run_passes(shape("one_input"), SMALL).schedule.length == 0


def test_one_operation_takes_load_execute_store():
    config = DpuConfig(depth=3, banks=8, registers=8, pe_stages=3)
    found = run_passes(shape("one_operation"), config)
    # Stored, in the last cycle, as soon as the PE of layer 1 has written it.
    assert found.schedule.length == config.load_latency + config.layer_latency(1) + 1


def test_a_schedule_longer_than_the_limit_ends_early():
    binary = binarise(shape("star"), SMALL)
    length = schedule(binary, SMALL, Policy()).length
    assert schedule(binary, SMALL, Policy(), np.array([length])).length == length
    with pytest.raises(TooLongError):
        schedule(binary, SMALL, Policy(), np.array([length - 1]))


def test_no_progress_is_an_error_that_names_the_registers(monkeypatch: pytest.MonkeyPatch):
    # No DAG is known that does this: see test_values_that_find_no_register_are_spilled.
    monkeypatch.setattr(module, "walk", lambda *_: STUCK)
    text = (
        "registers = 8: too few to schedule this DAG; "
        "a configuration with more registers or banks is needed"
    )
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        schedule(binarise(shape("star"), SMALL), SMALL, Policy())


@settings(max_examples=10, deadline=None)
@given(dags(max_nodes=500), configs(), windows)
def test_the_same_again(dag: Dag, config: DpuConfig, window: int):
    first, second = (run_passes(dag, config, window) for _ in range(2))
    assert np.array_equal(first.opcode, second.opcode)
    for name, column in first.columns.items():
        assert np.array_equal(column, second.columns[name])
