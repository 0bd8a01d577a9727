"""Whose turn it is among the lanes that the units of a stream are dealt to."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from gnarl.hw.sam.step import is_data


class Turns:
    """The lane of the token at the head of a stream, as a ``Parallelizer`` deals its units.

    lane
        value: of the next unit, or of the last one if the head is a stop behind it.
    is_open
        signal: the last unit has had no stop yet.
    """

    def __init__(self, stream: Any, lanes: int) -> None:
        self._stream, self._lanes = stream, lanes
        self._following = Signal(range(lanes), name="following")
        self._last = Signal(range(lanes), name="last")
        self.is_open = Signal(name="is_open")
        self.lane = Mux(self.is_open & ~is_data(stream), self._last, self._following)

    def advance(self, m: Module) -> None:
        """The head is taken, in this condition."""
        is_over = self.lane == self._lanes - 1
        m.d.sync += [
            self._last.eq(self.lane),
            self._following.eq(Mux(is_over, 0, self.lane + 1)),
            self.is_open.eq(is_data(self._stream)),
        ]
