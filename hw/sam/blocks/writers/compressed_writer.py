"""Fiber writer of a compressed level."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.appender import Appender
from gnarl.hw.lib.stream.memory_ports import WritePort
from gnarl.hw.sam.step import is_done, is_stop
from gnarl.hw.sam.token import Kind, token_stream


class CompressedWriter(Instanced):
    """Writes coordinates one after the other, and at each stop how many there were at the fiber's
    start and are at its end: rows as lookups read them.

    With ``keep_empty`` every stop ends a fiber. Without, a stop right after another stop, or at the
    start, is passed over: such fibers have lost their coordinate in the level outside. Takes a
    token a cycle, as long as its memories do. Source: SAM, compressed writer.

    Parameters: ``width`` of coordinates and row numbers; ``array_words``, rows of coordinates;
    ``keep_empty``; ``segment_rows``, rows of segments, if not as many.

    Members: ``crd`` in; ``mem_seg``, ``mem_crd``, ``WritePort``s for segments, of two words, and
    coordinates; ``fibers``, ``entries`` out: how many of them are written; ``done`` out: so are all
    of them; ``fault`` out: an array is full, or a coordinate is empty.
    """

    def __init__(
        self, width: int, array_words: int, keep_empty: bool, segment_rows: int | None = None
    ) -> None:
        self._keep_empty = keep_empty
        self._array = width, width, array_words
        self._segments = width, width, array_words if segment_rows is None else segment_rows
        super().__init__(
            {
                "crd": In(token_stream(width)),
                "mem_seg": Out(WritePort(width, width, 2)),
                "mem_crd": Out(WritePort(width, width)),
                "fibers": Out(width),
                "entries": Out(width),
                "done": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.segments = segments = Appender(*self._segments, words=2)
        m.submodules.crds = crds = Appender(*self._array)
        wiring.connect(m, segments.array, wiring.flipped(self.mem_seg))
        wiring.connect(m, crds.array, wiring.flipped(self.mem_crd))
        crd = self.crd
        is_empty = Signal(init=1)
        start = Signal.like(crds.count)
        m.d.comb += [
            crds.i.payload[0].eq(crd.payload.payload),
            segments.i.payload[0].eq(start),
            segments.i.payload[1].eq(crds.count),
            self.entries.eq(crds.count),
            self.fibers.eq(segments.count),
            self.fault.eq(crds.fault | segments.fault),
        ]
        with m.If(crd.valid & ~self.done):
            with m.If(crd.payload.kind == Kind.DATA):
                m.d.comb += [crds.i.valid.eq(1), crd.ready.eq(crds.i.ready)]
            with m.Elif(is_stop(crd) & (~is_empty | self._keep_empty)):
                m.d.comb += [segments.i.valid.eq(1), crd.ready.eq(segments.i.ready)]
            with m.Elif(is_stop(crd)):
                m.d.comb += crd.ready.eq(1)
            with m.Elif(is_done(crd)):
                m.d.comb += crd.ready.eq(1)
                m.d.sync += self.done.eq(1)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        with m.If(crd.ready):
            m.d.sync += is_empty.eq(is_stop(crd))
            with m.If(is_stop(crd)):
                m.d.sync += start.eq(crds.count)
        return m
