"""Entries in any order, some of them given more than once, in ascending order and once each."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from gnarl.sw.workloads.refusals import InputWarning, refuse_not_finite


def ascending_order(coordinates: np.ndarray) -> np.ndarray:
    """Positions of the rows of ``coordinates`` [n, order] in ascending order; equal rows stay."""
    count, order = coordinates.shape
    if order == 0:
        return np.arange(count)
    extents = [int(column.max(initial=0)) + 1 for column in coordinates.T]
    if math.prod(extents) >= 2**63:
        return np.lexsort(coordinates.T[::-1])
    key = coordinates[:, 0]
    for column, extent in zip(coordinates.T[1:], extents[1:], strict=True):
        key = key * extent + column
    return np.argsort(key, kind="stable")


def sum_repeated(
    coordinates: np.ndarray,
    values: np.ndarray,
    source: str | None,
    name: Callable[[int], str],
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the first entry of each coordinate, ascending, and the sums of their values.

    coordinates, values
        int64 [n, order] and [n].
    source
        what a warning of repeated entries begins with, if all sums are finite; ``None`` for none.
    name
        what a text calls the entry at a position, e.g. ``entry (1, 2) in line 7``.

    Entries are added in their order, in float64, where sums may be infinite; see
    ``sum_finite``. O(n log n · order).
    """
    order = ascending_order(coordinates)
    ascending = coordinates[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
    if is_first.all():
        return order, np.asarray(values)[order]
    starts = np.flatnonzero(is_first)
    second = order[~is_first]
    first = order[starts[np.cumsum(is_first)[~is_first] - 1]]
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(np.asarray(values, np.float64)[order], starts)
    if source is not None and np.isfinite(sums).all():
        at = int(np.argmin(second))
        more = f", and {len(second) - 1:,} more to others" if len(second) > 1 else ""
        warnings.warn(
            f"{source}: {name(int(second[at]))} is added to {name(int(first[at]))}{more}",
            InputWarning,
            stacklevel=2,
        )
    return order[starts], sums


def sum_finite(
    coordinates: np.ndarray, values: np.ndarray, source: str, name: Callable[[int], str]
) -> tuple[np.ndarray, np.ndarray]:
    """What ``sum_repeated`` gives for the finite values of a file ``source``. Raises
    ``WorkloadError`` for a sum beyond float64."""
    order, sums = sum_repeated(coordinates, values, source, name)
    refuse_not_finite(sums, lambda at: f"{source}: the sum of {name(int(order[at]))} and others")
    return order, sums
