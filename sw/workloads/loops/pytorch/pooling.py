"""Operators that add up: loops over what goes into one element of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gnarl.sw.workloads.loops.element_functions import number
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    BinaryOperator,
    Expression,
    Load,
    Select,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32
from gnarl.sw.workloads.loops.pytorch.loop import Loop, nested
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters, SparseMatrix, type_of
from gnarl.sw.workloads.loops.pytorch.values import (
    Destination,
    Indices,
    Pooled,
    Value,
    View,
    binary,
    cast,
    counted,
    integer,
    refuse,
)
from gnarl.sw.workloads.place import Location

_MODES = ("sum", "mean", "max")


def embedding_bag(
    parameters: Parameters,
    place: Location,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Pooled:
    """An array of offsets has that of the last bag's end, too."""
    if padding_idx is not None and padding_idx >= 0:
        refuse(place, f"padding_idx = {padding_idx}: must be left out")
    table, looked_up, starts = (
        parameters.plain(weight, place),
        parameters.plain(indices, place),
        parameters.plain(offsets, place),
    )
    if len(looked_up.shape) != 1 or len(starts.shape) != 1:
        refuse(place, "indices and offsets: must have one dimension")
    weights = None if per_sample_weights is None else parameters.plain(per_sample_weights, place)
    bags, dim = starts.shape[0] - include_last_offset, table.shape[1]
    fixed = looked_up.flattens
    rectangular = fixed is not None and fixed.shape[1:] == (starts.step,)
    if not rectangular and not starts.array:
        refuse(place, "offsets are computed: must be an input or a parameter")
    if not rectangular:
        parameters.offsets(starts, looked_up.shape[0], include_last_offset, place)

    def bounds(bag: Expression) -> tuple[Expression, Expression]:
        if rectangular:
            return integer(0, place), integer(starts.step, place)
        after = binary("+", bag, integer(1, place), place)
        return starts.at([bag]), starts.at([after])

    def element(view: View, bag: Expression, position: Expression) -> Expression:
        if rectangular and view.flattens is not None:
            return view.flattens.at([bag, position])
        if rectangular:
            row = binary("*", bag, integer(starts.step, place), place)
            position = binary("+", row, position, place)
        return view.at([position])

    def body(result: Destination, outer: Indices) -> tuple[Statement, ...]:
        (bag,) = outer
        lower, upper = bounds(bag)
        over = parameters.loop((lower, upper), place)
        along = parameters.loop(dim, place)
        at = (bag, along.variable)
        value = table.at([cast(element(looked_up, bag, over.variable), INT32, place), at[1]])
        if weights is not None:
            value = binary("*", element(weights, bag, over.variable), value, place)
        if _MODES[mode] != "max":
            return nested([over, along], (_add(result, at, value, place),))
        local = Variable(parameters.name("element"), FLOAT32, place)
        to = result.at(at)
        old = Load(result.array, to, FLOAT32, place)
        first = binary("==", over.variable, lower, place)
        most = Select(first, local, binary("max", old, local, place), place)
        inside = (Assign(local.name, value, place), Store(result.array, to, most, place))
        return nested([over, along], inside)

    def mean(indices: Indices, element: Expression) -> Expression:
        lower, upper = bounds(indices[0])
        count = binary("max", binary("-", upper, lower, place), integer(1, place), place)
        return binary("/", element, cast(count, FLOAT32, place), place)

    found = Pooled((bags, dim), 1, body, place)
    return found.then(mean) if _MODES[mode] == "mean" else found


