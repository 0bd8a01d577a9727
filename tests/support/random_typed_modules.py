"""Random PyTorch modules on inputs of all types of elements: some that a type rounds to, or wraps
around, and numbers beside them that the type has, or has not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch

from tests.support.nests.pytorch_modules import module

_TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
_SIZE, _STEPS = 3, 3

_Function = Callable[[Any, Any], Any]
"""Of what was computed last, and of an input."""


def random_typed_module(seed: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A module of a few steps, and its inputs: two square matrices."""
    random = Random(seed)
    inputs = tuple(_matrix(random) for _ in range(2))
    there, steps = inputs[0], list[_Function]()
    for _ in range(4 * _STEPS):
        function = random.choice(_MAKERS)(random)
        try:
            made = function(there, inputs[1])
        except (RuntimeError, TypeError):  # not of these types
            continue
        if not made.isfinite().all():  # in half precision
            continue
        there = made
        steps.append(function)
        if len(steps) == _STEPS:
            break

    def typed_steps(self, x, y):
        for function in steps:
            x = function(x, y)
        return x

    return module(typed_steps), inputs


def _number(random: Random) -> float | int | bool:
    return random.choice((0.1, -0.3, 0.5, 1 / 3, 0, 1, 2, -1, 100, 300, True))


def _matrix(random: Random) -> torch.Tensor:
    dtype = getattr(torch, random.choice(_TYPES))
    numbers = [float(_number(random)) for _ in range(_SIZE**2)]
    return torch.tensor(numbers, dtype=torch.float64).reshape(_SIZE, _SIZE).to(dtype)


def _with_number(function: Callable[[Any, float], Any]) -> Callable[[Random], _Function]:
    def make(random: Random) -> _Function:
        number = _number(random)
        return lambda x, y: function(x, number)

    return make


def _always(function: _Function) -> Callable[[Random], _Function]:
    return lambda random: function


def _compared(random: Random) -> _Function:
    function: Any = random.choice((torch.gt, torch.ge, torch.lt, torch.le, torch.eq, torch.ne))
    number = _number(random)
    return lambda x, y: function(x, number)


def _filled(random: Random) -> _Function:
    number, bound = _number(random), _number(random)
    if random.random() < 0.3:
        return lambda x, y: torch.where(y > bound, x, number)
    return lambda x, y: x.masked_fill(y > bound, number)


def _added_product(random: Random) -> _Function:
    alpha, beta = (random.choice((1, 2, 0.5)) for _ in range(2))
    return lambda x, y: torch.addmm(x, y, y, alpha=alpha, beta=beta)


_MAKERS: tuple[Callable[[Random], _Function], ...] = (
    _compared,
    _compared,
    _filled,
    _filled,
    _added_product,
    _with_number(lambda x, number: x + number),
    _with_number(lambda x, number: x - number),
    _with_number(lambda x, number: x * number),
    _with_number(lambda x, number: x.clamp(min=number)),
    _always(lambda x, y: x + y),
    _always(lambda x, y: x * y),
    _always(lambda x, y: y - x),
    _always(lambda x, y: x @ y),
    _always(lambda x, y: x / (y.abs() + 1)),
    _always(lambda x, y: torch.maximum(x, y)),
    _always(lambda x, y: torch.cat([x, y])[1:4]),
    _always(lambda x, y: x.sum(0, keepdim=True) + y),
    _always(lambda x, y: x.amax(0) * y),
    _always(lambda x, y: -x),
    _always(lambda x, y: x.float()),
    _always(lambda x, y: x**2),
    _always(lambda x, y: x.relu()),
)
