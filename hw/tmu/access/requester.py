"""Makes requests for lines of runs, and words in streams' queues of lines."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.tmu.access.run import following, run_layout
from gnarl.hw.tmu.access.stream_store import write_signature
from gnarl.hw.tmu.config import MAX_LAYERS


def line_request(line_bits: int, tag_bits: int) -> data.StructLayout:
    """A read of line ``line``; ``cached``: through the cache, ``temporal``: where it stays."""
    return data.StructLayout(
        {
            "line": unsigned(line_bits),
            "tag": unsigned(tag_bits),
            "cached": unsigned(1),
            "temporal": unsigned(1),
        }
    )


def line_answer(tag_bits: int) -> data.StructLayout:
    """The words of the line that was asked for with ``tag``."""
    return data.StructLayout(
        {"tag": unsigned(tag_bits), "data": data.ArrayLayout(unsigned(32), LINE_WORDS)}
    )


class Requester(wiring.Component):
    """Asks for the line of each run, up to ``requests`` at a time, and hands out its words.

    Lines may come in any order. From a line's coming to its first word's writing: a cycle, for
    layers of one unit two; then a slot of a wide run, or a word of another, a cycle. A line of
    layers of one unit is handed out while others are. A run is asked for in the cycle it is taken.

    Members: ``runs`` in, a stream of ``run_layout``; ``request`` out, one of ``line_request``;
    ``answer`` in, one of ``line_answer``; ``write`` out, a ``write_signature`` that is always
    obeyed, with ``is_coordinates`` and ``layer`` out, of its run; ``write_single`` out, the same
    for layers of one unit; ``under_way`` out: how many lines are asked for and not handed out;
    ``waits_request``, ``waits_memory`` out: a run waits, because so many are, or for ``request``.
    """

    def __init__(self, lanes: int, rows: int, line_bits: int, requests: int) -> None:
        self._lanes = lanes
        self._requests = requests
        self._run = run_layout(lanes, rows, line_bits)
        tag_bits = max(1, (requests - 1).bit_length())
        super().__init__(
            {
                "runs": In(stream.Signature(self._run)),
                "request": Out(stream.Signature(line_request(line_bits, tag_bits))),
                "answer": In(stream.Signature(line_answer(tag_bits))),
                "write": Out(write_signature(lanes, rows)),
                "write_single": Out(write_signature(1, rows)),
                "is_coordinates": Out(1),
                "layer": Out(range(MAX_LAYERS)),
                "under_way": Out(range(requests + 1)),
                "waits_request": Out(1),
                "waits_memory": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        request, runs = self.request, self.runs
        m.submodules.table = table = TwoPortRam(self._requests, self._run.size)
        taken = Signal(self._requests)
        free = lowest_one(~taken)
        tag = position(free)
        begins = Signal()
        m.d.comb += [
            begins.eq(request.valid & request.ready),
            request.valid.eq(runs.valid & ~taken.all()),
            request.payload.line.eq(runs.payload.line),
            request.payload.tag.eq(tag),
            request.payload.cached.eq(runs.payload.cached),
            request.payload.temporal.eq(runs.payload.temporal),
            runs.ready.eq(request.ready & ~taken.all()),
            self.waits_request.eq(runs.valid & taken.all()),
            self.waits_memory.eq(request.valid & ~request.ready),
            table.write_address.eq(tag),
            table.write_enable.eq(begins),
            table.write_data.eq(runs.payload.as_value()),
        ]
        ends, done_tag = self._hand_out(m, table)
        m.d.sync += taken.eq((taken | Mux(begins, free, 0)) & ~Mux(ends, 1 << done_tag, 0))
        m.d.sync += self.under_way.eq(self.under_way + begins - ends)
        return m

    def _hand_out(self, m: Module, table: TwoPortRam) -> tuple[Signal, Signal]:
        """Writes the words of one line after the other. Gives when one ends, and its tag."""
        answer, write, lanes = self.answer, self.write, self._lanes
        is_busy, is_first, ends = Signal(), Signal(), Signal()
        line = Signal.like(answer.payload.data)
        tag = Signal.like(answer.payload.tag)
        starts = answer.valid & answer.ready
        m.d.comb += [
            answer.ready.eq(~is_busy | ends),
            table.read_address.eq(answer.payload.tag),
            table.read_enable.eq(starts),
        ]
        with m.If(starts):
            m.d.sync += [
                line.eq(answer.payload.data),
                tag.eq(answer.payload.tag),
                is_busy.eq(1),
                is_first.eq(1),
            ]
        with m.Elif(is_busy):
            m.d.sync += [is_first.eq(0), is_busy.eq(~ends)]

        # What is left of the run: all of it at first.
        whole = Signal(self._run)
        rest = Signal(self._run)
        left = Signal(self._run)
        m.d.comb += [
            whole.eq(table.read_data),
            left.eq(Mux(is_first, whole.as_value(), rest.as_value())),
        ]
        room = Mux(left.wide, lanes - left.lane, 1)
        words = Signal(range(LINE_WORDS + 1))
        writes, passes_on = Signal(), Signal()
        takes_single = self._hand_out_single(m, passes_on, line, left)
        m.d.comb += [
            words.eq(Mux(left.count < room, left.count, room)),
            writes.eq(is_busy & ~left.single),
            passes_on.eq(is_busy & left.single & takes_single),
            ends.eq(passes_on | (writes & (left.count == words))),
        ]
        m.d.sync += rest.eq(left)
        with m.If(writes):
            m.d.sync += [
                rest.count.eq(left.count - words),
                rest.offset.eq(left.offset + words),
                rest.slot.eq(following(left.slot, left.queue)),
                rest.lane.eq(Mux(left.wide, 0, left.lane)),
            ]
        self._spread(m, line, left, words, writes, ends & left.pads)
        m.d.comb += [
            write.row.eq(left.slot.row),
            write.phase.eq(left.slot.phase),
            self.is_coordinates.eq(left.is_coordinates),
            self.layer.eq(left.layer),
        ]
        return ends, tag

    def _spread(
        self, m: Module, line: Signal, left: Any, words: Signal, writes: Signal, pads: Value
    ) -> None:
        """Lanes' words of a line."""
        write = self.write
        words_of_line = Array(line)
        for lane in range(self._lanes):
            # Lanes before the run's come behind all of its words, modulo a line.
            behind = Signal(range(LINE_WORDS), name=f"behind_{lane}")
            place = Signal(range(LINE_WORDS), name=f"place_{lane}")
            is_behind = pads & (left.lane < lane) if lane else 0
            m.d.comb += [
                behind.eq(lane - left.lane),
                place.eq(left.offset + behind),
                write.data[lane].eq(Mux(behind < words, words_of_line[place], 0)),
                write.lanes[lane].eq(writes & (behind < words) | is_behind),
            ]

    def _hand_out_single(self, m: Module, takes: Value, line: Any, run: Any) -> Signal:
        """Writes the words of lines of layers of one unit. Gives whether it ``takes`` one."""
        is_busy, is_ready = Signal(), Signal()
        held, left = Signal.like(line), Signal(self._run)
        write = self.write_single
        is_last = left.count == 1
        m.d.comb += [
            is_ready.eq(~is_busy | is_last),
            write.lanes.eq(is_busy),
            write.row.eq(left.slot.row),
            write.phase.eq(left.slot.phase),
            write.data[0].eq(Array(held)[left.offset]),
        ]
        with m.If(takes):
            m.d.sync += [is_busy.eq(1), held.eq(line), left.eq(run)]
        with m.Elif(is_busy):
            m.d.sync += [
                is_busy.eq(~is_last),
                left.count.eq(left.count - 1),
                left.offset.eq(left.offset + 1),
                left.slot.eq(following(left.slot, left.queue)),
            ]
        return is_ready
