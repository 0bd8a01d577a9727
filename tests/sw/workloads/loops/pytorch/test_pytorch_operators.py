"""Types and shapes that operators of PyTorch give: those of PyTorch itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.modules import module_workload
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import compressed_rows, module, whole
from tests.support.nests.pytorch_nests import require_same

FILE = Path(__file__).name
VALUES = {
    torch.float32: 0.5,
    torch.int64: 70_000,
    torch.int32: -70_000,
    torch.int16: 1000,
    torch.int8: -100,
    torch.uint8: 200,
}
"""Of each type one that the next ones do not have."""


def of_each_type(*shape: int) -> tuple[torch.Tensor, ...]:
    return tuple(torch.full(shape, value, dtype=type) for type, value in VALUES.items())


def sums(x, y):
    return x + y


def joined(x, y):
    return torch.stack([x, y])


@pytest.mark.parametrize(
    ("operator", "shape", "others"),
    [
        (sums, (1,), (1,)),
        (sums, (1,), ()),
        (sums, (), ()),
        (torch.maximum, (), (1,)),
        (joined, (1,), (1,)),
    ],
)
def test_types_that_two_have_together(
    operator: Callable[..., Any], shape: tuple[int, ...], others: tuple[int, ...]
) -> None:
    def each_with_each(self, *tensors):
        count = len(tensors) // 2
        return tuple(operator(x, y) for x in tensors[:count] for y in tensors[count:])

    require_same(module(each_with_each), *of_each_type(*shape), *of_each_type(*others))


def test_types_of_more_than_two() -> None:
    def all_of_them(self, x, y, z):
        return torch.cat([x, y, z]), torch.cat([z, x[:0], y])

    _, _, _, x, y, z = of_each_type(2)
    require_same(module(all_of_them), x, y, z)


def test_numbers_are_of_the_types_of_tensors() -> None:
    def with_numbers(self, *tensors):
        return (
            *(each * 3 for each in tensors),
            *(2 - each for each in tensors),
            *(each + 0.5 for each in tensors),
            *(each / 4 for each in tensors),
        )

    for shape in ((1,), ()):
        require_same(module(with_numbers), *of_each_type(*shape))


def too_large(self, x):
    return x + 128


def not_a_number(self, x):
    return x.float() if x.is_floating_point() else x * float("nan")


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (too_large, "128 is not in int8: must be from -128 to 127"),
        (not_a_number, "nan is not in float32: must be rounded to it"),
    ],
)
def test_numbers_that_their_types_do_not_have(forward: Callable[..., Any], message: str) -> None:
    place = f"{FILE}:{forward.__code__.co_firstlineno + 1}:1"
    with refused(f"{place}: {message}"):
        module_workload(module(forward), (torch.tensor([1, 2], dtype=torch.int8),))


def test_masks() -> None:
    """PyTorch's tensors without data take int8 for a mask, other than those with data."""

    def masked(self, x, chosen):
        return x[chosen]

    place = f"{FILE}:{masked.__code__.co_firstlineno + 1}:1"
    with refused(f"{place}: aten.index.Tensor: its shape depends on values: must be known"):
        module_workload(module(masked), (whole(3), torch.tensor([1, 0, 1], dtype=torch.int8)))


FLAT = """\
    for i0 in range(3):
        for i1 in range(2):
            result[(i0 * 2) + i1] = x[i1, i0]
"""
MERGED = """\
    for i0 in range(3):
        for i1 in range(2):
            for i2 in range(4):
                result[(i0 * 2) + i1, i2] = x[i1, i0, i2]
"""


@pytest.mark.parametrize(
    ("shape", "merged", "loops"), [((2, 3), (6,), FLAT), ((2, 3, 4), (6, 4), MERGED)]
)
def test_merged_results_have_a_loop_for_each_dimension(
    shape: tuple[int, ...], merged: tuple[int, ...], loops: str
) -> None:
    """Divisions, or an array in between, would tell the places of elements as well."""
    made = module(lambda self, x: x.transpose(0, 1).reshape(merged))
    workload = require_same(made, whole(*shape))
    assert print_nest(workload.nest).endswith(f":\n{loops}")


