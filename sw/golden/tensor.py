"""What a tensor statement means: relations between points, whatever computes it.

A tensor is a relation of coordinates and values. Its points are those that its format stores: all
coordinates of dense levels, else those of entries. A product is where all factors are, a sum where
either part is, and what is missing there is 0; functions that are not 0 at 0 are everywhere. A part
without an index is the same at all its coordinates. An index that the result lacks is summed over
the whole term of the top sum that it is part of, one index at a time, the innermost loop's first,
and in ascending order of coordinates. Source: Kjolstad et al., "The Tensor Algebra Compiler",
OOPSLA 2017, section 3; arithmetic and order are those of the hardware.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.sums import run_totals
from gnarl.sw.golden.words import to_words
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Expression, Statement
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor


def evaluate(
    statement: Statement, tensors: Mapping[str, Tensor], format: str
) -> tuple[np.ndarray, np.ndarray]:
    """The result bit for bit: coordinates, int64 [n, order], ascending, and words, uint32 [n].

    Missing entries are 0, and stored ones may be. ``tensors`` has the operands, whose sizes must
    agree, and the result where one of its indices is in no operand. Raises ``ValueError`` for a
    value that ``format`` cannot hold or a function that it lacks, ``CapacityError`` for more than
    ``DENSE_LIMIT`` points.
    """
    return _Evaluation(statement, tensors, _Words(format)).result()


def reference(statement: Statement, tensors: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """Evaluates as ``evaluate`` does, with all numbers in float64 [n]."""
    with np.errstate(all="ignore"):
        return _Evaluation(statement, tensors, _Reals()).result()


class _Words:
    """Arithmetic of words of a format, uint32, as the hardware's."""

    dtype = np.uint32

    def __init__(self, format: str) -> None:
        self._format = format
        self._unit = arithmetic(format)

    def of(self, values: np.ndarray) -> np.ndarray:
        """Numbers from float64."""
        return to_words(values, self._format)

    def apply(self, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """``operation`` is add, sub, mul, max or min."""
        unit = self._unit
        operator = Operation[operation.upper()]
        return unit.words(unit.apply(operator, unit.numbers(left), unit.numbers(right)))

    def call(self, function: str, numbers: np.ndarray) -> np.ndarray:
        """A function of one number."""
        # Its tables are made on import, and few statements need them.
        from gnarl.hw.lib.functions.function import Function
        from gnarl.sw.golden import functions

        return functions.apply(Function[function.upper()], numbers, self._format)  # type: ignore

    def sums(self, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Sums of runs of numbers, each in order; ``lengths`` are at least 1."""
        return run_totals(numbers, lengths, "add", self._format)


class _Reals:
    """The same with float64."""

    dtype = np.float64

    _OPERATIONS: Mapping[str, np.ufunc] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
    }

    def of(self, values: np.ndarray) -> np.ndarray:
        return values

    def apply(self, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self._OPERATIONS[operation](left, right)

    def call(self, function: str, numbers: np.ndarray) -> np.ndarray:
        from scipy.special import erfc, expit  # takes long, and few statements need it

        functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "relu": lambda x: np.maximum(x, 0.0),
            "exp": np.exp,
            "reciprocal": lambda x: 1 / x,
            "sqrt": np.sqrt,
            "gelu": lambda x: x * erfc(-x / math.sqrt(2)) / 2,
            "sigmoid": expit,
            "tanh": np.tanh,
        }
        return functions[function](numbers)

    def sums(self, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        if not len(lengths):
            return np.zeros(0)
        return np.add.reduceat(numbers, np.cumsum(lengths) - lengths)


@dataclass(frozen=True)
class _Points:
    """Coordinates of index variables: ``columns`` int64 [n] by variable; ``count`` is n."""

    count: int
    columns: Mapping[str, np.ndarray]

    def at(self, places: np.ndarray) -> _Points:
        columns = {name: column[places] for name, column in self.columns.items()}
        return _Points(int(places.sum()) if places.dtype == bool else len(places), columns)


@dataclass(frozen=True)
class _Relation:
    """Numbers at points, without duplicates."""

    points: _Points
    numbers: np.ndarray


_Formula: TypeAlias = "_Relation | Constant | Call[_Formula]"


class _Evaluation:
    def __init__(
        self, statement: Statement, tensors: Mapping[str, Tensor], numbers: _Words | _Reals
    ) -> None:
        self._statement = statement
        self._tensors = tensors
        self._numbers = numbers
        self._sizes: dict[str, int] = {}
        for access in (*statement.operands, statement.result):
            if access.tensor in tensors:
                self._sizes |= zip(access.indices, tensors[access.tensor].shape, strict=True)
        self._relations: dict[tuple[str, tuple[str, ...]], _Relation] = {}

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        indices = self._statement.result.indices
        formula = self._top(self._statement.expression)
        points = self._broadcast(self._points(formula), indices)
        numbers, _ = self._values(formula, points)
        (keys,) = _keys([[points.columns[index] for index in indices]], points.count)
        order = np.argsort(keys, kind="stable")
        coordinates = np.empty((points.count, len(indices)), np.int64)
        for place, index in enumerate(indices):
            coordinates[:, place] = points.columns[index][order]
        return coordinates, numbers[order]

    # From expressions to formulas.

    def _top(self, expression: Expression) -> _Formula:
        """The top sum, with each of its terms summed."""
        match expression:
            case Call("neg" | "add" | "sub" as function, arguments):
                return _call(function, tuple(map(self._top, arguments)))
        return self._summed(self._formula(expression))

    def _formula(self, expression: Expression) -> _Formula:
        match expression:
            case Access():
                return self._relation(expression)
            case Constant():
                return expression
            case Call(function, arguments):
                return _call(function, tuple(map(self._formula, arguments)))

    def _relation(self, access: Access) -> _Relation:
        key = access.tensor, access.indices
        if key not in self._relations:
            tensor = self._tensors[access.tensor]
            stored = _stored_points(tensor, self._statement.formats[access.tensor])
            points = _Points(len(stored), dict(zip(access.indices, stored.T, strict=True)))
            entries = _Relation(
                _Points(tensor.nnz, dict(zip(access.indices, tensor.coordinates.T, strict=True))),
                self._numbers.of(tensor.values),
            )
            self._relations[key] = _Relation(points, self._values(entries, points)[0])
        return self._relations[key]

    def _summed(self, formula: _Formula) -> _Formula:
        own = _indices(formula)
        kept = self._statement.result.indices
        summed = [index for index in self._statement.order[::-1] if index in own - {*kept}]
        if not summed:
            return formula
        points = self._points(formula)
        numbers, _ = self._values(formula, points)
        for index in summed:
            rest = [name for name in points.columns if name != index]
            columns = [points.columns[name] for name in (*rest, index)]
            (keys,) = _keys([columns], points.count)
            order = np.argsort(keys, kind="stable")
            points, numbers = points.at(order), numbers[order]
            begins = np.zeros(points.count, bool)
            begins[:1] = True
            for name in rest:
                begins[1:] |= points.columns[name][1:] != points.columns[name][:-1]
            first = np.flatnonzero(begins)
            numbers = self._numbers.sums(numbers, np.diff(np.append(first, points.count)))
            points = _Points(len(first), {name: points.columns[name][first] for name in rest})
        return _Relation(points, numbers)

    # Where a formula is.

    def _is_everywhere(self, formula: _Formula) -> bool:
        """Whether a function, applied to whatever it is, is not 0 at 0."""
        if not isinstance(formula, Call) or len(formula.arguments) > 1:
            return False
        zero = np.zeros(1, self._numbers.dtype)
        return bool(self._numbers.call(formula.function, zero)[0] != 0)

    def _points(self, formula: _Formula) -> _Points:
        """The points where ``formula`` is, over its own indices."""
        match formula:
            case _Relation(points):
                return points if points.columns else _Points(1, {})
            case Constant():
                return _Points(1, {})
            case Call("mul"):
                return self._product_points(_factors(formula))
        if self._is_everywhere(formula):
            return self._broadcast(_Points(1, {}), tuple(sorted(_indices(formula))))
        indices = tuple(sorted(_indices(formula)))
        parts = [self._broadcast(self._points(part), indices) for part in formula.arguments]
        return parts[0] if len(parts) == 1 else _united(parts, indices)

    def _product_points(self, factors: list[_Formula]) -> _Points:
        """Small factors first; those without new indices only say which points stay."""
        points = _Points(1, {})
        left = sorted(factors, key=self._estimate)
        while left:
            covered = set(points.columns)
            settled = [factor for factor in left if _indices(factor) <= covered]
            for factor in settled:
                points = points.at(self._values(factor, points)[1])
            left = [factor for factor in left if not any(factor is one for one in settled)]
            if left:
                joined = [factor for factor in left if _indices(factor) & covered] or left
                points = _joined(points, self._points(joined[0]))
                left = [factor for factor in left if factor is not joined[0]]
        return points

    def _estimate(self, formula: _Formula) -> float:
        """Estimates how many points there are at most."""
        match formula:
            case _Relation(points):
                return points.count
            case Constant():
                return 1
        indices = _indices(formula)
        everything = math.prod(self._sizes[index] for index in indices)
        parts = formula.arguments
        if formula.function == "mul":
            return min(everything, math.prod(map(self._estimate, parts)))
        if self._is_everywhere(formula) or any(_indices(part) != indices for part in parts):
            return everything
        return min(everything, sum(map(self._estimate, parts)))

    def _broadcast(self, points: _Points, indices: tuple[str, ...]) -> _Points:
        """The points at every coordinate of those ``indices`` that they lack."""
        for index in indices:
            if index not in points.columns:
                size = self._sizes[index]
                _require_capacity(points.count * size)
                columns = {name: np.repeat(one, size) for name, one in points.columns.items()}
                columns[index] = np.tile(np.arange(size), points.count)
                points = _Points(points.count * size, columns)
        return points

    # What a formula is there.

    def _values(self, formula: _Formula, points: _Points) -> tuple[np.ndarray, np.ndarray]:
        """Numbers at points, which have all its indices, and whether it is there; if not, 0."""
        match formula:
            case _Relation(numbers=stored):
                present, places = _found(formula, points)
                numbers = np.zeros(points.count, self._numbers.dtype)
                numbers[present] = stored[places[present]]
                return numbers, present
            case Constant(value):
                number = self._numbers.of(np.array([value]))
                return np.repeat(number, points.count), np.ones(points.count, bool)
        parts = [self._values(part, points) for part in formula.arguments]
        if len(parts) == 1:
            numbers, present = parts[0]
            if self._is_everywhere(formula):
                present = np.ones(points.count, bool)
            numbers = self._numbers.call(formula.function, numbers)
        else:
            (left, left_present), (right, right_present) = parts
            numbers = self._numbers.apply(formula.function, left, right)
            if formula.function == "mul":
                present = left_present & right_present
            else:
                present = left_present | right_present
        return np.where(present, numbers, numbers.dtype.type(0)), present


def _call(function: str, arguments: tuple[_Formula, ...]) -> Call[_Formula]:
    """What is negated is multiplied by -1."""
    if function == "neg":
        return Call("mul", (*arguments, Constant(-1.0)))
    return Call(function, arguments)


def _stored_points(tensor: Tensor, format: TensorFormat) -> np.ndarray:
    """Coordinates of everything that is stored, int64 [n, order], in any order."""
    entries = tensor.coordinates[:, list(format.modes)]
    stored = np.zeros((1, 0), np.int64)
    for level, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
        if kind == "dense":
            size = tensor.shape[mode]
            _require_capacity(len(stored) * size)
            column = np.tile(np.arange(size), len(stored))
            stored = np.column_stack([np.repeat(stored, size, axis=0), column])
        else:
            (keys,) = _keys([list(entries[:, : level + 1].T)], len(entries))
            stored = entries[np.unique(keys, return_index=True)[1], : level + 1]
    return stored[:, np.argsort(format.modes)]


def _require_capacity(count: int) -> None:
    if count > DENSE_LIMIT:
        raise CapacityError(
            f"the golden model needs {count:,} points: at most {DENSE_LIMIT:,} are kept in memory"
        )


def _indices(formula: _Formula) -> set[str]:
    match formula:
        case _Relation(points):
            return set(points.columns)
        case Constant():
            return set()
    return set().union(*map(_indices, formula.arguments))


def _factors(formula: _Formula) -> list[_Formula]:
    """The parts of nested products."""
    if isinstance(formula, Call) and formula.function == "mul":
        return [factor for part in formula.arguments for factor in _factors(part)]
    return [formula]


def _keys(tables: list[list[np.ndarray]], count: int = 0) -> list[np.ndarray]:
    """A number for each row of tables of the same columns, in the order of rows.

    ``count``: how many rows there are if there is no column.
    """
    lengths = [len(table[0]) if table else count for table in tables]
    key = np.zeros(sum(lengths), np.int64)
    extent = 1
    for columns in zip(*tables, strict=True):
        column = np.concatenate(columns)
        size = int(column.max(initial=0)) + 1
        if extent * size >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1]
            extent = int(key.max(initial=0)) + 1
        key = key * size + column
        extent *= size
    return np.split(key, np.cumsum(lengths)[:-1])


def _found(relation: _Relation, points: _Points) -> tuple[np.ndarray, np.ndarray]:
    """Whether the relation has each point, and the place of each in it."""
    names = list(relation.points.columns)
    if not names:
        # A scalar is there, unless it is a sum of nothing.
        places = np.zeros(points.count, np.int64)
        return np.full(points.count, relation.points.count > 0), places
    mine, wanted = _keys(
        [[one.columns[name] for name in names] for one in (relation.points, points)]
    )
    order = np.argsort(mine, kind="stable")
    places = np.searchsorted(mine[order], wanted)
    inside = places < len(mine)
    places = order[np.where(inside, places, 0)] if len(mine) else places
    present = inside
    present[inside] = mine[places[inside]] == wanted[inside]
    return present, places


def _united(parts: list[_Points], indices: tuple[str, ...]) -> _Points:
    """Points that any part has; all parts have the ``indices``."""
    if not indices:
        return _Points(1, {})
    columns = {index: np.concatenate([part.columns[index] for part in parts]) for index in indices}
    (keys,) = _keys([list(columns.values())])
    first = np.unique(keys, return_index=True)[1]
    return _Points(len(first), {index: column[first] for index, column in columns.items()})


def _joined(left: _Points, right: _Points) -> _Points:
    """Pairs of points that agree in the indices they share."""
    shared = [name for name in left.columns if name in right.columns]
    if shared:
        ones, others = _keys([[one.columns[name] for name in shared] for one in (left, right)])
    else:
        ones, others = np.zeros(left.count, np.int64), np.zeros(right.count, np.int64)
    order = np.argsort(others, kind="stable")
    others = others[order]
    begins = np.searchsorted(others, ones, side="left")
    counts = np.searchsorted(others, ones, side="right") - begins
    total = int(counts.sum())
    _require_capacity(total)
    from_left = np.repeat(np.arange(left.count), counts)
    offsets = np.cumsum(counts) - counts
    from_right = order[np.arange(total) + np.repeat(begins - offsets, counts)]
    columns = {name: column[from_left] for name, column in left.columns.items()}
    for name, column in right.columns.items():
        columns.setdefault(name, column[from_right])
    return _Points(total, columns)
