"""Random PyTorch modules of tensor algebra: products, sums, functions, and views of any of them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch

from tests.support.nests.pytorch_modules import compressed_rows, module

_SIZES = (1, 2, 3, 3, 4)
_MOST_ELEMENTS, _LARGEST, _STEPS = 300, 1e3, 6

_LAYOUTS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda matrix: matrix,
    compressed_rows,
    torch.Tensor.to_sparse,
)

_Function = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Of two tensors and a sparse matrix."""

_Maker = Callable[[Random, int], _Function]
"""Draws a function for tensors of so many dimensions."""


def random_tensor_module(seed: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A module of a few steps, and its inputs: two tensors and a matrix, which may be sparse."""
    random = Random(seed)
    size = random.choice(_SIZES)
    x = _numbers(random, (size, *_shape(random))[:3])
    y = _numbers(random, random.choice((x.shape, x.shape[-1:], _shape(random))))
    matrix = _numbers(random, (size, size)) * (_numbers(random, (size, size)) > 0)
    matrix = random.choice(_LAYOUTS)(matrix)
    there, steps = [x, y], list[tuple[_Function, int, int]]()
    for _ in range(6 * random.randint(1, _STEPS)):
        function = random.choice(_MAKERS)(random, there[-1].dim())
        one, two = (random.choice((random.randrange(len(there)), -1)) for _ in range(2))
        try:
            made = function(there[one], there[two], matrix)
        except (RuntimeError, IndexError):  # not of these shapes
            continue
        if made.numel() <= _MOST_ELEMENTS and not (made.abs() > _LARGEST).any():
            steps.append((function, one, two))
            there.append(made)
        if len(steps) == _STEPS:
            break

    def random_steps(self, x, y, matrix):
        there = [x, y]
        for function, one, two in steps:
            there.append(function(there[one], there[two], matrix))
        return there[-1], there[len(there) // 2]

    return module(random_steps), (x, y, matrix)


def _shape(random: Random) -> tuple[int, ...]:
    return tuple(random.choice(_SIZES) for _ in range(random.choice((0, 1, 1, 2, 2))))


def _numbers(random: Random, shape: tuple[int, ...]) -> torch.Tensor:
    count = torch.Size(shape).numel()
    numbers = [random.uniform(-2, 2) for _ in range(count)]
    return torch.tensor(numbers, dtype=torch.float64).reshape(shape)


def _always(function: _Function) -> _Maker:
    return lambda random, order: function


def _along(function: Callable[[torch.Tensor, int], torch.Tensor], more: int = 0) -> _Maker:
    """A function of one tensor along a dimension."""

    def make(random: Random, order: int) -> _Function:
        end = max(order + more, 1)
        dim = random.randrange(-end, end)
        return lambda one, two, matrix: function(one, dim)

    return make


def _permuted(random: Random, order: int) -> _Function:
    dims = random.sample(range(order), order)
    return lambda one, two, matrix: one.permute(dims)


def _with_number(random: Random, order: int) -> _Function:
    number = random.choice((-2, 0.5, 3))
    functions: tuple[Any, ...] = (torch.add, torch.sub, torch.mul, torch.div, torch.rsub)
    function = random.choice(functions)
    return lambda one, two, matrix: function(one, number)


def _reduced(random: Random, order: int) -> _Function:
    dims = random.sample(range(order), random.randint(min(order, 1), order))
    keepdim = random.random() < 0.5
    functions: tuple[Any, ...] = (torch.sum, torch.mean, torch.amax)
    function = random.choice(functions)
    return lambda one, two, matrix: function(one, dims, keepdim)


def _added_product(random: Random, order: int) -> _Function:
    alpha, beta = random.choice((1, 2)), random.choice((0, 1, 0.5))
    return lambda one, two, matrix: torch.addmm(two, one, two.t(), alpha=alpha, beta=beta)


def _expanded(random: Random, order: int) -> _Function:
    size = random.choice((2, 3))
    return lambda one, two, matrix: one.expand(size, *one.shape)


def _reshaped(random: Random, order: int) -> _Function:
    """Dimensions joined and split, after others may have changed places."""
    start = random.randrange(max(order, 1))
    end = random.randrange(start, max(order, 1))
    factor = random.choice((1, 2, 3))
    kind = random.randrange(3)

    def reshape(one: torch.Tensor, two: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        if kind == 0:
            return one.flatten(start, end)
        if kind == 1:
            return one.unflatten(start, (factor, -1))
        return one.reshape(-1, factor)

    return reshape


def _concatenated(random: Random, order: int) -> _Function:
    dim, kind = random.randrange(-max(order, 1), max(order, 1)), random.randrange(4)

    def concatenate(one: torch.Tensor, two: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        if kind == 0:
            return torch.stack([one, two.expand_as(one)], dim)
        return torch.cat([one, two, one][:kind], dim)

    return concatenate


def _parted(random: Random, order: int) -> _Function:
    dim = random.randrange(-max(order, 1), max(order, 1))
    kind, at = random.randrange(6), random.choice((0, 0, 1, 2))

    def part(one: torch.Tensor, two: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        size = one.shape[dim]
        return (
            lambda: one.select(dim, at),
            lambda: one.narrow(dim, at, size - at),
            lambda: one.chunk(2, dim)[-1],
            lambda: one.split([at, size - at], dim)[at % 2],
            lambda: one.transpose(dim, 0)[at::2].transpose(dim, 0),
            lambda: one.unbind(dim)[at],
        )[kind]()

    return part


_MAKERS: tuple[_Maker, ...] = (
    _always(lambda one, two, matrix: matrix @ one),
    _always(lambda one, two, matrix: matrix @ one),
    _always(lambda one, two, matrix: matrix.t() @ one),
    _always(lambda one, two, matrix: one @ two),
    _always(lambda one, two, matrix: one @ two.transpose(-1, -2)),
    _always(lambda one, two, matrix: torch.nn.functional.linear(one, two)),
    _always(lambda one, two, matrix: one + two),
    _always(lambda one, two, matrix: one * two),
    _always(lambda one, two, matrix: one - two),
    _always(lambda one, two, matrix: one / (two.abs() + 0.5)),
    _always(lambda one, two, matrix: torch.maximum(one, two)),
    _always(lambda one, two, matrix: torch.relu(one)),
    _always(lambda one, two, matrix: torch.exp(one).log()),
    _always(lambda one, two, matrix: torch.sigmoid(one)),
    _always(lambda one, two, matrix: torch.tanh(one) + torch.nn.functional.gelu(one)),
    _always(lambda one, two, matrix: torch.nn.functional.gelu(one, approximate="tanh")),
    _always(lambda one, two, matrix: (one.abs() + 0.5).rsqrt()),
    _always(lambda one, two, matrix: one.clamp(-0.5, 1)),
    _always(lambda one, two, matrix: one.squeeze()),
    _always(lambda one, two, matrix: one.t()),
    _always(lambda one, two, matrix: torch.nn.functional.layer_norm(one, one.shape[-1:])),
    _always(lambda one, two, matrix: one @ torch.eye(3, dtype=one.dtype) + torch.ones(3)),
    _along(torch.softmax),
    _along(torch.log_softmax),
    _along(lambda one, dim: torch.nn.functional.normalize(one, 2, dim)),
    _along(torch.squeeze),
    _along(torch.unsqueeze, more=1),
    _permuted,
    _with_number,
    _reduced,
    _reduced,
    _added_product,
    _expanded,
    _reshaped,
    _reshaped,
    _concatenated,
    _parted,
)
