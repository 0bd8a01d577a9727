"""PyTorch's operators as statements, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same


def drawn(*shape: int) -> torch.Tensor:
    """Numbers from 0.1 to 1.9, of which no two are equal."""
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 7 % max(count, 1)) / max(count, 1) * 1.8 + 0.1).reshape(shape)


MATRIX, SQUARE, VECTOR, ONE = drawn(3, 4), drawn(4, 4), drawn(4), torch.tensor(0.75)


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x: torch.relu(x - 1),
        lambda self, x: x.exp().log().sqrt(),
        lambda self, x: x.reciprocal() * -x,
        lambda self, x: torch.sigmoid(x) + torch.tanh(x),
        lambda self, x: functional.gelu(x - 1) + functional.gelu(x - 1, approximate="tanh"),
        lambda self, x: functional.silu(x).rsqrt() + (x - 1).abs(),
        lambda self, x: functional.leaky_relu(x - 1, 0.2),
        lambda self, x: functional.leaky_relu((x * 1000).exp(), 0) - functional.relu(1 - x),
        lambda self, x: x.clamp(0.5, 1.5) + x.clamp(min=1) + x.clamp_max(1),
        lambda self, x: x**2 + x**-1 + x**3 + x.square() + x**0.5 + x**-0.5 + x**1,
        lambda self, x: torch.add(x, 1, alpha=2) - torch.sub(x, x, alpha=0.5),
        lambda self, x: 1 - x / 4 + torch.rsub(x, x, alpha=3),
        lambda self, x: torch.maximum(x, 2 - x) * torch.minimum(x, x * x),
        lambda self, x: functional.dropout(x, 0.5, self.training).contiguous().detach() * 2,
        lambda self, x: (x * 2).relu_().add_(1).to(torch.float64).clone() * True,
    ],
)
def test_elementwise(forward: Callable[..., Any]) -> None:
    require_same(module(forward), MATRIX)
    require_same(module(forward), ONE)


@pytest.mark.parametrize(
    "forward, inputs",
    [
        (lambda self, x, y: x + y, (MATRIX, VECTOR)),
        (lambda self, x, y: x * y - y, (drawn(3, 1), MATRIX)),
        (lambda self, x, y: x * y, (drawn(3, 1), drawn(1, 4))),
        (lambda self, x, y: x / y, (drawn(2, 1, 4), drawn(3, 1))),
        (lambda self, x, y: x + y, (ONE, MATRIX)),
        (lambda self, x, y: x.unsqueeze(1) * y.unsqueeze(0), (VECTOR, drawn(3))),
        (lambda self, x, y: x.unsqueeze(-1) * y, (VECTOR, SQUARE)),
        (lambda self, x, y: x[:, None] @ y[None], (VECTOR, VECTOR)),
        (lambda self, x, y: (x.expand(4, 4) + 1) * y, (VECTOR, SQUARE)),
        (lambda self, x, y: (x.expand(3, 4) + 1).sum(0) + y, (VECTOR, VECTOR)),
        (lambda self, x, y: x.expand(3, 4).amax(0) + y.expand_as(x), (VECTOR, VECTOR)),
        (lambda self, x, y: x.expand(3, 4).t() @ y, (VECTOR, drawn(3, 2))),
        (lambda self, x, y: x.squeeze(1).squeeze() + y, (drawn(1, 1, 4), VECTOR)),
        (lambda self, x, y: x.view(4) + y.reshape(4, 1).flatten(), (drawn(1, 4), VECTOR)),
        (lambda self, x, y: x.view(1, 2, -1, 1) * y, (drawn(2, 1, 3), drawn(1, 1, 3, 2))),
        (lambda self, x, y: x.squeeze(-1).t() * y, (drawn(4, 3, 1), MATRIX)),
        (lambda self, x, n: x * n - n, (MATRIX, 3)),
        (lambda self, x, b: x * b, (MATRIX, torch.tensor([True, False, True, True]))),
    ],
)
def test_broadcasting(forward: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    require_same(module(forward), *inputs)


@pytest.mark.parametrize(
    "forward, inputs",
    [
        (lambda self, x, y: x @ y, (MATRIX, SQUARE)),
        (lambda self, x, y: x @ y, (MATRIX, VECTOR)),
        (lambda self, x, y: x @ y, (drawn(3), MATRIX)),
        (lambda self, x, y: torch.dot(x, y), (VECTOR, VECTOR)),
        (lambda self, x, y: torch.mv(x, y), (MATRIX, VECTOR)),
        (lambda self, x, y: torch.mm(x, y.t()), (MATRIX, MATRIX)),
        (lambda self, x, y: x.permute(1, 0) @ y, (MATRIX, MATRIX)),
        (lambda self, x, y: x @ y, (drawn(2, 3, 4), SQUARE)),
        (lambda self, x, y: x @ y, (drawn(2, 1, 3, 4), drawn(5, 4, 2))),
        (lambda self, x, y: x @ y, (drawn(2, 3, 4), VECTOR)),
        (lambda self, x, y: x @ y, (VECTOR, drawn(2, 4, 3))),
        (lambda self, x, y: torch.bmm(x, y.mT), (drawn(2, 3, 4), drawn(2, 5, 4))),
        (lambda self, x, y: torch.einsum("abc,dc->bda", x, y), (drawn(2, 3, 4), MATRIX)),
        (lambda self, x, y: torch.einsum("ij, kj", x, y), (MATRIX, SQUARE)),
        (lambda self, x, y: torch.einsum("ij,j->i", x, y) * 2, (MATRIX, VECTOR)),
        (lambda self, x, y: torch.einsum("ij,k->", x, y), (MATRIX, VECTOR)),
        (lambda self, x, y: torch.einsum("ij,ij,j->ij", x, x, y), (MATRIX, VECTOR)),
        (lambda self, x, y: functional.linear(x, y), (VECTOR, MATRIX)),
        (lambda self, x, y: functional.linear(x, y), (MATRIX, VECTOR)),
    ],
)
def test_products(forward: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    require_same(module(forward), *inputs)


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, b, x, y: torch.addmm(b, x, y),
        lambda self, b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2),
        lambda self, b, x, y: (
            torch.addmm(b, x, y, beta=0) + torch.nn.functional.linear(x, y.t(), b)
        ),
        lambda self, b, x, y: torch.addmv(x @ b, x, b),
    ],
)
def test_products_that_are_added(forward: Callable[..., Any]) -> None:
    require_same(module(forward), VECTOR, MATRIX, SQUARE)


def test_stacks_of_products_that_are_added() -> None:
    def forward(self, b, x, y):
        return torch.baddbmm(b, x, y, beta=2, alpha=3)

    require_same(module(forward), drawn(1, 3, 1), drawn(2, 3, 4), drawn(2, 4, 5))


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x: x.sum(),
        lambda self, x: (x.sum(0), x.sum(-1, keepdim=True), x.sum([])),
        lambda self, x: x.sum((0, 2), keepdim=True) * x,
        lambda self, x: x - x.mean(-1, keepdim=True),
        lambda self, x: (x.mean(), x.mean((0, 1))),
        lambda self, x: (x.amax(1), x.max(), x.amax((0, -1), keepdim=True)),
        lambda self, x: torch.softmax(x, 0) * torch.softmax(x, -1),
        lambda self, x: torch.log_softmax(x, 1),
        lambda self, x: x / x.sum(-1, keepdim=True),
        lambda self, x: functional.normalize(x - 1) + functional.normalize(x - 1, p=1, dim=-1),
        lambda self, x: (x.norm(), torch.linalg.vector_norm(x - 1, 1, (0, 2)), x.norm(dim=1)),
        lambda self, x: torch.nn.functional.softmax(x.mean(0, keepdim=True), dim=0),
    ],
)
def test_reductions(forward: Callable[..., Any]) -> None:
    require_same(module(forward), drawn(2, 3, 4))


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x, y: x.t() * 2,
        lambda self, x, y: (x @ y).t(),
        lambda self, x, y: ((x @ y).t(), (x @ y).relu()),
        lambda self, x, y: x,
        lambda self, x, y: (x.t(), x, x * 1),
        lambda self, x, y: [z := x @ y, z, z.t()],
        lambda self, x, y: ((x @ y).unsqueeze(1), x.unsqueeze(0)),
        lambda self, x, y: {"z": (z := x @ y).t(), "sum": z.sum(), "relu": z.relu()},
        lambda self, x, y: {"i": (x.sum(0), y), "j": x},
    ],
)
def test_results(forward: Callable[..., Any]) -> None:
    require_same(module(forward), MATRIX, SQUARE)


@pytest.mark.parametrize(
    "forward, wanted",
    [
        (lambda self, x, y: x @ x.t(), ["matmul(i,j)=sum[k](x(i,k)*x(j,k))"]),
        (lambda self, x, y: x * x, ["mul(i,j)=x(i,j)*x(i,j)"]),
        (
            lambda self, x, y: (z := x @ y) * z.sum(1, keepdim=True),
            [
                "matmul(i,j)=sum[k](x(i,k)*y(k,j))",
                "sum_1(i)=sum[j](matmul(i,j))",
                "mul(i,j)=matmul(i,j)*sum_1(i)",
            ],
        ),
        (
            lambda self, x, y: (x @ y).t(),
            ["matmul(j,i)=sum[k](x(i,k)*y(k,j))"],
        ),
        (lambda self, x, y: x.mean(0), ["mean(j)=sum[i](x(i,j))/3.0"]),
        (lambda self, x, y: y.mean(0), ["mean(j)=sum[i](y(i,j))*0.25"]),
    ],
)
def test_statements(forward: Callable[..., Any], wanted: list[str]) -> None:
    assert lines(require_same(module(forward), MATRIX, SQUARE)) == wanted


def test_modes_of_size_1_are_summed() -> None:
    def forward(self, x, y):
        return x * y

    model = require_same(module(forward), drawn(3, 1), MATRIX)
    assert lines(model) == ["mul(i,j)=sum[k](x(i,k))*y(i,j)"]


def test_indices_are_named_unlike_tensors() -> None:
    def forward(self, i, k):
        return i @ k

    model = require_same(module(forward), MATRIX, SQUARE)
    assert lines(model) == ["matmul(j,l)=sum[m](i(j,m)*k(m,l))"]


def test_diamonds() -> None:
    def forward(self, x, w):
        h = torch.relu(x @ w)
        return (h @ w + h) * (h - h.mean())

    require_same(module(forward), MATRIX, SQUARE)


def test_sizes_of_none() -> None:
    def forward(self, x, y):
        return x @ y, x.sum(1) + 1

    require_same(module(forward), drawn(3, 0), drawn(0, 4))
