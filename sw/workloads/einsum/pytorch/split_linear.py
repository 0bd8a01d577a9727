"""Linear layers of tensors that lie one behind the other: ``linear(cat([a, b], -1))`` is the sum of
a layer of each, whose weights are parts of the weight. Nothing is moved but these."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.elementwise import call
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.pytorch.export import operator_name

CONCATENATIONS = ("aten.cat.default", "aten.concat.default", "aten.concatenate.default")

_LINEAR = "aten.linear.default"


@dataclass(frozen=True)
class Parts:
    """Tensors of one rank that lie one behind the other along their last dimension."""

    views: tuple[View, ...]


def is_taken_apart(node: Any, parameters: Container[Any]) -> bool:
    """Whether a concatenation has no other use than a linear layer of it.

    parameters
        nodes whose tensors may be weights.
    """
    if operator_name(node) not in CONCATENATIONS or [*map(_called, node.users)] != [_LINEAR]:
        return False
    (taker,) = node.users
    if not node.args or node in taker.args[1:]:
        return False
    rank = node.meta["val"].dim()
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    is_last = dim in (-1, rank - 1) and all(each.meta["val"].dim() == rank for each in _parts(node))
    weight = taker.args[1] if len(taker.args) > 1 else None
    return is_last and weight in parameters


def _called(node: Any) -> str:
    return operator_name(node) if node.op == "call_function" else ""


def _parts(node: Any) -> Sequence[Any]:
    parts: Sequence[Any] = node.args[0]
    return parts


def parts_of(step: Step, views: Sequence[View], dim: int = 0) -> Parts:
    """Those that have elements, or one that has none."""
    return Parts(tuple(each for each in views if each.shape[-1]) or tuple(views[:1]))


def linear_of_parts(step: Step, x: Parts, weight: View, bias: View | None = None) -> View:
    """The sum in the order of the parts, then the bias."""
    taken = replace(step, name=step.statements.names.claim(f"{step.name}_weight"))
    batch = [f"batch {dim}" for dim in range(x.views[0].rank - 1)]
    out = ["out"] if weight.rank > 1 else []
    ends = [*accumulate((each.shape[-1] for each in x.views), initial=0)]
    total: View | None = None
    for number, (view, (start, end)) in enumerate(zip(x.views, pairwise(ends), strict=True), 1):
        is_last = number == len(x.views)
        own = taken.part(weight, weight.rank - 1, range(start, end))
        others = [each for each in (total, bias if is_last else None) if each is not None]
        total = step.product(
            [(view, [*batch, "in"]), (own, [*out, "in"])],
            [*batch, *out],
            _sum if total is not None else _first_sum,
            *others,
            part="" if is_last else f"part{number}",
        )
    assert total is not None
    return total


def _sum(
    product: EinsumExpression, total: EinsumExpression, *bias: EinsumExpression
) -> EinsumExpression:
    return _first_sum(call("add", total, product), *bias)


def _first_sum(total: EinsumExpression, *bias: EinsumExpression) -> EinsumExpression:
    for each in bias:
        total = call("add", total, each)
    return total
