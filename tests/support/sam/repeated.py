"""Random tensor statements in which tensors appear several times, and what NumPy makes of them.

A statement is a sum of products of accesses, numbers, and sums of two accesses in parentheses. A
tensor is accessed under any of its statement's indices, so that indices must have the same size,
in any order, so that one storage may not do, and rarely under one index twice, which is refused.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor

_SIZES = (0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 7)
_ORDERS = (0, 1, 1, 2, 2, 2, 2, 3)
_LETTERS = "ijkl"


@dataclass(frozen=True)
class Repeated:
    """A statement, its operands, the result, and whether some access walks against its storage or
    reads a diagonal."""

    text: str
    inputs: dict[str, Any]
    expected: np.ndarray
    against: bool
    diagonal: bool


_Factor = tuple[tuple[str, tuple[str, ...]], ...]
"""Accesses, tensor and indices, that are added up; a number has no index and is its own name."""


def make(seed: int, kinds: str = "dsb") -> Repeated:
    """Numbers are small and whole, so that float32 is exact. ``kinds`` of levels, by letter."""
    rng = random.Random(seed)
    letters = list(_LETTERS[: rng.randint(1, 4)])
    orders = {name: rng.choice(_ORDERS) for name in "ABC"[: rng.choice((1, 1, 1, 2, 3))]}
    orders = {name: min(order, len(letters)) for name, order in orders.items()}
    terms, used = list[tuple[int, list[_Factor]]](), list[tuple[str, tuple[str, ...]]]()
    while len({name for name, indices in used if indices}) >= sum(len(one) > 0 for _, one in used):
        terms = [
            (rng.choice((1, 1, -1)), [_factor(rng, orders, letters) for _ in range(count)])
            for count in rng.choice(((2,), (2,), (3,), (4,), (1, 1), (2, 1), (2, 2), (1, 2, 1)))
        ]
        used = [access for _, factors in terms for factor in factors for access in factor]
        if not any(orders.values()):
            break
    there = sorted({index for _, indices in used for index in indices})
    result = tuple(rng.sample(there, min(len(there), rng.choice((0, 1, 2, 2, 2, 3)))))
    loops = rng.sample(there, len(there))
    stored = _storages(rng, used, loops, kinds)
    stored["X"] = _storage(rng, result, loops, kinds)
    accesses = [*used, ("X", result)]
    options = [
        f"-f={name}:{levels}:{','.join(map(str, modes))}"
        for name, (levels, modes) in stored.items()
        if levels
    ]
    if loops:
        options.append(f"-s=reorder({','.join(loops)})")
    sizes, inputs, arrays = _data(rng, used)
    return Repeated(
        f"{_shown('X', result)}={_text(terms)} {' '.join(options)}",
        inputs,
        _meaning(terms, result, sizes, arrays),
        any(_is_against(indices, stored[name][1], loops) for name, indices in accesses if indices),
        any(len(set(indices)) < len(indices) for _, indices in accesses),
    )


def _factor(rng: random.Random, orders: dict[str, int], letters: list[str]) -> _Factor:
    kind = rng.random()
    if kind < 0.06:
        return ((str(rng.choice((2, 3))), ()),)
    return tuple(_access(rng, orders, letters) for _ in range(2 if kind < 0.16 else 1))


def _access(
    rng: random.Random, orders: dict[str, int], letters: list[str]
) -> tuple[str, tuple[str, ...]]:
    name = rng.choice(list(orders))
    if rng.random() < 0.005 and orders[name] > 1:
        return name, tuple(rng.choice(letters) for _ in range(orders[name]))
    return name, tuple(rng.sample(letters, orders[name]))


def _storage(
    rng: random.Random, indices: tuple[str, ...], loops: list[str], kinds: str
) -> tuple[str, list[int]]:
    """Levels, and modes that mostly are in the order of the loops."""
    modes = sorted(range(len(indices)), key=lambda mode: loops.index(indices[mode]))
    if rng.random() < 0.05:
        rng.shuffle(modes)
    return "".join(rng.choice(kinds) for _ in indices), modes


def _storages(
    rng: random.Random, used: list[tuple[str, tuple[str, ...]]], loops: list[str], kinds: str
) -> dict[str, tuple[str, list[int]]]:
    first = {name: indices for name, indices in reversed(used) if not name.isdecimal()}
    return {name: _storage(rng, indices, loops, kinds) for name, indices in first.items()}


def _is_against(indices: tuple[str, ...], modes: list[int], loops: list[str]) -> bool:
    places = [loops.index(indices[mode]) for mode in modes]
    return places != sorted(places)


def _data(
    rng: random.Random, used: list[tuple[str, tuple[str, ...]]]
) -> tuple[dict[str, int], dict[str, Any], dict[str, np.ndarray]]:
    """Sizes that fit all accesses, operands, and the same as arrays of their full sizes.

    Some operands are as files without a shape are: their sizes are the least possible ones.
    """
    noise = np.random.default_rng(rng.getrandbits(32))
    groups = _groups(used)
    common = rng.choice(_SIZES)
    equal = rng.random() < 0.3
    sizes = {group: common if equal else rng.choice(_SIZES) for group in groups}
    modes = {name: [_find(groups, index) for index in indices] for name, indices in used}
    entries, grows = {}, {}
    for name in sorted(name for name in modes if not name.isdecimal()):
        shape = tuple(sizes[group] for group in modes[name])
        kept = noise.random(shape) < rng.choice((0.0, 0.3, 0.6, 0.6, 1.0, 1.0))
        entries[name] = np.where(kept, noise.integers(-3, 4, shape), 0).astype(float)
        grows[name] = rng.random() < 0.25
    # A group that no operand says the size of is as large as the coordinates need.
    for group in groups:
        exact = any(group in modes[name] and not grows[name] for name in entries)
        if not exact:
            ends = [
                _ends(entries[name])[at]
                for name in entries
                for at, each in enumerate(modes[name])
                if each == group
            ]
            sizes[group] = max(ends, default=0)
    arrays, inputs = {}, {}
    for name, array in entries.items():
        full = tuple(slice(sizes[group]) for group in modes[name])
        arrays[name] = array[full]
        least = array[tuple(slice(end) for end in _ends(array))]
        inputs[name] = Operand(Tensor.from_any(least), True) if grows[name] else arrays[name]
    known = {index: sizes[group] for group in groups for index in group}
    return known, inputs, arrays


def _ends(array: np.ndarray) -> list[int]:
    """One more than the largest coordinate in each mode."""
    places = np.nonzero(array) if array.ndim else ()
    return [int(each.max(initial=-1)) + 1 for each in places]


def _groups(used: list[tuple[str, tuple[str, ...]]]) -> list[frozenset[str]]:
    """Indices that stand in one mode of one tensor, and what these have in common with others."""
    groups = [frozenset(index) for index in {index for _, indices in used for index in indices}]
    for name, indices in used:
        for other, others in used:
            for one, two in zip(indices, others, strict=False) if name == other else ():
                merged = _find(groups, one) | _find(groups, two)
                groups = [*(each for each in groups if not each & merged), merged]
    return sorted(groups, key=sorted)


def _find(groups: list[frozenset[str]], index: str) -> frozenset[str]:
    return next(group for group in groups if index in group)


def _meaning(
    terms: list[tuple[int, list[_Factor]]],
    result: tuple[str, ...],
    sizes: dict[str, int],
    arrays: dict[str, np.ndarray],
) -> np.ndarray:
    total = np.zeros([sizes[index] for index in result])
    for sign, factors in _apart(terms):
        parts = [_sum(factor, sizes, arrays) for factor in factors]
        free = {index for indices, _ in parts for index in indices}
        kept = [index for index in result if index in free]
        operands: list[Any] = []
        for indices, array in parts:
            operands += [array, [_LETTERS.index(index) for index in indices]]
        product = np.einsum(*operands, [_LETTERS.index(index) for index in kept])
        shape = [sizes[index] if index in free else 1 for index in result]
        total = total + sign * product.reshape(shape)
    return total


def _apart(terms: list[tuple[int, list[_Factor]]]) -> Iterator[tuple[int, list[_Factor]]]:
    """Parts of a sum that is no factor are terms, and summed each by itself."""
    for sign, factors in terms:
        if len(factors) == 1:
            yield from ((sign, [(access,)]) for access in factors[0])
        else:
            yield sign, factors


def _sum(
    factor: _Factor, sizes: dict[str, int], arrays: dict[str, np.ndarray]
) -> tuple[list[str], np.ndarray]:
    indices = sorted({index for _, each in factor for index in each})
    parts = []
    for name, each in factor:
        array = np.array(float(name)) if name.isdecimal() else arrays[name]
        lower = [each.index(index) for index in indices if index in each]
        if len(set(each)) < len(each):
            return [], np.array(0.0)  # a diagonal, which is refused
        shape = [sizes[index] if index in each else 1 for index in indices]
        full = [sizes[index] for index in indices]
        parts.append(np.broadcast_to(array.transpose(lower).reshape(shape), full))
    return indices, reduce(np.add, parts)


def _text(terms: list[tuple[int, list[_Factor]]]) -> str:
    text = ""
    for sign, factors in terms:
        parts = []
        for factor in factors:
            inside = "+".join(_shown(*access) for access in factor)
            parts.append(f"({inside})" if len(factor) > 1 else inside)
        text += ("-" if sign < 0 else "+" if text else "") + "*".join(parts)
    return text


def _shown(name: str, indices: tuple[str, ...]) -> str:
    return f"{name}({','.join(indices)})" if indices else name
