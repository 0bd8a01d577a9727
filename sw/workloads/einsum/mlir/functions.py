"""Functions of programs as trees of what ``arith`` and ``math`` have, and back.

Upstream has no operations for RELU, the reciprocal, the sigmoid and GELU. A tree of the operations
that stand for one is read as that function; where it is meant as it is written, the operation on
top has the attribute ``function``, which names what is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.tensor.expression import Call, Constant

BINARY: dict[str, type[arith.FloatingPointLikeBinaryOperation]] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
}
"""Operations of two numbers, by function."""

UNARY: dict[str, type[arith.NegfOp | math_dialect.FloatingPointLikeUnaryMathOperation]] = {
    "neg": arith.NegfOp,
    "exp": math_dialect.ExpOp,
    "log": math_dialect.LogOp,
    "sqrt": math_dialect.SqrtOp,
    "tanh": math_dialect.TanhOp,
    "erf": math_dialect.ErfOp,
}
"""Operations of one number; ``erf`` is a part of GELU only."""

OPERATIONS: dict[str, str] = {
    **{each.name: name for name, each in BINARY.items()},
    **{each.name: name for name, each in UNARY.items()},
}
"""Functions by the names of their operations."""

_ONE, _ZERO, _HALF = Constant(1.0), Constant(0.0), Constant(0.5)
_ROOT = math.sqrt(0.5)

_Tree = EinsumExpression


def expanded(call: Call[_Tree]) -> Call[_Tree]:
    """The tree of operations of a function that has none of its own, or the call itself."""
    match call:
        case Call("relu", (x,)):
            return _call("max", x, _ZERO)
        case Call("reciprocal", (x,)):
            return _call("div", _ONE, x)
        case Call("sigmoid", (x,)):
            return _call("div", _ONE, _call("add", _ONE, _call("exp", _call("neg", x))))
        case Call("gelu", (x,)):
            share = _call("add", _ONE, _call("erf", _call("mul", x, Constant(_ROOT))))
            return _call("mul", _call("mul", _HALF, x), share)
    return call


def _call(function: str, *arguments: _Tree) -> Call[_Tree]:
    return Call(function, arguments)


def meanings(tree: Call[_Tree]) -> Iterator[Call[_Tree]]:
    """Functions that a tree of operations may stand for, the likeliest first; itself last."""
    match tree:
        case Call("max", (x, y)) if _ZERO in (x, y):
            yield _call("relu", x if y == _ZERO else y)
        case Call("div", (one, x)) if one == _ONE:
            negated = _argument("exp", _beside(_ONE, x))
            if (argument := _argument("neg", negated)) is not None:
                yield _call("sigmoid", argument)
            yield _call("reciprocal", x)
        case Call("mul", (x, y)):
            for factors in _three_factors(x, y):
                if (argument := _gelu(*factors)) is not None:
                    yield _call("gelu", argument)
                    break
    yield tree


def _argument(function: str, tree: _Tree | None) -> _Tree | None:
    """The argument of a call of such a function."""
    match tree:
        case Call(name, (argument,)) if name == function:
            return argument
    return None


def _beside(one: _Tree, tree: _Tree) -> _Tree | None:
    """What is added to ``one``."""
    match tree:
        case Call("add", (x, y)) if one in (x, y):
            return y if x == one else x
    return None


def _three_factors(x: _Tree, y: _Tree) -> Iterator[tuple[_Tree, _Tree, _Tree]]:
    for nested, other in ((x, y), (y, x)):
        match nested:
            case Call("mul", (first, second)):
                yield from permutations((first, second, other), 3)


def _gelu(half: _Tree, x: _Tree, share: _Tree) -> _Tree | None:
    """x of 0.5 * x * (1 + erf(x / sqrt(2)))."""
    inside = _argument("erf", _beside(_ONE, share))
    is_gelu = half == _HALF and any(
        y == x and math.isclose(factor, _ROOT, rel_tol=1e-3) for factor, y in _scaled(inside)
    )
    return x if is_gelu else None


def _scaled(tree: _Tree | None) -> Iterator[tuple[float, _Tree]]:
    """A tree as a number times another."""
    match tree:
        case Call("mul", (x, y)):
            for factor, other in ((x, y), (y, x)):
                if isinstance(factor, Constant):
                    yield factor.value, other
        case Call("div", (x, Constant(divisor))) if divisor:
            yield 1 / divisor, x
