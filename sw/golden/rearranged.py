"""What statements mean that move elements: the same numbers at other points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gnarl.sw.golden.numbers import Numbers
from gnarl.sw.golden.relations import (
    Points,
    Relation,
    ascending,
    numbers_at,
    require_capacity,
    row_keys,
)
from gnarl.sw.golden.words import RangeError
from gnarl.sw.workloads.einsum.coordinates import left_by, listed
from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    Kept,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
    Stored,
)
from gnarl.sw.workloads.tensor.tensor import Tensor


def rearranged(
    statement: Rearrangement,
    operands: Sequence[Relation],
    sizes: Mapping[str, int],
    numbers: Numbers,
) -> Relation:
    """The relation of a result; what is missing in an operand is missing there.

    operands
        at their indices.
    sizes
        of all indices.
    """
    match statement.how:
        case Reshape():
            found = _reshaped(statement, operands[0], sizes)
        case Concat():
            found = _concatenated(statement, operands, sizes)
        case Slice() as how:
            found = _sliced(statement, how, operands[0])
        case Pattern() as how:
            found = _pattern(statement, how, operands[0], sizes, numbers)
    if not found.points.columns and not found.points.count:
        return Relation(Points(1, {}), np.zeros(1, found.numbers.dtype))
    return found


def of_coordinates(
    statement: Rearrangement,
    tensor: Tensor,
    values: Sequence[Relation],
    sizes: Mapping[str, int],
    numbers: Numbers,
) -> Relation:
    """The relation of a result whose points are coordinates that an input lists, or has.

    tensor
        the input.
    values
        the relation of the numbers at the coordinates, if there is one.
    """
    first = statement.operands[0]
    if isinstance(statement.how, Stored):
        columns = dict(zip(first.indices, tensor.coordinates.T, strict=True))
        return _ones(columns, tensor.nnz, numbers)
    if isinstance(statement.how, Kept):
        places = left_by(first.tensor, tensor)
        return _ones(dict(zip(first.indices, places.T, strict=True)), len(places), numbers)
    indices = statement.result.indices
    coordinates = listed(first.tensor, tensor, [sizes[index] for index in indices])
    count = len(coordinates)
    if values:
        points = Points(count, {first.indices[1]: np.arange(count)})
        taken, _ = numbers_at(values[0], points)
    else:
        taken = numbers.of(np.ones(count))
    (keys,) = row_keys([[*coordinates.T]])
    order = np.arange(count) if (found := ascending(keys)) is None else found
    begins = np.diff(keys[order], prepend=-1) != 0
    places = np.flatnonzero(begins)
    totals = numbers.totals("add", taken[order], np.diff(np.append(places, count)))
    columns = dict(zip(indices, coordinates[order][places].T, strict=True))
    return Relation(Points(len(places), columns), totals)


def _reshaped(statement: Rearrangement, whole: Relation, sizes: Mapping[str, int]) -> Relation:
    columns = dict(whole.points.columns)
    place = np.zeros(whole.points.count, np.int64)
    for index in statement.own(statement.operands[0]):
        place = place * sizes[index] + columns.pop(index)
    for index in reversed(statement.made):
        columns[index] = place % max(sizes[index], 1)
        place = place // max(sizes[index], 1)
    return Relation(Points(whole.points.count, columns), whole.numbers)


def _concatenated(
    statement: Rearrangement, operands: Sequence[Relation], sizes: Mapping[str, int]
) -> Relation:
    (along,) = statement.made
    parts: list[dict[str, np.ndarray]] = []
    begin = 0
    for access, relation in zip(statement.operands, operands, strict=True):
        columns = dict(relation.points.columns)
        own = statement.own(access)
        at = columns.pop(own[0]) if own else np.zeros(relation.points.count, np.int64)
        parts.append({**columns, along: begin + at})
        begin += sizes[own[0]] if own else 1
    points = Points(
        sum(each.points.count for each in operands),
        {
            index: np.concatenate([part[index] for part in parts])
            for index in statement.result.indices
        },
    )
    return Relation(points, np.concatenate([each.numbers for each in operands]))


def _sliced(statement: Rearrangement, how: Slice, whole: Relation) -> Relation:
    past = whole.points.columns[how.index] - how.start
    kept = (past >= 0) & (past < how.stop - how.start) & (past % how.step == 0)
    points = whole.points.at(kept)
    columns = {name: each for name, each in points.columns.items() if name != how.index}
    for index in statement.made:
        columns[index] = past[kept] // how.step
    return Relation(Points(points.count, columns), whole.numbers[kept])


def _pattern(
    statement: Rearrangement,
    how: Pattern,
    whole: Relation,
    sizes: Mapping[str, int],
    numbers: Numbers,
) -> Relation:
    indices = statement.operands[0].indices
    shape = tuple(sizes[index] for index in indices)
    require_capacity(math.prod(shape))
    elements = np.zeros(shape)
    elements[tuple(whole.points.columns[index] for index in indices)] = numbers.reals(whole.numbers)
    how = replace(how, number=_known(how.number, numbers))
    places = np.argwhere(how.of(elements.ravel()).reshape(shape))
    return _ones(dict(zip(indices, places.T, strict=True)), len(places), numbers)


def _known(number: float, numbers: Numbers) -> float:
    """The number as elements have it; itself, where none is as large."""
    try:
        return float(numbers.reals(numbers.of(np.array([number])))[0])
    except RangeError:
        return number


def _ones(columns: dict[str, np.ndarray], count: int, numbers: Numbers) -> Relation:
    return Relation(Points(count, columns), numbers.of(np.ones(count)))
