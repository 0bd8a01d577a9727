from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.compiler.dpu.registers import register_addresses
from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import NONE, Locations, graph, new_cycles, new_values
from tests.sw.compiler.dpu.passes import binary_dag

BANKS = 8
REGISTERS = 8

Event = tuple[int, int, int]
"""Cycle, bank, location."""


def of(writes: list[Event], reads: list[Event], releases: list[Event]) -> Schedule:
    """A schedule of nothing but these writes, reads, and reads that release."""
    length = 1 + max(cycle for cycle, _, _ in [*writes, *reads, *releases])
    cycles = new_cycles(length, BANKS, 4)
    for cycle, bank, location in writes:
        cycles.write[cycle, bank] = location
    for cycle, bank, location in [*reads, *releases]:
        cycles.read[cycle, bank] = location
    for cycle, bank, _ in releases:
        cycles.release[cycle, bank] = True
    count = 1 + max(location for _, _, location in writes)
    bank_of = np.zeros(count, np.uint8)
    for _, bank, location in writes:
        bank_of[location] = bank
    binary = binary_dag(1, [(2, 0, 0)], [1])
    values = new_values(graph(binary), BANKS, REGISTERS)
    return Schedule(length, cycles, values, Locations(np.zeros(count, np.int32), bank_of), 0, 0, 0)


def broken(found: Schedule, cycle: int, bank: int) -> None:
    text = f"schedule breaks a register rule in cycle {cycle}, bank {bank}"
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        register_addresses(found, REGISTERS)


def test_the_lowest_empty_register_is_taken():
    writes = [(0, 3, 0), (1, 3, 1), (2, 3, 2), (4, 3, 3), (5, 3, 4)]
    found = of(writes, [], [(3, 3, 1)])
    assert register_addresses(found, REGISTERS).tolist() == [0, 1, 2, 1, 3]


def test_banks_count_by_themselves():
    found = of([(0, 0, 0), (0, 1, 1), (1, 1, 2)], [], [])
    assert register_addresses(found, REGISTERS).tolist() == [0, 0, 1]


def test_a_register_freed_in_the_cycle_is_not_empty_yet():
    found = of([(0, 0, 0), (1, 0, 1), (2, 0, 2)], [], [(1, 0, 0)])
    assert register_addresses(found, REGISTERS).tolist() == [0, 1, 0]


def test_a_word_can_be_read_and_freed_while_it_is_written():
    found = of([(0, 0, 0), (1, 0, 1)], [], [(0, 0, 0)])
    assert register_addresses(found, REGISTERS).tolist() == [0, 0]


def test_a_full_bank_breaks_a_rule():
    writes = [(cycle, 2, cycle) for cycle in range(REGISTERS + 1)]
    broken(of(writes, [], []), REGISTERS, 2)
    assert register_addresses(of(writes[:-1], [], []), REGISTERS).tolist() == list(range(8))


def test_reading_before_the_write_breaks_a_rule():
    broken(of([(2, 5, 0)], [(1, 5, 0)], []), 1, 5)


def test_reading_after_the_release_breaks_a_rule():
    broken(of([(0, 5, 0)], [(2, 5, 0)], [(1, 5, 0)]), 2, 5)


def test_reading_what_took_its_place_breaks_a_rule():
    broken(of([(0, 5, 0), (2, 5, 1)], [(3, 5, 0)], [(1, 5, 0)]), 3, 5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 8]))
def test_random_writes_and_releases(seed: int, registers: int):
    random = np.random.default_rng(seed)
    writes: list[Event] = []
    reads: list[Event] = []
    releases: list[Event] = []
    expected: list[int] = []
    held: list[dict[int, int]] = [{} for _ in range(BANKS)]
    for cycle in range(60):
        for bank in range(BANKS):
            if len(held[bank]) < registers and random.random() < 0.4:
                register = min(set(range(registers)) - set(held[bank]))
                writes.append((cycle, bank, len(expected)))
                held[bank][register] = len(expected)
                expected.append(register)
            if held[bank] and random.random() < 0.6:
                register = int(random.choice(list(held[bank])))
                event = (cycle, bank, held[bank][register])
                if random.random() < 0.6:
                    releases.append(event)
                    del held[bank][register]
                else:
                    reads.append(event)
    assert register_addresses(of(writes, reads, releases), registers).tolist() == expected


def test_a_stay_that_is_never_written_has_no_register():
    found = of([(0, 0, 1)], [], [])
    assert register_addresses(found, REGISTERS).tolist() == [NONE, 0]
