"""A set of numbers in memory: one goes in a cycle, and they come out in order, one a cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.lib.memory.ram import TwoPortRam

WORD_BITS = 64
"""Bits of a word of a bitmap."""

LEAST_SIZE = 2 * WORD_BITS
"""The least ``size`` of a ``SortedSet``."""


def numbers(bits: int) -> stream.Signature:
    """A stream of rising numbers, of which ``last`` marks the greatest."""
    return stream.Signature(data.StructLayout({"number": bits, "last": 1}))


class SortedSet(wiring.Component):
    """Takes any number below ``size`` in any order, and gives each that came once, in order.

    A hierarchy of bitmaps: a bit for each number, above it a bit for each word of bits that has a
    1, and so on up to a register. Coming out, every word on the way holds at least one number, so
    the numbers come one a cycle whatever lies between them. What a word holds counts only if its
    bit above is set, so no memory has to be cleared, neither after a reset nor between two sets.

    Parameters: ``size``, a power of two, at least ``LEAST_SIZE``.

    Members: ``insert_valid``, ``insert``: a number goes in. ``found`` out, a cycle later: it was
    in before. ``drain`` in: ``numbers`` gives what is in and forgets it. It is set no sooner than
    two cycles after the last ``insert_valid``, and stays until ``last`` is taken; from then on the
    set is empty and ready for more.

    Latency: the first number is offered ``latency(size)`` cycles after ``drain`` is set.
    """

    def __init__(self, size: int) -> None:
        self._bits = (size - 1).bit_length()
        self._rows = _rows(size)
        super().__init__(
            {
                "insert_valid": In(1),
                "insert": In(self._bits),
                "found": Out(1),
                "drain": In(1),
                "numbers": Out(numbers(self._bits)),
            }
        )

    @staticmethod
    def latency(size: int) -> int:
        """Cycles from ``drain`` to the first number, if it is taken on as it comes."""
        return len(_rows(size))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word_bits = (WORD_BITS - 1).bit_length()

        top_number = Signal(range(self._rows[-1]))
        top = Signal(self._rows[-1])
        top_bit = (1 << top_number)[: len(top)]
        lowest = lowest_one(top)
        inserted = Signal()
        m.d.sync += [
            inserted.eq(self.insert_valid),
            top_number.eq(self.insert >> word_bits * len(self._rows)),
        ]
        source = numbers(len(top_number)).create()
        m.d.comb += [
            source.valid.eq(self.drain & top.any()),
            source.payload.number.eq(position(lowest)),
            source.payload.last.eq(top == lowest),
        ]
        with m.If(inserted):
            m.d.sync += top.eq(top | top_bit)
        with m.Elif(source.valid & source.ready):
            m.d.sync += top.eq(top & ~lowest)

        found: Value = (top & top_bit).any()
        for depth in reversed(range(len(self._rows))):
            m.submodules[f"bitmap_{depth}"] = bitmap = Bitmap(self._rows[depth])
            m.d.comb += [
                bitmap.insert_valid.eq(self.insert_valid),
                bitmap.insert.eq(self.insert >> word_bits * depth),
                bitmap.row_found.eq(found),
            ]
            wiring.connect(m, source, bitmap.rows)
            found, source = bitmap.found, bitmap.numbers
        m.d.comb += self.found.eq(found)
        wiring.connect(m, source, wiring.flipped(self.numbers))
        return m


def _rows(size: int) -> list[int]:
    """Words of each bitmap in memory, those of single numbers first."""
    rows = [size // WORD_BITS]
    while rows[-1] > WORD_BITS:
        rows.append(rows[-1] // WORD_BITS)
    return rows


class Bitmap(wiring.Component):
    """One bitmap of a ``SortedSet``: two ``rows`` or more in a memory, a bit for each number.

    Members: ``insert_valid``, ``insert``: a number's bit is set. A cycle later: ``row_found`` in,
    its row held something before; ``found`` out, and so it did itself. ``rows`` in: rows that hold
    something; ``numbers`` out: what they hold. Nothing may be inserted while there are ``rows``.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._row_bits = (rows - 1).bit_length()
        super().__init__(
            {
                "insert_valid": In(1),
                "insert": In((rows * WORD_BITS - 1).bit_length()),
                "row_found": In(1),
                "found": Out(1),
                "rows": In(numbers(self._row_bits)),
                "numbers": Out(numbers((rows * WORD_BITS - 1).bit_length())),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.ram = words = TwoPortRam(self._rows, WORD_BITS)
        layout = data.StructLayout({"bit": (WORD_BITS - 1).bit_length(), "row": self._row_bits})
        taken = self.rows.valid & self.rows.ready
        m.d.comb += [
            words.read_enable.eq(self.insert_valid | taken),
            words.read_address.eq(
                Mux(self.insert_valid, data.View(layout, self.insert).row, self.rows.payload.number)
            ),
        ]
        self._insert(m, layout, words)
        self._expand(m, words.read_data)
        return m

    def _insert(self, m: Module, layout: data.StructLayout, words: TwoPortRam) -> None:
        """Reads the number's word in its first cycle, and writes it with its bit in the second."""
        inserted = Signal()
        number = Signal(layout)
        m.d.sync += [inserted.eq(self.insert_valid), number.eq(self.insert)]

        # What was written last went in while the word at hand was read.
        written_valid = Signal()
        written_row = Signal.like(number.row)
        written = Signal(WORD_BITS)
        word = Signal(WORD_BITS)
        bit = (1 << number.bit)[:WORD_BITS]
        with m.If(written_valid & (written_row == number.row)):
            m.d.comb += word.eq(written)
        with m.Else():
            m.d.comb += word.eq(words.read_data)
        m.d.comb += [
            self.found.eq(self.row_found & (word & bit).any()),
            words.write_enable.eq(inserted),
            words.write_address.eq(number.row),
            words.write_data.eq(Mux(self.row_found, word, 0) | bit),
        ]
        m.d.sync += [
            written_valid.eq(inserted),
            written_row.eq(number.row),
            written.eq(words.write_data),
        ]

    def _expand(self, m: Module, word: Value) -> None:
        """Gives the ones of the row that was taken last, then takes the next one at once."""
        row = Signal.like(self.rows.payload)
        busy = Signal()
        given = Signal(WORD_BITS)
        left = Signal(WORD_BITS)
        lowest = Signal(WORD_BITS)
        out = self.numbers
        ends = left == lowest
        m.d.comb += [
            left.eq(word & ~given),
            lowest.eq(lowest_one(left)),
            out.valid.eq(busy),
            out.payload.number.eq(Cat(position(lowest), row.number)),
            out.payload.last.eq(row.last & ends),
            self.rows.ready.eq(~busy | (out.ready & ends)),
        ]
        with m.If(out.ready):
            m.d.sync += given.eq(given | lowest)
        with m.If(self.rows.ready):
            m.d.sync += [busy.eq(self.rows.valid), row.eq(self.rows.payload), given.eq(0)]