@pytest.mark.parametrize(
    ("forward", "element"),
    [
        (lambda self, x: x[1:], "x[i0 + 1]"),
        (lambda self, x: x[::2], "x[i0 * 2]"),
        (lambda self, x: x[1::3], "x[(i0 * 3) + 1]"),
        (lambda self, x: torch.arange(4), "i0"),
        (lambda self, x: torch.arange(2, 5), "i0 + 2"),
        (lambda self, x: torch.arange(4, dtype=torch.int16), "int16(i0)"),
        (lambda self, x: torch.arange(1, 9, 2), "(i0 * 2) + 1"),
    ],
)
def test_places_of_parts_have_no_needless_terms(forward: Callable[..., Any], element: str) -> None:
    workload = require_same(module(forward), whole(9))
    assert print_nest(workload.nest).endswith(f"result[i0] = {element}\n")


ROWS = ((9,), (0,), (3, 9), (9, 1, -2), (0, 1000, 90), (-300, 300, 77), (3, 3))


@pytest.mark.parametrize("dtype", [None, *VALUES], ids=str)
def test_numbers_in_a_row_have_the_type_that_is_asked_for(dtype: torch.dtype | None) -> None:
    """What of them the type has."""
    made = module(lambda self, x: [x + torch.arange(*row, dtype=dtype) * 50 for row in ROWS])
    require_same(made, torch.tensor([1], dtype=torch.int8))
    made = module(lambda self, x: [torch.arange(*row, dtype=dtype) for row in ROWS])
    require_same(made, whole(1))


@pytest.mark.parametrize(
    "bounds, dtype, message",
    [
        ((0, 1 << 32, 1 << 31), None, "2147483648 of int32: must be from -2147483648"),
        ((-(1 << 31) - 1, 3, 1 << 31), torch.int8, "-2147483649 of int8: must be from -2147483648"),
        ((0, 1 << 25, (1 << 24) + 1), torch.float32, "16777217 of float32: must be from -16777216"),
    ],
)
def test_numbers_in_a_row_that_would_be_rounded_or_wrong(
    bounds: tuple[int, ...], dtype: torch.dtype | None, message: str
) -> None:
    made = module(lambda self, x: torch.arange(*bounds, dtype=dtype))
    with pytest.raises(WorkloadError, match=f"arange: {message}"):
        module_workload(made, (whole(1),))


def dense_layers(self, x, i, y):
    """As a recommendation model has them behind its tables."""
    hidden = torch.relu(self.first(torch.cat([x[i], y], 1)))
    return self.second(hidden).squeeze(1), self.norm(hidden)


def products_of_look_ups(self, x, i, y):
    return x[i] @ y.t(), torch.einsum("ij,ij->i", x[i], y), (x[i] * 2).amax(1) * y.mean(0).sum()


def batches(self, x, i, y):
    return torch.relu(x[i].view(2, 2, 3)) @ y[:3], x[i].flatten().unsqueeze(0)


@pytest.mark.parametrize("forward", (dense_layers, products_of_look_ups, batches))
def test_tensor_algebra_of_look_ups(forward: Callable[..., Any]) -> None:
    """Operators of Einsum programs mean the same beside look-ups."""
    members = {"first": torch.nn.Linear(6, 4), "second": torch.nn.Linear(4, 1)}
    with torch.no_grad():
        for each in (each for made in members.values() for each in made.parameters()):
            each.copy_(whole(*each.shape))
    made = module(forward, **members, norm=lambda x: x - x.sum(1, keepdim=True))
    require_same(made, whole(10, 3), torch.tensor([3, 0, 9, 1]), whole(4, 3))


@pytest.mark.parametrize(
    "layout", (compressed_rows, torch.Tensor.to_sparse_csc, torch.Tensor.to_sparse)
)
def test_sparse_matrices_beside_look_ups(layout: Callable[..., Any]) -> None:
    """Transposed, in sums and in products of elements, too."""

    def forward(self, a, x, i):
        return a @ torch.relu(x[i]), a.t() @ x[i[:3]], a.to_dense().sum(0), (a * 2).to_dense()

    matrix = torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]])
    require_same(module(forward), layout(matrix), whole(10, 3), torch.tensor([3, 0, 9, 1]))


def test_elements_are_computed_once_where_products_take_them_again() -> None:
    made = module(lambda self, a, x, i: a @ torch.relu(x[i]))
    a = compressed_rows(torch.tensor([[0.0, 2], [3, 4]]))
    workload = require_same(made, a, whole(10, 3), torch.tensor([3, 0]))
    assert workload.temporaries == {"temporary"}
