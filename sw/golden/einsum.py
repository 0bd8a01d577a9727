"""What an Einsum program means: relations between points, whatever computes it.

A tensor is a relation of coordinates and values. The points of an input are those that its format
stores: all coordinates of dense levels, else those of entries; those of a tensor that is computed
are where its expression is, whatever format it may have. A product is where all factors are, a sum
where either part is, and what is missing there is 0; functions that are not 0 at 0 are everywhere.
Elements that are moved are missing where they were; a pattern is where it says. Where coordinates
are listed there is an entry, whose number may be 0: the sum of those listed with it, in order.
A part without an index is the same at all its coordinates. A reduction is where its part is at any
coordinate of what is reduced; reduced to a scalar, it is there anyway.

A sum is of what is there, one index at a time, the innermost loop's first, and in ascending order
of coordinates; loops without an order run in order of appearance, the result's indices first.
Where an index has lanes and its loop is around others of what is summed, coordinates that are equal
modulo their number are summed so, and then neighbours of these sums, in pairs, and pairs of pairs;
a sum of nothing is 0. Where it has blocks, each word of all blocks is summed so, or each word of
those of a lane; neighbours are added, those of lanes first, then those of words.
A ``max`` has 0 among its numbers where the part is missing at any coordinate, a ``greatest`` has
not.
``a/b`` is ``a*reciprocal(b)``, rounded twice; ``-a`` is ``a*-1``.

Graphs are not held to this where they multiply what is missing by infinity: a loop that must have
every coordinate, as that of a maximum has, stores zeros there, and 0·∞ is NaN. So it is where what
is missing is divided by 0.

Source: Kjolstad et al., "The Tensor Algebra Compiler", OOPSLA 2017, section 3; FuseFlow, section 4;
arithmetic and order are those of the hardware.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gnarl.hw.sam.block_types import COMPRESSED
from gnarl.sw.golden.numbers import Numbers, Reals, Words
from gnarl.sw.golden.rearranged import of_coordinates, rearranged
from gnarl.sw.golden.relations import (
    Points,
    Relation,
    ascending,
    joined,
    numbers_at,
    require_capacity,
    row_keys,
    stored_points,
    united,
)
from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression, EinsumProgram
from gnarl.sw.workloads.einsum.rearrangement import Coo, Kept, Rearrangement, Stored
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor

Entries: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Coordinates, int64 [n, order], ascending, and a number [n] at each."""


def evaluate(
    program: EinsumProgram,
    tensors: Mapping[str, Tensor],
    format: str,
    keep: Collection[str] = (),
    lanes: Mapping[str, int] = {},
    blocks: Mapping[str, int] = {},
) -> dict[str, Entries]:
    """Results, and the tensors to ``keep``, bit for bit, by name: entries with words, uint32.

    lanes
        powers of two: by how many partial sums an index is summed, where others lie inside.
    blocks
        powers of two: how many neighbours along an index are one value, each word of which is
        summed by itself.

    Missing entries are 0, and stored ones may be. ``tensors`` has the inputs, which may be infinite
    or NaN, and tensors of whose indices some are in no operand, for their shapes. Raises
    ``ValueError`` for a value that ``format`` cannot hold or a function that it lacks,
    ``WorkloadError`` for sizes that do not agree, ``CapacityError`` for more points than
    ``DENSE_LIMIT``.
    """
    return evaluate_with(Words(format), program, tensors, keep, lanes, blocks)


def reference(
    program: EinsumProgram, tensors: Mapping[str, Tensor], keep: Collection[str] = ()
) -> dict[str, Entries]:
    """Evaluates as ``evaluate`` does, with all numbers in float64 [n]."""
    with np.errstate(all="ignore"):
        return evaluate_with(Reals(), program, tensors, keep)


