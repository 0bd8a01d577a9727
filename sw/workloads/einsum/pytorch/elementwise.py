"""Operators that compute element by element. Source: PyTorch's documentation of ``torch``."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.statements import Operand, Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.tensor.expression import Call, Constant

Operator = Callable[..., Any]
"""From the step and the operator's arguments."""

Expression = EinsumExpression


def call(function: str, *arguments: Expression) -> Expression:
    """A function of elements."""
    return Call(function, arguments)


def scaled(part: Expression, factor: float) -> Expression:
    """A multiple; itself for a factor of 1."""
    return part if factor == 1 else call("mul", part, Constant(float(factor)))


def absolute(a: Expression) -> Expression:
    """The number without its sign."""
    return call("max", a, call("neg", a))


def _one(element: Callable[[Expression], Expression]) -> Operator:
    return lambda step, x: step.elementwise(element, x)


def _two(function: str) -> Operator:
    def operator(step: Step, x: Operand, y: Operand, alpha: float = 1) -> View:
        """``alpha``: a factor of the second."""
        return step.elementwise(lambda a, b: call(function, a, scaled(b, alpha)), x, y)

    return operator


def _subtracted(step: Step, x: Operand, y: Operand, alpha: float = 1) -> View:
    return step.elementwise(lambda a, b: call("sub", b, scaled(a, alpha)), x, y)


def _divided(step: Step, x: Operand, y: Operand, *, rounding_mode: str | None = None) -> View:
    if rounding_mode is not None:
        step.refuse(f"rounding_mode = {rounding_mode!r}: must be None")
    return step.elementwise(partial(call, "div"), x, y)


def _gelu(step: Step, x: View, *, approximate: str = "none") -> View:
    if approximate == "tanh":
        return step.elementwise(_gelu_by_tanh, x)
    return step.elementwise(partial(call, "gelu"), x)


def _gelu_by_tanh(a: Expression) -> Expression:
    """x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""
    cube = call("mul", call("mul", a, a), a)
    inner = scaled(call("add", a, scaled(cube, 0.044715)), math.sqrt(2 / math.pi))
    return call("mul", scaled(a, 0.5), call("add", call("tanh", inner), Constant(1.0)))


def _leaky_relu(step: Step, x: View, slope: float = 0.01) -> View:
    if not 0 <= slope <= 1:
        step.refuse(f"negative_slope = {slope}: must be from 0 to 1")
    if slope == 0:  # of infinity it is not the maximum of that and 0 times that
        return step.elementwise(partial(call, "relu"), x)
    return step.elementwise(lambda a: call("max", a, scaled(a, slope)), x)


def _clamp(step: Step, x: View, least: Operand | None = None, most: Operand | None = None) -> View:
    bounds = {"max": least, "min": most}
    given = {function: bound for function, bound in bounds.items() if bound is not None}

    def element(a: Expression, *others: Expression) -> Expression:
        for function, other in zip(given, others, strict=True):
            a = call(function, a, other)
        return a

    return step.elementwise(element, x, *given.values())


_POWERS: dict[float, Callable[[Expression], Expression]] = {
    -1: partial(call, "reciprocal"),
    -0.5: lambda a: call("reciprocal", call("sqrt", a)),
    0.5: partial(call, "sqrt"),
    1: lambda a: a,
    2: lambda a: call("mul", a, a),
    3: lambda a: call("mul", call("mul", a, a), a),
}


def _power(step: Step, x: View, exponent: float) -> View:
    if exponent not in _POWERS:
        step.refuse(f"exponent {exponent}: must be one of {', '.join(map(str, _POWERS))}")
    return step.elementwise(_POWERS[exponent], x)


_FUNCTIONS = ("relu", "exp", "log", "sqrt", "reciprocal", "sigmoid", "tanh", "neg")

ELEMENTWISE: dict[str, Operator] = {
    **{f"aten.{name}.default": _one(partial(call, name)) for name in _FUNCTIONS},
    "aten.abs.default": _one(absolute),
    "aten.rsqrt.default": _one(_POWERS[-0.5]),
    "aten.silu.default": _one(lambda a: call("mul", a, call("sigmoid", a))),
    "aten.square.default": _one(_POWERS[2]),
    "aten.gelu.default": _gelu,
    "aten.leaky_relu.default": _leaky_relu,
    "aten.clamp.default": _clamp,
    "aten.clamp_min.default": lambda step, x, least: _clamp(step, x, least),
    "aten.clamp_max.default": lambda step, x, most: _clamp(step, x, None, most),
    "aten.pow.Tensor_Scalar": _power,
    "aten.add.Tensor": _two("add"),
    "aten.add.Scalar": _two("add"),
    "aten.sub.Tensor": _two("sub"),
    "aten.sub.Scalar": _two("sub"),
    "aten.rsub.Tensor": _subtracted,
    "aten.rsub.Scalar": _subtracted,
    "aten.mul.Tensor": lambda step, x, y: _two("mul")(step, x, y),
    "aten.mul.Scalar": lambda step, x, y: _two("mul")(step, x, y),
    "aten.div.Tensor": _divided,
    "aten.div.Scalar": _divided,
    "aten.div.Tensor_mode": _divided,
    "aten.maximum.default": lambda step, x, y: step.elementwise(partial(call, "max"), x, y),
    "aten.minimum.default": lambda step, x, y: step.elementwise(partial(call, "min"), x, y),
}
"""By their names in graphs."""
