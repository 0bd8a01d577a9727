"""Chooses the engine that each of several statements runs on, at the least total cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Cost = Callable[[int, int], int | None]
"""Cycles of statements from one number up to another, without, as one part of a program; ``None``
where it cannot be."""


@dataclass(frozen=True)
class Run:
    """Statements ``first`` to ``end``, without, on one engine, as one part of a program."""

    engine: str
    first: int
    end: int
    cycles: int


def cheapest(
    count: int, segments: Iterable[tuple[int, int]], costs: Mapping[str, Cost]
) -> tuple[Run, ...] | None:
    """Runs that have all statements from 0 to ``count``, without, and take the fewest cycles in
    sum; ``None`` where there are none.

    ``segments``: what may be a part, (first, end); ``costs``: by engine, of several equal ones the
    first. O(segments x engines).
    """
    best: dict[int, tuple[int, tuple[Run, ...]]] = {0: (0, ())}
    for first, end in sorted(set(segments), key=lambda each: (each[1], each[0])):
        if first not in best:
            continue
        for engine, cost in costs.items():
            cycles = cost(first, end)
            if cycles is None:
                continue
            before, runs = best[first]
            if end not in best or before + cycles < best[end][0]:
                best[end] = before + cycles, (*runs, Run(engine, first, end, cycles))
    return best[count][1] if count in best else None
