"""Memory behind streams: by two for a read, so that any latency will do, and by one for a write."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class ReadPort(wiring.Signature):
    """Reads rows of an array, as the component that reads sees it.

    Members: ``address``, a stream out of rows; ``data``, a stream in of what they hold, in the
    same order, ``words`` of ``width`` bits each. Any number of cycles may lie between the two.
    """

    def __init__(self, address_bits: int, width: int, words: int = 1) -> None:
        row = data.ArrayLayout(unsigned(width), words)
        super().__init__(
            {
                "address": Out(stream.Signature(unsigned(address_bits))),
                "data": In(stream.Signature(row)),
            }
        )


class WritePort(wiring.Signature):
    """Writes rows of an array, as the component that writes sees it.

    Members: ``write``, a stream out of ``address`` and ``data``, ``words`` of ``width`` bits each.
    What it has accepted is written before the run is over.
    """

    def __init__(self, address_bits: int, width: int, words: int = 1) -> None:
        row = data.ArrayLayout(unsigned(width), words)
        request = data.StructLayout({"address": address_bits, "data": row})
        super().__init__({"write": Out(stream.Signature(request))})
