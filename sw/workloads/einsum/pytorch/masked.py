"""Masks: tensors that are -∞ where a pattern has no entry, and what is computed of them.

A pattern is a tensor of the program with an entry, 1, for each element that a mask keeps; loops
iterate over it. What a masked tensor is elsewhere, its view says: it costs nothing until something
takes it that must have all elements, see ``plain``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NoReturn, Protocol

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.views import (
    Additive,
    Along,
    Compared,
    EmptyRows,
    Masked,
    View,
)
from gnarl.sw.workloads.einsum.rearrangement import Kept, Pattern, Rearrangement, Reshape
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant

_NOT_ZERO = Pattern("ne", 0.0)


class Step(Protocol):
    """What is asked of an operator's step, see ``statements.Step``."""

    @property
    def statements(self) -> Any: ...

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> str: ...

    def refuse(self, text: str) -> NoReturn: ...

    def elementwise(self, element: Any, *operands: Any, part: str = "") -> View: ...

    def reduced(
        self,
        op: str,
        view: View,
        dims: Sequence[int],
        keepdim: bool = False,
        part: str = "",
        finish: Any = None,
        inside: Any = None,
        others: Sequence[View] = (),
    ) -> View: ...


def product(factors: Sequence[EinsumExpression]) -> EinsumExpression:
    """The product of some factors, left to right."""
    return reduce(lambda left, right: Call("mul", (left, right)), factors)


# Patterns.


def pattern(step: Step, condition: View, shape: Sequence[int]) -> View:
    """The view of a pattern, which broadcasts to a shape: where a condition holds.

    condition
        a view that means ``Compared``, or of zeros and ones, of what no launch computes.
    """
    how = condition.meaning.how if isinstance(condition.meaning, Compared) else _NOT_ZERO
    if not step.statements.is_given(condition.tensor):
        step.refuse(
            "a mask of what is computed: must be of inputs or of numbers: conditions on computed "
            "values are not supported"
        )
    kept = _of_many(
        [dim for dim, mode in enumerate(condition.modes) if mode is not None],
        condition.shape,
        shape,
    )
    modes = tuple(condition.modes[dim] for dim in kept)
    key = condition.tensor, how, modes
    known = step.statements.pattern_names
    if not kept:
        step.refuse(_ONE_FOR_MANY)
    if key not in known:
        known[key] = _made(step, condition.bare(), how, kept)
    return _lying(known[key], condition.shape, kept)


def constant_pattern(step: Step, kept: Any, shape: Sequence[int]) -> View:
    """The view of the pattern of a tensor of PyTorch's, of bool, which broadcasts to a shape."""
    dims = _of_many(range(kept.dim()), kept.shape, shape)
    if not dims:
        step.refuse(_ONE_FOR_MANY)
    short = kept.squeeze([dim for dim in range(kept.dim()) if dim not in dims])
    key = tuple(short.shape), short.numpy().tobytes()
    known = step.statements.pattern_names
    if key not in known:
        view = step.statements.given(f"{step.name}_mask", short.double())
        step.statements.patterns[view.tensor] = tuple(range(len(dims)))
        step.statements.known_patterns[view.tensor] = short
        known[key] = view.tensor
    return _lying(known[key], tuple(kept.shape), dims)


_ONE_FOR_MANY = "a mask of one element for many: must have a dimension of what it masks"


