"""Machines of equal configurations behind one simulator."""

from __future__ import annotations

from gnarl.hw.sam.memory_map import memory_map
from gnarl.hw.sam.top import build
from tests.hw.sam.graphs import DOUBLE, INTERSECTION, small
from tests.support.machines.amaranth_port import port_of


def test_each_machine_begins_at_its_power_up() -> None:
    base = memory_map(small(DOUBLE)).window("settings").base
    first = port_of(small(DOUBLE), build, stalls=0.5)
    first.write_words(base, [7])
    assert first.read_words(base, 1).tolist() == [7]
    again = port_of(small(DOUBLE), build)
    assert again is first and again.cycles == 0
    assert again.read_words(base, 1).tolist() == [0]


def test_other_configurations_have_simulators_of_their_own() -> None:
    assert port_of(small(INTERSECTION), build) is not port_of(small(DOUBLE), build)
