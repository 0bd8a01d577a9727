"""Operators that move elements, against PyTorch, and which statements they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.support.nests.pytorch_modules import compressed_rows, module
from tests.support.pytorch_programs import lines, require_same


def drawn(*shape: int) -> torch.Tensor:
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


CUBE, MATRIX, VECTOR, ONE = drawn(2, 3, 4), drawn(4, 6), drawn(6), torch.tensor(0.75)


@pytest.mark.parametrize(
    "forward, inputs",
    [
        (lambda self, x: x.reshape(8, 3) * 2, (MATRIX,)),
        (lambda self, x: x.view(2, -1).relu().view(4, 2, 3), (MATRIX,)),
        (lambda self, x: x.flatten() + 1, (CUBE,)),
        (lambda self, x: x.relu().flatten(1), (CUBE,)),
        (lambda self, x: x.flatten(0, 1) * 2, (CUBE,)),
        (lambda self, x: x.flatten(-1) * 2, (VECTOR,)),
        (lambda self, x: x.flatten() * 2, (ONE,)),
        (lambda self, x: x.unflatten(1, (1, -1)) * 2, (MATRIX,)),
        (lambda self, x: x[:0].unflatten(1, (2, -1)).sum(0), (MATRIX,)),
        (lambda self, x: x.unflatten(1, (2, -1)).sum(2), (MATRIX,)),
        (lambda self, x: x.t().reshape(4, 6) * 2, (MATRIX,)),
        (lambda self, x: x.relu().t().reshape(4, 6).t(), (MATRIX,)),
        (lambda self, x: x.relu().reshape(6, 4).t(), (MATRIX,)),
        (lambda self, x: x.permute(2, 0, 1).reshape(4, 6), (CUBE,)),
        (lambda self, x: x.permute(0, 2, 1).reshape(2, 12).exp(), (CUBE,)),
        (lambda self, x: x.reshape_as(x.t()).relu().view_as(x) * x, (MATRIX,)),
        (lambda self, x: x.expand(2, 6).reshape(3, 4) * 2, (VECTOR,)),
        (lambda self, x: x[:, None].expand(6, 3).reshape(2, 3, 3).sum(2), (VECTOR,)),
        (lambda self, x: x.expand(2, 6).unflatten(1, (2, 3)) + 1, (VECTOR,)),
        (lambda self, x: x.sum(1, keepdim=True).reshape(2, 2, 1) * 2, (MATRIX,)),
        (lambda self, x: x.squeeze().unflatten(0, (2, 3)).exp(), (drawn(6, 1),)),
        (lambda self, x: x.sum().reshape(1, 1) * x.sum(), (MATRIX,)),
        (lambda self, x: x[:, :0].reshape(0, 5, 2) + x[:0].view(2, 0).sum(), (MATRIX,)),
        (lambda self, x, y: torch.cat([x, y]).relu(), (MATRIX, drawn(1, 6))),
        (lambda self, x, y: torch.cat([x.relu(), y.t()], 1) * 2, (MATRIX, drawn(3, 4))),
        (lambda self, x: torch.cat([x, x[:0], x * 2], -2), (MATRIX,)),
        (lambda self, x: torch.cat([x, torch.zeros(0)]) * 2, (VECTOR,)),
        (lambda self, x: torch.cat([x.expand(2, 6), x[None], x.expand(3, 6)]) * 2, (VECTOR,)),
        (lambda self, x: torch.cat([x[None], x.expand(1, 6)], 1) * 2, (VECTOR,)),
        (lambda self, x: torch.cat([x.unsqueeze(1), x.unsqueeze(1)]) * 2, (VECTOR,)),
        (lambda self, x, y: torch.cat([x, y], 1) + y, (drawn(1, 3), drawn(1, 1))),
        (lambda self, x, y: torch.stack([x, y, x * y], 1), (VECTOR, VECTOR)),
        (lambda self, x: torch.stack([x, x * 2]) * torch.stack([x]), (VECTOR,)),
        (lambda self, x: torch.stack([x, x]) + torch.stack([x, x], -1)[0], (ONE,)),
        (lambda self, x: torch.concat([x, torch.ones(2, 6)]) @ x.t(), (MATRIX,)),
        (lambda self, x: x[1:] * x[:-1], (MATRIX,)),
        (lambda self, x: x[:, 1:5:2].sum(1) - x[2, 1], (MATRIX,)),
        (lambda self, x: x[-1] + x[:, -2].sum() + x.select(1, -1)[0], (MATRIX,)),
        (lambda self, x: x.narrow(1, 2, 3) * x.narrow(1, -3, 3), (MATRIX,)),
        (lambda self, x: x.expand(3, 6)[1:, 2:] * 2 + x.expand(3, 6)[0, 2:], (VECTOR,)),
        (lambda self, x: x.chunk(4, 1)[1] * 2, (MATRIX,)),
        (lambda self, x: torch.cat(x.chunk(4, 1)[::-1], 1) * 2, (MATRIX,)),
        (lambda self, x: sum(each.sum() for each in x[:, :0].chunk(2, 1)), (MATRIX,)),
        (lambda self, x: x.split(4, 1)[1] * x.split([1, 2, 3], 1)[1], (MATRIX,)),
        (lambda self, x: sum(each * n for n, each in enumerate(x.unbind(1))), (MATRIX,)),
        (lambda self, x: x.relu()[None, 1:2], (MATRIX,)),
        (lambda self, x: x.expand(3, 6), (VECTOR,)),
        (lambda self, x: (x.exp()[:, None].expand(6, 2), x.exp().expand(0, 6)), (VECTOR,)),
        (lambda self, x: (x.sum(0, True), x.sum(1, True), x[None].relu()), (MATRIX,)),
    ],
)
def test_moving(forward: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    require_same(module(forward), *inputs)


def test_what_stays_is_not_moved() -> None:
    def heads(self, x, w):
        q = (x @ w).view(2, 5, 2, 3).transpose(1, 2)
        return (q @ q.mT).softmax(-1) @ q

    def joined(self, x):
        return (x * 2).transpose(1, 2).reshape(2, 5, 6)

    made = lines(require_same(module(heads), drawn(2, 5, 4) / 40, drawn(4, 6) / 24))
    assert made[:2] == [
        "matmul(i,j,k)=sum[l](x(i,j,l)*w(l,k))",
        "view(i,j,k,l)=reshape[k:2](matmul(i,j,m))",
    ]
    assert lines(require_same(module(joined), drawn(2, 2, 5, 3)))[1:] == [
        "reshape_0(i,j,k)=reshape(mul(i,l,j,m))"
    ]


def test_dimensions_of_size_1_and_other_orders_cost_no_statement() -> None:
    def forward(self, x):
        return (x.t()[:, None].reshape(6, 4, 1) * 2).squeeze().view(1, 6, 4).flatten(0, 1)

    assert lines(require_same(module(forward), MATRIX)) == ["mul(i,j)=x(j,i)*2.0"]


def test_parts_that_nothing_takes_are_left_out() -> None:
    def forward(self, x):
        one, _, three = x.relu().chunk(3, 1)
        return one * three

    assert lines(require_same(module(forward), MATRIX)) == [
        "relu_0(i,j)=relu(x(i,j))",
        "split(i,k)=slice[j:0:2](relu_0(i,j))",
        "split_slice_(i,k)=slice[j:4:6](relu_0(i,j))",
        "mul(i,j)=split(i,j)*split_slice_(i,j)",
    ]


def test_what_is_moved_from_inputs_alone_is_copied() -> None:
    """A program computes something."""

    def forward(self, x):
        return torch.cat([x, x])

    model = require_same(module(forward), VECTOR)
    assert lines(model) == ["cat(i)=concat(x(j),x(k))", "result(i)=cat(i)"]
    assert model.program.shapes == {}
    assert require_same(module(lambda self, x: x[:, None]), VECTOR).program.shapes == {}


def test_sparse_tensors() -> None:
    def forward(self, a, x):
        return torch.cat([a @ x, a.t() @ x], 1).reshape(-1, 3)

    sparse = compressed_rows(torch.tensor([[0.0, 2, 0], [1, 0, 0], [0, 0, 3]]))
    require_same(module(forward), sparse, drawn(3, 3))


def test_what_repeats_has_its_shape_in_the_program() -> None:
    def forward(self, x):
        return (x * 2).expand(3, 6)

    model = require_same(module(forward), VECTOR)
    assert lines(model) == ["mul(i)=x(i)*2.0", "result(i,j)=mul(j)"]
    assert model.program.shapes == {"result": (3, 6)}


@pytest.mark.parametrize(
    ("forward", "inputs", "moved"),
    [
        (
            lambda self, x: torch.stack([x.exp(), x]),
            (MATRIX,),
            ["stack(i,j,k)=concat(e(j,k),x(j,k))"],
        ),
        (
            lambda self, x, y: torch.cat([x.exp(), y], 1),
            (drawn(1, 3), drawn(1, 1)),
            [
                "cat(j)=reshape(e(i,j))",
                "cat_reshape(j)=reshape(y(i,j))",
                "cat_concat(i)=concat(cat(j),cat_reshape(k))",
            ],
        ),
        (
            lambda self, x: torch.cat([x[None].exp(), x[None]], 1),
            (VECTOR,),
            ["cat(i)=concat(e(j),x(k))"],
        ),
        (
            lambda self, x: torch.cat([x.exp().expand(2, 6), x[None]]),
            (VECTOR,),
            ["cat_repeated(i,j)=e(j)", "cat(i,j)=concat(cat_repeated(k,j),x(j))"],
        ),
        (
            lambda self, x: x.exp().expand(2, 6).unflatten(1, (2, 3)) * 2,
            (VECTOR,),
            [
                "unflatten(j,k)=reshape[j:2](e(l))",
                "mul(j,k)=unflatten(j,k)*2.0",
                "result(i,j,k)=mul(j,k)",
            ],
        ),
        (lambda self, x: x.exp()[3:1], (MATRIX,), ["slice_1(k,j)=slice[i:3:3](e(i,j))"]),
        (
            lambda self, x: x.exp()[:][1:2, 3:4].flatten(),
            (MATRIX,),
            ["slice_2(j)=slice[i:1:2](e(i,j))", "slice_3=slice[i:3:4](slice_2(i))"],
        ),
        (lambda self, x: x.exp()[None].chunk(1)[0], (MATRIX,), []),
        (
            lambda self, x: x.exp().t().reshape(3, 8),
            (MATRIX,),
            [
                "reshape_0(i,j)=reshape(e(j,i))",
                "reshape_0_reshape(i,j)=reshape[i:3](reshape_0(k,l))",
            ],
        ),
        (
            lambda self, x: x.exp().permute(2, 0, 1).reshape(4, 3, 2),
            (CUBE,),
            ["reshape_0(i,j,k)=reshape[j:3](e(l,m,i))"],
        ),
        (
            lambda self, x: x.exp()[:, :0].reshape(4, 0, 3),
            (MATRIX,),
            [
                "slice_1(i,k)=slice[j:0:0](e(i,j))",
                "reshape_0(i,j,k)=reshape[i:4,j:0,k:3](slice_1(l,m))",
            ],
        ),
        (
            lambda self, x: x.exp().reshape(1, 6, 1)[0, 1:, 0],
            (drawn(1, 6, 1),),
            ["slice_1(j)=reshape(e(i,j,k))", "slice_1_slice(j)=slice[i:1:6](slice_1(i))"],
        ),
    ],
)
def test_statements_that_move(
    forward: Callable[..., Any], inputs: tuple[Any, ...], moved: list[str]
) -> None:
    """None but those that are needed, of as few dimensions."""
    first, *rest = lines(require_same(module(forward), *inputs))
    assert first.startswith("exp_0(")
    assert [each.replace("exp_0", "e") for each in rest] == moved
