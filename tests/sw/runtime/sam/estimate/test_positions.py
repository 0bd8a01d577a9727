"""Coordinates of positions, against a walk through stored tensors."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from gnarl.sw.runtime.sam.estimate.positions import coordinates_of
from gnarl.sw.workloads.tensor.storage import (
    LEVEL_FORMATS,
    BitvectorLevel,
    CompressedLevel,
    DenseLevel,
    Level,
    Storage,
    TensorFormat,
    store,
)
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted

SIZES = (0, 1, 2, 31, 32, 33, 64)
MOST = 10_000
"""Elements of a tensor."""


def fiber(level: Level, number: int) -> list[int]:
    """Coordinates of a fiber, as the texts of levels say."""
    match level:
        case DenseLevel(size):
            return list(range(size))
        case CompressedLevel(_, segments, coordinates):
            return [int(coordinates[at]) for at in range(segments[number], segments[number + 1])]
        case BitvectorLevel(size, words, word_bits):
            first = number * level.words_per_fiber
            places = [(first + at // word_bits, at % word_bits) for at in range(size)]
            return [at for at, (word, bit) in enumerate(places) if int(words[word]) >> bit & 1]
    raise AssertionError(level)


def walked(stored: Storage, depth: int) -> list[tuple[int, ...]]:
    """Coordinates of each position of the level ``depth`` - 1, by levels, in their order."""
    paths: list[tuple[int, ...]] = [()]
    for level in stored.levels[:depth]:
        paths = [
            (*path, each) for number, path in enumerate(paths) for each in fiber(level, number)
        ]
    return paths


def check(stored: Storage) -> None:
    for depth in range(len(stored.levels) + 1):
        found = coordinates_of(stored, depth)
        paths = walked(stored, depth)
        assert len(found) == depth
        for number, coordinates in enumerate(found):
            assert coordinates.dtype == np.int64
            assert coordinates.tolist() == [path[number] for path in paths]


def drawn(rng: random.Random) -> Storage:
    """A tensor of up to three modes in any format, empty, full or between."""
    shape = tuple(rng.choice(SIZES) for _ in range(rng.choice((0, 1, 2, 2, 3, 3))))
    while np.prod(shape) > MOST:
        shape = tuple(min(size, 1 + rng.randrange(4)) for size in shape[:-1]) + shape[-1:]
    noise = np.random.default_rng(rng.getrandbits(32))
    kept = noise.random(shape) < rng.choice((0.0, 0.01, 0.1, 0.5, 1.0))
    levels = tuple(rng.choice([*LEVEL_FORMATS.values()]) for _ in shape)
    modes = tuple(rng.sample(range(len(shape)), len(shape)))
    tensor = Tensor.from_any(kept.astype(float) if shape else 2.0)
    return store(tensor, TensorFormat(levels, modes), rng.choice((32, 32, 5)))


@pytest.mark.parametrize("part", range(2))
def test_random_tensors_in_random_formats(part: int) -> None:
    for seed in range(part, 300, 2):
        stored = drawn(random.Random(seed))
        with noted(f"{seed}: {stored.shape} in {stored.format}"):
            check(stored)


def of(letters: str, shape: tuple[int, ...], *places: tuple[int, ...]) -> Storage:
    """A tensor with entries at these places, its levels in the order of modes."""
    levels = tuple(LEVEL_FORMATS[each] for each in letters)
    coordinates = np.array(places, np.int64).reshape(-1, len(shape))
    tensor = Tensor(shape, coordinates, np.ones(len(places)))
    return store(tensor, TensorFormat(levels, tuple(range(len(shape)))))


def test_by_hand() -> None:
    stored = of("ds", (3, 40), (0, 7), (2, 0), (2, 39))
    assert [each.tolist() for each in coordinates_of(stored, 1)] == [[0, 1, 2]]
    assert [each.tolist() for each in coordinates_of(stored, 2)] == [[0, 2, 2], [7, 0, 39]]
    stored = of("sd", (5, 2), (1, 1), (4, 0))
    assert [each.tolist() for each in coordinates_of(stored, 1)] == [[1, 4]]
    assert [each.tolist() for each in coordinates_of(stored, 2)] == [[1, 1, 4, 4], [0, 1, 0, 1]]
    stored = of("db", (3, 33), (0, 32), (2, 0), (2, 31))
    assert [each.tolist() for each in coordinates_of(stored, 2)] == [[0, 2, 2], [32, 0, 31]]


@pytest.mark.parametrize("letters", ["sb", "bb", "bs", "bd", "sd", "ss", "db", "dd"])
@pytest.mark.parametrize("shape", [(4, 33), (0, 33), (4, 0), (0, 0)])
def test_without_entries(letters: str, shape: tuple[int, int]) -> None:
    """A bitvector level below no position has no word, and none whose size is 0 has one."""
    check(of(letters, shape))


def test_a_scalar_has_a_position_without_coordinates() -> None:
    assert coordinates_of(store(Tensor.from_any(1.0), TensorFormat((), ())), 0) == []


def test_bitvectors_that_are_nearly_empty_take_no_memory_for_their_bits() -> None:
    """Two million words, which have 64 million bits."""
    stored = of("db", (2000, 32_000), (3, 5), (1999, 31_999))
    tracemalloc.start()
    found = coordinates_of(stored, 2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [each.tolist() for each in found] == [[3, 1999], [5, 31_999]]
    assert most < 32e6