def _of_many(dims: Iterable[int], own: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Those of the dimensions of a mask that a pattern has, in which it does not broadcast to a
    shape: none of size 1, which might do so later, unless there are no others."""
    first = len(shape) - len(own)
    same = [dim for dim in dims if own[dim] == shape[first + dim]]
    return [dim for dim in same if own[dim] != 1] or same


def _lying(tensor: str, shape: tuple[int, ...], dims: Sequence[int]) -> View:
    """The view of a tensor whose modes are some dimensions of a shape."""
    modes = tuple(dims.index(dim) if dim in dims else None for dim in range(len(shape)))
    return View(tensor, shape, modes)


def _made(step: Step, view: View, how: Pattern | Kept, kept: Sequence[int]) -> str:
    """The name of the pattern of a view, whose modes are those of its dimensions that are kept."""
    statements = step.statements
    indices = statements.names.indices()
    at = {mode: next(indices) for mode in range(len(statements.shapes[view.tensor]))}
    wanted = tuple(at[mode] for dim in kept if (mode := view.modes[dim]) is not None)
    rest = tuple(each for each in at.values() if each not in wanted)
    name = statements.names.claim(f"{view.tensor}_pattern")
    whole = Access(name if not rest else statements.names.claim(f"{name}_whole"), (*rest, *wanted))
    operand = Access(view.tensor, tuple(at.values()))
    statements.added.append(Rearrangement(whole, how, (operand,), step.place))
    sizes = {at[mode]: size for mode, size in enumerate(statements.shapes[view.tensor])}
    statements.shapes[whole.tensor] = tuple(sizes[index] for index in whole.indices)
    if rest:  # of size 1
        access = Access(name, wanted)
        statements.added.append(Rearrangement(access, Reshape(), (whole,), step.place))
        statements.shapes[name] = tuple(sizes[index] for index in wanted)
    statements.patterns[name] = tuple(range(len(wanted)))
    return name


# What is -∞ elsewhere.


def masked(step: Step, x: View | float, kept: View, part: str = "") -> View:
    """A tensor that is -∞ where a pattern has no entry."""
    inside = [*patterns_of(x), kept] if isinstance(x, View) else [kept]
    bare = x.bare() if isinstance(x, View) else x
    found = step.elementwise(lambda a, b: Call("mul", (a, b)), bare, kept, part=part)
    return with_patterns(step, found, inside)


def patterns_of(view: View) -> list[View]:
    """Patterns of a masked view, in its own shape."""
    if not isinstance(view.meaning, Masked):
        return []
    return [_along(view, each) for each in view.meaning.patterns]


def with_patterns(step: Step, view: View, patterns: Sequence[View]) -> View:
    """A view that is -∞ where one of the patterns, which broadcast to it, has no entry."""
    for each in patterns:
        first = view.rank - each.rank
        for dim, mode in enumerate(each.modes):
            if mode is not None and each.shape[dim] != view.shape[first + dim]:
                step.refuse(_ONE_FOR_MANY)
    return replace(view, meaning=Masked(tuple(_lies_along(view, each) for each in patterns)))


def _along(view: View, along: Along) -> View:
    """A tensor that lies along a view's, in the shape of the view."""
    at = {mode: place for place, mode in enumerate(along.modes)}
    modes = tuple(None if mode is None else at.get(mode) for mode in view.modes)
    return View(along.tensor, view.shape, modes)


def _lies_along(view: View, other: View) -> Along:
    """Where the tensor of another view, which broadcasts to a view, lies along the view's."""
    first = view.rank - other.rank
    at = {mode: view.modes[first + dim] for dim, mode in enumerate(other.modes) if mode is not None}
    modes = tuple(at[mode] for mode in sorted(at))
    assert None not in modes
    return Along(other.tensor, modes)  # type: ignore[arg-type]


def keeping(step: Step, function: Any, x: View, *others: Any) -> View:
    """What an increasing function gives of a masked tensor and finite operands: -∞ where that
    is."""
    inside = patterns_of(x)

    def element(a: EinsumExpression, *rest: EinsumExpression) -> EinsumExpression:
        own, patterns = rest[: len(others)], rest[len(others) :]
        return product([function(a, *own), *patterns])

    found = step.elementwise(element, x.bare(), *others, *inside)
    return with_patterns(step, found, inside)


# Softmax.


def masked_softmax(step: Step, x: View, dims: Sequence[int], part: str = "") -> View:
    """The softmax of a masked tensor, computed where its patterns have entries: 0 elsewhere, and
    NaN in rows without any."""
    inside = patterns_of(x)
    for each in inside:
        step.statements.patterns[each.tensor] = _innermost(each, dims)

    def within(a: EinsumExpression, *patterns: EinsumExpression) -> EinsumExpression:
        # Without the 0 it would not be where scores are missing, which are 0 there.
        return product([Call("add", (a, Constant(0.0))), *patterns])

    def power(
        a: EinsumExpression, most: EinsumExpression, *patterns: EinsumExpression
    ) -> EinsumExpression:
        return product([Call("exp", (Call("sub", (a, most)),)), *patterns])

    def weight(a: EinsumExpression, total: EinsumExpression) -> EinsumExpression:
        # Totals are 1 at least, but of rows without entries: what is missing there is not over 0.
        return Call("div", (a, Call("max", (total, Constant(1.0)))))

    bare = x.bare()
    most = step.reduced("greatest", bare, dims, True, "max", inside=within, others=inside)
    powers = step.elementwise(power, bare, most, *inside, part="exp")
    total = step.reduced("sum", powers, dims, True, "sum")
    weights = step.elementwise(weight, powers, total, part=part)
    is_sure = _has_entries_in_all_rows(step, inside, dims)
    totals = () if is_sure else (_lies_along(weights, total),)
    return replace(weights, meaning=EmptyRows(totals))


def _has_entries_in_all_rows(step: Step, inside: Sequence[View], dims: Sequence[int]) -> bool:
    """Whether rows along some dimensions have no elements at all, or the only pattern is known, and
    has an entry in each."""
    if any(inside[0].shape[dim] == 0 for dim in dims):
        return True
    known = step.statements.known_patterns.get(inside[0].tensor)
    if known is None or len(inside) > 1:
        return False
    modes = [mode for dim in dims if (mode := inside[0].modes[dim]) is not None]
    return bool((known.any(dim=tuple(modes)) if modes else known).all())


def _innermost(view: View, dims: Sequence[int]) -> tuple[int, ...]:
    """The modes of a pattern in an order in which those of some dimensions come last."""
    inner = [mode for dim in dims if (mode := view.modes[dim]) is not None]
    modes = [mode for mode in view.modes if mode is not None]
    return tuple(sorted(modes, key=lambda mode: (mode in inner, mode)))


# All elements.


def plain(step: Step, view: View, part: str = "") -> View:
    """A view whose elements are its tensor's own, with whatever they are elsewhere."""
    match view.meaning:
        case None:
            return view
        case Compared():
            return pattern(step, view, view.shape)
        case Additive():
            step.refuse(
                "of a mask with -inf that is an input: must be added to scores, or be the mask of "
                "scaled_dot_product_attention"
            )
        case Masked():
            inside = patterns_of(view)
            if not inside:
                return view.bare()
            return step.elementwise(
                lambda a, *patterns: Call("add", (a, Call("log", (product(patterns),)))),
                view.bare(),
                *inside,
                part=part,
            )
        case EmptyRows(()):
            return view.bare()
        case EmptyRows(totals):
            found = step.elementwise(
                lambda a, *rest: reduce(_with_empty_rows, rest, a),
                view.bare(),
                *(_along(view, each) for each in totals),
                part=part,
            )
            step.statements.with_nan.add(found.tensor)
            return found


def _with_empty_rows(a: EinsumExpression, total: EinsumExpression) -> EinsumExpression:
    """0 over the total, which is NaN where that is 0, is added."""
    return Call("add", (a, Call("mul", (Constant(0.0), Call("reciprocal", (total,))))))


def carried(found: View, operands: Sequence[tuple[View, Sequence[int | None]]]) -> View:
    """A product whose operands may have empty rows: it has them, too, but as a sum of nothing.

    operands
        each with the dimension of the product that each of its dimensions is; ``None`` for those
        that are summed.
    """
    totals: list[Along] = []
    is_of_none = any(
        size == 0 and place is None
        for view, places in operands
        for size, place in zip(view.shape, places, strict=True)
    )
    for view, places in operands:
        if is_of_none or not isinstance(view.meaning, EmptyRows):
            continue
        at = {
            mode: found.modes[place]
            for mode, place in zip(view.modes, places, strict=True)
            if mode is not None and place is not None
        }
        for each in view.meaning.totals:
            totals.append(Along(each.tensor, tuple(at[mode] for mode in each.modes)))  # type: ignore
    has_rows = any(isinstance(view.meaning, EmptyRows) for view, _ in operands)
    return replace(found, meaning=EmptyRows(tuple(totals))) if has_rows else found


def is_carried(view: View, places: Sequence[int | None]) -> bool:
    """Whether a product has all dimensions along which rows of an operand are empty.

    places
        see ``carried``; ``None`` for those that are summed.
    """
    if not isinstance(view.meaning, EmptyRows):
        return view.meaning is None
    kept = {mode for mode, place in zip(view.modes, places, strict=True) if place is not None}
    return all(mode in kept for each in view.meaning.totals for mode in each.modes)
