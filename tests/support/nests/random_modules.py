"""Random PyTorch modules of a few steps on tensors of any shape: scalars and empty ones, too.

Numbers are whole and small, or limits of narrow types, or halves of such, so that float32 is exact
in any order of a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import torch

from tests.support.nests.pytorch_modules import module

_SIZES = (0, 1, 1, 2, 2, 3, 4)
_MOST_ELEMENTS, _LARGEST = 200, 1 << 16

_NARROW = (torch.int16, torch.int8, torch.uint8)
"""Whose limits float32 sums exactly."""
_WHOLE = (torch.int32, torch.int64, *_NARROW)

_Step = tuple[Callable[..., torch.Tensor], int, int]
"""A function of two tensors and an index, and the numbers of these tensors among all."""


def random_module(seed: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A module of at most five steps, and its inputs: two tensors, and a few indices."""
    random = Random(seed)
    shape = _shape(random)
    other = random.choice((shape, shape[-1:], _shape(random)))
    indices = random.choices(
        random.choice(((0,), (0, 1), (0, 1, 2), (-1, 0, 1))), k=random.randrange(4)
    )
    index = torch.tensor(indices, dtype=random.choice((torch.int64, torch.int32)))
    x, y = _numbers(random, shape), _numbers(random, other)
    found, steps = [x, y], list[_Step]()
    for _ in range(4 * random.randint(1, 5)):
        function = random.choice(_STEPS)(random, found[-1].dim())
        one, two = (random.choice((random.randrange(len(found)), -1)) for _ in range(2))
        try:
            made = function(found[one], found[two], index)
        except (RuntimeError, IndexError):  # not of these shapes
            continue
        if made.numel() <= _MOST_ELEMENTS and not (made.abs() > _LARGEST).any():
            steps.append((function, one, two))
            found.append(made)
        if len(steps) == 5:
            break

    def random_steps(self, x, y, i):
        there = [x, y]
        for function, one, two in steps:
            there.append(function(there[one], there[two], i))
        return there[-1] * 1, there[len(there) // 2] * 1

    return module(random_steps), (x, y, index)


def _shape(random: Random) -> tuple[int, ...]:
    return tuple(random.choice(_SIZES) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))


def _numbers(random: Random, shape: tuple[int, ...]) -> torch.Tensor:
    count = torch.Size(shape).numel()
    type = torch.float32 if random.random() < 0.6 else random.choice(_WHOLE)
    numbers = [*range(-3, 4)]
    if type in _NARROW and random.random() < 0.5:
        limits = torch.iinfo(type)
        numbers += [limits.min, limits.min + 1, limits.max - 1, limits.max]
    found = torch.tensor([random.choice(numbers) for _ in range(count)], dtype=torch.int64)
    return found.reshape(shape).to(type)


_Maker = Callable[[Random, int], Callable[..., torch.Tensor]]
"""Draws a step's numbers, for tensors of so many dimensions."""


def _one(function: Callable[..., Any], *draws: Callable[[Random, int], Any]) -> _Maker:
    """A function of one tensor and of what is drawn."""

    def make(random: Random, order: int) -> Callable[..., torch.Tensor]:
        drawn = [draw(random, order) for draw in draws]
        return lambda one, two, index: function(one, *drawn)

    return make


def _fixed(function: Callable[..., torch.Tensor]) -> _Maker:
    return lambda random, order: function


def _axis(random: Random, order: int, more: int = 0) -> int:
    end = max(order + more, 1)
    return random.randrange(-end, end)


def _order(random: Random, order: int) -> list[int]:
    return random.sample(range(order), order)


def _sizes(random: Random, order: int) -> tuple[int, ...]:
    return random.choice(((-1,), (1, -1), (-1, 1), (2, -1), (-1, 2), (-1, 3), (0, 2), (4,), (2, 2)))


def _bound(random: Random, order: int) -> int:
    return random.randint(-3, 4)


def _step(random: Random, order: int) -> int:
    return random.choice((1, 1, 2, 3))


def _flag(random: Random, order: int) -> bool:
    return random.random() < 0.5


def _number(random: Random, order: int) -> float:
    return random.choice((0, 1, -1, 3, 100, 0.5, -2.0))


def _type(random: Random, order: int) -> torch.dtype | None:
    return random.choice((None, torch.float32, *_WHOLE))


_AXIS_OF_MORE = partial(_axis, more=1)

_STEPS: tuple[_Maker, ...] = (
    _fixed(lambda one, two, index: one + two),
    _fixed(lambda one, two, index: one - two),
    _fixed(lambda one, two, index: one * two),
    _fixed(lambda one, two, index: torch.maximum(one, two)),
    _fixed(lambda one, two, index: torch.minimum(-one, two)),
    _fixed(lambda one, two, index: torch.add(one, two, alpha=3)),
    _fixed(lambda one, two, index: torch.sub(two, one, alpha=2)),
    _fixed(lambda one, two, index: torch.nn.functional.embedding(index, one)),
    _one(lambda x, number: x * number, _number),
    _one(lambda x, number: number - x, _number),
    _one(lambda x, type: x + torch.ones_like(x, dtype=type) * 50, _type),
    _one(lambda x, type: torch.zeros_like(x, dtype=type) - x, _type),
    _one(
        lambda x, start, step, type: torch.arange(
            start, start + step * x.shape[-1], step, dtype=type
        ),
        _bound,
        _step,
        _type,
    ),
    _fixed(lambda one, two, index: torch.relu(one).abs() - one),
    _fixed(lambda one, two, index: 1 - one / 2),
    _fixed(lambda one, two, index: one + torch.ones_like(one)),
    _fixed(lambda one, two, index: one[index]),
    _fixed(lambda one, two, index: one[:, index]),
    _fixed(lambda one, two, index: one.index_add(0, index, two)),
    _fixed(lambda one, two, index: one.expand_as(two)),
    _fixed(lambda one, two, index: one.t()),
    _fixed(lambda one, two, index: one.sum()),
    _one(torch.sum, _axis, _flag),
    _one(torch.sum, _order),
    _one(torch.squeeze, _axis),
    _one(torch.unsqueeze, _AXIS_OF_MORE),
    _one(torch.transpose, _axis, _axis),
    _one(torch.permute, _order),
    _one(torch.reshape, _sizes),
    _one(torch.select, _axis, _bound),
    _one(
        lambda x, axis, *range: torch.ops.aten.slice(x, axis, *range), _axis, *[_bound] * 2, _step
    ),
    _one(lambda x, axis: torch.unbind(x, axis)[-1], _axis),
    *[lambda random, order: _joined(torch.cat, _axis(random, order))] * 3,
    *[lambda random, order: _joined(torch.stack, _AXIS_OF_MORE(random, order))] * 2,
    lambda random, order: _looked_up(_axis(random, order)),
)


def _joined(function: Callable[..., torch.Tensor], axis: int) -> Callable[..., torch.Tensor]:
    return lambda one, two, index: function([one, two], axis)


def _looked_up(axis: int) -> Callable[..., torch.Tensor]:
    return lambda one, two, index: torch.index_select(one, axis, index)
