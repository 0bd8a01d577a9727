"""Linear layers of tensors one behind the other, which are the sums of layers of each."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch

from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same

X, Y = torch.arange(12.0).reshape(3, 4) / 8, torch.arange(6.0).reshape(3, 2) / 4


def test_no_tensor_is_put_behind_another() -> None:
    def forward(self, x, y):
        return self.layer(torch.cat([x, y], -1))

    model = require_same(module(forward, layer=torch.nn.Linear(6, 5)), X, Y)
    assert lines(model) == [
        "linear_weight(i,k)=slice[j:0:4](layer_weight(i,j))",
        "linear_part1(i,j)=sum[k](x(i,k)*linear_weight(j,k))",
        "linear_weight_slice(i,k)=slice[j:4:6](layer_weight(i,j))",
        "linear(i,j)=linear_part1(i,j)+sum[k](y(i,k)*linear_weight_slice(j,k))+layer_bias(j)",
    ]


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x, y: self.layer(z := torch.cat([x, y], 1)) + z.sum(),
        lambda self, x, y: torch.nn.functional.linear(
            torch.cat([x, y], 1), self.layer.weight.relu()
        ),
        lambda self, x, y: self.layer(torch.cat([x.t(), x.t()[:2]]).t()),
        lambda self, x, y: self.layer(torch.cat([x, y], 1).relu()),
        lambda self, x, y: torch.nn.functional.linear(z := torch.cat([x, y], 1), z),
        lambda self, x, y: (self.layer(z := torch.cat([x, y], 1)), z),
    ],
)
def test_other_uses_are_of_one_tensor(forward: Callable[..., Any]) -> None:
    model = require_same(module(forward, layer=torch.nn.Linear(6, 3)), X, Y)
    assert any("concat" in each for each in lines(model))


def test_a_weight_of_one_row_gives_numbers() -> None:
    def forward(self, x, y):
        return torch.nn.functional.linear(torch.cat([x, y], 1), self.weight)

    made = module(forward)
    made.weight = torch.nn.Parameter(torch.arange(6.0) / 4 - 0.5)
    model = require_same(made, X, Y)
    assert not any("concat" in each for each in lines(model))


@pytest.mark.parametrize("seed", range(12))
def test_random_parts(seed: int) -> None:
    random = Random(seed)
    torch.manual_seed(seed)
    batch = tuple(random.choice((1, 2, 3)) for _ in range(random.randrange(3)))
    widths = [random.choice((0, 1, 1, 2, 3)) for _ in range(random.randint(1, 4))]
    bias, dim = random.random() < 0.5, random.choice((-1, len(batch)))
    twice = random.random() < 0.3

    def forward(self, *parts):
        given = [*parts, parts[0]] if twice else parts
        return self.layer(torch.cat(given, dim))

    inputs = [torch.rand(*batch, width) - 0.5 for width in widths]
    width = sum(widths) + widths[0] * twice
    made = module(forward, layer=torch.nn.Linear(width, random.choice((1, 3)), bias))
    require_same(made, *inputs)
