"""Random statements that move elements, and what they mean of dense arrays."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    How,
    Rearrangement,
    Reshape,
    Slice,
)
from gnarl.sw.workloads.tensor.expression import Access

Shapes = Mapping[str, tuple[int, ...]]

_NAMES = "mnopqrsuvwxyz"
"""Indices of such statements, none of them like a tensor."""


def draw(rng: random.Random, name: str, shapes: Shapes) -> tuple[Rearrangement, tuple[int, ...]]:
    """A statement that makes ``name`` of some of the tensors, and the shape of its result."""
    kind = rng.choice((_reshape, _reshape, _concat, _slice))
    result, how, operands, sizes = kind(rng, shapes, rng.choice(sorted(shapes)))
    statement = Rearrangement(Access(name, result), how, operands)
    return statement, tuple(sizes[index] for index in result)


_Drawn = tuple[tuple[str, ...], How, tuple[Access, ...], dict[str, int]]


def _reshape(rng: random.Random, shapes: Shapes, tensor: str) -> _Drawn:
    shape = shapes[tensor]
    names = iter(_NAMES)
    dims = tuple(next(names) for _ in shape)
    sizes = dict(zip(dims, shape, strict=True))
    own = [index for index in dims if rng.random() < 0.7]
    lengths = _factors(rng, math.prod(sizes[index] for index in own))
    made = [next(names) for _ in lengths]
    sizes |= dict(zip(made, lengths, strict=True))
    given = [(index, sizes[index]) for index in made]
    if given and rng.random() < 0.6:
        left = rng.randrange(len(given))
        if all(size for place, (_, size) in enumerate(given) if place != left):
            given.pop(left)
    result = [index for index in dims if index not in own] + made
    if rng.random() < 0.3:
        rng.shuffle(result)
    return tuple(result), Reshape(tuple(given)), (Access(tensor, dims),), sizes


def _factors(rng: random.Random, count: int) -> list[int]:
    """Numbers whose product is ``count``."""
    found = [] if count == 1 and rng.random() < 0.5 else [count]
    for _ in range(rng.choice((0, 1, 1, 2))):
        split = rng.choice([n for n in range(1, 9) if count % n == 0] or [1])
        if found and split and found[0]:
            found[:1] = [split, found[0] // split] if found[0] % split == 0 else [1, found[0]]
        else:
            found.insert(rng.randint(0, len(found)), 1 if not found or found[0] else 2)
    return found if math.prod(found) == count else [count]


def _concat(rng: random.Random, shapes: Shapes, tensor: str) -> _Drawn:
    names = iter(_NAMES)
    shape = shapes[tensor]
    place = rng.randint(0, len(shape)) if rng.random() < 0.3 else -1  # of a stack's dimension
    along = next(names)
    if place < 0 and shape:
        axis = rng.randrange(len(shape))
        rest = [*shape[:axis], *shape[axis + 1 :]]
    else:
        axis, rest = max(place, 0), [*shape]
    kept = [next(names) for _ in rest]
    sizes = dict(zip(kept, rest, strict=True))
    fitting = [
        (each, order)
        for each, own in shapes.items()
        for order in permutations(range(len(own)))
        if [own[mode] for mode in order][: len(rest)] == rest and len(own) - len(rest) in (0, 1)
    ]
    operands, total = [], 0
    for _ in range(rng.randint(1, 3)):
        each, order = rng.choice(fitting)
        own = shapes[each]
        dims = [*kept, next(names)][: len(own)]
        indices = [""] * len(own)
        for index, mode in zip(dims, order, strict=True):
            indices[mode] = index
        length = own[order[-1]] if len(own) > len(rest) else 1
        operands.append(Access(each, tuple(indices)))
        total += length
    sizes[along] = total
    kept.insert(axis, along)
    return tuple(kept), Concat(), tuple(operands), sizes


def _slice(rng: random.Random, shapes: Shapes, tensor: str) -> _Drawn:
    if not shapes[tensor]:
        return _reshape(rng, shapes, tensor)
    names = iter(_NAMES)
    dims = [next(names) for _ in shapes[tensor]]
    sizes = dict(zip(dims, shapes[tensor], strict=True))
    index = rng.choice(dims)
    start = rng.randint(0, sizes[index])
    stop = rng.choice((sizes[index], rng.randint(start, sizes[index])))
    how = Slice(index, start, stop, rng.choice((1, 1, 2, 3)))
    made = next(names)
    sizes[made] = len(how.coordinates)
    result = [made if each == index else each for each in dims]
    if sizes[made] == 1 and rng.random() < 0.6:
        result.remove(made)
    if rng.random() < 0.3:
        rng.shuffle(result)
    return tuple(result), how, (Access(tensor, tuple(dims)),), sizes


def moved(
    statement: Rearrangement, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> np.ndarray:
    """The result of a statement, of whatever numbers, by what NumPy calls it."""
    wanted = statement.result.indices
    operands = [(arrays[each.tensor], each.indices) for each in statement.operands]
    match statement.how:
        case Reshape():
            ((array, dims),) = operands
            shared = [index for index in wanted if index in dims]
            there = [*shared, *(index for index in wanted if index not in dims)]
            rest = [index for index in dims if index not in shared]
            array = _transposed(array, dims, [*shared, *rest])
            array = array.reshape([sizes[index] for index in there])
            return _transposed(array, there, wanted)
        case Concat():
            (along,) = (i for i in wanted if not any(i in dims for _, dims in operands))
            parts = []
            for array, dims in operands:
                own = next((index for index in dims if index not in wanted), None)
                if own is None:
                    array, dims = array[np.newaxis], (along, *dims)
                named = tuple(along if index == own else index for index in dims)
                parts.append(_transposed(array, named, wanted))
            return np.concatenate(parts, wanted.index(along))
        case Slice() as how:
            ((array, dims),) = operands
            array = array[
                tuple(
                    slice(how.start, how.stop, how.step) if index == how.index else slice(None)
                    for index in dims
                )
            ]
            made = [index for index in wanted if index not in dims]
            if not made:
                array = array.squeeze(dims.index(how.index))
            named = [made[0] if i == how.index and made else i for i in dims]
            return _transposed(array, [i for i in named if made or i != how.index], wanted)
    raise TypeError(statement)


def _transposed(array: np.ndarray, dims: Sequence[str], wanted: Sequence[str]) -> np.ndarray:
    return array.transpose([dims.index(index) for index in wanted])
