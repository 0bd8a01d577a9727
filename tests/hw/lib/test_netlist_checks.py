"""Checks of Amaranth's in linear time: they find what they found."""

from __future__ import annotations

import cProfile
import pstats
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal, _dsl
from amaranth.hdl._ir import DriverConflict
from amaranth.hdl._nir import CombinationalCycle
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.netlist_checks import linear_checks
from gnarl.hw.lib.verilog import to_rtlil


class _Parts(wiring.Component):
    """Counters, each of which is a part of one output. ``loop``: the last one of each bit depends
    on the first one; ``twice``: a part has two drivers."""

    def __init__(self, parts: int, loop: bool = False, twice: bool = False) -> None:
        self._parts, self._loop, self._twice = parts, loop, twice
        super().__init__({"i": In(8), "o": Out(8 * parts)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for part in range(self._parts):
            last = (part or self._parts) - 1
            before = self.o.word_select(last, 8) if part or self._loop else self.i
            count = Signal(8, name=f"count_{part}")
            m.d.sync += count.eq(count + 1)
            with m.If(self.i[0]):
                m.d.comb += self.o.word_select(part, 8).eq(count + (before & self.i))
        if self._twice:
            m.d.sync += self.o[3].eq(1)
        return m


def test_text_is_the_same() -> None:
    assert to_rtlil(_Parts(4), "top").modules == rtlil.convert(_Parts(4), "top", emit_src=False)


def test_cycles_and_conflicts_are_found() -> None:
    with pytest.raises(CombinationalCycle, match="operator"):
        to_rtlil(_Parts(4, loop=True), "top")
    with pytest.raises(DriverConflict, match="bit 3"):
        to_rtlil(_Parts(4, twice=True), "top")


def test_checks_of_others_are_theirs() -> None:
    before = _dsl.LHSMaskCollector
    with pytest.raises(KeyError), linear_checks():
        assert _dsl.LHSMaskCollector is not before
        raise KeyError
    assert _dsl.LHSMaskCollector is before


def test_work_is_linear() -> None:
    few, many = (_calls(parts) for parts in (20, 160))
    assert many < 10 * few


def _calls(parts: int) -> int:
    """Calls of functions in a conversion."""
    with cProfile.Profile() as profile:
        to_rtlil(_Parts(parts), "top")
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
