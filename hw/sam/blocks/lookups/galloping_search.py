"""Galloping search: the first row of an ascending array that is not below what is sought."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

WALKED_ROWS = 16
"""Where no more rows than these are left, and answers take their time, walking is faster."""


class GallopingSearch(wiring.Component):
    """Probes rows at doubling distances, as many as come; then halves what lies between two.

    About 2 log2 n probes for n rows, one a cycle where answers come a cycle after their probes.
    Where they take longer, probes at doubling distances don't wait for them, those that halve do;
    so the search gives up when few rows are left.

    Parameters: ``width`` of rows and coordinates; ``in_flight``, most probes without an answer.

    Members:
        ``begin`` in, ``first``, ``end``, ``sought`` in: searches rows from ``first`` to before
        ``end``, of which there is one at least, for a coordinate that isn't below ``sought``; only
        when ``is_idle``;
        ``is_earlier`` in: what ``answer_crd`` shows comes from a row before ``first``, and ends the
        search if it isn't below ``sought``;
        ``is_idle``, ``is_active`` out: no search, and no probe without its answer; a search;
        ``probe`` out, a stream of rows to read;
        ``answer_valid``, ``answer_row``, ``answer_crd`` in: the answer to the oldest probe without
        one; ``answer_taken`` in: it is the last cycle in which it is shown;
        ``is_over`` out: the search ends, with the answer shown if ``has_found``, and goes on at
        ``resume``; ``has_found``, ``found_row``, ``found_crd`` out: what it has found.
    """

    def __init__(self, width: int, in_flight: int) -> None:
        self._width = width
        self._in_flight = in_flight
        super().__init__(
            {
                "begin": In(1),
                "first": In(width),
                "end": In(width),
                "sought": In(width),
                "is_earlier": In(1),
                "is_idle": Out(1),
                "is_active": Out(1),
                "probe": Out(stream.Signature(unsigned(width))),
                "answer_valid": In(1),
                "answer_row": In(width),
                "answer_crd": In(width),
                "answer_taken": In(1),
                "is_over": Out(1),
                "resume": Out(width),
                "has_found": Out(1),
                "found_row": Out(width),
                "found_crd": Out(width),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width = self._width
        sought = Signal(width)
        # What is sought lies at low or beyond, and not beyond high: that is the end, or, once
        # bounded, a row that was read.
        low, high, high_crd = Signal(width), Signal(width), Signal(width)
        is_bounded = Signal()

        is_below, is_relevant = Signal(), Signal()
        new_low, new_high = Signal(width), Signal(width)
        m.d.comb += [
            is_below.eq(self.answer_crd < sought),
            # Probes that went beyond the bound before it was known say nothing.
            is_relevant.eq(self.is_active & self.answer_valid & (self.answer_row < high)),
            new_low.eq(Mux(is_relevant & is_below, self.answer_row + 1, low)),
            new_high.eq(Mux(is_relevant & ~is_below, self.answer_row, high)),
        ]
        is_known = Signal()
        now_bounded = is_bounded | (is_relevant & ~is_below)
        is_exact = is_relevant & (self.answer_crd == sought)
        m.d.comb += [
            is_known.eq(is_relevant & (is_exact | (new_low == new_high))),
            self.has_found.eq(is_known & now_bounded),
            self.found_row.eq(new_high),
            self.found_crd.eq(Mux(is_below, high_crd, self.answer_crd)),
        ]

        is_waiting = self._probe(m, new_low, new_high, now_bounded, is_relevant, is_known)
        gives_up = Signal()
        m.d.comb += [
            gives_up.eq(
                self.is_active
                & is_bounded
                & is_waiting
                & ~is_relevant
                & ((high - low)[:width] <= WALKED_ROWS)
            ),
            self.is_over.eq((is_known & self.answer_taken) | gives_up),
            self.resume.eq(Mux(gives_up, low, Mux(now_bounded, new_high + 1, new_high))),
        ]
        with m.If(self.is_active & ~is_known):
            m.d.sync += [low.eq(new_low), high.eq(new_high), is_bounded.eq(now_bounded)]
            with m.If(is_relevant & ~is_below):
                m.d.sync += high_crd.eq(self.answer_crd)
        with m.If(self.is_over | (self.is_earlier & ~is_below)):
            m.d.sync += self.is_active.eq(0)
        with m.If(self.begin):
            m.d.sync += [
                self.is_active.eq(1),
                is_bounded.eq(0),
                sought.eq(self.sought),
                low.eq(self.first),
                high.eq(self.end),
            ]
        return m

    def _probe(
        self,
        m: Module,
        new_low: Signal,
        new_high: Signal,
        now_bounded: Any,
        is_relevant: Signal,
        is_known: Signal,
    ) -> Signal:
        """Offers probes; returns whether one that halves is without its answer."""
        width, probe = self._width, self.probe
        # Rows below a distance of 4 are as soon walked.
        distance, reach = Signal(width + 1), Signal(width + 1)
        at_end = Signal()
        is_waiting = Signal()
        end = Signal(width)
        with m.If(self.begin):
            m.d.sync += [
                distance.eq(4),
                reach.eq(self.first + 3),
                end.eq(self.end),
                at_end.eq(0),
                is_waiting.eq(0),
            ]

        is_held, held_row, held_halves = Signal(), Signal(width), Signal()
        halves, row, offers = Signal(), Signal(width), Signal()
        is_beyond = reach >= end
        with m.If(is_held):
            m.d.comb += [offers.eq(1), row.eq(held_row), halves.eq(held_halves)]
        with m.Elif(self.is_active & ~is_known):
            with m.If(now_bounded):
                m.d.comb += [
                    offers.eq(~is_waiting | is_relevant),
                    row.eq((new_low + new_high) >> 1),
                    halves.eq(1),
                ]
            with m.Else():
                m.d.comb += [offers.eq(~at_end), row.eq(Mux(is_beyond, end - 1, reach))]
                with m.If(offers):
                    m.d.sync += [
                        at_end.eq(is_beyond),
                        reach.eq(reach + distance),
                        distance.eq(distance << 1),
                    ]
        m.d.comb += [probe.valid.eq(offers), probe.payload.eq(row)]
        m.d.sync += [is_held.eq(offers & ~probe.ready), held_row.eq(row), held_halves.eq(halves)]
        with m.If(offers & halves):
            m.d.sync += is_waiting.eq(1)

        # One more than are in flight may be on offer.
        under_way = Signal(range(self._in_flight + 2))
        m.d.sync += under_way.eq(under_way + (offers & ~is_held) - self.answer_taken)
        m.d.comb += self.is_idle.eq(~self.is_active & (under_way == 0))
        return is_waiting
