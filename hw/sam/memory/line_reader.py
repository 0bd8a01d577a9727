"""Reads an array's rows from lines, of which it keeps a few and asks for the next ones ahead."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import position
from gnarl.hw.lib.lines.line_port import line_data
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.select import at_index
from gnarl.hw.lib.stream.memory_ports import ReadPort
from gnarl.hw.lib.stream.queue import Queue


def line_fetch(line_bits: int, slots: int) -> data.StructLayout:
    """A line to read, and the slot that it is for."""
    return data.StructLayout({"line": line_bits, "slot": (slots - 1).bit_length()})


class LineReader(Instanced):
    """Answers reads of an array's rows, in order, from ``slots`` lines that it keeps.

    A row whose line is kept, or under way, is accepted at once, another one as soon as there is a
    slot for its line: slots are given in turn, and one is free if its line has come and no answer
    from it is due. A row's answer is offered two cycles after it was accepted at the earliest, and
    two after its line has come.

    Where a row is of the line behind the last row's, or the first one of all, the ``ahead`` lines
    behind its own are asked for, too, as far as the array has them, one a cycle, those of rows
    first; a row of yet another line ends that, and so does ``ends``.

    Parameters: ``address_bits`` of rows; ``width``, ``words`` of a row; ``line_bits`` of addresses;
    ``line_words``; ``slots``, a power of two, at least 2; ``ahead`` < ``slots``; ``in_flight`` >=
    2, rows that wait for answers.

    Members: ``port``, a ``ReadPort`` in; ``base``, ``end`` in: the array's first line, and the one
    behind its last; ``ends`` in; ``fetch`` out, a stream of ``line_fetch``; ``come``, ``slot``,
    ``data`` in: a line that has come.
    """

    def __init__(
        self,
        address_bits: int,
        width: int,
        words: int,
        line_bits: int,
        line_words: int,
        slots: int,
        ahead: int,
        in_flight: int,
    ) -> None:
        self._width = width
        self._words = words
        self._stride = 1 << (words - 1).bit_length()
        self._rows = line_words // self._stride
        self._line_words = line_words
        self._line_bits = line_bits
        self._slots = slots
        self._ahead = ahead
        self._in_flight = in_flight
        self._slot_bits = (slots - 1).bit_length()
        super().__init__(
            {
                "port": In(ReadPort(address_bits, width, words)),
                "base": In(line_bits),
                "end": In(line_bits + 1),
                "ends": In(1),
                "fetch": Out(stream.Signature(line_fetch(line_bits, slots))),
                "come": In(1),
                "slot": In(self._slot_bits),
                "data": In(line_data(line_words)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        slots = range(self._slots)
        offset_bits = (self._rows - 1).bit_length()
        lines = [Signal(self._line_bits, name=f"line_{slot}") for slot in slots]
        used, here = Signal(self._slots), Signal(self._slots)
        due = [Signal(range(self._in_flight + 2), name=f"due_{slot}") for slot in slots]
        waits = data.StructLayout({"slot": self._slot_bits, "offset": offset_bits})
        m.submodules.waiting = waiting = Queue(waits, self._in_flight)
        m.submodules.fetches = fetches = Queue(self.fetch.payload.shape(), 2)
        m.d.comb += [
            self.fetch.valid.eq(fetches.o.valid),
            self.fetch.payload.eq(fetches.o.payload),
            fetches.o.ready.eq(self.fetch.ready),
        ]

        # A row finds its line in a slot, or is given the next one.
        address = self.port.address
        line = Signal(self._line_bits)
        found = Signal(self._slots)
        next_slot = Signal(self._slot_bits)
        asks, accepts, is_free = Signal(), Signal(), Signal()
        m.d.comb += [
            line.eq(self.base + (address.payload >> offset_bits)),
            found.eq(Cat(used[slot] & (lines[slot] == line) for slot in slots)),
            is_free.eq(
                (Array(due)[next_slot] == 0)
                & (~Array(used)[next_slot] | Array(here)[next_slot])
                & fetches.i.ready
            ),
            asks.eq(address.valid & waiting.i.ready),
            accepts.eq(asks & (found.any() | is_free)),
            address.ready.eq(accepts),
            waiting.i.valid.eq(accepts),
            waiting.i.payload.slot.eq(Mux(found.any(), position(found), next_slot)),
            waiting.i.payload.offset.eq(address.payload[:offset_bits]),
        ]

        next_line, takes_ahead = self._look_ahead(
            m, asks, accepts, line, found, next_slot, is_free, lines, used
        )
        gives = Signal()
        m.d.comb += [
            gives.eq(accepts & ~found.any() | takes_ahead),
            fetches.i.valid.eq(gives),
            fetches.i.payload.line.eq(Mux(takes_ahead, next_line, line)),
            fetches.i.payload.slot.eq(next_slot),
        ]
        answered = self._answer(m, waiting.o, here)
        with m.If(gives):
            m.d.sync += next_slot.eq(next_slot + 1)
        for slot in slots:
            is_given = gives & (next_slot == slot)
            with m.If(is_given):
                m.d.sync += [
                    used[slot].eq(1),
                    here[slot].eq(0),
                    lines[slot].eq(fetches.i.payload.line),
                ]
            with m.Elif(self.come & (self.slot == slot)):
                m.d.sync += here[slot].eq(1)
            is_asked = accepts & (waiting.i.payload.slot == slot)
            is_answered = answered & (waiting.o.payload.slot == slot)
            m.d.sync += due[slot].eq(due[slot] + is_asked - is_answered)
        return m

    def _look_ahead(
        self,
        m: Module,
        asks: Signal,
        accepts: Signal,
        line: Signal,
        found: Signal,
        next_slot: Signal,
        is_free: Signal,
        lines: list[Signal],
        used: Signal,
    ) -> tuple[Signal, Signal]:
        """The next line to ask for ahead, and whether it is given the next slot."""
        next_line, left = Signal(self._line_bits), Signal(range(self._ahead + 1))
        takes = Signal()
        if not self._ahead:
            return next_line, takes
        last, has_last = Signal(self._line_bits), Signal()
        is_kept, wants = Signal(), Signal()
        m.d.comb += [
            is_kept.eq(
                Cat(u & (each == next_line) for u, each in zip(used, lines, strict=True)).any()
            ),
            # Rows come first, and one of a line that is kept still needs its slot.
            wants.eq((left != 0) & ~self.ends & ~(asks & ~found.any())),
            takes.eq(wants & ~is_kept & is_free & ~(asks & Array(found)[next_slot])),
        ]
        behind: Value = self.end - line - 1
        with m.If(accepts & ~(has_last & (last == line))):
            m.d.sync += [
                last.eq(line),
                has_last.eq(1),
                next_line.eq(line + 1),
                left.eq(
                    Mux(
                        ~has_last | (line == last + 1),
                        Mux(behind < self._ahead, behind, self._ahead),
                        0,
                    )
                ),
            ]
        with m.Elif(takes | wants & is_kept):
            m.d.sync += [next_line.eq(next_line + 1), left.eq(left - 1)]
        return next_line, takes

    def _answer(self, m: Module, waiting: Any, here: Signal) -> Signal:
        """Answers the rows that wait, in order; whether the first of them is read from its slot."""
        m.submodules.kept = kept = TwoPortRam(self._slots, 32 * self._line_words)
        answer = self.port.data
        is_shown, reads = Signal(), Signal()
        offset = Signal.like(waiting.payload.offset)
        row = self._stride * 32
        m.d.comb += [
            kept.write_address.eq(self.slot),
            kept.write_enable.eq(self.come),
            kept.write_data.eq(self.data),
            kept.read_address.eq(waiting.payload.slot),
            kept.read_enable.eq(reads),
            reads.eq(
                waiting.valid & Array(here)[waiting.payload.slot] & (~is_shown | answer.ready)
            ),
            waiting.ready.eq(reads),
            answer.valid.eq(is_shown),
        ]
        rows = [kept.read_data[row * at :][:row] for at in range(self._rows)]
        shown = at_index(rows, offset)
        for word in range(self._words):
            m.d.comb += answer.payload[word].eq(shown[32 * word :][: self._width])
        with m.If(reads):
            m.d.sync += [is_shown.eq(1), offset.eq(waiting.payload.offset)]
        with m.Elif(answer.ready):
            m.d.sync += is_shown.eq(0)
        return reads
