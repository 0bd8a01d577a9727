"""Sorted fibers, merged by their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.tmu.access.merge.fiber_fetcher import BOUNDS, POSITION
from gnarl.hw.tmu.access.merge.lane_contexts import FIBERS


def merged_layout(lanes: int) -> data.StructLayout:
    """An iteration at ``coordinate``: the ``lanes`` in use, and their induction variables; or, if
    ``is_end``, the end of a loop."""
    return data.StructLayout(
        {
            "is_end": unsigned(1),
            "lanes": unsigned(lanes),
            "coordinate": unsigned(32),
            "positions": data.ArrayLayout(signed(32), lanes),
        }
    )


_AT = data.StructLayout({"lower": POSITION, "upper": POSITION, "stride": unsigned(12)})
"""What is left of a fiber."""


class _State(enum.Enum):
    """It waits for bounds, reads them by unit, merges, or drops what is not wanted any more."""

    WAIT = 0
    BEGIN = 1
    MERGE = 2
    DROP = 3


class Merger(Instanced):
    """Merges the units' fibers, one iteration around after the other: a step a cycle.

    A step has to know of each unit's fiber its next coordinate, or that it has ended. The least
    coordinate is an iteration of those who have it, and they go on. If it ``wants_all``, only what
    all have is an iteration; else all but those at the greatest coordinate go on, and the loop ends
    with the first fiber. What is left of the others is dropped then, a word of each a cycle.

    A loop takes a cycle for each unit and four more besides its steps.

    Members
    -------
    units, wants_all
        in: how many merge, and how.
    begun, bounds_fiber, bounds_lane, bounds, is_fetching, positions, beyond, cancel, cancelled
        of ``FiberFetcher``; ``is_fetching``: it is busy with ``bounds_fiber``.
    valid, heads, pops
        in, in, and out: of each unit's ``CoordinateQueue``.
    merged
        out: a stream of ``merged_layout``.
    fault
        out: the next coordinate of some unit is beyond its array; so it stays.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__(
            {
                "units": In(range(lanes + 1)),
                "wants_all": In(1),
                "begun": In(1),
                "bounds_fiber": Out(range(FIBERS)),
                "bounds_lane": Out(range(lanes)),
                "bounds": In(BOUNDS),
                "is_fetching": In(1),
                "positions": In(data.ArrayLayout(POSITION, lanes)),
                "beyond": In(lanes),
                "cancel": Out(1),
                "cancelled": In(1),
                "valid": In(lanes),
                "heads": In(data.ArrayLayout(unsigned(32), lanes)),
                "pops": Out(lanes),
                "merged": Out(stream.Signature(merged_layout(lanes))),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        state = Signal(_State)
        waiting = Signal(range(FIBERS + 1))
        begin = Signal(range(self._lanes + 1))
        at = Signal(data.ArrayLayout(_AT, self._lanes))
        merged = self.merged.payload
        lanes = range(self._lanes)

        in_use, has_ended, is_beyond = self._ends(m, at)
        is_known = (has_ended | is_beyond | self.valid).all()
        some_end = (has_ended & in_use).any()

        heads = [self.heads[lane] for lane in lanes]
        chosen, least = _least(m, "least", ~has_ended, heads)
        greatest, _ = _least(m, "greatest", in_use, [~head for head in heads])
        is_over, merges, goes_on = Signal(), Signal(), Signal()
        has_all = Signal()
        m.d.comb += [
            has_all.eq(chosen == in_use),
            is_over.eq(Mux(self.wants_all, some_end, has_ended.all())),
            self.fault.eq((state == _State.MERGE) & is_known & is_beyond.any()),
            merges.eq((state == _State.MERGE) & is_known & ~is_beyond.any()),
            self.merged.valid.eq(merges & (is_over | has_all | ~self.wants_all)),
            merged.is_end.eq(is_over),
            merged.lanes.eq(Mux(is_over, 0, chosen)),
            merged.coordinate.eq(least),
            *(merged.positions[lane].eq(at[lane].lower) for lane in lanes),
            goes_on.eq(merges & (~self.merged.valid | self.merged.ready)),
            self.cancel.eq((state == _State.DROP) & self.is_fetching),
            self.bounds_lane.eq(begin),
        ]
        m.d.sync += waiting.eq(waiting + self.begun - (goes_on & is_over))
        with m.Switch(state):
            with m.Case(_State.WAIT):
                with m.If(waiting != 0):
                    m.d.sync += [state.eq(_State.BEGIN), begin.eq(0)]
            with m.Case(_State.BEGIN):
                m.d.sync += begin.eq(begin + 1)
                with m.If(begin != 0):
                    self._take_bounds(m, at, begin)
                with m.If(begin == self.units):
                    m.d.sync += state.eq(_State.MERGE)
            with m.Case(_State.MERGE):
                with m.If(goes_on & ~is_over):
                    skips = self.wants_all & ~has_all
                    m.d.comb += self.pops.eq(Mux(skips, in_use & ~greatest, chosen))
                with m.If(goes_on & is_over):
                    m.d.sync += state.eq(_State.DROP)
            with m.Case(_State.DROP):
                m.d.comb += self.pops.eq(self.valid & ~has_ended)
                with m.If(~self.is_fetching & has_ended.all()):
                    m.d.sync += [
                        state.eq(_State.WAIT),
                        self.bounds_fiber.eq(self.bounds_fiber + 1),
                    ]
        self._move(m, at)
        return m

    def _ends(self, m: Module, at: data.View) -> tuple[Signal, Signal, Signal]:
        """The fibers that are in use, those that have ended, those beyond their array."""
        in_use, has_ended, is_beyond = (Signal(self._lanes) for _ in range(3))
        for lane in range(self._lanes):
            m.d.comb += [
                in_use[lane].eq(lane < self.units),
                has_ended[lane].eq(~in_use[lane] | (at[lane].lower >= at[lane].upper)),
                is_beyond[lane].eq(
                    self.is_fetching
                    & self.beyond[lane]
                    & ~has_ended[lane]
                    & (at[lane].lower == self.positions[lane])
                ),
            ]
        return in_use, has_ended, is_beyond

    def _take_bounds(self, m: Module, at: data.View, begin: Signal) -> None:
        """Takes the bounds of the lane before, which come a cycle after it is named."""
        m.d.sync += [
            Array(at)[(begin - 1)[: len(self.bounds_lane)]][name].eq(self.bounds[name])
            for name in BOUNDS.members
        ]

    def _move(self, m: Module, at: data.View) -> None:
        """Fibers whose heads are taken go on; those that are cancelled end."""
        for lane in range(self._lanes):
            with m.If(self.pops[lane]):
                m.d.sync += at[lane].lower.eq(at[lane].lower + at[lane].stride)
            with m.If(self.cancelled):
                m.d.sync += at[lane].upper.eq(self.positions[lane])


def _least(m: Module, name: str, wanted: Value, words: Sequence[Value]) -> tuple[Value, Value]:
    """The ``wanted`` lanes with the least word, and that word. A tree; the number of ``words`` is a
    power of two."""
    level = [(wanted[lane], word, wanted[lane]) for lane, word in enumerate(words)]
    while len(level) > 1:
        above = []
        for number, (low, high) in enumerate(zip(level[::2], level[1::2], strict=True)):
            node = f"{name}_{len(level)}_{number}"
            takes_low, takes_high = Signal(name=f"{node}_low"), Signal(name=f"{node}_high")
            word = Signal(32, name=node)
            m.d.comb += [
                takes_low.eq(low[0] & (~high[0] | (low[1] <= high[1]))),
                takes_high.eq(high[0] & (~low[0] | (high[1] <= low[1]))),
                word.eq(Mux(takes_low, low[1], high[1])),
            ]
            masks = (
                Mux(takes, mask, 0)
                for takes, (_, _, mask) in ((takes_low, low), (takes_high, high))
            )
            above.append((low[0] | high[0], word, Cat(masks)))
        level = above
    return level[0][2], level[0][1]
