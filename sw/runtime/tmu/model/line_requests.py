"""The lines that an access unit asks for. Source: ``gnarl.hw.tmu.access.run_maker``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import Mode, Source
from gnarl.hw.tmu.access_program import Layer, Operand, Stream


class LineRequests:
    """Line requests of a layer that steps one unit, for its streams, iteration by iteration.

    Words that lie together are one request as far as their line, the fiber and the layer's queues
    go. What an iteration asked for beyond its own words need not be asked for later.
    """

    def __init__(self, layer: Layer, lanes: int) -> None:
        (unit,) = layer.units
        self._room = layer.slots * (lanes if layer.mode == Mode.LOCKSTEP else 1)
        self._lies_together = [unit.stride == 1 and _grows_by_one(each) for each in unit.streams]
        self._asked = [0] * len(unit.streams)

    def lines(self, stream: int, addresses: Sequence[int], left: int) -> Iterator[int]:
        """Lines for ``stream`` in an iteration that reads ``addresses``, one a lane, with ``left``
        inductions from its first one on to the fiber's end."""
        lane = self._asked[stream]
        while lane < len(addresses):
            address = addresses[lane]
            yield address // LINE_WORDS
            words = 1
            if self._lies_together[stream]:
                words = min(left - lane, LINE_WORDS - address % LINE_WORDS, self._room - lane)
            lane += words
        self._asked[stream] = lane - len(addresses)


def _grows_by_one(stream: Stream) -> bool:
    """Whether its address grows by one with the induction variable."""

    def counts(operand: Operand) -> bool:
        return operand.source == Source.OWN and operand.stream == 0

    return (counts(stream.a) and stream.scale == 1 and stream.b.source != Source.OWN) or (
        counts(stream.b) and stream.a.source != Source.OWN
    )
