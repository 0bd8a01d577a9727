"""Writes that wait for others to the same line."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import WORD_BITS, LinePort
from gnarl.hw.lib.memory.ram import TwoPortRam


class WriteBuffer(wiring.Component):
    """Keeps the words written to up to ``entries`` lines, so that a word written again is not
    written twice below.

    Lines leave in the order in which they came: one, while there is no room for another; all up to
    that of a read, before the read; all, while ``drain``. Otherwise they stay. A write is accepted
    in every cycle that finds room; a read passes in 0 cycles, responses as they come. What is
    written below is ``cached`` and ``temporal``.

    Parameters: ``entries`` >= 2; ``line_bits``, ``line_words``, ``tag_bits`` of both ports.

    Members: ``up``, a ``LinePort`` in; ``down``, a ``LinePort`` out; ``drain`` in. ``up`` is not
    idle while a line is kept.
    """

    def __init__(self, entries: int, line_bits: int, line_words: int, tag_bits: int) -> None:
        self._entries = entries
        self._words = line_words
        port = LinePort(line_bits, line_words, tag_bits)
        super().__init__({"up": In(port), "down": Out(port), "drain": In(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        asked, request = self.up.request, self.down.request
        line = asked.payload.line
        is_write = Signal()
        m.d.comb += is_write.eq(asked.valid & asked.payload.write.any())

        # Entries from ``oldest`` on are in use; the one that leaves is none of them any more.
        numbers = range(self._entries)
        oldest, next_free = Signal(numbers), Signal(numbers)
        used = Signal(self._entries)
        lines = [Signal.like(line, name=f"line_{entry}") for entry in numbers]
        masks = [Signal(self._words, name=f"mask_{entry}") for entry in numbers]
        found = Signal(self._entries)
        leaves, is_leaving = Signal(), Signal()
        leaving_line, leaving_mask = Signal.like(line), Signal(self._words)
        m.d.comb += found.eq(Cat(each == line for each in lines) & used)

        is_full = used.all()
        writes, begins = Signal(), Signal()
        m.d.comb += [
            writes.eq(is_write & (found.any() | ~is_full)),
            begins.eq(writes & ~found.any()),
        ]
        entry = self._write(m, writes, begins, found, next_free, lines, masks)

        # The oldest line leaves: a cycle to read it, then it goes down.
        passes = Signal()
        is_read = Signal()
        waits_for_older = Signal()
        wanted = (is_write & ~found.any() & is_full) | (is_read & found.any()) | self.drain
        m.d.comb += [
            is_read.eq(asked.valid & ~asked.payload.write.any()),
            waits_for_older.eq(found.any() | is_leaving),
            passes.eq(is_read & ~waits_for_older),
            # What is offered below stays until it is taken. A write to the oldest goes first.
            leaves.eq(
                wanted
                & Array(used)[oldest]
                & ~is_leaving
                & ~(passes & ~request.ready)
                & ~(writes & (entry == oldest))
            ),
        ]
        with m.If(leaves):
            m.d.sync += [
                oldest.eq(_next(oldest, self._entries)),
                is_leaving.eq(1),
                leaving_line.eq(Array(lines)[oldest]),
                leaving_mask.eq(Array(masks)[oldest]),
            ]
        with m.Elif(request.ready):
            m.d.sync += is_leaving.eq(0)
        with m.If(begins):
            m.d.sync += next_free.eq(_next(next_free, self._entries))
        ends = Mux(leaves, 1 << oldest, 0)
        m.d.sync += used.eq((used & ~ends) | Mux(begins, 1 << next_free, 0))

        m.d.comb += [
            request.valid.eq(is_leaving | passes),
            request.payload.eq(asked.payload),
            asked.ready.eq(Mux(is_read, passes & request.ready, writes)),
            self.up.idle.eq(~used.any() & ~is_leaving & self.down.idle),
        ]
        with m.If(is_leaving):
            m.d.comb += [
                request.payload.line.eq(leaving_line),
                request.payload.write.eq(leaving_mask),
                request.payload.cached.eq(1),
                request.payload.temporal.eq(1),
            ]
        self._add_words(m, entry, writes, oldest, leaves, is_leaving)
        answer = self.down.response
        m.d.comb += [
            self.up.response.valid.eq(answer.valid),
            self.up.response.payload.eq(answer.payload),
            answer.ready.eq(self.up.response.ready),
        ]
        return m

    def _write(
        self,
        m: Module,
        writes: Signal,
        begins: Signal,
        found: Signal,
        next_free: Signal,
        lines: list[Signal],
        masks: list[Signal],
    ) -> Signal:
        """The entry of a write, which notes its line and words: one with that line, or a free
        one."""
        asked = self.up.request.payload
        entry = Signal(range(self._entries))
        m.d.comb += entry.eq(next_free)
        for number in range(self._entries):
            with m.If(found[number]):
                m.d.comb += entry.eq(number)
            with m.If(writes & (entry == number)):
                kept = Mux(begins, 0, masks[number])
                m.d.sync += [
                    lines[number].eq(asked.line),
                    masks[number].eq(kept | asked.write),
                ]
        return entry

    def _add_words(
        self,
        m: Module,
        entry: Signal,
        writes: Signal,
        oldest: Signal,
        leaves: Signal,
        is_leaving: Signal,
    ) -> None:
        """Memories of words: what is written to an entry, and the words of the line that leaves."""
        asked, request = self.up.request, self.down.request
        for word in range(self._words):
            m.submodules[f"word_{word}"] = ram = TwoPortRam(self._entries, WORD_BITS)
            m.d.comb += [
                ram.write_address.eq(entry),
                ram.write_enable.eq(writes & asked.payload.write[word]),
                ram.write_data.eq(asked.payload.data[word]),
                ram.read_address.eq(oldest),
                ram.read_enable.eq(leaves),
            ]
            with m.If(is_leaving):
                m.d.comb += request.payload.data[word].eq(ram.read_data)


def _next(number: Signal, count: int) -> Any:
    return Mux(number == count - 1, 0, number + 1)
