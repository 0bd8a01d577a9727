"""Fewer cases of a template, where all would be tens of thousands."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support.cuda.embedding_kernels import Case


def by_turns(cases: Iterable[Case]) -> list[Case]:
    """One for each pooling, table type, dimension and schedule.

    Output and index types, and weights, take turns; that all of them work with each other is for
    ``covering_cases``.
    """
    turns: dict[tuple[object, ...], list[Case]] = {}
    for one in cases:
        kind = one.feature.kind
        turns.setdefault((kind.pooling, kind.table_type, kind.dim, one.schedule), []).append(one)
    return [of_turn[turn % len(of_turn)] for turn, of_turn in enumerate(turns.values())]
