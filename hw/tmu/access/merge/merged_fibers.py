"""A layer's merge: from the iterations around to merged ones."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access.merge.coordinate_queue import CoordinateQueue
from gnarl.hw.tmu.access.merge.fiber_fetcher import FiberFetcher
from gnarl.hw.tmu.access.merge.lane_contexts import LaneContexts
from gnarl.hw.tmu.access.merge.lane_rows import STREAM_WORDS, UNIT_WORDS, LaneRows, word_signature
from gnarl.hw.tmu.access.merge.lane_turns import LaneTurns, turn_signature
from gnarl.hw.tmu.access.merge.merger import Merger, merged_layout
from gnarl.hw.tmu.access.run import run_layout
from gnarl.hw.tmu.access.steps import SLOT_BITS, step_layout
from gnarl.hw.tmu.access.stream_store import write_signature
from gnarl.hw.tmu.access_isa import LAYER, STREAM, Mode

_AHEAD = 4
"""Merged iterations that wait for their streams."""


def queue_depth(rows: int) -> int:
    """Coordinates that are fetched ahead of a merge, of a unit, with ``rows`` of stream queues."""
    return min(rows, max(2 * LINE_WORDS, rows // 8))


class MergedFibers(wiring.Component):
    """Merges the fibers of a layer's units, which are fetched ahead: of this iteration around, and
    of those to come.

    Members
    -------
    layer
        in: the layer's row.
    unit_words, stream_words
        in: of ``LaneRows``.
    queued
        out: of ``LaneRows``.
    around, around_slots, steps, wants, stream, lane, row, phase, granted, words
        as a ``ContextReader``'s.
    runs
        out: a stream of ``run_layout``, of coordinates.
    write
        in: a ``write_signature`` of coordinates.
    merged
        out: a stream of ``merged_layout``.
    turn
        out: the ``turn_signature`` of the iteration in ``merged``.
    fault
        out: a coordinate is beyond its array.
    disorder
        out: as a ``FiberFetcher``'s.
    moves
        out: a coordinate is merged, or dropped.
    """

    def __init__(self, lanes: int, rows: int, streams: int, address_bits: int) -> None:
        self._lanes = lanes
        self._rows = rows
        self._streams = streams
        self._address_bits = address_bits
        self._depth = queue_depth(rows)
        run = run_layout(lanes, rows, address_bits - (LINE_WORDS - 1).bit_length())
        super().__init__(
            {
                "layer": In(LAYER),
                "unit_words": In(word_signature(lanes, UNIT_WORDS)),
                "stream_words": In(word_signature(lanes * streams, STREAM_WORDS)),
                "queued": Out(streams),
                "around": In(data.ArrayLayout(STREAM, streams)),
                "around_slots": In(SLOT_BITS),
                "steps": In(stream.Signature(step_layout(lanes))),
                "wants": Out(1),
                "stream": Out(range(streams)),
                "lane": Out(range(lanes)),
                "row": Out(range(rows)),
                "phase": Out(1),
                "granted": In(1),
                "words": In(data.ArrayLayout(unsigned(32), lanes)),
                "runs": Out(stream.Signature(run)),
                "write": In(write_signature(lanes, rows)),
                "merged": Out(stream.Signature(merged_layout(lanes))),
                "turn": Out(turn_signature(lanes, streams)),
                "fault": Out(1),
                "disorder": Out(1),
                "moves": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, streams = self._lanes, self._streams
        m.submodules.rows = rows = LaneRows(lanes, streams)
        m.submodules.contexts = contexts = LaneContexts(lanes, self._rows, streams)
        m.submodules.fetcher = fetcher = FiberFetcher(
            lanes, self._rows, self._depth, self._address_bits
        )
        m.submodules.merger = merger = Merger(lanes)
        m.submodules.turns = turns = LaneTurns(lanes, streams)
        wiring.connect(m, wiring.flipped(self.unit_words), rows.unit_words)
        wiring.connect(m, wiring.flipped(self.stream_words), rows.stream_words)
        wiring.connect(m, wiring.flipped(self.steps), contexts.steps)
        wiring.connect(m, fetcher.runs, wiring.flipped(self.runs))
        wiring.connect(m, turns.turn, wiring.flipped(self.turn))
        ends = self.merged.valid & self.merged.ready
        m.d.comb += [
            *(part.units.eq(self.layer.units) for part in (contexts, fetcher, merger)),
            self.queued.eq(rows.queued),
            contexts.around.eq(self.around),
            contexts.around_slots.eq(self.around_slots),
            contexts.granted.eq(self.granted),
            contexts.words.eq(self.words),
            *(getattr(self, name).eq(getattr(contexts, name)) for name in _READS),
            contexts.needs.eq(rows.needs),
            contexts.operands.eq(rows.operands),
            contexts.released.eq(ends & self.merged.payload.is_end),
            contexts.fiber.eq(fetcher.fiber),
            contexts.begin_lane.eq(fetcher.begin_lane),
            contexts.begin_stream.eq(fetcher.begin_stream),
            contexts.place.eq(turns.place),
            rows.operand_place.eq(contexts.operand_place),
            rows.lane.eq(fetcher.lane),
            rows.place.eq(turns.place),
        ]
        self._connect_fetcher(m, rows, contexts, fetcher, merger)
        m.d.comb += [
            merger.wants_all.eq(self.layer.mode == Mode.CONJUNCTIVE),
            merger.begun.eq(fetcher.begun),
            merger.bounds.eq(fetcher.bounds),
            merger.is_fetching.eq(fetcher.is_busy & (fetcher.fiber == merger.bounds_fiber)),
            merger.positions.eq(fetcher.positions),
            merger.beyond.eq(fetcher.beyond),
            merger.cancelled.eq(fetcher.cancelled),
            self.fault.eq(merger.fault),
            self.disorder.eq(fetcher.disorder),
            self.moves.eq(merger.pops.any()),
            turns.works.eq(rows.works),
            turns.stream.eq(rows.stream),
            turns.pair.eq(contexts.pair),
            turns.asks.eq(self.merged.valid & ~self.merged.payload.is_end),
            turns.lanes.eq(self.merged.payload.lanes),
            turns.ends.eq(ends),
        ]
        self._add_queues(m, fetcher, merger)

        self._add_ahead(m, merger)
        return m

    def _connect_fetcher(
        self,
        m: Module,
        rows: LaneRows,
        contexts: LaneContexts,
        fetcher: FiberFetcher,
        merger: Merger,
    ) -> None:
        m.d.comb += [
            fetcher.published.eq(contexts.published),
            fetcher.is_fresh.eq(contexts.is_fresh),
            fetcher.begin_pair.eq(contexts.begin_pair),
            fetcher.unit.eq(rows.unit),
            fetcher.coordinate.eq(rows.coordinate),
            fetcher.bounds_fiber.eq(merger.bounds_fiber),
            fetcher.bounds_lane.eq(merger.bounds_lane),
            fetcher.cancel.eq(merger.cancel),
        ]

    def _add_ahead(self, m: Module, merger: Merger) -> None:
        """What is merged waits in a queue."""
        width = merged_layout(self._lanes).size
        m.submodules.ahead = ahead = SyncFIFOBuffered(width=width, depth=_AHEAD)
        m.d.comb += [
            ahead.w_data.eq(merger.merged.payload.as_value()),
            ahead.w_en.eq(merger.merged.valid),
            merger.merged.ready.eq(ahead.w_rdy),
            self.merged.payload.as_value().eq(ahead.r_data),
            self.merged.valid.eq(ahead.r_rdy),
            ahead.r_en.eq(self.merged.ready),
        ]

    def _add_queues(self, m: Module, fetcher: FiberFetcher, merger: Merger) -> None:
        """Words come from memory or from the fetcher, to a unit's queue always from the same."""
        for lane in range(self._lanes):
            m.submodules[f"queue_{lane}"] = queue = CoordinateQueue(self._depth)
            with m.If(fetcher.write[lane]):
                m.d.comb += [
                    queue.row.eq(fetcher.row),
                    queue.phase.eq(fetcher.phase),
                    queue.data.eq(fetcher.word),
                ]
            with m.Else():
                m.d.comb += [
                    queue.row.eq(self.write.row),
                    queue.phase.eq(self.write.phase),
                    queue.data.eq(self.write.data[lane]),
                ]
            m.d.comb += [
                queue.write.eq(fetcher.write[lane] | self.write.lanes[lane]),
                queue.reserved.eq(fetcher.reserved[lane]),
                queue.pop.eq(merger.pops[lane]),
                fetcher.tails[lane].eq(queue.tail),
                fetcher.free[lane].eq(queue.free),
                merger.valid[lane].eq(queue.valid),
                merger.heads[lane].eq(queue.head),
            ]


_READS = ("wants", "stream", "lane", "row", "phase")