def index_add(
    parameters: Parameters,
    place: Location,
    value: Value,
    dimension: int,
    index: Value,
    source: Value,
    alpha: float = 1,
) -> Pooled:
    into, places, added = (
        parameters.plain(value, place),
        parameters.plain(index, place),
        parameters.plain(source, place),
    )
    if into.type != FLOAT32 or added.type != FLOAT32:
        refuse(place, "must be of float32")
    if len(added.shape) != len(into.shape) or len(places.shape) != 1 or not into.shape:
        refuse(place, "a tensor without dimensions: all three must have some")
    dimension %= len(into.shape)

    def body(result: Destination, outer: Indices) -> tuple[Statement, ...]:
        loops = [parameters.loop(size, place) for size in added.shape]
        from_ = [each.variable for each in loops]
        to: list[Expression] = [*from_]
        to[dimension] = cast(places.at([from_[dimension]]), INT32, place)
        term = added.at(from_)
        if alpha != 1:
            term = binary("*", term, number(alpha, FLOAT32, place), place)
        return nested(loops, (_add(result, to, term, place),))

    return Pooled(into.shape, 0, body, place, start=None if into.zeros else into)


def sparse_mm(parameters: Parameters, place: Location, left: Any, right: Value) -> Pooled:
    if not isinstance(left, SparseMatrix):
        refuse(place, "its first operand must be an input or a parameter, CSR or COO")
    dense = parameters.plain(right, place)
    if len(dense.shape) != 2:
        refuse(place, f"its second operand has {len(dense.shape)} dimensions: must have 2")
    shape, segments, rows = (left.shape[0], dense.shape[1]), left.segments, left.rows

    def terms(
        result: Destination, row: Expression, over: Loop, position: Expression
    ) -> tuple[Statement, ...]:
        along = parameters.loop(shape[1], place)
        column = left.columns.at([position])
        product = binary("*", left.values.at([position]), dense.at([column, along.variable]), place)
        return nested([over, along], (_add(result, (row, along.variable), product, place),))

    def by_rows(result: Destination, outer: Indices) -> tuple[Statement, ...]:
        assert segments is not None
        after = binary("+", outer[0], integer(1, place), place)
        over = parameters.loop((segments.at(outer), segments.at([after])), place)
        return terms(result, outer[0], over, over.variable)

    def by_entries(result: Destination, outer: Indices) -> tuple[Statement, ...]:
        assert rows is not None
        over = parameters.loop(rows.shape[0], place)
        return terms(result, rows.at([over.variable]), over, over.variable)

    body: Callable[[Destination, Indices], tuple[Statement, ...]] = by_entries if rows else by_rows
    return Pooled(shape, 1 if segments else 0, body, place)


def sum_(
    parameters: Parameters,
    place: Location,
    value: Value,
    dimensions: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Pooled:
    """Sums up in the order of indices, the last the fastest."""
    view = parameters.plain(value, place)
    if view.type != FLOAT32 or (dtype is not None and type_of(dtype) != FLOAT32):
        refuse(place, f"of {dtype or view.type}: must be of float32")
    order = len(view.shape)
    gone = {*range(order)}
    if dimensions:
        gone &= {counted(d, order) for d in dimensions}
    outer = min(gone, default=order)
    shape = tuple(
        1 if d in gone else size for d, size in enumerate(view.shape) if keepdim or d not in gone
    )

    def body(result: Destination, around: Indices) -> tuple[Statement, ...]:
        loops = [parameters.loop(size, place) for size in view.shape[outer:]]
        indices = [*around, *(each.variable for each in loops)]
        zero = integer(0, place)
        kept = [
            zero if d in gone else each
            for d, each in enumerate(indices)
            if keepdim or d not in gone
        ]
        return nested(loops, (_add(result, kept, view.at(indices), place),))

    return Pooled(shape, outer, body, place)


def mean(
    parameters: Parameters,
    place: Location,
    value: Value,
    dimensions: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Pooled:
    """The sum, divided by how many elements are in it."""
    sums = sum_(parameters, place, value, dimensions, keepdim, dtype)
    count = number(prod(value.shape) // max(prod(sums.shape), 1), FLOAT32, place)
    return sums.then(lambda indices, element: binary("/", element, count, place))


def _add(result: Destination, at: Indices, value: Expression, place: Location) -> AugmentedStore:
    return AugmentedStore(BinaryOperator.ADD, result.array, result.at(at), value, place)