def evaluate_with(
    numbers: Numbers,
    program: EinsumProgram,
    tensors: Mapping[str, Tensor],
    keep: Collection[str] = (),
    lanes: Mapping[str, int] = {},
    blocks: Mapping[str, int] = {},
) -> dict[str, Entries]:
    """Evaluates as ``evaluate`` does, with other numbers."""
    sizes = program_shapes(program, {name: each.shape for name, each in tensors.items()}).indices
    operands = Operands(tensors, program.formats, numbers)
    wanted = {*program.results, *keep}
    last = {name: users[-1] for name, users in program.consumers.items()}
    kept = dict[str, Entries]()
    for statement in program.statements:
        own = sizes[statement.name]
        if isinstance(statement, Rearrangement) and isinstance(statement.how, Coo | Stored | Kept):
            first, *values = statement.operands
            tensor = tensors[first.tensor]
            relation = of_coordinates(statement, tensor, [*map(operands.at, values)], own, numbers)
        elif isinstance(statement, Rearrangement):
            relation = rearranged(statement, [*map(operands.at, statement.operands)], own, numbers)
        else:
            relation = evaluate_statement(statement, operands, own, numbers, lanes, blocks)
        operands.add(statement.result, relation)
        if statement.name in wanted:
            kept[statement.name] = entries(relation, statement.result.indices)
        for access in statement.operands:
            if last[access.tensor] == statement.name:
                operands.drop(access.tensor)
    return {name: kept[name] for name in (*program.results, *keep)}


def alone(program: EinsumProgram, name: str, formats: Mapping[str, TensorFormat]) -> EinsumProgram:
    """The program of one of its statements, whose operands are inputs.

    Those without a format of ``formats`` are where they have entries.
    """
    statement = program[name]
    stored = {}
    for access in (*statement.operands, statement.result):
        order = len(access.indices)
        entries_only = TensorFormat((COMPRESSED,) * order, tuple(range(order)))
        stored[access.tensor] = formats.get(access.tensor, entries_only)
    return EinsumProgram(name, (statement,), stored, (name,))


class Operands:
    """Relations of tensors at any indices: of inputs, and of what was computed."""

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        formats: Mapping[str, TensorFormat],
        numbers: Numbers,
    ) -> None:
        self._tensors = tensors
        self._formats = formats
        self._numbers = numbers
        self._relations: dict[str, tuple[tuple[str, ...], Relation]] = {}

    def add(self, result: Access, relation: Relation) -> None:
        """Adds a tensor that was computed, at its indices."""
        self._relations[result.tensor] = result.indices, relation

    def drop(self, tensor: str) -> None:
        """Forgets a tensor that is not needed any more."""
        self._relations.pop(tensor, None)

    def at(self, access: Access) -> Relation:
        """The relation of a tensor, at the indices of an access."""
        if access.tensor not in self._relations:
            self.add(access, self._stored(access))
        indices, relation = self._relations[access.tensor]
        if indices == access.indices:
            return relation
        names = zip(indices, access.indices, strict=True)
        columns = {name: relation.points.columns[index] for index, name in names}
        return Relation(Points(relation.points.count, columns), relation.numbers)

    def _stored(self, access: Access) -> Relation:
        tensor = self._tensors[access.tensor]
        stored = stored_points(tensor, self._formats[access.tensor])
        columns = dict(zip(access.indices, tensor.coordinates.T, strict=True))
        own = Relation(Points(tensor.nnz, columns), self._numbers.of(tensor.values))
        if stored is tensor.coordinates:
            return own
        points = Points(len(stored), dict(zip(access.indices, stored.T, strict=True)))
        return Relation(points, numbers_at(own, points)[0])


def entries(relation: Relation, indices: Sequence[str]) -> Entries:
    """Coordinates and numbers of a relation, whose columns are these indices."""
    points = relation.points
    (keys,) = row_keys([[points.columns[index] for index in indices]], points.count)
    order = ascending(keys)
    at = slice(None) if order is None else order
    coordinates = np.empty((points.count, len(indices)), np.int64)
    for place, index in enumerate(indices):
        coordinates[:, place] = points.columns[index][at]
    return coordinates, relation.numbers[at]


