"""What Einsum programs compute, in float64: NumPy's broadcasting, an axis for each index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    EinsumProgram,
    Reduction,
    free_indices,
)
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant

ERROR = np.vectorize(math.erf, otypes=[np.float64])

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "max": np.maximum,
    "min": np.minimum,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + ERROR(x / np.sqrt(2))) / 2,
}

WORDS = ("sum", *(name for name in FUNCTIONS if name not in (*SIGNS, "neg")))
"""Names that mean something in the notation."""


def evaluate(program: EinsumProgram, data: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All tensors by name, those of ``data`` among them."""
    values = dict(data)
    for statement in program.statements:
        require_plain(statement, values)
        values[statement.name] = _computed(statement, values)
    return values


def require_plain(statement: Einsum, known: Mapping[str, np.ndarray]) -> None:
    """Whether it can be written as text, and computed from what is known."""
    accesses = (statement.result, *statement.operands)
    assert statement.name not in known, f"{statement.name} is computed twice"
    assert {access.tensor for access in statement.operands} <= {*known}
    for access in accesses:
        assert access.tensor.isidentifier() and access.tensor not in WORDS
        assert len({*access.indices}) == len(access.indices), f"{access} has a diagonal"
        assert not {*statement.indices} & {access.tensor}
    assert {*free_indices(statement.expression)} == {*statement.result.indices}


def _computed(statement: Einsum, values: Mapping[str, np.ndarray]) -> np.ndarray:
    indices = statement.indices
    whole = _value(statement.expression, indices, values)
    kept = len(statement.result.indices)
    return np.asarray(whole).reshape(whole.shape[:kept])


def _value(
    expression: EinsumExpression, indices: Sequence[str], values: Mapping[str, np.ndarray]
) -> np.ndarray:
    """An axis for each index, of size 1 where it does not matter."""
    match expression:
        case Constant(value):
            return np.full((1,) * len(indices), value)
        case Access(tensor, own):
            order = sorted(range(len(own)), key=lambda mode: indices.index(own[mode]))
            shape = [1] * len(indices)
            for mode, index in enumerate(own):
                shape[indices.index(index)] = values[tensor].shape[mode]
            return values[tensor].transpose(order).reshape(shape)
        case Call(function, arguments):
            return FUNCTIONS[function](*(_value(part, indices, values) for part in arguments))
        case Reduction(op, own, part):
            axes = tuple(indices.index(index) for index in own)
            reduced = {"sum": np.sum, "max": np.max}[op]
            return reduced(_value(part, indices, values), axis=axes, keepdims=True)
    raise TypeError(expression)


def text_of(expression: EinsumExpression) -> str:
    """The expression with all parentheses but the outermost."""
    text = _text(expression)
    return text[1:-1] if text.startswith("(") else text


def _text(expression: EinsumExpression) -> str:
    match expression:
        case Call(function, (left, right)) if function in SIGNS:
            return f"({_text(left)} {SIGNS[function]} {_text(right)})"
        case Call(function, arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"
        case Reduction(op, indices, part):
            return f"{op}[{','.join(indices)}]({text_of(part)})"
        case Constant(value):
            return repr(value)
    return str(expression)
