"""Splits vectors of words into lines, and joins these again."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.lane_port import LanePort
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.memory.ram import TwoPortRam

OFFSET_BITS = (LINE_WORDS - 1).bit_length()

PART_BITS = 2
"""Bits of a line's tag above the vector's: whether it is the second line, and of a prefetch."""


class LineSplitter(wiring.Component):
    """Reads and writes vectors of words in the one line or the two lines that they lie in.

    A request for words of two lines takes two cycles, any other one; a response comes a cycle after
    its last line. All lines are cached, and stay in caches.

    Parameters: ``lanes``; ``address_bits`` of words; ``tag_bits``.

    Members: ``up``, a ``LanePort`` in; ``down``, a ``LinePort`` out with ``PART_BITS`` more bits of
    tags.
    """

    def __init__(self, lanes: int, address_bits: int, tag_bits: int) -> None:
        self._lanes = lanes
        self._tag_bits = tag_bits
        line_bits = address_bits - OFFSET_BITS
        super().__init__(
            {
                "up": In(LanePort(address_bits, lanes, tag_bits)),
                "down": Out(LinePort(line_bits, LINE_WORDS, tag_bits + PART_BITS)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        # What a response needs to know of its request, by tag.
        m.submodules.offsets = offsets = TwoPortRam(1 << self._tag_bits, OFFSET_BITS + 1)
        is_half_asked = self._ask(m, offsets)
        is_answering = self._answer(m, offsets)
        m.d.comb += self.up.idle.eq(self.down.idle & ~is_half_asked & ~is_answering)
        return m

    def _ask(self, m: Module, offsets: TwoPortRam) -> Signal:
        """Gives whether the first line of a request has been asked for, and not the second."""
        asked, request = self.up.request.payload, self.down.request
        offset = asked.address[:OFFSET_BITS]
        first, second = Signal(self._lanes), Signal(self._lanes)
        for lane in range(self._lanes):
            is_first = offset < LINE_WORDS - lane
            m.d.comb += [
                first[lane].eq(asked.lanes[lane] & is_first),
                second[lane].eq(asked.lanes[lane] & ~is_first),
            ]
        has_both, is_second, is_half_asked = Signal(), Signal(), Signal()
        accepted = Signal()
        m.d.comb += [
            has_both.eq(first.any() & second.any()),
            is_second.eq(is_half_asked | ~first.any()),
            accepted.eq(request.valid & request.ready),
            request.valid.eq(self.up.request.valid),
            request.payload.line.eq(asked.address[OFFSET_BITS:] + is_second),
            request.payload.tag.eq(Cat(asked.tag, is_second, asked.prefetch)),
            request.payload.cached.eq(1),
            request.payload.temporal.eq(1),
            self.up.request.ready.eq(request.ready & (is_half_asked | ~has_both)),
            offsets.write_address.eq(asked.tag),
            offsets.write_enable.eq(accepted & ~asked.write & ~asked.prefetch),
            offsets.write_data.eq(Cat(offset, has_both)),
        ]
        with m.If(accepted):
            m.d.sync += is_half_asked.eq(has_both & ~is_half_asked)
        lanes = Mux(is_second, second, first)
        words, in_use = Array(asked.data), Array(lanes)
        for word in range(LINE_WORDS):
            lane = Signal(OFFSET_BITS, name=f"lane_{word}")
            m.d.comb += lane.eq(word - offset)
            m.d.comb += request.payload.data[word].eq(words[lane[: self._lane_bits]])
            is_lane = lane < self._lanes
            writes = asked.write & is_lane & in_use[lane[: self._lane_bits]]
            m.d.comb += request.payload.write[word].eq(writes)
        return is_half_asked

    def _answer(self, m: Module, offsets: TwoPortRam) -> Signal:
        """Gives whether a line is held."""
        come, answer = self.down.response, self.up.response
        m.submodules.halves = halves = TwoPortRam(1 << self._tag_bits, 32 * self._lanes)
        has_line, leaves = Signal(), Signal()
        line = Signal.like(come.payload.data)
        tag = Signal(self._tag_bits)
        is_second = Signal()
        is_dropped = come.payload.tag[-1]
        m.d.comb += [
            come.ready.eq(~has_line | leaves),
            offsets.read_address.eq(come.payload.tag),
            offsets.read_enable.eq(come.valid & come.ready),
            halves.read_address.eq(come.payload.tag),
            halves.read_enable.eq(come.valid & come.ready),
        ]
        with m.If(come.valid & come.ready):
            m.d.sync += [
                has_line.eq(~is_dropped),
                line.eq(come.payload.data),
                Cat(tag, is_second).eq(come.payload.tag),
            ]
        with m.Elif(leaves):
            m.d.sync += has_line.eq(0)

        offset, has_both = Signal(OFFSET_BITS), Signal()
        m.d.comb += Cat(offset, has_both).eq(offsets.read_data)
        words = Array(line)
        turned = [Signal(32, name=f"turned_{lane}") for lane in range(self._lanes)]
        # A half that comes right behind the other is not read from memory yet.
        newest, newest_tag = Signal(32 * self._lanes), Signal(self._tag_bits)
        half = Signal(32 * self._lanes)
        m.d.comb += half.eq(Mux(newest_tag == tag, newest, halves.read_data))
        for lane, word in enumerate(turned):
            place = Signal(OFFSET_BITS, name=f"place_{lane}")
            is_first = offset < LINE_WORDS - lane
            kept: Value = half.word_select(lane, 32)
            m.d.comb += [
                place.eq(offset + lane),
                word.eq(words[place]),
                answer.payload.data[lane].eq(Mux(has_both & (is_first == is_second), kept, word)),
            ]

        # The half that comes first waits for the other.
        waiting = Signal(1 << self._tag_bits)
        keeps = Signal()
        m.d.comb += [
            keeps.eq(has_line & has_both & ~Array(waiting)[tag]),
            answer.valid.eq(has_line & ~keeps),
            answer.payload.tag.eq(tag),
            leaves.eq(keeps | (answer.valid & answer.ready)),
            halves.write_address.eq(tag),
            halves.write_enable.eq(keeps),
            halves.write_data.eq(Cat(turned)),
        ]
        with m.If(keeps):
            m.d.sync += [newest.eq(Cat(turned)), newest_tag.eq(tag), Array(waiting)[tag].eq(1)]
        with m.Elif(leaves):
            m.d.sync += Array(waiting)[tag].eq(0)
        return has_line

    @property
    def _lane_bits(self) -> int:
        return (self._lanes - 1).bit_length()
