"""Levels of look-up tables: of netlists written by hand, and of small components by Yosys."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bench.sam_parts.lut_levels import Levels, longest, measure
from gnarl.hw.lib.memory.ram import TwoPortRam
from tests.support.machines.yowasp import needs_yosys


def cell(kind: str, outputs: dict[str, list[int]], **inputs: list[Any]) -> dict[str, Any]:
    directions = dict.fromkeys(outputs, "output") | dict.fromkeys(inputs, "input")
    return {"type": kind, "connections": {**outputs, **inputs}, "port_directions": directions}


def net(*bits: int, hide: int = 0) -> dict[str, Any]:
    return {"bits": list(bits), "hide_name": hide}


NETLIST = {
    "ports": {
        "i": {"direction": "input", "bits": [1, 2]},
        "o": {"direction": "output", "bits": [6]},
    },
    "cells": {
        "a": cell("$lut", {"Y": [3]}, A=[1, 2]),
        "b": cell("$lut", {"Y": [4]}, A=[2, 3]),
        "c": cell("$lut", {"Y": [6]}, A=[5, "1"]),
        "register": cell("$_DFF_P_", {"Q": [5]}, D=[4], C=[7]),
        "memory": cell("ram_16x1", {"read_data": [8]}, address=[3]),
    },
    "netnames": {
        "i": net(1, 2),
        "state": net(5),
        "inner.state": net(5),
        "$auto$1": net(4, hide=1),
        "o": net(6),
    },
}


def test_the_longest_way_has_names() -> None:
    assert longest(NETLIST) == Levels(2, 3, "i", "state")


def test_what_has_no_tables() -> None:
    assert longest({"ports": {}, "cells": {}, "netnames": {}}) == Levels(0, 0, "", "")


class _Logic(wiring.Component):
    """A register of whether any of some inputs is set, and of a product of registers."""

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"i": In(width), "any": Out(1), "product": Out(2 * width)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        held = Signal(self._width)
        m.d.sync += [self.any.eq(self.i.any()), held.eq(self.i)]
        if self._width <= 16:
            m.d.sync += self.product.eq(held * held)
        return m


class _Memory(wiring.Component):
    """A memory between two gates."""

    def __init__(self) -> None:
        super().__init__({"i": In(4), "o": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.ram = ram = TwoPortRam(16, 4)
        m.d.comb += [
            ram.read_enable.eq(1),
            ram.read_address[0].eq(self.i.any()),
            self.o.eq(ram.read_data.any()),
        ]
        return m


@needs_yosys
def test_trees() -> None:
    assert measure(_Logic(64)).levels == 3
    assert measure(_Logic(64), for_depth=True) == Levels(3, 21, "i", "any")


@needs_yosys
def test_multipliers_are_tables_or_blocks() -> None:
    assert measure(_Logic(16)).levels > 6
    assert measure(_Logic(16), has_multipliers=True).levels == 2


@needs_yosys
def test_memories_are_ends() -> None:
    assert measure(_Memory()).levels == 1


@pytest.mark.parametrize("has_multipliers", [False, True])
@needs_yosys
def test_the_same_component_has_the_same_levels(has_multipliers: bool) -> None:
    found = [measure(_Logic(8), has_multipliers=has_multipliers) for _ in range(2)]
    assert found[0] == found[1]
