"""A line of memory, or lines side by side, to tiles, transposed, and back.

Source: Infinity Stream, section 5.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.config import LINE_BITS
from gnarl.hw.sram_compute.isa import STORE, WIDTH_BITS
from gnarl.hw.sram_compute.transfer.layout_walker import ENTRY
from gnarl.hw.sram_compute.transfer.line_elements import high_bits, low_bits, shifted_in
from gnarl.hw.sram_compute.wide_lines import PAIR_BITS

_PAIR = 1 << PAIR_BITS


def tile_word_layout(wordlines: int, bitlines: int, tiles: int) -> data.StructLayout:
    """A word of a row of a tile: as ``bank.word_request_layout`` with pairs."""
    return data.StructLayout(
        {
            "tile": range(tiles),
            "row": range(wordlines),
            "group": range(bitlines // WORD_BITS),
            "write": WORD_BITS,
            "data": WORD_BITS,
            "is_pair": 1,
            "is_high": 1,
        }
    )


def transfer_layout(wordlines: int) -> data.StructLayout:
    """A transfer: as ``isa.LOAD``, or ``isa.STORE``."""
    return data.StructLayout(
        {
            "is_store": 1,
            "row": range(wordlines),
            "n": unsigned(WIDTH_BITS),
            "is_signed": 1,
            "hollow": 1,
            "before": STORE["before"].shape,
            "after": STORE["after"].shape,
        }
    )


class _State(enum.Enum):
    IDLE = 0
    SCATTER = 1
    GATHER = 2
    EXTEND = 3
    GIVE = 4


class _Piece(NamedTuple):
    """The piece of a row whose turn it is.

    size, first
        it has 2^``size`` elements, from this one of the line on.
    bitline, shift
        where it begins in a tile, and in a word of that.
    is_pair
        half of it is in that tile, half in the next one, on the same bitlines.
    ends_row, ends_line
        it is the last of its row; and that is the line's last.
    """

    size: Signal
    first: Signal
    bitline: Signal
    shift: Signal
    is_pair: Signal
    ends_row: Signal
    ends_line: Signal


class LineTransposer(Instanced):
    """Transposes a line. A row of a line is the same bit of all its elements; it goes to the tiles
    in pieces, each of neighbouring bitlines within a word, one a cycle. ``channels`` lines that are
    ``wide`` are one, whose pieces are whole words: of a tile, or half of a tile, half of the next.

    A line that is loaded takes a cycle for each piece of its ``n`` rows. A line that is stored
    takes as many, then one more, a cycle for each bit of an element that is none of the ``n``, and
    those until it is taken.

    Parameters: ``wordlines``, ``bitlines``, ``tiles``, ``channels``.

    Members
    -------
    transfer, entry
        in: a ``transfer_layout`` of the array with this ``ENTRY``, held while it is not ``idle``.
    wide
        in, held as they are: lines are wide. The first one is in the low bits, else the only one.
    start, tile, bitline, loaded
        in: begins a line, whose first element is there; what it holds, of a ``LOAD``.
    idle
        out: it has no line.
    gives, line, is_taken
        out, out, in: there is a line for memory; it; the last cycle of that.
    word, accesses
        out: a ``tile_word_layout``, and whether it is accessed.
    read
        in: the word that was read, in the cycle behind.
    """

    def __init__(self, wordlines: int, bitlines: int, tiles: int, channels: int = 1) -> None:
        self._bitlines = bitlines
        self._channels = channels
        self._most = channels * LINE_BITS // 8  # elements
        super().__init__(
            {
                "transfer": In(transfer_layout(wordlines)),
                "entry": In(ENTRY),
                "wide": In(1),
                "start": In(1),
                "tile": In(range(tiles)),
                "bitline": In(range(bitlines)),
                "loaded": In(channels * LINE_BITS),
                "idle": Out(1),
                "gives": Out(1),
                "line": Out(channels * LINE_BITS),
                "is_taken": In(1),
                "word": Out(tile_word_layout(wordlines, bitlines, tiles)),
                "accesses": Out(1),
                "read": In(WORD_BITS),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        transfer, entry = self.transfer, self.entry
        state, line = Signal(_State), self.line
        first_tile, first_bitline = Signal.like(self.tile), Signal.like(self.bitline)
        row, piece = Signal(WIDTH_BITS), Signal(range(self._most))
        extended = Signal(WIDTH_BITS)

        at = self._piece(m, row, piece, first_bitline)
        moves_on, ones = self._ask(m, at, state, row, first_tile)
        ends_row, ends_line = at.ends_row, at.ends_line
        with m.If(moves_on):
            m.d.sync += piece.eq(Mux(ends_row, 0, piece + 1))
            with m.If(ends_row):
                m.d.sync += row.eq(Mux(ends_line, 0, row + 1))

        gathers, begins_row, tops = self._read_bits(m, at, state, piece, ones)
        is_extended = Signal()
        m.d.comb += is_extended.eq(transfer.n + extended == (8 << entry.element))
        with m.If(self.start):
            m.d.sync += line.eq(self.loaded)
        with m.Elif((state == _State.SCATTER) & ends_row):
            m.d.sync += line.eq(line >> 1)
        with m.Elif(gathers | (state == _State.EXTEND) & (extended != 0)):
            shifts = ~gathers | begins_row
            m.d.sync += line.eq(shifted_in(line, entry.element, tops, shifts))

        m.d.comb += [self.idle.eq(state == _State.IDLE), self.gives.eq(state == _State.GIVE)]
        whole_line = [
            row.eq(0),
            piece.eq(0),
            extended.eq(0),
            first_tile.eq(self.tile),
            first_bitline.eq(self.bitline),
        ]
        self._move_on(m, state, whole_line, ends_line, extended, is_extended)
        return m

    def _piece(self, m: Module, row: Signal, piece: Signal, first_bitline: Signal) -> _Piece:
        entry = self.entry
        wide = self.wide if self._channels > 1 else Const(0)
        size, pieces = Signal(3), Signal(range(self._most + 1))
        first = Signal(range(self._most))
        bitline, shift = Signal(range(self._bitlines + 1)), Signal(range(WORD_BITS))
        is_pair, ends_row, ends_line = Signal(), Signal(), Signal()
        size_of_line = Signal(range(self._most.bit_length()))
        in_line = Mux(wide, (self._most - 1).bit_length(), (LINE_BITS // 8 - 1).bit_length())
        narrow = _least(_least(size_of_line, entry.tile[0]), Const(5))
        m.d.comb += [
            size_of_line.eq(in_line - entry.element),
            is_pair.eq(wide & (entry.tile[0] == PAIR_BITS)),
            size.eq(Mux(wide, 5, narrow)),
            pieces.eq(1 << (size_of_line - size)[:3]),
            first.eq(piece << size),
            bitline.eq(first_bitline + (first & ((1 << entry.tile[0]) - 1))),
            shift.eq(bitline),
            ends_row.eq(piece + 1 == pieces),
            ends_line.eq(ends_row & (row + 1 == self.transfer.n)),
        ]
        return _Piece(size, first, bitline, shift, is_pair, ends_row, ends_line)

    def _ask(
        self, m: Module, at: _Piece, state: Signal, row: Signal, first_tile: Signal
    ) -> tuple[Signal, Signal]:
        """Accesses a piece's word in the tiles: whether it does, and ones of a piece's length."""
        ones, written = Signal(WORD_BITS), Signal(WORD_BITS)
        piece_bits = Signal(WORD_BITS)
        bits_of_row = Signal(self._most)
        moves_on, word = Signal(), self.word
        tile_size = self.entry.tile[0]
        m.d.comb += [
            ones.eq(_at_size(at.size, lambda bits: Const((1 << bits) - 1, WORD_BITS))),
            bits_of_row.eq(low_bits(self.line, self.entry.element)),
            piece_bits.eq(bits_of_row >> at.first),
            word.tile.eq(first_tile + (at.first >> tile_size)),
            word.row.eq(self.transfer.row + row),
            word.group.eq(at.bitline >> (WORD_BITS - 1).bit_length()),
            written.eq(Mux(at.is_pair, (1 << _PAIR) - 1, ones) << at.shift),
            word.write.eq(Mux(state == _State.SCATTER, written, 0)),
            word.is_pair.eq(at.is_pair),
            word.is_high.eq(at.shift[-1]),
            word.data.eq(
                _at_size(at.size, lambda bits: piece_bits[:bits].replicate(WORD_BITS // bits))
            ),
            moves_on.eq((state == _State.SCATTER) | (state == _State.GATHER)),
            self.accesses.eq(moves_on),
        ]
        return moves_on, ones

    def _read_bits(
        self,
        m: Module,
        at: _Piece,
        state: Signal,
        piece: Signal,
        ones: Signal,
    ) -> tuple[Signal, Signal, Signal]:
        """Whether something was read a cycle ago, whether that begins a row, and the elements' next
        bits, which are those of the sign where nothing was read."""
        gathers, begins_row = Signal(), Signal()
        read_first, read_shift = Signal.like(at.first), Signal.like(at.shift)
        tops = Signal(self._most)
        m.d.sync += [
            gathers.eq(state == _State.GATHER),
            begins_row.eq(piece == 0),
            read_first.eq(at.first),
            read_shift.eq(Mux(at.is_pair, 0, at.shift)),
        ]
        read_bits = Signal(WORD_BITS)
        m.d.comb += read_bits.eq((self.read >> read_shift) & ones)
        with m.If(gathers):
            m.d.comb += tops.eq(read_bits << read_first)
        with m.Else():
            signs = high_bits(self.line, self.entry.element)
            m.d.comb += tops.eq(Mux(self.transfer.is_signed, signs, Const(0, self._most)))
        return gathers, begins_row, tops

    def _move_on(
        self,
        m: Module,
        state: Signal,
        whole_line: list[Any],
        ends_line: Signal,
        extended: Signal,
        is_extended: Signal,
    ) -> None:
        """From state to state; ``whole_line`` is done until a line begins."""
        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += whole_line
                with m.If(self.start):
                    is_store = self.transfer.is_store
                    m.d.sync += state.eq(Mux(is_store, _State.GATHER, _State.SCATTER))
            with m.Case(_State.SCATTER):
                with m.If(ends_line):
                    m.d.sync += state.eq(_State.IDLE)
            with m.Case(_State.GATHER):
                with m.If(ends_line):
                    m.d.sync += state.eq(_State.EXTEND)
            with m.Case(_State.EXTEND):
                m.d.sync += extended.eq(extended + 1)
                with m.If(is_extended):
                    m.d.sync += state.eq(_State.GIVE)
            with m.Case(_State.GIVE):
                with m.If(self.is_taken):
                    m.d.sync += state.eq(_State.IDLE)


def _least(a: Value, b: Value) -> Value:
    return Mux(a < b, a, b)


def _at_size(size: Value, function: Any) -> Value:
    """What ``function`` gives for 2^``size`` bits of a word."""
    found = function(WORD_BITS)
    for stage in range(5):
        found = Mux(size == stage, function(1 << stage), found)
    return Cat(found)[:WORD_BITS]
