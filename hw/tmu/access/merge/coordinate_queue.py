"""Coordinates of a unit's fibers, fetched before the merger wants them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.memory.ram import TwoPortRam


class CoordinateQueue(Instanced):
    """A queue of ``depth`` words that come in any order, to places that were reserved in order.

    A row is written with the phase of its use: 1 at first after a reset, then the other each time.
    A word that is written can be popped two cycles later; one a cycle.

    Parameters: ``depth``, a power of two from 2 on.

    Members: ``reserved`` in: so many places more, of ``free``, out; ``tail`` out: the row of the
    next place, and above its bits that of its phase, inverted; ``write``, ``row``, ``phase``,
    ``data`` in; ``valid``, ``head`` out: the oldest word, which ``pop``, in, takes.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        super().__init__(
            {
                "reserved": In(range(LINE_WORDS + 1)),
                "free": Out(range(depth + 1)),
                "tail": Out(range(2 * depth)),
                "write": In(1),
                "row": In(range(depth)),
                "phase": In(1),
                "data": In(32),
                "valid": Out(1),
                "head": Out(32),
                "pop": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.memory = ram = TwoPortRam(self._depth, 32)
        bits = len(self.row)
        tail = Signal(range(2 * self._depth))
        oldest, following = Signal.like(tail), Signal.like(tail)
        phases = Signal(self._depth)
        with m.If(self.write):
            m.d.sync += phases.bit_select(self.row, 1).eq(self.phase)
        m.d.comb += [
            following.eq(oldest + self.pop),
            self.tail.eq(tail),
            self.free.eq(
                self._depth - Mux(tail >= oldest, tail - oldest, tail + 2 * self._depth - oldest)
            ),
            ram.write_address.eq(self.row),
            ram.write_enable.eq(self.write),
            ram.write_data.eq(self.data),
            ram.read_address.eq(following[:bits]),
            ram.read_enable.eq(1),
            self.head.eq(ram.read_data),
        ]
        m.d.sync += [
            tail.eq(tail + self.reserved),
            oldest.eq(following),
            self.valid.eq(Array(phases)[following[:bits]] != following[bits]),
        ]
        return m
