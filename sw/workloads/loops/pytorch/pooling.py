"""Operators that add up: loops over what goes into one element of the result."""

from __future__ import annotations

from gnarl.sw.workloads.loops.element_functions import number
from gnarl.sw.workloads.loops.expressions.destination import Destination, Indices
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
from gnarl.sw.workloads.loops.pytorch.loop import nested
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters
from gnarl.sw.workloads.loops.pytorch.values import (
    Pooled,
    Value,
    View,
    binary,
    cast,
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
) -> tuple[Pooled, None, None, None]:
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
    return found.then(mean) if _MODES[mode] == "mean" else found, None, None, None


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


def _add(result: Destination, at: Indices, value: Expression, place: Location) -> AugmentedStore:
    return AugmentedStore(BinaryOperator.ADD, result.array, result.at(at), value, place)
