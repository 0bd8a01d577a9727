"""Masks that are inputs, and what of masks is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same
from tests.sw.workloads.einsum.pytorch.test_masks import (
    ADDITIVE,
    ELEMENT,
    INFINITY,
    MASK,
    SIZE,
    WIDTH,
    X,
    Y,
    Z,
    is_dense,
    scores,
    with_buffer,
)


def test_masks_of_what_is_computed_are_refused() -> None:
    def forward(self, x):
        return x.masked_fill((x * 2).bool(), -math.inf)

    place = f"test_mask_inputs.py:{forward.__code__.co_firstlineno + 1}"
    with refused(
        f"{place}: aten._to_copy.default: of what is computed: must be of inputs or of numbers: "
        "conditions on computed values are not supported"
    ):
        require_same(module(forward), X)


@pytest.mark.parametrize(
    ("forward", "type", "problem"),
    [
        (
            lambda self, x, m: x * (m + m).float(),
            torch.bool,
            "aten.add.Tensor: of truth values: must be of numbers: convert them by .float()",
        ),
        (
            lambda self, x, m: x * (~m).float(),
            torch.int64,
            "aten.bitwise_not.default: of numbers: must be of truth values",
        ),
    ],
)
def test_truth_values_are_no_numbers(
    forward: Callable[..., Any], type: torch.dtype, problem: str
) -> None:
    place = f"test_mask_inputs.py:{forward.__code__.co_firstlineno}"
    with refused(f"{place}: {problem}"):
        require_same(module(forward), X, MASK[:, :WIDTH].to(type))


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x, m: ((x @ x.T).masked_fill(~m, -math.inf) * -2).exp(),
        lambda self, x, m: ((x @ x.T).masked_fill(~m, -math.inf) / -2).exp(),
        lambda self, x, m: (x @ x.T).masked_fill(~m, -math.inf) * 0,
        lambda self, x, m: (1 - (x @ x.T).masked_fill(~m, -math.inf)).exp(),
        lambda self, x, m: (x @ x.T).masked_fill(~m, -math.inf) * x[:, :1].abs(),
    ],
)
def test_what_may_not_keep_the_infinity_of_a_mask(forward: Callable[..., Any]) -> None:
    """A multiple by what is below 0 has it with the other sign, and one by 0 is NaN."""
    require_same(module(forward), X + 4, MASK)


@pytest.mark.parametrize("forward", ADDITIVE)
def test_masks_of_infinity_that_are_inputs(forward: Callable[..., Any]) -> None:
    mask = torch.zeros(SIZE, SIZE).masked_fill(~MASK, -math.inf)
    model = require_same(module(forward), X, Y, Z, mask)
    assert not is_dense(model)
    assert re.match(r"m_pattern\((i,j|j,i)\)=kept\(m\(i,j\)\)$", lines(model)[0])


def test_a_mask_that_is_an_input_in_another_shape() -> None:
    mask = torch.zeros(SIZE, SIZE).masked_fill(~MASK, -math.inf)
    require_same(
        module(lambda self, q, k, m: ((q @ k.T).flatten() + m.view(-1)).softmax(-1)), X, Y, mask
    )


def test_a_mask_that_is_an_input_broadcasts() -> None:
    mask = torch.zeros(1, 1, SIZE).masked_fill(torch.arange(SIZE) > 3, -math.inf)
    model = require_same(module(ADDITIVE[3]), X, Y, Z, mask[0])
    assert lines(model)[1] == "m_pattern(j)=reshape(m_pattern_whole(i,j))"


@pytest.mark.parametrize(
    ("forward", "problem"),
    [
        (lambda self, x, m: m.exp() * x[:, :1], "aten.exp.default: of a mask with -inf that is"),
        (lambda self, x, m: x @ x.T - m, "aten.sub.Tensor: of a mask with -inf that is an input"),
        (lambda self, x, m: torch.add(x @ x.T, m, alpha=2), "aten.add.Tensor: of a mask with -inf"),
        (lambda self, x, m: (m + m).softmax(-1), "aten.add.Tensor: of a mask with -inf that is"),
        (lambda self, x, m: (m @ x, m[1:]), "aten.matmul.default: of a mask with -inf that is"),
        (lambda self, x, m: torch.cat([m, m]), "aten.cat.default: of a mask with -inf that is"),
        (lambda self, x, m: (x @ x.T).masked_fill(m == 0, 1), "eq.Scalar: of a mask with -inf"),
    ],
)
def test_what_else_takes_such_a_mask_is_refused(forward: Callable[..., Any], problem: str) -> None:
    mask = torch.zeros(SIZE, SIZE).masked_fill(~MASK, -math.inf)
    with pytest.raises(WorkloadError, match=re.escape(problem)):
        require_same(module(forward), X, mask)


@pytest.mark.parametrize("other", [0.5, math.inf, math.nan])
def test_such_a_mask_has_no_other_numbers(other: float) -> None:
    mask = torch.full((SIZE, SIZE), -math.inf)
    mask[1, 2] = other
    with refused(
        "forward: mask has -inf: a mask that is an input must be of 0 and -inf, or of truth "
        "values; one with other numbers must be a buffer"
    ):

        def forward(self, x, mask):
            return (x @ x.T + mask).softmax(-1)

        require_same(module(forward), X, mask)


@pytest.mark.parametrize(
    ("forward", "mask", "problem"),
    [
        (
            lambda self, x, m: x.masked_fill(self.mask, -math.inf),
            ~ELEMENT,
            "aten.masked_fill.Scalar: a mask of one element for many: must have a dimension of "
            "what it masks",
        ),
        (
            lambda self, x, m: torch.where(m, x @ x.T, self.mask),
            INFINITY,
            "aten.where.self: numbers that are not finite, beside others: must be -inf alone",
        ),
        (
            lambda self, x, m: torch.where(m, self.mask, x @ x.T),
            torch.tensor([0.0, math.nan, -math.inf, 0, 0, 0]),
            "aten.where.self: numbers that are not finite, beside others: must be -inf alone",
        ),
        *(
            (
                lambda self, x, m: x @ x.T + self.mask,
                torch.tensor([0.0, other, -math.inf, 0, 0, 0]),
                "aten.add.Tensor: a mask with infinity or NaN: must be of finite numbers and -inf",
            )
            for other in (math.inf, math.nan)
        ),
        (
            lambda self, x, m: torch.where(m * m.T, x @ x.T, -math.inf),
            ELEMENT,
            "aten.where.ScalarOther: a mask of what is computed: must be of inputs or of numbers: "
            "conditions on computed values are not supported",
        ),
        *(
            (
                forward,
                ELEMENT,
                "aten.nan_to_num.default: must be right behind a softmax with a mask, or its "
                "product with values, and make 0 of the NaN of rows without entries",
            )
            for forward in (
                lambda self, x, m: scores(x, x, m).softmax(-1).nan_to_num(1.0),
                lambda self, x, m: scores(x, x, m).softmax(-1).nan_to_num(0.0, 1.0),
                lambda self, x, m: scores(x, x, m).softmax(-1).nan_to_num(0.0, neginf=0.0),
            )
        ),
    ],
)
def test_masks_that_are_refused(
    forward: Callable[..., Any], mask: torch.Tensor, problem: str
) -> None:
    with pytest.raises(WorkloadError, match=rf"^test_mask_inputs\.py:\d+: {re.escape(problem)}$"):
        require_same(with_buffer(forward, mask), X, MASK)
