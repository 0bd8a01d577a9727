"""Sums, means and maxima, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.elementwise import Operator, absolute, call, scaled
from gnarl.sw.workloads.einsum.pytorch.masked import masked_softmax, plain
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.pytorch.views import EmptyRows, Masked, View
from gnarl.sw.workloads.tensor.expression import Constant


def require_real(step: Step, dtype: Any) -> None:
    """Refuses to round to whole numbers."""
    if dtype is not None and not dtype.is_floating_point:
        step.refuse(f"dtype = {dtype}: must be a floating-point type")


def _dims(view: View, dims: Sequence[int] | int | None) -> tuple[int, ...]:
    """Dimensions from 0; all for none."""
    given = [dims] if isinstance(dims, int) else dims
    return tuple(dim % max(view.rank, 1) for dim in given if view.rank) if given else _all(view)


def _all(view: View) -> tuple[int, ...]:
    return tuple(range(view.rank))


def _sum(
    step: Step,
    x: View,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> View:
    require_real(step, dtype)
    return step.reduced("sum", x, _dims(x, dim), keepdim)


def _mean(
    step: Step,
    x: View,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> View:
    require_real(step, dtype)
    dims = _dims(x, dim)
    count = math.prod(x.shape[each] for each in dims)
    if not count:
        return step.mean_of_none(x, dims, keepdim)
    return step.reduced("sum", x, dims, keepdim, finish=lambda total: divided(total, count))


def divided(total: EinsumExpression, count: int) -> EinsumExpression:
    """A quotient as PyTorch rounds it: by a power of two it is a product, which is exact, too."""
    is_power_of_two = not count & (count - 1)
    if is_power_of_two:
        return scaled(total, 1 / count)
    return call("div", total, Constant(float(count)))


def _maximum(
    step: Step, x: View, dim: Sequence[int] | int | None = None, keepdim: bool = False
) -> View:
    return step.reduced("max", x, _dims(x, dim), keepdim)


def _norm(
    step: Step,
    x: View,
    order: float = 2,
    dim: Sequence[int] | int | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> View:
    """Lengths: the sum of what is without its sign, or the root of the sum of squares."""
    require_real(step, dtype)
    dims = _dims(x, dim)
    if order == 2:
        squares = step.elementwise(lambda a: call("mul", a, a), x, part="square")
        return step.reduced("sum", squares, dims, keepdim, finish=partial(call, "sqrt"))
    if order != 1:
        step.refuse(f"ord = {order}: must be 1 or 2")
    sizes = step.elementwise(absolute, x, part="abs")
    return step.reduced("sum", sizes, dims, keepdim)


def softmax(step: Step, x: View, dim: int, dtype: Any = None, part: str = "") -> View:
    """Powers in relation to their sum, of what lies below the maximum."""
    if not isinstance(x.meaning, Masked):
        x = plain(step, x, "all")
    if isinstance(x.meaning, Masked):
        require_real(step, None if isinstance(dtype, bool) else dtype)
        if x.meaning.patterns:
            return masked_softmax(step, x, _dims(x, dim), part)
        x = x.bare()
    powers, total, _ = _powers(step, x, dim, dtype)
    found = step.elementwise(partial(call, "div"), powers, total, part=part)
    return replace(found, meaning=EmptyRows(()))


def _log_softmax(step: Step, x: View, dim: int, dtype: Any = None) -> View:
    def element(a: EinsumExpression, sum: EinsumExpression) -> EinsumExpression:
        return call("sub", a, call("log", sum))

    _, total, shifted = _powers(step, x, dim, dtype)
    return step.elementwise(element, shifted, total)


def _powers(step: Step, x: View, dim: int, dtype: Any) -> tuple[View, View, View]:
    """Powers of what lies below the maximum, their sum, and the exponents."""
    if isinstance(dtype, bool):  # of operators that are decomposed: half to float
        dtype = None
    require_real(step, dtype)
    dims = _dims(x, dim)
    most = step.reduced("max", x, dims, True, part="max")
    shifted = step.elementwise(partial(call, "sub"), x, most, part="sub")
    powers = step.elementwise(partial(call, "exp"), shifted, part="exp")
    total = step.reduced("sum", powers, dims, True, part="sum")
    return powers, total, shifted


REDUCTIONS: dict[str, Operator] = {
    "aten.sum.default": _sum,
    "aten.sum.dim_IntList": _sum,
    "aten.mean.default": _mean,
    "aten.mean.dim": _mean,
    "aten.amax.default": _maximum,
    "aten.linalg_vector_norm.default": _norm,
    "aten.max.default": lambda step, x: _maximum(step, x),
    "aten.max.dim": lambda step, x, dim, keepdim=False: (_maximum(step, x, dim, keepdim), None),
    "aten.softmax.int": softmax,
    "aten._softmax.default": softmax,
    "aten.log_softmax.int": _log_softmax,
    "aten._log_softmax.default": _log_softmax,
}
"""By their names in graphs."""
