"""Products of matrices and vectors: sums over an index that operands share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.elementwise import Operator, call, scaled
from gnarl.sw.workloads.einsum.pytorch.statements import Element, Step
from gnarl.sw.workloads.einsum.pytorch.views import View

_EQUATION = re.compile(r"([A-Za-z]*(?:,[A-Za-z]*)*)(?:->([A-Za-z]*))?")


def matmul(
    step: Step, x: View, y: View, finish: Element | None = None, *others: View, part: str = ""
) -> View:
    """Of vectors, matrices, and stacks of matrices, whose first dimensions are broadcast."""
    rank = max(x.rank, y.rank, 2)
    batch = [f"batch {dim}" for dim in range(rank - 2)]

    def labels(view: View, own: Sequence[str]) -> list[str]:
        return [*batch[rank - view.rank :], *own] if view.rank > 1 else ["inner"]

    rows = ["row"] if x.rank > 1 else []
    columns = ["column"] if y.rank > 1 else []
    left, right = labels(x, ["row", "inner"]), labels(y, ["inner", "column"])
    result = [*batch, *rows, *columns]
    return step.product([(x, left), (y, right)], result, finish, *others, part=part)


def _added_product(
    step: Step, added: View, x: View, y: View, *, beta: float = 1, alpha: float = 1
) -> View:
    def finish(product: EinsumExpression, *others: EinsumExpression) -> EinsumExpression:
        product = scaled(product, alpha)
        for other in others:
            product = call("add", product, scaled(other, beta))
        return product

    return matmul(step, x, y, finish, *([added] if beta else []))


def _linear(step: Step, x: View, weight: View, bias: View | None = None) -> View:
    """The weight is [out, in]: its indices change places, its elements do not."""
    batch = [f"batch {dim}" for dim in range(x.rank - 1)]
    out = ["out"] if weight.rank > 1 else []
    operands = [(x, [*batch, "in"]), (weight, [*out, "in"])]
    if bias is None:
        return step.product(operands, [*batch, *out])
    return step.product(operands, [*batch, *out], lambda a, b: call("add", a, b), bias)


def _einsum(step: Step, equation: str, tensors: Sequence[View], path: object = None) -> View:
    matched = _EQUATION.fullmatch(equation.replace(" ", ""))
    if matched is None:
        step.refuse(f"{equation}: must have letters and commas alone: no ...")
    operands = matched[1].split(",")
    letters = "".join(operands)
    if any(len({*each}) < len(each) for each in operands):
        step.refuse(f"{equation}: takes a diagonal: every letter of an operand must be another")
    result = matched[2]
    if result is None:
        result = "".join(sorted(each for each in {*letters} if letters.count(each) == 1))
    return step.product([*zip(tensors, operands, strict=True)], result)


def _product(step: Step, x: View, y: View) -> View:
    return matmul(step, x, y)


PRODUCTS: dict[str, Operator] = {
    **dict.fromkeys(
        (
            "aten.matmul.default",
            "aten.mm.default",
            "aten.bmm.default",
            "aten.mv.default",
            "aten.dot.default",
            "aten._sparse_mm.default",
        ),
        _product,
    ),
    **dict.fromkeys(
        ("aten.addmm.default", "aten.addmv.default", "aten.baddbmm.default"), _added_product
    ),
    "aten.linear.default": _linear,
    "aten.einsum.default": _einsum,
}
"""By their names in graphs."""
