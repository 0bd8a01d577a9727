"""Goes through the streams of an iteration whose units have rows of their own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.tmu.access.merge.lane_contexts import PAIR
from gnarl.hw.tmu.access_isa import STREAM, Source


def turn_signature(lanes: int, streams: int) -> wiring.Signature:
    """The turns of a lane's streams. ``valid``: the turn of stream ``stream`` of unit ``lane``,
    ``row``, whose operands are ``a`` and ``b`` unless they are its unit's own, until ``did``.
    ``is_last``: what ``did`` ends is the last; ``is_over``: there is none, or none any more."""
    return wiring.Signature(
        {
            "valid": Out(1),
            "lane": Out(range(lanes)),
            "stream": Out(range(streams)),
            "row": Out(STREAM),
            "a": Out(32),
            "b": Out(32),
            "is_last": Out(1),
            "is_over": Out(1),
            "did": In(1),
        }
    )


class LaneTurns(Instanced):
    """A turn a cycle, from the cycle on after the one in which the iteration is there.

    Members: ``works``, ``stream``, ``place``: of ``LaneRows``; ``pair`` in: of ``LaneContexts``;
    ``asks`` in: there is an iteration, of the ``lanes`` in use, in, which stay the same until
    ``ends``, in: from the next cycle on, the next iteration; ``turn`` out, a ``turn_signature``.
    """

    def __init__(self, lanes: int, streams: int) -> None:
        self._lanes = lanes
        self._streams = streams
        places = lanes * streams
        super().__init__(
            {
                "works": In(places),
                "place": Out(range(places)),
                "stream": In(STREAM),
                "pair": In(PAIR),
                "asks": In(1),
                "lanes": In(lanes),
                "ends": In(1),
                "turn": Out(turn_signature(lanes, streams)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        places, turn = len(self.works), self.turn
        has_begun = Signal()
        kept, left, rest, following = (Signal(places) for _ in range(4))
        wanted = self.works & Cat(lane.replicate(self._streams) for lane in self.lanes)
        m.d.comb += [
            left.eq(Mux(has_begun, kept, wanted)),
            rest.eq(Mux(turn.did, left & (left - 1), left)),
            following.eq(Mux(self.asks, lowest_one(rest), 0)),
            self.place.eq(position(following)),
            turn.row.eq(self.stream),
            turn.is_over.eq(~left.any()),
            turn.is_last.eq((left & (left - 1)) == 0),
        ]
        of_lanes = [following[n : n + self._streams] for n in range(0, places, self._streams)]
        of_streams = [following[n :: self._streams] for n in range(self._streams)]
        m.d.sync += [
            has_begun.eq(self.asks & ~self.ends),
            kept.eq(rest),
            turn.valid.eq(following.any()),
            turn.lane.eq(position(Cat(bits.any() for bits in of_lanes))),
            turn.stream.eq(position(Cat(bits.any() for bits in of_streams))),
        ]
        for operand, value, word in (
            (self.stream.a, turn.a, self.pair[0]),
            (self.stream.b, turn.b, self.pair[1]),
        ):
            m.d.comb += value.eq(Mux(operand.source == Source.PARENT, word, self.stream.immediate))
        return m
