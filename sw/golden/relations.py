"""Relations of coordinates and numbers, and how they are found, united and joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor


@dataclass(frozen=True)
class Points:
    """Coordinates of index variables: ``columns`` int64 [n] by variable; ``count`` is n."""

    count: int
    columns: Mapping[str, np.ndarray]

    def at(self, places: np.ndarray) -> Points:
        """Those at places, or where bool [n] is true."""
        if places.dtype == bool and places.all():
            return self
        columns = {name: column[places] for name, column in self.columns.items()}
        return Points(int(places.sum()) if places.dtype == bool else len(places), columns)


@dataclass(frozen=True)
class Relation:
    """Numbers at points, without duplicates."""

    points: Points
    numbers: np.ndarray


def stored_points(tensor: Tensor, format: TensorFormat) -> np.ndarray:
    """Coordinates of everything that is stored, int64 [n, order], in any order; the tensor's own
    where those are all."""
    if tensor.order and format.levels[-1] != DENSE:
        return tensor.coordinates
    entries = tensor.coordinates[:, list(format.modes)]
    stored = np.zeros((1, 0), np.int64)
    for level, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
        if kind == DENSE:
            size = tensor.shape[mode]
            require_capacity(len(stored) * size)
            column = np.tile(np.arange(size), len(stored))
            stored = np.column_stack([np.repeat(stored, size, axis=0), column])
        else:
            (keys,) = row_keys([list(entries[:, : level + 1].T)], len(entries))
            stored = entries[np.unique(keys, return_index=True)[1], : level + 1]
    return stored[:, np.argsort(format.modes)]


def require_capacity(count: int) -> None:
    """Raises ``CapacityError`` for more than ``DENSE_LIMIT`` points."""
    if count > DENSE_LIMIT:
        raise CapacityError(
            f"the golden model needs {count:,} points: at most {DENSE_LIMIT:,} are kept in memory"
        )


def row_keys(tables: list[list[np.ndarray]], count: int = 0) -> list[np.ndarray]:
    """A number for each row of tables of the same columns, in the order of rows.

    ``count``: how many rows there are if there is no column.
    """
    lengths = [len(table[0]) if table else count for table in tables]
    key = np.zeros(sum(lengths), np.int64)
    extent = 1
    for columns in zip(*tables, strict=True):
        column = columns[0] if len(columns) == 1 else np.concatenate(columns)
        size = int(column.max(initial=0)) + 1
        if extent * size >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1]
            extent = int(key.max(initial=0)) + 1
        key *= size
        key += column
        extent *= size
    return np.split(key, np.cumsum(lengths)[:-1])


def ascending(keys: np.ndarray) -> np.ndarray | None:
    """Places of keys, int64 [n], in ascending order, equal ones as they are; ``None`` if all are
    where they belong."""
    if (keys[1:] >= keys[:-1]).all():
        return None
    return np.argsort(keys, kind="stable")


def found(relation: Relation, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Whether the relation has each point, and the place of each in it."""
    own = relation.points.columns
    names = list(own)
    if names and all(own[name] is points.columns[name] for name in names):
        return np.ones(points.count, bool), np.arange(points.count)
    if not names:
        # A scalar is there, unless it is a sum of nothing.
        places = np.zeros(points.count, np.int64)
        return np.full(points.count, relation.points.count > 0), places
    mine, wanted = row_keys(
        [[one.columns[name] for name in names] for one in (relation.points, points)]
    )
    if len(mine) and mine[-1] == len(mine) - 1 and ascending(mine) is None:
        present = wanted < len(mine)
        return present, wanted if present.all() else np.where(present, wanted, 0)
    largest = max(int(mine.max(initial=0)), int(wanted.max(initial=0)))
    if largest <= 2 * (len(mine) + len(wanted)):
        table = np.full(largest + 1, -1)
        table[mine] = np.arange(len(mine))
        places = table[wanted]
        present = places >= 0
        return present, np.where(present, places, 0)
    order = ascending(mine)
    places = np.searchsorted(mine if order is None else mine[order], wanted)
    present = places < len(mine)
    places[~present] = 0
    if order is not None and len(mine):
        places = order[places]
    present[present] = mine[places[present]] == wanted[present]
    return present, places


def numbers_at(relation: Relation, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Numbers at points, which have all its indices, and whether it is there; if not, 0."""
    present, places = found(relation, points)
    if present.all():
        return relation.numbers[places], present
    numbers = np.zeros(points.count, relation.numbers.dtype)
    numbers[present] = relation.numbers[places[present]]
    return numbers, present


def united(parts: list[Points], indices: tuple[str, ...]) -> Points:
    """Points that any part has; all parts have the ``indices``."""
    if not indices:
        return Points(1, {})
    columns = {index: np.concatenate([part.columns[index] for part in parts]) for index in indices}
    (keys,) = row_keys([list(columns.values())])
    first = np.unique(keys, return_index=True)[1]
    return Points(len(first), {index: column[first] for index, column in columns.items()})


def joined(left: Points, right: Points) -> Points:
    """Pairs of points that agree in the indices they share."""
    shared = [name for name in left.columns if name in right.columns]
    if shared:
        ones, others = row_keys([[one.columns[name] for name in shared] for one in (left, right)])
    else:
        ones, others = np.zeros(left.count, np.int64), np.zeros(right.count, np.int64)
    order = np.argsort(others, kind="stable")
    others = others[order]
    begins = np.searchsorted(others, ones, side="left")
    counts = np.searchsorted(others, ones, side="right") - begins
    total = int(counts.sum())
    require_capacity(total)
    from_left = np.repeat(np.arange(left.count), counts)
    offsets = np.cumsum(counts) - counts
    from_right = order[np.arange(total) + np.repeat(begins - offsets, counts)]
    columns = {name: column[from_left] for name, column in left.columns.items()}
    for name, column in right.columns.items():
        columns.setdefault(name, column[from_right])
    return Points(total, columns)
