"""What a layer tells those who follow it: its iterations, and where its loops end."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

SLOT_BITS = 13
"""Bits of numbers of slots, as a layer's row has them."""


def step_layout(lanes: int) -> data.StructLayout:
    """An iteration, if there are ``lanes`` in use; then, if ``is_end``, the end of its loop."""
    return data.StructLayout({"is_end": unsigned(1), "lanes": unsigned(lanes)})


class SlotCounter:
    """Counts the next slot of a layer's queues, and its phase. Part of the module ``m``.

    Every queue of a layer has ``slots`` slots, of which each iteration takes the next one.
    """

    def __init__(self, m: Module, name: str, slots: Value) -> None:
        self._m = m
        self._slots = slots
        self.slot = Signal(SLOT_BITS, name=f"{name}_slot")
        self.phase = Signal(name=f"{name}_phase", init=1)

    def advance(self) -> None:
        """The slot behind becomes the next one. In a condition of ``m``."""
        is_last = self.slot + 1 == self._slots
        self._m.d.sync += [
            self.slot.eq(Mux(is_last, 0, self.slot + 1)),
            self.phase.eq(self.phase ^ is_last),
        ]

    def row(self, queue: Any) -> Value:
        """The row of the next slot of a queue that begins at row ``queue``."""
        return queue + self.slot
