"""How blocks reach memory: reads as two streams, so that any latency will do, and writes as one."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out


class ReadPort(wiring.Signature):
    """Reads rows of an array, as the block that reads sees it.

    Members: ``address``, a stream out of rows; ``data``, a stream in of what they hold, in the
    same order, ``words`` of ``width`` bits each. Any number of cycles may lie between the two.
    """

    def __init__(self, address_bits: int, width: int, words: int = 1) -> None:
        row = data.ArrayLayout(unsigned(width), words)
        super().__init__(
            {
                "address": Out(stream.Signature(unsigned(address_bits))),
                "data": wiring.In(stream.Signature(row)),
            }
        )


class WritePort(wiring.Signature):
    """Writes words of an array, as the block that writes sees it.

    Members: ``write``, a stream out of ``address`` and ``data``. What it has accepted is written
    before the block's run is over.
    """

    def __init__(self, address_bits: int, width: int) -> None:
        request = data.StructLayout({"address": address_bits, "data": width})
        super().__init__({"write": Out(stream.Signature(request))})


FIBER_BITS = 12
"""Bits of the number that tells fibers of one stream apart, counted from 0 and wrapping.

More fibers than a queue of 1024 tokens holds, so that a hint never means a later one.
"""


def skip_hint(width: int) -> data.StructLayout:
    """What an intersection tells the lookup of a lane, and the lookup may ignore.

    ``valid``: of fiber number ``fiber``, no coordinate below ``crd`` is needed any more, nor, where
    ``stop`` is set, any at all. Coordinates have ``width`` bits.
    """
    return data.StructLayout({"crd": width, "fiber": FIBER_BITS, "stop": 1, "valid": 1})
