"""Arrays from memory to tiles, transposed, and back. Source: Infinity Stream, section 5.2."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.lines.line_port import LinePort
from hw.lib.lines.line_size import LINE_WORDS
from hw.sram_compute.bank import WORD_BITS
from hw.sram_compute.config import LINE_BITS
from hw.sram_compute.isa import WIDTH_BITS
from hw.sram_compute.layout_walker import ENTRY, LayoutWalker
from hw.sram_compute.line_elements import MOST_ELEMENTS, high_bits, low_bits, shifted_in


def tile_word_layout(wordlines: int, bitlines: int, tiles: int) -> data.StructLayout:
    """A word of a row of a tile: as ``bank.word_request_layout``."""
    return data.StructLayout(
        {
            "tile": range(tiles),
            "row": range(wordlines),
            "group": range(bitlines // WORD_BITS),
            "write": WORD_BITS,
            "data": WORD_BITS,
        }
    )


def transfer_layout(wordlines: int) -> data.StructLayout:
    """A transfer: as ``isa.LOAD``, or ``isa.STORE``."""
    return data.StructLayout(
        {"is_store": 1, "row": range(wordlines), "n": unsigned(WIDTH_BITS), "is_signed": 1}
    )


class _State(enum.Enum):
    IDLE = 0
    TAKE = 1
    SCATTER = 2
    GATHER = 3
    EXTEND = 4
    GIVE = 5


class ArrayTransfer(wiring.Component):
    """Transposes line by line. A row of a line is the same bit of all its elements; it goes to the
    tiles in pieces, each of neighbouring bitlines within a word, one a cycle.

    A line that is loaded takes a cycle for each piece of its ``n`` rows, and one more. A line that
    is stored takes as many, then a cycle for each bit of an element that is none of the ``n``, and
    those until memory takes it.

    Parameters: ``lines`` of memory, ``wordlines``, ``bitlines``, ``tiles``.

    Members
    -------
    transfer, entry, start
        in: a ``transfer_layout`` of the array with this ``ENTRY``, all three held until ``busy`` is
        0 again, but for ``start``, which is a pulse.
    busy
        out: from the cycle behind ``start`` on.
    port
        out: a ``LinePort`` to memory.
    word, accesses
        out: a ``tile_word_layout``, and whether it is accessed.
    read
        in: the word that was read, in the cycle behind.
    is_outside, is_beyond
        out: a line is none of memory; it has tiles beyond the last one.
    """

    def __init__(self, lines: int, wordlines: int, bitlines: int, tiles: int) -> None:
        self._lines = lines
        self._bitlines = bitlines
        self._tiles = tiles
        line_bits = (lines - 1).bit_length()
        super().__init__(
            {
                "transfer": In(transfer_layout(wordlines)),
                "entry": In(ENTRY),
                "start": In(1),
                "busy": Out(1),
                "port": Out(LinePort(line_bits, LINE_WORDS, 1)),
                "word": Out(tile_word_layout(wordlines, bitlines, tiles)),
                "accesses": Out(1),
                "read": In(WORD_BITS),
                "is_outside": Out(1),
                "is_beyond": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        transfer, entry, port = self.transfer, self.entry, self.port
        request, response = port.request, port.response
        m.submodules.asks = asks = LayoutWalker(self._lines, self._tiles, self._bitlines)
        m.submodules.places = places = LayoutWalker(self._lines, self._tiles, self._bitlines)
        state, line = Signal(_State), Signal(LINE_BITS)
        row, piece = Signal(WIDTH_BITS), Signal(range(MOST_ELEMENTS))
        extended = Signal(WIDTH_BITS)

        # Pieces: 2^size elements each.
        size, pieces = Signal(3), Signal(range(MOST_ELEMENTS + 1))
        first = Signal(range(MOST_ELEMENTS))  # element of the line
        bitline, shift = Signal(range(self._bitlines + 1)), Signal(range(WORD_BITS))
        ends_row, ends_line = Signal(), Signal()
        size_of_line = Signal(3)
        m.d.comb += [
            size_of_line.eq(6 - entry.element),
            size.eq(_least(_least(size_of_line, entry.tile[0]), Const(5))),
            pieces.eq(1 << (size_of_line - size)[:3]),
            first.eq(piece << size),
            bitline.eq(places.bitline + (first & ((1 << entry.tile[0]) - 1))),
            shift.eq(bitline),
            ends_row.eq(piece + 1 == pieces),
            ends_line.eq(ends_row & (row + 1 == transfer.n)),
        ]

        # Words of the tiles.
        ones = Signal(WORD_BITS)
        piece_bits = Signal(WORD_BITS)
        bits_of_row = Signal(MOST_ELEMENTS)
        moves_on, word = Signal(), self.word
        m.d.comb += [
            ones.eq(_at_size(size, lambda bits: Const((1 << bits) - 1, WORD_BITS))),
            bits_of_row.eq(low_bits(line, entry.element)),
            piece_bits.eq(bits_of_row >> first),
            word.tile.eq(places.tile + (first >> entry.tile[0])),
            word.row.eq(transfer.row + row),
            word.group.eq(bitline >> (WORD_BITS - 1).bit_length()),
            word.write.eq(Mux(state == _State.SCATTER, (ones << shift)[:WORD_BITS], 0)),
            word.data.eq(
                _at_size(size, lambda bits: piece_bits[:bits].replicate(WORD_BITS // bits))
            ),
            moves_on.eq((state == _State.SCATTER) | (state == _State.GATHER)),
            self.accesses.eq(moves_on),
        ]
        with m.If(moves_on):
            m.d.sync += piece.eq(Mux(ends_row, 0, piece + 1))
            with m.If(ends_row):
                m.d.sync += row.eq(Mux(ends_line, 0, row + 1))

        # What was read, a cycle later.
        gathers, begins_row = Signal(), Signal()
        read_first, read_shift = Signal.like(first), Signal.like(shift)
        tops = Signal(MOST_ELEMENTS)
        m.d.sync += [
            gathers.eq(state == _State.GATHER),
            begins_row.eq(piece == 0),
            read_first.eq(first),
            read_shift.eq(shift),
        ]
        read_bits = Signal(WORD_BITS)
        m.d.comb += read_bits.eq((self.read >> read_shift) & ones)
        with m.If(gathers):
            m.d.comb += tops.eq(read_bits << read_first)
        with m.Else():
            m.d.comb += tops.eq(
                Mux(transfer.is_signed, high_bits(line, entry.element), Const(0, MOST_ELEMENTS))
            )

        is_extended = Signal()
        m.d.comb += is_extended.eq(transfer.n + extended == (8 << entry.element))
        with m.If(response.valid & response.ready):
            m.d.sync += line.eq(response.payload.data)
        with m.Elif((state == _State.SCATTER) & ends_row):
            m.d.sync += line.eq(line >> 1)
        with m.Elif(gathers | (state == _State.EXTEND) & (extended != 0)):
            shifts = ~gathers | begins_row
            m.d.sync += line.eq(shifted_in(line, entry.element, tops, shifts))

        m.d.comb += [
            asks.entry.eq(entry),
            asks.start.eq(self.start & ~transfer.is_store),
            asks.next.eq(asks.valid & request.valid & request.ready),
            places.entry.eq(entry),
            places.start.eq(self.start),
            response.ready.eq(state == _State.TAKE),
            request.valid.eq(asks.valid | (state == _State.GIVE)),
            request.payload.line.eq(Mux(transfer.is_store, places.line, asks.line)),
            request.payload.write.eq(transfer.is_store.replicate(LINE_WORDS)),
            request.payload.data.eq(line),
            self.busy.eq(places.valid),
            self.is_outside.eq(Mux(transfer.is_store, places.is_outside, asks.is_outside)),
            self.is_beyond.eq(Mux(transfer.is_store, places.is_beyond, asks.is_beyond)),
        ]
        begins = Mux(transfer.is_store, _State.GATHER, _State.TAKE)
        next_line = Signal()
        m.d.comb += places.next.eq(next_line)
        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += [row.eq(0), piece.eq(0)]
                with m.If(self.start):
                    m.d.sync += state.eq(begins)
            with m.Case(_State.TAKE):
                with m.If(response.valid):
                    m.d.sync += state.eq(_State.SCATTER)
            with m.Case(_State.SCATTER):
                m.d.comb += next_line.eq(ends_line)
            with m.Case(_State.GATHER):
                m.d.sync += extended.eq(0)
                with m.If(ends_line):
                    m.d.sync += state.eq(_State.EXTEND)
            with m.Case(_State.EXTEND):
                m.d.sync += extended.eq(extended + 1)
                with m.If(is_extended):
                    m.d.sync += state.eq(_State.GIVE)
            with m.Case(_State.GIVE):
                m.d.comb += next_line.eq(request.ready)
        with m.If(next_line):
            m.d.sync += state.eq(Mux(places.is_last, _State.IDLE, begins))
        return m


def _least(a: Value, b: Value) -> Value:
    return Mux(a < b, a, b)


def _at_size(size: Value, function: Any) -> Value:
    """What ``function`` gives for 2^``size`` bits of a word."""
    found = function(WORD_BITS)
    for stage in range(5):
        found = Mux(size == stage, function(1 << stage), found)
    return Cat(found)[:WORD_BITS]
