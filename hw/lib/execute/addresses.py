"""Addresses of memory, checked."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class AddressUnit(wiring.Component):
    """The words at ``base`` + ``offset``, which wraps, and behind it, one a lane. Combinational.

    Parameters: ``memory_words``, a power of two, of which there are more than ``lanes``.

    Members: ``base``, ``offset``, ``wanted`` in, the lanes; ``address``, ``lanes`` out: of a
    request; lanes whose word is outside memory are not among them; ``is_outside`` out: some are.
    """

    def __init__(self, memory_words: int, lanes: int) -> None:
        if memory_words & (memory_words - 1) or memory_words <= lanes:
            raise ValueError(f"memory_words = {memory_words}: must be a power of two above {lanes}")
        self._lanes = lanes
        self._address_bits = (memory_words - 1).bit_length()
        super().__init__(
            {
                "base": In(32),
                "offset": In(32),
                "wanted": In(lanes),
                "address": Out(self._address_bits),
                "lanes": Out(lanes),
                "is_outside": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lane_bits, address_bits = (self._lanes - 1).bit_length(), self._address_bits
        address, beyond = Signal(32), Signal(self._lanes)
        at_end = Signal()
        m.d.comb += [
            address.eq(self.base + self.offset),
            at_end.eq(address[lane_bits:address_bits].all()),
            beyond.eq(
                Cat(
                    address[address_bits:].any()
                    | (at_end & (address[:lane_bits] + lane >= self._lanes))
                    for lane in range(self._lanes)
                )
            ),
            self.address.eq(address),
            self.lanes.eq(self.wanted & ~beyond),
            self.is_outside.eq((self.wanted & beyond).any()),
        ]
        return m
