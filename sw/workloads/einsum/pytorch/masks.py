"""Operators that take masks: tensors of PyTorch's that are known, or views of what is given.

Only -∞ makes a mask whose elements are not computed: where it is taken with another number, or is
a factor, all that PyTorch computes is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from gnarl.sw.workloads.einsum.pytorch.elementwise import ELEMENTWISE, Operator, call, scaled
from gnarl.sw.workloads.einsum.pytorch.inputs import is_strided
from gnarl.sw.workloads.einsum.pytorch.masked import (
    constant_pattern,
    keeping,
    masked,
    pattern,
    plain,
    with_patterns,
)
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.pytorch.views import Additive, Compared, EmptyRows, Masked, View
from gnarl.sw.workloads.einsum.rearrangement import COMPARISONS, Kept, Pattern
from gnarl.sw.workloads.pytorch.export import require_torch

Value: TypeAlias = Any
"""A number, a view, or a tensor of PyTorch's that is known and is a mask, see ``is_mask``."""

TAKING_INFINITY = tuple(
    f"aten.{name}"
    for name in (
        *(f"where.{overload}" for overload in ("self", "ScalarSelf", "ScalarOther", "Scalar")),
        "masked_fill.Scalar",
    )
)
"""Operators that may be given numbers that are not finite."""

_OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def is_mask(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch's that says which elements count: of truth values, or
    with -∞."""
    if not hasattr(value, "layout") or not is_strided(value):
        return False
    return str(value.dtype) == "torch.bool" or bool((value == -math.inf).any())


# Inputs of 0 and -∞.

BESIDE_OTHERS = (
    ": a mask that is an input must be of 0 and -inf, or of truth values; one with other numbers "
    "must be a buffer"
)
"""What else to do, of inputs with -∞."""


def is_additive_mask(value: Any) -> bool:
    """Whether a tensor of PyTorch's has no numbers but 0 and -∞."""
    return bool(((value == 0) | (value == -math.inf)).all())


def is_additive(value: Value) -> bool:
    """Whether a value is such an input."""
    return isinstance(value, View) and isinstance(value.meaning, Additive)


def moved_mask(operator: Operator, step: Step, mask: View, *rest: Any, **named: Any) -> Any:
    """What an operator gives that moves elements of an input of 0 and -∞, as masks."""
    found = operator(step, _pattern(step, _where_kept(step, mask), mask.shape), *rest, **named)
    if isinstance(found, View):
        return replace(found, meaning=Additive())
    return [replace(each, meaning=Additive()) for each in found]


def _where_kept(step: Step, mask: View) -> View:
    """The condition of such an input, or of what is moved of it, which are ones."""
    is_input = all(each.name != mask.tensor for each in step.statements.added)
    return replace(mask, meaning=Compared(Kept() if is_input else Pattern("ne", 0.0)))


# Conditions.


def _compared(comparison: str) -> Operator:
    def operator(step: Step, x: View, number: float) -> View:
        return _condition(step, x, Pattern(comparison, float(number)))

    return operator


def _complement(step: Step, x: View) -> View:
    """Of whole numbers it is another number."""
    if not x.is_truth:
        step.refuse("of numbers: must be of truth values")
    return _not(step, x)


def _not(step: Step, x: View) -> View:
    if not isinstance(x.meaning, Compared):
        return _condition(step, x, Pattern("eq", 0.0))
    how = x.meaning.how
    assert isinstance(how, Pattern)  # of masks that are inputs there are no conditions
    return replace(x, meaning=Compared(replace(how, comparison=_OPPOSITES[how.comparison])))


def _condition(step: Step, x: View, how: Pattern) -> View:
    if not step.statements.is_given(x.tensor):
        step.refuse(
            "of what is computed: must be of inputs or of numbers: conditions on computed values "
            "are not supported"
        )
    x = plain(step, x, "all")
    return replace(x, meaning=Compared(how))


def truth(step: Step, x: View) -> View:
    """Where a tensor is not 0."""
    return x if x.is_truth else _condition(step, x, Pattern("ne", 0.0))


def _negated(condition: Value, step: Step) -> Value:
    return _not(step, condition) if isinstance(condition, View) else ~condition


def _pattern(step: Step, condition: Value, shape: tuple[int, ...]) -> View:
    if isinstance(condition, View):
        return pattern(step, condition, shape)
    return constant_pattern(step, condition, shape)


# Elements that are chosen.


def _where(step: Step, condition: Value, x: Value, y: Value) -> View:
    shape = _joint_shape(condition, x, y)
    if _is_lowest(y):
        return _kept(step, x, condition).expanded(shape)
    if _is_lowest(x):
        return _kept(step, y, _negated(condition, step)).expanded(shape)
    one, other = _finite(step, x), _finite(step, y)
    parts = [
        (_pattern(step, chosen, shape), value)
        for chosen, value in ((condition, one), (_negated(condition, step), other))
        if isinstance(value, View) or value
    ]
    if not parts:
        return step.elementwise(partial(scaled, factor=0.0), _pattern(step, condition, shape))

    def element(*elements: Any) -> Any:
        products = [call("mul", *elements[at : at + 2]) for at in range(0, len(elements), 2)]
        return products[0] if len(products) == 1 else call("add", *products)

    return step.elementwise(element, *(each for part in parts for each in part))


def _filled(step: Step, x: View, condition: Value, value: Value) -> View:
    return _where(step, condition, value, x)


def _kept(step: Step, x: Value, condition: Value, part: str = "") -> View:
    """A tensor that is -∞ where a condition does not hold."""
    if not isinstance(condition, View) and bool(condition.all()) and isinstance(x, View):
        whole = x.expanded(np.broadcast_shapes(x.shape, condition.shape))
        return whole if _is_masked(x) else with_patterns(step, plain(step, whole, "all"), [])
    if isinstance(x, View) and not isinstance(x.meaning, Masked):
        x = plain(step, x, "all")
    elif not isinstance(x, View):
        x = _finite(step, x)
    return masked(step, x, _pattern(step, condition, _joint_shape(condition, x)), part)


def _joint_shape(*values: Value) -> tuple[int, ...]:
    """What they broadcast to."""
    shapes = [each.shape for each in values if hasattr(each, "shape")]
    return tuple(np.broadcast_shapes(*shapes))


def _is_lowest(value: Value) -> bool:
    """Whether a value is -∞ everywhere."""
    if hasattr(value, "layout"):
        return bool((value == -math.inf).all())
    return value == -math.inf


def _finite(step: Step, value: Value) -> View | float:
    """A value as elements may be."""
    if isinstance(value, View):
        return plain(step, value, "all")
    if hasattr(value, "layout"):
        if not bool(value.isfinite().all()):
            step.refuse("numbers that are not finite, beside others: must be -inf alone")
        return float(value) if not value.dim() else step.statements.given(step.name, value)
    if not math.isfinite(value):
        step.refuse(f"{value}: must be -inf or a finite real number")
    return float(value)


# Sums and multiples.


def _added(step: Step, x: Value, y: Value, alpha: float = 1) -> View:
    for one, other in ((x, y), (y, x)):
        if alpha == 1 and is_additive(one):
            return _kept(step, other, _where_kept(step, one))
        if alpha == 1 and is_mask(one):
            return added_mask(step, other, one)
    named = {} if alpha == 1 else {"alpha": alpha}
    found: View = _RISING["aten.add.Tensor"](step, x, y, **named)
    return found


def added_mask(step: Step, x: View, additive: Any, part: str = "") -> View:
    """The sum of a tensor and a mask of finite numbers and -∞, or of truth values."""
    if not additive.is_floating_point():
        found: View = ELEMENTWISE["aten.add.Tensor"](step, x, _ready(step, additive))
        return found
    lowest = additive == -math.inf
    rest = additive.masked_fill(lowest, 0.0)
    if not bool(rest.isfinite().all()):
        step.refuse("a mask with infinity or NaN: must be of finite numbers and -inf")
    if bool(rest.any()):
        view = step.statements.given(f"{step.name}_bias", rest)
        name = step.statements.names.claim(f"{step.name}_sum")
        x = _RISING["aten.add.Tensor"](replace(step, name=name), x, view)
    return _kept(step, x, ~lowest, part)


def _rising(name: str, element: Callable[..., Any], is_sum: bool) -> Operator:
    """An operator that is -∞ where its first operand is: a sum or difference with what is finite,
    or a multiple or fraction by a number above 0."""

    def lowered(step: Step, x: Value, y: Value, **named: Any) -> View:
        one, other = (_ready(step, each) for each in (x, y))
        if _is_masked(other) and name in _SUMS and not named:
            one, other = other, one
        rises = is_sum or (isinstance(other, float) and other > 0)
        if _is_masked(one) and not _is_masked(other) and rises:
            return keeping(step, partial(element, **named), one, other)
        both = [
            plain(step, each, "all") if isinstance(each, View) else each for each in (one, other)
        ]
        found: View = ELEMENTWISE[name](step, *both, **named)
        return found

    return lowered


def _is_masked(value: Value) -> bool:
    return isinstance(value, View) and isinstance(value.meaning, Masked)


def _sum(function: str) -> Callable[..., Any]:
    return lambda a, b, alpha=1: call(function, a, scaled(b, alpha))


_SUMS = ("aten.add.Tensor", "aten.add.Scalar")

_RISING: dict[str, Operator] = {
    **{
        f"aten.{name}.{kind}": _rising(f"aten.{name}.{kind}", _sum(name), True)
        for name in ("add", "sub")
        for kind in ("Tensor", "Scalar")
    },
    **{
        f"aten.{name}.{kind}": _rising(f"aten.{name}.{kind}", partial(call, name), False)
        for name in ("mul", "div")
        for kind in ("Tensor", "Scalar")
    },
}


def _ready(step: Step, value: Value) -> Any:
    if isinstance(value, View):
        return value if _is_masked(value) else plain(step, value, "all")
    if hasattr(value, "layout"):
        return step.statements.given(f"{step.name}_other", value.double())
    return _finite(step, value)


def causal_mask(rows: int, columns: int) -> Any:
    """The mask of what comes not after each row."""
    torch = require_torch()
    return torch.ones(rows, columns, dtype=torch.bool).tril()


def scores_of(step: Step, scores: View, mask: Value) -> View:
    """Scores with a mask as attention takes it: of truth values, or of what is added."""
    if not isinstance(mask, View):
        if mask.is_floating_point():
            return added_mask(step, scores, mask, "masked")
        return _kept(step, scores, mask, "masked")
    if mask.is_truth:
        return _kept(step, scores, mask, "masked")
    if is_additive(mask):
        return _kept(step, scores, _where_kept(step, mask), "masked")
    return step.elementwise(partial(call, "add"), scores, plain(step, mask, "all"), part="masked")


def _numbers(step: Step, x: View, nan: float | None = None, *infinities: Any) -> View:
    if not isinstance(x.meaning, EmptyRows) or nan or infinities:
        step.refuse(
            "must be right behind a softmax with a mask, or its product with values, and make 0 of "
            "the NaN of rows without entries"
        )
    if step.statements.has_nan(x.tensor):
        step.refuse(
            "of what was made of rows that are NaN already: must be right behind each softmax with "
            "a mask, too"
        )
    return x.bare()


MASKS: dict[str, Operator] = {
    **{f"aten.{name}.Scalar": _compared(name) for name in COMPARISONS},
    "aten.logical_not.default": _not,
    "aten.bitwise_not.default": _complement,
    **{
        f"aten.where.{overload}": _where
        for overload in ("self", "ScalarSelf", "ScalarOther", "Scalar")
    },
    "aten.masked_fill.Scalar": _filled,
    "aten.masked_fill.Tensor": _filled,
    **_RISING,
    "aten.add.Tensor": _added,
    "aten.nan_to_num.default": _numbers,
}
"""By their names in graphs: operators that may take what ``is_mask``, and views with meanings."""
