"""Tensors that a module makes of numbers alone, as masks: PyTorch computes them, once."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, one_line
from gnarl.sw.workloads.einsum.pytorch.edges import OfEdges
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.pytorch.export import operator_name, require_torch

_MADE = tuple(
    f"aten.{name}"
    for name in (
        *(f"arange.{overload}" for overload in ("default", "start", "start_step")),
        *(f"{name}.default" for name in ("eye", "full", "ones", "scalar_tensor", "zeros")),
        "eye.m",
    )
)
"""Operators that make tensors of numbers."""

_FILLED = {
    "aten.full_like.default": None,
    "aten.new_full.default": None,
    "aten.new_ones.default": 1,
    "aten.new_zeros.default": 0,
    "aten.ones_like.default": 1,
    "aten.zeros_like.default": 0,
}
"""Operators that make them like any other tensor, and of which number; ``None``: the last
argument."""

_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")

_TAKEN = tuple(
    f"aten.{name}"
    for name in (
        *(f"{name}.{overload}" for name in _COMPARED for overload in ("Scalar", "Tensor")),
        *(f"{name}.default" for name in ("bitwise_not", "logical_not", "tril", "triu")),
        *(f"logical_{name}.default" for name in ("and", "or", "xor")),
        *(f"bitwise_{name}.Tensor" for name in ("and", "or", "xor")),
        *(f"__{name}__.Tensor" for name in ("and", "or", "xor")),
        *(f"where.{overload}" for overload in ("self", "ScalarSelf", "ScalarOther", "Scalar")),
        "masked_fill.Scalar",
        "masked_fill.Tensor",
    )
)
"""Operators that only constants may be given."""

MADE = (*_MADE, *_FILLED)
"""Operators that make constants whatever they are given."""

CONSTANTS = (*MADE, *_TAKEN)
"""Operators that constants are made by, besides those of programs."""

_MOST_BYTES = 2**28
"""Bytes of all constants."""


def constant(
    node: Any,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    known: Container[str],
    bytes_before: int,
) -> Any:
    """The tensor that a node makes of numbers and such tensors; ``None`` if it takes another.

    known
        names of operators of programs.
    bytes_before
        how much all constants before it take.

    Raises ``WorkloadError``.
    """
    torch = require_torch()
    name, value = operator_name(node), node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not (
        name in MADE or _is_folded(name, [*arguments, *named.values()], known)
    ):
        return None
    if bytes_before + value.numel() * value.element_size() > _MOST_BYTES:
        raise WorkloadError(
            f"{[*value.shape]}: constants must be of at most {_MOST_BYTES:,} bytes together"
        )
    try:
        if name in _FILLED:
            number = arguments[-1] if _FILLED[name] is None else _FILLED[name]
            return torch.full(tuple(value.shape), number, dtype=value.dtype)
        with torch.no_grad():
            return node.target(*arguments, **named)
    except Exception as error:  # of many types
        raise WorkloadError(one_line(error)) from error


def _is_folded(name: str, arguments: Sequence[Any], known: Container[str]) -> bool:
    """Whether all tensors that an operator takes are constants."""
    taken = [*_leaves(arguments)]
    has_tensors = any(hasattr(each, "layout") for each in taken)
    is_known = name in _TAKEN or name in known
    return is_known and has_tensors and not any(isinstance(each, View | OfEdges) for each in taken)


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, list | tuple):
            yield from _leaves(each)
        else:
            yield each
