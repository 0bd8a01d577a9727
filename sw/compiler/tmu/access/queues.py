"""How the queues of streams divide a lane's words."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.lib.errors import CapacityError

_MORE = 2
"""So many times the iterations of the layer around it does a layer hold, if it has so many: indices
must be read a latency before the rows that they name, offsets not much longer before the indices.
"""

_PART = 6
"""Part of all words that a queue of an outer layer has at most: with rows read still further ahead,
what the execute unit loads waits behind them."""


def slots_of_layers(words: int, queued: Sequence[int], trips: Sequence[int | None]) -> list[int]:
    """Iterations that the queues of each layer hold, the outermost first.

    ``queued``: streams of each layer that have a queue; ``trips``: iterations of each loop, where
    they are known. One half of ``words`` is for the outer layers, the other for the innermost.
    Raises ``CapacityError`` where words are too few.
    """
    outer = queued[:-1]
    if words // 2 < sum(outer):
        raise CapacityError(
            f"stream_words = {words}: must be at least {2 * sum(outer)}: so many streams of outer "
            "loops are read"
        )
    weights: list[int] = []
    for count in trips[:-1]:
        more = _MORE if count is None else min(_MORE, max(1, count))
        weights.append(weights[-1] * more if weights else 1)
    needed = sum(weight * streams for weight, streams in zip(weights, outer, strict=True))
    if words // 2 < needed:
        weights, needed = [1] * len(outer), sum(outer)
    share = words // 2 // needed if needed else 1
    slots = [min(share * weight, words // _PART) for weight in weights]
    taken = sum(each * streams for each, streams in zip(slots, outer, strict=True))
    last = (words - taken) // queued[-1] if queued[-1] else share
    return [*slots, last]
