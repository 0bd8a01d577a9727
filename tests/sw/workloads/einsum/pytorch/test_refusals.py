"""Modules that are no Einsum programs: which operator, and where the user wrote it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch.constants import CONSTANTS
from gnarl.sw.workloads.einsum.pytorch.lowering import OPERATORS
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import module

FILE = Path(__file__).name
MATRIX = torch.ones(4, 3)


@pytest.mark.parametrize(
    "forward, problem",
    [
        (
            lambda self, x: x.repeat(2, 1),
            "aten.repeat.default: not supported: write expand, or torch.cat of copies",
        ),
        (
            lambda self, x: x.max(1)[1].to(torch.float64),
            "getitem: places of maxima, sizes of bags, or moments: only values are supported",
        ),
        (
            lambda self, x: functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
            "aten.scaled_dot_product_attention.default: with dropout or groups: must be without: "
            "give each head its key and value",
        ),
        (
            lambda self, x: (
                lambda y: functional.scaled_dot_product_attention(y, y, y, enable_gqa=True)
            )(x[None, None]),
            "aten.scaled_dot_product_attention.default: with dropout or groups: must be without: "
            "give each head its key and value",
        ),
        (
            lambda self, x: functional.scaled_dot_product_attention(x[:, :0], x[:, :0], x),
            "aten.scaled_dot_product_attention.default: of vectors of no elements: must be of some",
        ),
        (
            lambda self, x: functional.dropout(x, 0.5, True),
            "aten.dropout.default: in training mode: must be in evaluation mode: call eval() of "
            "the module",
        ),
        (
            lambda self, x: torch.div(x, 2, rounding_mode="floor"),
            "aten.div.Tensor_mode: rounding_mode = 'floor': must be None",
        ),
        (
            lambda self, x: torch.linalg.vector_norm(x, 3),
            "aten.linalg_vector_norm.default: ord = 3: must be 1 or 2",
        ),
        (
            lambda self, x: functional.relu6(x),
            "aten.relu6.default: not supported: write torch.clamp(x, 0, 6)",
        ),
        (
            lambda self, x: functional.leaky_relu(x, 2.0),
            "aten.leaky_relu.default: negative_slope = 2.0: must be from 0 to 1",
        ),
        (
            lambda self, x: x**2.5,
            "aten.pow.Tensor_Scalar: exponent 2.5: must be one of -1, -0.5, 0.5, 1, 2, 3",
        ),
        (
            lambda self, x: x.sum(0, dtype=torch.int64),
            "aten.sum.dim_IntList: dtype = torch.int64: must be a floating-point type",
        ),
        (
            lambda self, x: torch.einsum("...i->...", x),
            "aten.einsum.default: ...i->...: must have letters and commas alone: no ...",
        ),
        (
            lambda self, x: torch.einsum("ii->i", x @ x.t()),
            "aten.einsum.default: ii->i: takes a diagonal: every letter of an operand must be "
            "another",
        ),
        (
            lambda self, x: x.masked_fill(torch.eye(4, 3) > 0, math.inf),
            "aten.masked_fill.Scalar: inf: must be -inf or a finite real number",
        ),
        (
            lambda self, x: torch.where((x + 1) > 0, x, 0),
            "aten.gt.Scalar: of what is computed: must be of inputs or of numbers: conditions on "
            "computed values are not supported",
        ),
        (
            lambda self, x: (x @ x.t()).logical_not() * 2,
            "aten.logical_not.default: of what is computed: must be of inputs or of numbers: "
            "conditions on computed values are not supported",
        ),
        (
            lambda self, x: x.nan_to_num(),
            "aten.nan_to_num.default: must be right behind a softmax with a mask, or its product "
            "with values, and make 0 of the NaN of rows without entries",
        ),
        (
            lambda self, x: x.masked_fill((x > 0)[:1, :1], -math.inf),
            "aten.masked_fill.Scalar: a mask of one element for many: must have a dimension of "
            "what it masks",
        ),
        (
            lambda self, x: x + torch.zeros(2**14, 1, 2**13, 4)[0, 0, 0, 0],
            "aten.zeros.default: [16384, 1, 8192, 4]: constants must be of at most 268,435,456 "
            "bytes together",
        ),
        (
            lambda self, x: functional.batch_norm(x, None, None, training=True),
            "aten.batch_norm.default: in training mode: must be in evaluation mode: call eval() of "
            "the module",
        ),
        (lambda self, x: x + math.inf, "aten.add.Tensor: inf: must be a finite real number"),
        (lambda self, x: x * 1j, "aten.mul.Tensor: 1j: must be a finite real number"),
        (
            lambda self, x: x[:0].mean(),
            "aten.mean.default: a mean of no elements: must be of some",
        ),
    ],
)
def test_operators(forward: Callable[..., Any], problem: str) -> None:
    place = f"{FILE}:{forward.__code__.co_firstlineno}"
    with refused(f"{place}: {problem}"):
        module_program(module(forward), (MATRIX,))


@pytest.mark.parametrize("is_constant", [False, True])
def test_unknown_operators_name_those_that_are_supported(is_constant: bool) -> None:
    def forward(self, x):
        return torch.ones(4, 3).cumsum(0) * x if is_constant else x.cumsum(0)

    with pytest.raises(WorkloadError) as raised:
        module_program(module(forward), (MATRIX,))
    text = str(raised.value)
    assert text.startswith(
        f"{FILE}:{forward.__code__.co_firstlineno + 1}: aten.cumsum.default: not"
    )
    assert "not supported: must be of abs, add, addmm, " in text and len(text) < 1000


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (lambda self, x: x.tril(), "tril.default"),
        (lambda self, x: x * ((x > 0) & (x < 2)), "__and__.Tensor"),
    ],
)
def test_operators_of_constants_alone_take_no_inputs(
    forward: Callable[..., Any], name: str
) -> None:
    with pytest.raises(WorkloadError, match=rf"aten\.{name}: not supported: must be of abs, "):
        module_program(module(forward), (MATRIX,))


def test_shapes_that_depend_on_values() -> None:
    def forward(self, x):
        return x[x > 0] * 2

    with pytest.raises(WorkloadError, match=r"aten\.index\.Tensor: its shape depends on values"):
        module_program(module(forward), (MATRIX,))


def test_branches_that_depend_on_values() -> None:
    def forward(self, x):
        return x if x.sum() > 0 else -x

    with pytest.raises(WorkloadError, match="forward: torch.export: .*data-dependent"):
        module_program(module(forward), (MATRIX,))


def test_results_that_are_no_tensors() -> None:
    def forward(self, x):
        return x, None

    with refused("forward: result1: must be a tensor"):
        module_program(module(forward), (MATRIX,))


def test_means_of_nothing() -> None:
    def forward(self, x):
        return x.mean(0)

    with pytest.raises(WorkloadError, match="a mean of no elements: must be of some"):
        module_program(module(forward), (torch.ones(0, 3),))


def test_operators_are_those_of_pytorch() -> None:
    for name in {*OPERATORS, *CONSTANTS} - {"getitem"}:
        _, operator, overload = name.split(".")
        assert hasattr(getattr(torch.ops.aten, operator), overload), name
