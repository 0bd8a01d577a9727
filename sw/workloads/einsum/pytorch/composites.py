"""Operators that are several: normalisations and attention, as PyTorch documents them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.elementwise import Operator, call, scaled
from gnarl.sw.workloads.einsum.pytorch.masks import causal_mask, scores_of
from gnarl.sw.workloads.einsum.pytorch.products import matmul
from gnarl.sw.workloads.einsum.pytorch.reductions import softmax
from gnarl.sw.workloads.einsum.pytorch.statements import Element, Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.tensor.expression import Constant


def _layer_norm(
    step: Step,
    x: View,
    shape: Sequence[int],
    weight: View | None = None,
    bias: View | None = None,
    eps: float = 1e-5,
    *others: object,
) -> View:
    dims = range(x.rank - len(shape), x.rank)
    averaged = partial(scaled, factor=1 / max(math.prod(shape), 1))
    mean = step.reduced("sum", x, dims, True, "mean", averaged)
    centred = step.elementwise(lambda a, b: call("sub", a, b), x, mean, part="sub")
    square = step.elementwise(lambda a: call("mul", a, a), centred, part="square")
    variance = step.reduced("sum", square, dims, True, "var", averaged)
    return step.elementwise(
        _normalised(eps, weight, bias), *_given(centred, variance, weight, bias)
    )


def _batch_norm(
    step: Step,
    x: View,
    weight: View | None,
    bias: View | None,
    mean: View | None,
    variance: View | None,
    training: bool,
    momentum: float,
    eps: float,
    *others: object,
) -> View:
    if training or mean is None or variance is None:
        step.refuse("in training mode: must be in evaluation mode: call eval() of the module")
    normalised = _normalised(eps, weight, bias)

    def element(x: EinsumExpression, mean: EinsumExpression, *rest: EinsumExpression) -> Any:
        return normalised(call("sub", x, mean), *rest)

    channels = [
        each.spread([0], max(x.rank - 1, 1)) for each in _given(mean, variance, weight, bias)
    ]
    return step.elementwise(element, x, *channels)


def _batch_norm_without_training(
    step: Step,
    x: View,
    weight: View | None,
    bias: View | None,
    mean: View,
    variance: View,
    momentum: float,
    eps: float,
) -> tuple[View, None, None]:
    found = _batch_norm(step, x, weight, bias, mean, variance, False, momentum, eps)
    return found, None, None


def _given(*views: View | None) -> list[View]:
    return [each for each in views if each is not None]


def _normalised(eps: float, weight: View | None, bias: View | None) -> Element:
    """What becomes of a difference from the mean, from the variance, and of weight and bias those
    that there are."""

    def element(x: EinsumExpression, variance: EinsumExpression, *rest: EinsumExpression) -> Any:
        x = call("div", x, call("sqrt", call("add", variance, Constant(float(eps)))))
        functions = ["mul"] * (weight is not None) + ["add"] * (bias is not None)
        for function, other in zip(functions, rest, strict=True):
            x = call(function, x, other)
        return x

    return element


def _attention(
    step: Step,
    query: View,
    key: View,
    value: View,
    mask: Any = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> View:
    """Rows without entries of the mask give 0, as those of PyTorch do here, and not NaN."""
    if dropout or enable_gqa:
        step.refuse("with dropout or groups: must be without: give each head its key and value")
    if (mask is not None or is_causal) and not step.statements.has_masks:
        step.refuse(
            "with a mask: must be without: write torch.softmax(q @ k.mT * scale + mask, -1) @ v"
        )
    if not query.shape[-1]:
        step.refuse("of vectors of no elements: must be of some")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    turned = key.permuted([*range(key.rank - 2), key.rank - 1, key.rank - 2])
    scores = matmul(step, query, turned, lambda a: scaled(a, factor), part="scores")
    if is_causal:
        mask = causal_mask(scores.shape[-2], scores.shape[-1])
    if mask is not None:
        scores = scores_of(step, scores, mask)
    weights = softmax(step, scores, -1, part="weights")
    return matmul(step, weights.bare(), value)


def _item(step: Step, values: Sequence[View | None], number: int) -> View:
    value = values[number]
    if value is None:
        step.refuse("places of maxima, sizes of bags, or moments: only values are supported")
    return value


COMPOSITES: dict[str, Operator] = {
    "aten.layer_norm.default": _layer_norm,
    "aten.batch_norm.default": _batch_norm,
    "aten._native_batch_norm_legit_no_training.default": _batch_norm_without_training,
    "aten.scaled_dot_product_attention.default": _attention,
    "getitem": _item,
}
"""By their names in graphs."""
