"""How one asks a memory of lines."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


def request_layout(lines: int, words: int, tag_bits: int) -> data.StructLayout:
    """A read of line ``line``, if ``write`` is 0; else its words of ``write`` become ``data``'s."""
    return data.StructLayout(
        {
            "line": range(lines),
            "tag": unsigned(tag_bits),
            "write": unsigned(words),
            "data": data.ArrayLayout(unsigned(32), words),
        }
    )


def answer_layout(words: int, tag_bits: int) -> data.StructLayout:
    """The words of the line that was asked for with ``tag``."""
    return data.StructLayout(
        {"tag": unsigned(tag_bits), "data": data.ArrayLayout(unsigned(32), words)}
    )


class LinePort(wiring.Signature):
    """A port to a memory of ``lines`` lines of ``words`` 32-bit words each.

    Members, as who asks sees them: ``request`` out, a stream of ``request_layout``; ``answer`` in,
    a stream of ``answer_layout``, one for each read.
    """

    def __init__(self, lines: int, words: int, tag_bits: int) -> None:
        super().__init__(
            {
                "request": Out(stream.Signature(request_layout(lines, words, tag_bits))),
                "answer": In(stream.Signature(answer_layout(words, tag_bits))),
            }
        )
