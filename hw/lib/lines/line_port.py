"""Reads and writes of a memory's lines through streams, many at a time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.select import at_index

WORD_BITS = 32


def line_data(line_words: int) -> data.ArrayLayout:
    """The words of a line."""
    return data.ArrayLayout(unsigned(WORD_BITS), line_words)


def line_request(line_bits: int, line_words: int, tag_bits: int) -> data.StructLayout:
    """A request to a memory of lines.

    line
        its address.
    tag
        of a read: comes back with its answer.
    write
        a bit for each word of ``data`` that is to be written; 0 for a read.
    data
        the words; only those count whose bit in ``write`` is set.
    cached
        0: a cache passes the request by, though a write changes the line where it is held.
    temporal
        0: a cache answers from a line that it holds, but keeps no line for this request.
    """
    return data.StructLayout(
        {
            "line": unsigned(line_bits),
            "tag": unsigned(tag_bits),
            "write": unsigned(line_words),
            "data": line_data(line_words),
            "cached": 1,
            "temporal": 1,
        }
    )


def line_response(line_words: int, tag_bits: int) -> data.StructLayout:
    """The answer to a read: the ``tag`` of its request, and the line's ``data``."""
    return data.StructLayout({"tag": unsigned(tag_bits), "data": line_data(line_words)})


class LinePort(wiring.Signature):
    """Reads and writes lines, as the component that asks sees it.

    A read sees what every request accepted before it has written, and nothing that a later one
    writes. Answers come in any order, unless the component that answers says otherwise, so tags
    tell them apart. Writes have none.

    Parameters: ``line_bits`` of addresses, ``line_words`` of 32 bits each, ``tag_bits``.

    Members: ``request``, a stream out of ``line_request``; ``response``, a stream in of
    ``line_response``; ``idle`` in: of all that was accepted before this cycle every read's answer
    was taken, and every write has landed in memory.
    """

    def __init__(self, line_bits: int, line_words: int, tag_bits: int) -> None:
        super().__init__(
            {
                "request": Out(stream.Signature(line_request(line_bits, line_words, tag_bits))),
                "response": In(stream.Signature(line_response(line_words, tag_bits))),
                "idle": In(1),
            }
        )


def connect_wider(m: Module, asks: Any, answers: Any) -> None:
    """Connects a port that asks to one that answers, whose tags may be wider."""
    for name, _ in asks.request.payload.shape():
        m.d.comb += answers.request.payload[name].eq(asks.request.payload[name])
    m.d.comb += [
        answers.request.valid.eq(asks.request.valid),
        asks.request.ready.eq(answers.request.ready),
        asks.response.valid.eq(answers.response.valid),
        asks.response.payload.tag.eq(answers.response.payload.tag),
        asks.response.payload.data.eq(answers.response.payload.data),
        answers.response.ready.eq(asks.response.ready),
        asks.idle.eq(answers.idle),
    ]


def connect_part(m: Module, asks: Any, answers: Any) -> None:
    """Connects a port that asks for lines to one that answers with several side by side, a power
    of two, whose tags have at least as many bits more as tell them apart."""
    words = len(asks.request.payload.write)
    parts = len(answers.request.payload.write) // words
    part_bits = (parts - 1).bit_length()
    tag_bits = len(asks.request.payload.tag)
    asked, passed = asks.request.payload, answers.request.payload
    found = answers.response.payload
    lines = found.data.as_value()
    part = asked.line[:part_bits]
    size = len(lines) // parts
    each = [lines[at : at + size] for at in range(0, len(lines), size)]
    m.d.comb += [
        passed.line.eq(asked.line >> part_bits),
        passed.tag.eq(Cat(part, asked.tag)),
        passed.write.eq(asked.write << part * words),
        passed.data.eq(asked.data.as_value().replicate(parts)),
        passed.cached.eq(asked.cached),
        passed.temporal.eq(asked.temporal),
        answers.request.valid.eq(asks.request.valid),
        asks.request.ready.eq(answers.request.ready),
        asks.response.valid.eq(answers.response.valid),
        asks.response.payload.tag.eq(found.tag[part_bits : part_bits + tag_bits]),
        asks.response.payload.data.eq(at_index(each, found.tag[:part_bits])),
        answers.response.ready.eq(asks.response.ready),
        asks.idle.eq(answers.idle),
    ]
