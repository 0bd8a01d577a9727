"""Tensors that modules make of numbers: inputs of programs, or numbers in them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch import constants
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same

MATRIX = torch.tensor([[0.5, 1, 0], [0.25, 0, 2], [0, 0.75, 1]], dtype=torch.float64)


def test_masks() -> None:
    def forward(self, x):
        mask = 1 - torch.tril(torch.ones(3, 3, dtype=torch.float64))
        return torch.softmax(x @ x.t() + mask * -1e3, dim=-1)

    model = require_same(module(forward), MATRIX)
    assert lines(model)[:2] == [
        "matmul(i,j)=sum[k](x(i,k)*x(j,k))",
        "add(i,j)=matmul(i,j)+mul(i,j)",
    ]
    assert model.names["mul"] == "mul" and "mul" in model.parameters
    np.testing.assert_array_equal(model.data["mul"].to_dense(), np.triu(np.full((3, 3), -1e3), 1))


def test_tensors_like_others() -> None:
    def forward(self, x):
        degrees = x @ x.new_ones(3, 1)
        return x / (degrees + 1) + torch.zeros_like(x) + torch.full_like(degrees, 2)

    require_same(module(forward), MATRIX)


def test_conditions() -> None:
    def forward(self, x):
        places = torch.arange(3)
        near = (places[:, None] - places[None]).abs() <= 1
        return x * torch.where(near, 2.0, 0.5) + torch.eye(3).masked_fill(near, 3)

    require_same(module(forward), MATRIX)


def test_conditions_that_are_joined() -> None:
    def forward(self, x):
        places = torch.arange(3)
        later, distance = places[:, None] < places, places[:, None] - places
        window = ~later & (distance < 2)
        return x * window + x.exp() * (later | (distance == 2)) + (later ^ window) * 2.0

    require_same(module(forward), MATRIX)


def test_numbers() -> None:
    def forward(self, x):
        return x * torch.tensor(2.0) + torch.full((), 0.5)

    model = require_same(module(forward), MATRIX)
    assert lines(model) == ["mul(i,j)=x(i,j)*2.0", "add(i,j)=mul(i,j)+0.5"]


def test_numbers_that_are_tensors_elsewhere() -> None:
    def forward(self, x):
        half = torch.tensor(0.5)
        return x * half + half.expand_as(x) * x

    model = require_same(module(forward), MATRIX)
    assert "mul_1(i,j)=clone*x(i,j)" in lines(model)


def test_results() -> None:
    def forward(self, x):
        return x * 2, torch.eye(3)

    require_same(module(forward), MATRIX)


def test_what_all_constants_take_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(self, x):
        return x * torch.ones(3) + torch.arange(3.0)

    monkeypatch.setattr(constants, "_MOST_BYTES", 24)
    module_program(module(forward), (MATRIX.float(),))
    monkeypatch.setattr(constants, "_MOST_BYTES", 23)
    with pytest.raises(
        WorkloadError,
        match=r"aten\.arange\.\w+: \[3\]: constants must be of at most 23 bytes together$",
    ):
        module_program(module(forward), (MATRIX.float(),))


def test_numbers_that_a_type_lacks() -> None:
    def forward(self, x):
        return x * x.new_full((3,), 300, dtype=torch.uint8)

    with pytest.raises(WorkloadError, match=r"aten\.new_full\.default: value cannot be converted"):
        module_program(module(forward), (MATRIX,))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_infinity_is_no_number_of_a_program(shape: tuple[int, ...]) -> None:
    def forward(self, x):
        return x * torch.full(self.shape, float("inf"))

    with pytest.raises(WorkloadError, match=r"= inf: must be finite in float64$"):
        module_program(module(forward, shape=shape), (MATRIX,))


def test_tensors_of_every_kind() -> None:
    def forward(self, x):
        like = x @ x
        return (
            like * torch.ones_like(like) + torch.zeros_like(like),
            x.new_zeros(2, 3) + x.new_ones(2, 1) * x[0],
            torch.full_like(like, -1.5) * x + x.new_full((3,), 0.25),
            torch.eye(3, 2).double().T @ x + torch.arange(1, 3)[:, None] + torch.arange(0, 6, 2),
            x * torch.scalar_tensor(3.0) + torch.zeros(3) - torch.ones(3, 3).triu(1),
        )

    require_same(module(forward), MATRIX)
