"""Placing one cone after the other: what is taken stays taken, and what fails leaves no trace."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, PeOp
from gnarl.hw.dpu.topology import pe_list, writers
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.check import check_instructions
from gnarl.sw.compiler.dpu.cone import EMPTY, LEAF, OPERATION, expand
from gnarl.sw.compiler.dpu.encode import instructions
from gnarl.sw.compiler.dpu.memory import memory_layout
from gnarl.sw.compiler.dpu.packed_cycles import PackedCycles
from gnarl.sw.compiler.dpu.place import (
    NO_LANES,
    NO_LOAD,
    NO_REGISTER,
    PLACED,
    PORT_TAKEN,
    SAME_BANK,
    move,
    place,
)
from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import (
    MEMORY_LOAD,
    MEMORY_STORE,
    NONE,
    SPARE_REGISTERS,
    Cycles,
    Locations,
    State,
    Values,
    new_cycles,
    new_locations,
    new_state,
)
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.dags import dags
from tests.sw.compiler.dpu.passes import binary_dag, configs

ADD = PeOp.ADD
WINDOW = 16


@dataclass
class Bench:
    """The state that a scheduler keeps, driven by hand."""

    binary: BinaryDag
    config: DpuConfig
    state: State = field(init=False)

    def __post_init__(self) -> None:
        key = np.zeros(self.binary.operations)
        self.state = new_state(self.binary, self.config, key, attempts=0)._replace(
            cycles=new_cycles(256, self.config.banks, self.config.pes),
            locations=new_locations(1 << 14),
        )
        self.state.progress.cycle = 2

    @property
    def cycle(self) -> int:
        return int(self.state.progress.cycle)

    @property
    def cycles(self) -> Cycles:
        return self.state.cycles

    @property
    def values(self) -> Values:
        return self.state.values

    @property
    def locations(self) -> Locations:
        return self.state.locations

    @property
    def count(self) -> int:
        """Locations so far."""
        return int(self.state.progress.locations)

    def next_cycle(self) -> None:
        self.state.progress.cycle += 1
        self.cycles.held[self.cycle] = self.values.held

    def expand(self, root: int) -> int:
        graph, cone, depth = self.state.graph, self.state.scratch, self.config.depth
        return expand(graph, self.values, cone, self.cycle, root, depth)

    def place(self, root: int) -> int:
        """Tries the cone of ``root``; PLACED or why not, having checked what it did."""
        levels = self.expand(root)
        assert levels > 0
        before = self.snapshot()
        why = place(self.state, levels, WINDOW)
        self.require_kept(before)
        if why == PLACED:
            self.require_cone(before, levels)
        else:
            self.require_same(before)
        return why

    def move(self, value: int) -> bool:
        before = self.snapshot()
        moved = move(self.state, value)
        self.require_kept(before)
        if not moved:
            self.require_same(before)
        return moved

    def held(self, value: int, bank: int) -> None:
        """Puts the result of an operation into a register, as if computed long ago."""
        values = self.values
        values.done[value - self.binary.leaves] = True
        values.location[value] = self.count
        self.locations.value[self.count] = value
        self.locations.bank[self.count] = bank
        self.state.progress.locations += 1
        values.resident[bank, values.held[bank]] = value
        values.held[bank] += 1
        self.cycles.held[self.cycle, bank] += 1

    def snapshot(self) -> Bench:
        return copy.deepcopy(self)

    def require_same(self, before: Bench) -> None:
        """Nothing has changed."""
        assert self.count == before.count
        for name in self.cycles._fields:
            found, expected = getattr(self.cycles, name), getattr(before.cycles, name)
            assert np.array_equal(found, expected), name
        for name in set(self.values._fields) - {"loaded_at", "loaded_to"}:
            found, expected = getattr(self.values, name), getattr(before.values, name)
            assert np.array_equal(found, expected), name
        # What is remembered of inputs must not speak of loads that were taken back.
        remembered = self.values.loaded_at == self.cycle
        assert np.array_equal(remembered, before.values.loaded_at == self.cycle)

    def require_kept(self, before: Bench) -> None:
        """Ports, lanes and writers that were taken are as they were."""
        for name, free in (
            ("read", NONE),
            ("load", NONE),
            ("store", NONE),
            ("write", NONE),
            ("write_source", 0),
            ("memory", 0),
        ):
            old, new = getattr(before.cycles, name), getattr(self.cycles, name)
            assert np.array_equal(new[old != free], old[old != free]), name
        used = before.cycles.used
        assert np.array_equal(self.cycles.source[used], before.cycles.source[used])

    def require_cone(self, before: Bench, levels: int) -> None:
        """The cone was placed, and nothing else."""
        cycles, config, cycle, first = self.cycles, self.config, self.cycle, before.count
        lanes = np.flatnonzero(cycles.used[cycle] & ~before.cycles.used[cycle])
        base, width = int(lanes[0]), 1 << levels
        assert lanes.tolist() == list(range(base, base + width))
        assert base % width == 0
        self._require_tree(base, levels)
        # Every new stay is one write: of a load issued before, or of a PE above these lanes.
        writes = cycles.write >= first
        at, bank = np.nonzero(writes)
        stays = cycles.write[writes]
        assert sorted(stays.tolist()) == list(range(first, self.count))
        assert np.array_equal(self.locations.bank[stays], bank)
        pes = pe_list(config)
        for when, where, stay in zip(at.tolist(), bank.tolist(), stays.tolist(), strict=True):
            value = int(self.locations.value[stay])
            if value < self.binary.leaves:
                issue = when - config.load_latency
                assert cycles.memory[issue] == MEMORY_LOAD
                assert cycles.load[issue, where] == stay
                assert config.overlap or not cycles.busy[issue]
                assert cycles.read[cycle, where] == stay
                assert cycles.release[cycle, where]
                continue
            number = writers(config, where)[cycles.write_source[cycle, where] - FIRST_WRITER]
            pe = pes[number]
            lane = pe.tree * config.tree_inputs + (pe.place << pe.layer)
            assert base <= lane < base + width
            assert when == cycle + config.layer_latency(pe.layer)
            assert cycles.operation[cycle, number] == self.binary.op[value - self.binary.leaves]
            assert (self.values.location[value], self.values.ready[value]) == (stay, when)
        fresh = (cycles.write_source != 0).sum() - (before.cycles.write_source != 0).sum()
        assert fresh == (self.locations.value[first : self.count] >= self.binary.leaves).sum()

    def _require_tree(self, base: int, levels: int) -> None:
        cone, cycles, config = self.state.scratch, self.cycles, self.config
        number = {pe: k for k, pe in enumerate(pe_list(config))}
        for at in range(1, 2 << levels):
            if cone.kind[at] == EMPTY:
                continue
            level = levels - (at.bit_length() - 1)
            lane = base + ((at - (1 << (at.bit_length() - 1))) << level)
            node = int(cone.node[at])
            if cone.kind[at] == LEAF:
                bank = cycles.source[self.cycle, lane]
                assert self.locations.value[cycles.read[self.cycle, bank]] == node
                continue
            [pe] = [
                k
                for pe, k in number.items()
                if (pe.layer, pe.tree * config.tree_inputs + (pe.place << level)) == (level, lane)
            ]
            assert cone.kind[at] == OPERATION
            assert cycles.operation[self.cycle, pe] == self.binary.op[node]
            assert self.values.done[node]

    def finish(self) -> Schedule:
        """The cycles so far as a schedule."""
        length = self.cycle + 1
        packed = PackedCycles()
        packed.append(self.cycles, length)
        return Schedule(length, packed, self.values, self.locations, 0, 0, 0)


def without_outputs(binary: BinaryDag) -> BinaryDag:
    """The same operations, of which no result is stored."""
    return BinaryDag(
        binary.leaves,
        binary.op,
        binary.left,
        binary.right,
        binary.group,
        binary.value_of,
        np.zeros(0, np.int32),
    )


def try_all(bench: Bench, cycles: int, random: np.random.Generator) -> None:
    """Places what can be, in random order, and moves what clashes."""
    for _ in range(cycles):
        bench.next_cycle()
        if not bench.config.overlap and bench.cycle % 2:
            continue
        todo = np.flatnonzero(~bench.values.done)
        for root in random.permutation(todo)[:30].tolist():
            if bench.values.done[root] or bench.expand(root) < 0:
                continue
            if bench.place(root) == SAME_BANK:
                bench.move(int(bench.state.scratch.clashes[0, random.integers(2)]))


@settings(max_examples=30, deadline=None)
@given(dags(max_nodes=200), configs(), st.integers(0, 2**32 - 1))
def test_whatever_is_placed_in_whatever_order_can_run(dag: Dag, config: DpuConfig, seed: int):
    bench = Bench(without_outputs(binarise(dag, config)), config)
    try_all(bench, 12, np.random.default_rng(seed))
    # Released registers, waits and writes that all fit are what the checker finds.
    schedule = bench.finish()
    layout = memory_layout(schedule, bench.binary, config)
    opcode, columns = instructions(schedule, layout, config)
    check_instructions(opcode, columns, layout, bench.binary, config)


@settings(max_examples=30, deadline=None)
@given(dags(max_nodes=200), configs(), st.integers(0, 2**32 - 1))
def test_operands_in_any_bank_are_placed_or_refused(dag: Dag, config: DpuConfig, seed: int):
    bench = Bench(binarise(dag, config), config)
    random = np.random.default_rng(seed)
    binary = bench.binary
    for operation in range(int(random.integers(binary.operations + 1))):
        # Crowded, so that operands often meet; what finds no room is used up.
        bank = int(random.integers(min(4, config.banks)))
        if bench.values.held[bank] < config.registers - SPARE_REGISTERS:
            bench.held(binary.leaves + operation, bank)
    for operation in np.flatnonzero(bench.values.done).tolist():
        for value in dict.fromkeys((int(binary.left[operation]), int(binary.right[operation]))):
            bench.values.uses[value] -= 1
    try_all(bench, 3, random)


SUMS = binary_dag(
    8,
    [(ADD, 0, 1), (ADD, 2, 3), (ADD, 8, 9), (ADD, 8, 4), (ADD, 9, 5)],
    [10, 11, 12],
    [0, 1, 2, 3, 4],
)
"""Values 8 and 9 are sums of inputs, 10 is their sum; 11 and 12 add an input to each."""


def bench(binary: BinaryDag = SUMS, **fields: int | str | bool) -> Bench:
    found = Bench(binary, DpuConfig(**{"depth": 2, "banks": 8, "registers": 8} | fields))
    found.next_cycle()
    return found


def test_two_operands_in_one_bank_clash_and_a_copy_helps():
    found = bench()
    found.held(8, 3)
    found.held(9, 3)
    assert found.place(2) == SAME_BANK
    assert sorted(found.state.scratch.clashes[0].tolist()) == [8, 9]
    assert found.move(9)
    assert found.cycles.release[found.cycle, 3]
    [bank] = np.flatnonzero(found.cycles.write_source[found.cycle] == WRITE_COPY)
    assert bank != 3
    assert found.expand(2) < 0
    found.next_cycle()
    assert found.place(2) == PLACED


def test_a_bank_is_read_at_one_address_in_a_cycle():
    found = bench()
    found.held(8, 3)
    found.held(9, 3)
    assert found.place(3) == PLACED
    assert found.place(4) == PORT_TAKEN
    found.next_cycle()
    assert found.place(4) == PLACED


def test_a_value_may_be_read_by_several_cones_of_a_cycle():
    found = bench()
    found.held(8, 3)
    found.held(9, 5)
    assert [found.place(root) for root in (2, 3, 4)] == [PLACED] * 3
    assert found.cycles.release[found.cycle, [3, 5]].all()
    assert found.values.held[[3, 5]].tolist() == [0, 0]


def test_registers_are_freed_by_the_last_read_only():
    found = bench()
    found.held(8, 3)
    found.held(9, 5)
    assert found.place(2) == PLACED
    assert not found.cycles.release[found.cycle, [3, 5]].any()
    found.next_cycle()
    assert found.place(3) == PLACED
    assert found.cycles.release[found.cycle, [3, 5]].tolist() == [True, False]


def test_an_output_keeps_its_register():
    found = bench(binary_dag(2, [(ADD, 0, 1), (ADD, 2, 0)], [2, 3]))
    found.held(2, 4)
    assert found.place(1) == PLACED
    assert not found.cycles.release[found.cycle, 4]


def test_lanes_run_out():
    # Six cones of one level take 12 lanes: a machine of 8 has room for four.
    found = bench(binary_dag(1, [(ADD, 0, 0)] * 6, list(range(1, 7))))
    assert [found.place(root) for root in range(6)] == [PLACED] * 4 + [NO_LANES] * 2


def test_an_input_is_loaded_once_for_a_cycle():
    found = bench(binary_dag(1, [(ADD, 0, 0)] * 2, [1, 2]))
    assert [found.place(root) for root in range(2)] == [PLACED] * 2
    assert (found.cycles.load != NONE).sum() == 1
    found.next_cycle()
    assert (found.cycles.read[found.cycle] == NONE).all()


def test_loads_need_a_memory_cycle_before():
    found = bench()
    found.cycles.memory[: found.cycle] = MEMORY_STORE
    assert found.place(0) == NO_LOAD
    found.cycles.memory[found.cycle - found.config.load_latency] = 0
    assert found.place(0) == PLACED
    # Both words come in one row.
    assert (found.cycles.memory == MEMORY_LOAD).sum() == 1


def test_without_overlap_loads_stay_out_of_busy_cycles():
    found = bench(overlap=False)
    found.cycles.busy[: found.cycle] = True
    assert found.place(0) == NO_LOAD
    found.cycles.busy[0] = False
    assert found.place(0) == PLACED
    assert np.flatnonzero(found.cycles.memory == MEMORY_LOAD).tolist() == [0]


def test_loads_reach_back_no_farther_than_the_window():
    found = bench()
    for _ in range(WINDOW + 2):
        found.next_cycle()
    found.cycles.memory[1 : found.cycle] = MEMORY_STORE
    assert found.place(0) == NO_LOAD


@pytest.mark.parametrize("interconnect", ["crossbar", "layered", "single"])
def test_results_go_where_a_register_is_empty(interconnect: str):
    found = bench(output_interconnect=interconnect)
    full = found.config.registers - SPARE_REGISTERS
    found.values.held[:] = full
    assert found.place(0) == NO_REGISTER
    # A PE of layer 1 over lanes 4 and 5; bank 5 is among its own under every interconnect.
    found.values.held[5] = full - 1
    assert found.place(0) == PLACED
    assert found.cycles.write_source[found.cycle].nonzero()[0].tolist() == [5]


def test_results_keep_apart_from_what_is_read_with_them():
    found = bench(output_interconnect="crossbar")
    found.held(8, 2)
    assert found.place(1) == PLACED
    [bank] = found.cycles.write_source[found.cycle].nonzero()[0]
    assert bank != 2


def test_a_value_that_is_not_there_cannot_be_moved():
    found = bench()
    assert not found.move(8)
    found.held(8, 1)
    found.values.ready[8] = found.cycle + 1
    assert not found.move(8)
    found.values.ready[8] = found.cycle
    found.cycles.used[found.cycle] = True
    assert not found.move(8)
    found.cycles.used[found.cycle] = False
    assert found.move(8)
