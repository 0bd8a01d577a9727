"""Reads and writes of up to a vector of neighbouring words."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


def lane_request(address_bits: int, lanes: int, tag_bits: int) -> data.StructLayout:
    """A request for the words from ``address`` on, one a lane.

    address
        of lane 0's word; need not be a multiple of anything.
    lanes
        the lanes whose words are read or written: at least one, all of them inside memory.
    write
        1 for a write of ``data``, 0 for a read.
    prefetch
        of a read: only brings the lines into the cache, and has no response.
    tag
        of a read: comes back with its response.
    """
    return data.StructLayout(
        {
            "address": unsigned(address_bits),
            "lanes": unsigned(lanes),
            "write": 1,
            "prefetch": 1,
            "tag": unsigned(tag_bits),
            "data": data.ArrayLayout(unsigned(32), lanes),
        }
    )


def lane_response(lanes: int, tag_bits: int) -> data.StructLayout:
    """The response to a read: its ``tag``, and ``data``, of which lanes not asked for may be
    anything."""
    return data.StructLayout(
        {"tag": unsigned(tag_bits), "data": data.ArrayLayout(unsigned(32), lanes)}
    )


class LanePort(wiring.Signature):
    """Reads and writes words across lanes, as the component that asks sees it.

    A read sees what every request accepted before it has written, and nothing that a later one
    writes. Responses come in any order; whoever asks takes them in the cycle in which they come,
    or stalls them. Writes have none.

    Members: ``request``, a stream out of ``lane_request``; ``response``, a stream in of
    ``lane_response``; ``idle`` in: of all that was accepted before this cycle every response was
    taken, and every write has landed in memory.
    """

    def __init__(self, address_bits: int, lanes: int, tag_bits: int) -> None:
        super().__init__(
            {
                "request": Out(stream.Signature(lane_request(address_bits, lanes, tag_bits))),
                "response": In(stream.Signature(lane_response(lanes, tag_bits))),
                "idle": In(1),
            }
        )
