"""How the queues of streams divide a lane's words."""

from __future__ import annotations

from collections.abc import Sequence


def slots_of_layers(words: int, queued: Sequence[int]) -> list[int]:
    """Iterations that the queues of each layer hold, the outermost first; 0 where words are too
    few.

    ``queued``: streams of each layer that have a queue. One half of ``words`` is for the outer
    layers, the other for the innermost.
    """
    outer = sum(queued[:-1])
    share = words // 2 // outer if outer else 1
    last = (words - share * outer) // queued[-1] if queued[-1] else share
    return [share] * (len(queued) - 1) + [last]
