"""Operators that compute nothing: other views of tensors, and other types of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gnarl.sw.workloads.einsum.pytorch.elementwise import Operator
from gnarl.sw.workloads.einsum.pytorch.masks import truth
from gnarl.sw.workloads.einsum.pytorch.reductions import require_real
from gnarl.sw.workloads.einsum.pytorch.statements import Operand, Step
from gnarl.sw.workloads.einsum.pytorch.views import View


def _same(step: Step, x: Operand, **named: Any) -> Operand:
    return x


def _converted(step: Step, x: Operand, *arguments: Any, **named: Any) -> Operand:
    for each in (*arguments, named.get("dtype")):
        if str(each) == "torch.bool" and isinstance(x, View) and step.statements.has_masks:
            return truth(step, x)
        if hasattr(each, "is_floating_point"):
            require_real(step, each)
    return x


def _dense(step: Step, x: View, *arguments: Any, **named: Any) -> Operand:
    found = _converted(step, x, *arguments, **named)
    return replace(found, is_dense=True) if isinstance(found, View) else found


def _dropout(step: Step, x: View, p: float, train: bool) -> View:
    if train and p:
        step.refuse("in training mode: must be in evaluation mode: call eval() of the module")
    return x


def _permuted(step: Step, x: View, order: Sequence[int]) -> View:
    return x.permuted([dim % max(x.rank, 1) for dim in order])


def _transposed(step: Step, x: View, one: int = -2, other: int = -1) -> View:
    order = [*range(x.rank)]
    if order:
        order[one], order[other] = order[other], order[one]
    return x.permuted(order)


def _reversed(step: Step, x: View) -> View:
    return x.permuted(range(x.rank)[::-1])


def _unsqueezed(step: Step, x: View, dim: int) -> View:
    return x.unsqueezed(dim % (x.rank + 1))


def _squeezed(step: Step, x: View, dims: Sequence[int] | int | None = None) -> View:
    if dims is None:
        dims = range(x.rank)
    given = [dims] if isinstance(dims, int) else dims
    return x.squeezed([dim % max(x.rank, 1) for dim in given])


def _expanded(step: Step, x: View, shape: Sequence[int], *, implicit: object = None) -> View:
    return x.expanded(shape)


def _expanded_as(step: Step, x: View, other: View) -> View:
    return x.expanded(other.shape)


REARRANGING: dict[str, Operator] = {
    **{
        f"aten.{name}.default": _same
        for name in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy")
    },
    **dict.fromkeys(
        (
            "aten._to_copy.default",
            "aten.to.dtype",
            "aten.to.dtype_layout",
            "aten.to.device",
            "aten._to_sparse.default",
            "aten._to_sparse.sparse_dim",
            "aten.to_sparse.default",
            "aten.to_sparse.sparse_dim",
            "aten.to_sparse_csr.default",
        ),
        _converted,
    ),
    **dict.fromkeys(("aten._to_dense.default", "aten.to_dense.default"), _dense),
    "aten.dropout.default": _dropout,
    "aten.feature_dropout.default": _dropout,
    "aten.t.default": _reversed,
    "aten.transpose.int": _transposed,
    "aten.permute.default": _permuted,
    "aten.mT.default": _transposed,
    "aten.numpy_T.default": _reversed,
    "aten.unsqueeze.default": _unsqueezed,
    "aten.squeeze.default": _squeezed,
    "aten.squeeze.dim": _squeezed,
    "aten.squeeze.dims": _squeezed,
    "aten.expand.default": _expanded,
    "aten.expand_as.default": _expanded_as,
    "aten.broadcast_to.default": _expanded,
}
"""By their names in graphs."""