def evaluate_statement(
    statement: Einsum,
    operands: Operands,
    sizes: Mapping[str, int],
    numbers: Numbers,
    lanes: Mapping[str, int] = {},
    blocks: Mapping[str, int] = {},
) -> Relation:
    """The tensor that a statement computes, at its indices; ``lanes`` and ``blocks`` as of
    ``evaluate``."""
    return _Evaluation(statement, operands, sizes, numbers, lanes, blocks).result()


_Formula: TypeAlias = "Relation | Constant | Call[_Formula]"
"""An expression with its tensors and reductions as relations."""


class _Evaluation:
    def __init__(
        self,
        statement: Einsum,
        operands: Operands,
        sizes: Mapping[str, int],
        numbers: Numbers,
        lanes: Mapping[str, int],
        blocks: Mapping[str, int],
    ) -> None:
        self._statement = statement
        self._operands = operands
        self._sizes = sizes
        self._numbers = numbers
        self._inner_first = (statement.order or statement.indices)[::-1]
        self._lanes = lanes
        self._blocks = blocks

    def result(self) -> Relation:
        formula = self._formula(self._statement.expression)
        points = self._broadcast(self._points(formula), self._statement.result.indices)
        return Relation(points, self._values(formula, points)[0])

    # From expressions to formulas.

    def _formula(self, expression: EinsumExpression) -> _Formula:
        match expression:
            case Access():
                return self._operands.at(expression)
            case Constant():
                return expression
            case Call("neg", (part,)):
                return Call("mul", (self._formula(part), Constant(-1.0)))
            case Call("div", (dividend, divisor)):
                factor = Call("reciprocal", (self._formula(divisor),))
                return Call("mul", (self._formula(dividend), factor))
            case Call(function, arguments):
                return Call(function, tuple(map(self._formula, arguments)))
            case Reduction(op, indices, part):
                return self._reduced(op, indices, self._formula(part))

    def _reduced(self, op: str, indices: Collection[str], formula: _Formula) -> Relation:
        points = self._points(formula)
        numbers, _ = self._values(formula, points)
        for index in self._inner_first:
            if index in indices:
                points, numbers = self._reduced_over(op, index, points, numbers)
        if not points.columns and not points.count:
            return Relation(Points(1, {}), np.zeros(1, self._numbers.dtype))
        return Relation(points, numbers)

    def _reduced_over(
        self, op: str, index: str, points: Points, numbers: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        rest = [name for name in points.columns if name != index]
        columns = [points.columns[name] for name in (*rest, index)]
        (keys,) = row_keys([columns], points.count)
        if (order := ascending(keys)) is not None:
            points, numbers = points.at(order), numbers[order]
        del keys, columns, order
        begins = np.zeros(points.count, bool)
        begins[:1] = True
        for name in rest:
            begins[1:] |= points.columns[name][1:] != points.columns[name][:-1]
        first = np.flatnonzero(begins)
        lengths = np.diff(np.append(first, points.count))
        if op == "sum":
            lanes = self._lanes[index] if self._has_lanes(index, rest) else 1
            words = self._blocks.get(index, 1)
            if lanes * words > 1:
                block, word = np.divmod(points.columns[index], words)
                share = word * lanes + block % lanes
                numbers = self._sums_of_shares(numbers, lengths, share, lanes * words)
            else:
                numbers = self._numbers.totals("add", numbers, lengths)
        else:
            numbers = self._numbers.totals("max", numbers, lengths)
        if op == "max":
            with_zero = self._numbers.apply("max", numbers, np.zeros_like(numbers))
            numbers = np.where(lengths < self._sizes[index], with_zero, numbers)
        return Points(len(first), {name: points.columns[name][first] for name in rest}), numbers

    def _has_lanes(self, index: str, rest: Collection[str]) -> bool:
        """Whether an index is summed by lanes, around one of the loops that are left."""
        inside = self._inner_first[: self._inner_first.index(index)]
        return index in self._lanes and not set(inside).isdisjoint(rest)

    def _sums_of_shares(
        self, numbers: np.ndarray, lengths: np.ndarray, share: np.ndarray, shares: int
    ) -> np.ndarray:
        """A sum of each run of ``lengths`` numbers, of each of its shares first: those of a word of
        all blocks that a lane has. Then neighbours are added, in pairs and pairs of pairs."""
        place = np.repeat(np.arange(len(lengths)) * shares, lengths) + share
        counts = np.bincount(place, minlength=len(lengths) * shares)
        ordered = numbers[np.argsort(place, kind="stable")]
        sums = np.zeros(len(counts), self._numbers.dtype)
        sums[counts > 0] = self._numbers.totals("add", ordered, counts[counts > 0])
        while len(sums) > len(lengths):
            sums = self._numbers.apply("add", sums[::2], sums[1::2])
        return sums

    # Where a formula is.

    def _is_everywhere(self, formula: _Formula) -> bool:
        """Whether a function, applied to whatever it is, is not 0 at 0."""
        if not isinstance(formula, Call) or len(formula.arguments) > 1:
            return False
        return not self._numbers.keeps_zero(formula.function)

    def _points(self, formula: _Formula) -> Points:
        """The points where ``formula`` is, over its own indices."""
        match formula:
            case Relation(points):
                return points if points.columns else Points(1, {})
            case Constant():
                return Points(1, {})
            case Call("mul"):
                return self._product_points(_factors(formula))
        if self._is_everywhere(formula):
            return self._broadcast(Points(1, {}), tuple(sorted(_indices(formula))))
        indices = tuple(sorted(_indices(formula)))
        parts = [self._broadcast(self._points(part), indices) for part in formula.arguments]
        return parts[0] if len(parts) == 1 else united(parts, indices)

    def _product_points(self, factors: list[_Formula]) -> Points:
        """Small factors first; those without new indices only say which points stay.

        A factor whose indices another has, too, waits for it.
        """
        points = Points(1, {})
        left = sorted(factors, key=lambda one: (_is_within(one, factors), self._estimate(one)))
        first = _indices(left[0])
        if first and all(_indices(one) <= first for one in left):
            points = self._points(left.pop(0))
        while left:
            covered = set(points.columns)
            settled = [factor for factor in left if _indices(factor) <= covered]
            for factor in settled:
                points = points.at(self._values(factor, points)[1])
            left = [factor for factor in left if not any(factor is one for one in settled)]
            if left:
                best = ([factor for factor in left if _indices(factor) & covered] or left)[0]
                points = joined(points, self._points(best))
                left = [factor for factor in left if factor is not best]
        return points

    def _estimate(self, formula: _Formula) -> float:
        """Estimates how many points there are at most."""
        match formula:
            case Relation(points):
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

    def _broadcast(self, points: Points, indices: tuple[str, ...]) -> Points:
        """The points at every coordinate of those ``indices`` that they lack."""
        for index in indices:
            if index not in points.columns:
                size = self._sizes[index]
                require_capacity(points.count * size)
                columns = {name: np.repeat(one, size) for name, one in points.columns.items()}
                columns[index] = np.tile(np.arange(size), points.count)
                points = Points(points.count * size, columns)
        return points

    # What a formula is there.

    def _values(self, formula: _Formula, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """Numbers at points, which have all its indices, and whether it is there; if not, 0."""
        match formula:
            case Relation():
                return numbers_at(formula, points)
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
        return np.where(present, numbers, np.zeros(1, numbers.dtype)), present


def _indices(formula: _Formula) -> set[str]:
    match formula:
        case Relation(points):
            return set(points.columns)
        case Constant():
            return set()
    return set().union(*map(_indices, formula.arguments))


def _is_within(formula: _Formula, others: Collection[_Formula]) -> bool:
    """Whether another one has all indices of a formula, and more."""
    indices = _indices(formula)
    return any(indices < _indices(other) for other in others)


def _factors(formula: _Formula) -> list[_Formula]:
    """The parts of nested products."""
    if isinstance(formula, Call) and formula.function == "mul":
        return [factor for part in formula.arguments for factor in _factors(part)]
    return [formula]
