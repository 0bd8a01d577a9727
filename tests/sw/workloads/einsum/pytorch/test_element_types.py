"""What types of elements PyTorch computes in, against PyTorch in those types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import require_same_in_types
from tests.support.random_typed_modules import random_typed_module

QUICK, ALL = 40, 500
TENTHS = torch.tensor([0.1, 0.2, 0.3, -0.7, 1 / 3])
COMPARISONS = (torch.gt, torch.ge, torch.lt, torch.le, torch.eq, torch.ne)

REFUSED = re.compile(
    r": (of truth values: must be of numbers: convert them by \.float\(\)"
    r"|in torch\.\w+, which wraps around: must be of numbers: convert them by \.float\(\)"
    r"|\S+ in torch\.\w+: must be one of its numbers"
    r"|\S+, of torch\.\w+: must be from -?\d+ to \d+"
    r"|of what is computed: must be of inputs .*)$"
)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_numbers_are_compared_as_the_type_has_them(dtype: torch.dtype) -> None:
    """0.1 in float32 is above 0.1, but PyTorch compares it with 0.1 in float32."""

    def forward(self, x):
        numbers = [0.1, 0.2, 0.3, -0.7, 1 / 3, 0.30001]
        found = [torch.stack([each(x, n) * 1.0 for n in numbers]) for each in COMPARISONS]
        return (*found, torch.where(x > 0.1, x, 0.0), (x + 0.5) * 0.25)

    require_same_in_types(module(forward), TENTHS.to(dtype))


def test_whole_numbers_are_compared() -> None:
    def forward(self, x, y):
        return (x > 0.5) * 1.0, (x == 2) * 1.0, (x <= -1.5) * 1.0, (y >= 0.5) * 1.0, (y < 2) * 1.0

    numbers = torch.tensor([2**40, 1, 2, -1, 0])
    require_same_in_types(module(forward), numbers, numbers > 1)


def test_numbers_at_the_edge_of_what_is_compared() -> None:
    """Above and below them whole numbers are others in float32, or float64."""

    def forward(self, wide, byte, truth):
        most = 2**53 - 1
        return (
            *(each(wide, n) * 1.0 for each in COMPARISONS for n in (2.0**24 - 1, 1 - 2.0**24)),
            *(each(wide, n) * 1.0 for each in COMPARISONS for n in (most, -most)),
            *(each(byte, n) * 1.0 for each in COMPARISONS for n in (0, 255, 300.0)),
            *(each(truth, n) * 1.0 for each in COMPARISONS for n in (most, -most, 1)),
        )

    edges = [near + by for near in (2**24, -(2**24), 2**53, -(2**53)) for by in (-2, -1, 0, 1, 2)]
    bytes = torch.tensor([0, 1, 254, 255], dtype=torch.uint8)
    require_same_in_types(module(forward), torch.tensor(edges), bytes, bytes > 1)


@pytest.mark.parametrize(
    ("dtype", "least", "most"),
    [
        (torch.uint8, 0, 255),
        (torch.int8, -128, 127),
        (torch.int64, 1 - 2**53, 2**53 - 1),
        (torch.bool, 1 - 2**53, 2**53 - 1),
    ],
)
def test_whole_numbers_that_are_compared_with_all_of_a_type(
    dtype: torch.dtype, least: int, most: int
) -> None:
    def forward(self, x):
        return (x == self.number) * 2.0

    values = torch.ones(2).to(dtype)
    for number in (least, most):
        module_program(module(forward, number=number), (values,))
    for number in (least - 1, most + 1):
        problem = f": {number}, of {dtype}: must be from {least} to {most}$"
        with pytest.raises(WorkloadError, match=problem):
            module_program(module(forward, number=number), (values,))


def test_what_gives_no_other_numbers_of_a_type() -> None:
    """Choices among numbers, products of truth values, and numbers of the type itself."""

    def forward(self, byte, word, truth):
        return (
            torch.maximum(byte, byte[:1]),
            torch.minimum(byte, byte[1:2]),
            byte.relu(),
            truth * truth[:1],
            word.masked_fill(word > 1, 7),
            word.masked_fill(word > 1, 7.0),
            word.masked_fill(word > 1, torch.tensor(7, dtype=torch.int32)),
            truth.masked_fill(word > 1, True),
            truth.masked_fill(word > 1, 0.0),
            word + 3,
            word * 2,
        )

    numbers = torch.tensor([3, 1, 2, 0])
    require_same_in_types(module(forward), numbers.to(torch.int8), numbers.int(), numbers > 1)


@pytest.mark.parametrize(
    "forward, dtype, problem",
    [
        (lambda self, x: x + 1, torch.uint8, "add.Tensor: in torch.uint8, which wraps around"),
        (lambda self, x: x @ x.T, torch.int8, "matmul.default: in torch.int8, which wraps around"),
        (lambda self, x: -x, torch.int16, "neg.default: in torch.int16, which wraps around"),
        (lambda self, x: x + True, torch.bool, "add.Tensor: of truth values"),
        (lambda self, x: x.add(torch.tensor(True)), torch.bool, "add.Tensor: of truth values"),
        (
            lambda self, x: x.masked_fill(x > 0, 0.5),
            torch.int64,
            "masked_fill.Scalar: 0.5 in torch.int64: must be one of its numbers",
        ),
        (
            lambda self, x: x.masked_fill(x, 3),
            torch.bool,
            "masked_fill.Scalar: 3 in torch.bool: must be one of its numbers",
        ),
        (
            lambda self, x: x.masked_fill(x > 0, torch.tensor(0.5)),
            torch.int64,
            "masked_fill.Tensor: torch.float32 in place of torch.int64: must be of one type",
        ),
        (
            lambda self, x: torch.addmm(x, x, x, beta=0.5),
            torch.int32,
            "addmm.default: 0.5 in torch.int32: must be one of its numbers",
        ),
        (lambda self, x: (x == 300) * 2.0, torch.uint8, "300, of torch.uint8: must be from 0 to"),
        (lambda self, x: (x > 2**60) * 2.0, torch.int64, "2**60"),
        (
            lambda self, x: (x == 2.0**24) * 2.0,
            torch.int64,
            "16777216.0, of torch.int64: must be a",
        ),
        (lambda self, x: (x > -(2.0**24)) * 2.0, torch.int64, "-16777216.0, of torch.int64: must"),
        (
            lambda self, x: (x == 16777215.5) * 2.0,
            torch.int64,
            "16777215.5, of torch.int64: must be a whole number, or below 16777216",
        ),
        (lambda self, x: (x > 1e5) * 2.0, torch.float16, "100000.0, of torch.float16: must be one"),
        (
            lambda self, x: torch.zeros(2, 2, dtype=torch.bool).index_add(
                0, self.e[1], x[self.e[0]]
            ),
            torch.bool,
            "index_add.default: of truth values",
        ),
    ],
)
def test_what_real_numbers_do_not_give_is_refused(
    forward: Callable[..., Any], dtype: torch.dtype, problem: str
) -> None:
    made = module(forward)
    made.register_buffer("e", torch.tensor([[0, 1, 1], [1, 1, 0]]))
    with pytest.raises(WorkloadError, match=re.escape(problem.replace("2**60", str(2**60)))):
        module_program(made, (torch.ones(2, 2).to(dtype),))


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(each, marks=pytest.mark.slow) for each in range(QUICK, ALL))],
)
def test_random_modules(seed: int) -> None:
    made, inputs = random_typed_module(seed)
    try:
        require_same_in_types(made, *inputs)
    except WorkloadError as error:
        assert REFUSED.search(str(error)), error
