"""Tensors that modules make of numbers: inputs of programs, or numbers in them."""

from __future__ import annotations

import numpy as np
import torch

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
