"""Tensors as fibertrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.workloads.tensor.storage import (
    LEVEL_FORMATS,
    BitvectorLevel,
    CompressedLevel,
    DenseLevel,
    Storage,
    TensorFormat,
    check,
    restore,
    store,
)
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused


def of(text: str) -> TensorFormat:
    """A format by its letters and digits: ``ss10``."""
    count = len(text) // 2
    return TensorFormat(
        tuple(LEVEL_FORMATS[letter] for letter in text[:count]), tuple(map(int, text[count:]))
    )


@st.composite
def cases(draw: Any) -> tuple[Tensor, TensorFormat, int]:
    """A tensor with explicit zeros among its entries, a format of its order, a word's bits."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    values = hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, -2.5]))
    present = draw(
        st.one_of(
            hnp.arrays(bool, shape),
            st.just(np.zeros(shape, bool)),
            st.just(np.ones(shape, bool)),
        )
    )
    present = np.ones((), bool) if not shape else present
    coordinates = np.argwhere(present)
    tensor = Tensor(shape, coordinates, draw(values)[present])
    levels = draw(st.tuples(*[st.sampled_from(sorted(LEVEL_FORMATS.values())) for _ in shape]))
    modes = tuple(draw(st.permutations(range(len(shape)))))
    return tensor, TensorFormat(levels, modes), draw(st.integers(1, 32))


def walk(storage: Storage) -> np.ndarray:
    """The dense tensor, found by walking down the levels fiber by fiber as their texts say."""
    dense = np.zeros(storage.shape)

    def descend(number: int, position: int, path: tuple[int, ...]) -> None:
        if number == len(storage.levels):
            place = [0] * len(path)
            for mode, coordinate in zip(storage.format.modes, path, strict=True):
                place[mode] = coordinate
            dense[tuple(place)] = storage.values[position]
            return
        level = storage.levels[number]
        if isinstance(level, DenseLevel):
            for coordinate in range(level.size):
                descend(number + 1, position * level.size + coordinate, (*path, coordinate))
        elif isinstance(level, CompressedLevel):
            for child in range(level.segments[position], level.segments[position + 1]):
                descend(number + 1, child, (*path, int(level.coordinates[child])))
        else:
            words = [int(word) for word in level.words]
            first = position * level.words_per_fiber
            child = sum(word.bit_count() for word in words[:first])
            for offset in range(level.words_per_fiber):
                for bit in range(level.word_bits):
                    if words[first + offset] >> bit & 1:
                        descend(number + 1, child, (*path, level.word_bits * offset + bit))
                        child += 1

    descend(0, 0, ())
    return dense


@given(cases())
def test_storages_mean_the_tensor(case: tuple[Tensor, TensorFormat, int]) -> None:
    tensor, format, word_bits = case
    storage = store(tensor, format, word_bits)
    check(storage)
    assert storage.format == format
    assert storage.shape == tensor.shape
    assert np.array_equal(walk(storage), tensor.to_dense())


@given(cases())
def test_round_trips(case: tuple[Tensor, TensorFormat, int]) -> None:
    tensor, format, word_bits = case
    restored = restore(store(tensor, format, word_bits))
    assert restored.shape == tensor.shape
    assert np.array_equal(restored.to_dense(), tensor.to_dense())
    if format.levels[-1:] != ("dense",):
        assert np.array_equal(restored.coordinates, tensor.coordinates)
        assert np.array_equal(restored.values, tensor.values)
    else:
        assert (restored.values != 0).all()


@given(cases())
def test_no_fiber_below_a_coordinate_is_empty(case: tuple[Tensor, TensorFormat, int]) -> None:
    tensor, format, word_bits = case
    storage = store(tensor, format, word_bits)
    for above, level in zip(storage.levels, storage.levels[1:], strict=False):
        if isinstance(above, DenseLevel):
            continue
        if isinstance(level, CompressedLevel):
            assert (np.diff(level.segments) > 0).all()
        if isinstance(level, BitvectorLevel) and level.size:
            assert level.words.reshape(-1, level.words_per_fiber).any(axis=1).all()


MATRIX = Tensor.from_any(np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0], [0, 0, 0]]))


def test_doubly_compressed_rows_by_hand() -> None:
    rows, columns = store(MATRIX, of("ss01")).levels
    assert isinstance(rows, CompressedLevel)
    assert isinstance(columns, CompressedLevel)
    assert (rows.size, rows.segments.tolist(), rows.coordinates.tolist()) == (4, [0, 2], [0, 2])
    assert columns.segments.tolist() == [0, 2, 3]
    assert columns.coordinates.tolist() == [0, 2, 1]


def test_compressed_columns_by_hand() -> None:
    storage = store(MATRIX, of("ds10"))
    columns, rows = storage.levels
    assert isinstance(columns, DenseLevel)
    assert isinstance(rows, CompressedLevel)
    assert columns.size == 3
    assert rows.segments.tolist() == [0, 1, 2, 3]
    assert rows.coordinates.tolist() == [0, 2, 0]
    assert storage.values.tolist() == [1, 3, 2]


def test_dense_levels_hold_zeros() -> None:
    storage = store(MATRIX, of("sd01"))
    assert storage.values.tolist() == [1, 0, 2, 0, 3, 0]
    assert store(MATRIX, of("dd10")).values.tolist() == [1, 0, 0, 0, 0, 0, 3, 0, 2, 0, 0, 0]


def test_bitvectors_by_hand() -> None:
    rows, columns = store(MATRIX, of("bb01"), word_bits=2).levels
    assert isinstance(rows, BitvectorLevel)
    assert isinstance(columns, BitvectorLevel)
    assert rows.words.tolist() == [0b01, 0b01]
    assert columns.words.tolist() == [0b01, 0b01, 0b10, 0b00]
    wide = store(Tensor((70,), [[0], [31], [32], [69]], [1, 1, 1, 1]), of("b0")).levels[0]
    assert isinstance(wide, BitvectorLevel)
    assert wide.words.dtype == np.uint32
    assert wide.words.tolist() == [0x80000001, 1, 1 << 5]


@pytest.mark.parametrize(
    ("format", "segments"), [("sss012", [[0, 0], [0], [0]]), ("dsd102", [None, [0, 0, 0, 0], None])]
)
def test_empty_tensors(format: str, segments: list[list[int] | None]) -> None:
    storage = store(Tensor.from_any(np.zeros((2, 3, 4))), of(format))
    for level, right in zip(storage.levels, segments, strict=True):
        if right is None:
            assert isinstance(level, DenseLevel)
        else:
            assert isinstance(level, CompressedLevel)
            assert level.segments.tolist() == right
            assert len(level.coordinates) == 0
    assert len(storage.values) == 0
    assert restore(storage).nnz == 0


def test_scalars() -> None:
    storage = store(Tensor.from_any(2.5), TensorFormat((), ()))
    assert storage.levels == ()
    assert storage.values.tolist() == [2.5]
    assert restore(storage).to_dense() == 2.5
    empty = store(Tensor((), np.zeros((0, 0)), np.zeros(0)), TensorFormat((), ()))
    assert empty.values.tolist() == [0.0]


def test_empty_fibers_are_sound_wherever_they_stand() -> None:
    levels = (
        CompressedLevel(4, np.array([0, 3]), np.array([0, 2, 3])),
        CompressedLevel(3, np.array([0, 0, 2, 2]), np.array([0, 2])),
    )
    storage = Storage(of("ss01"), (4, 3), levels, np.array([5.0, 6.0]))
    assert restore(storage).coordinates.tolist() == [[2, 0], [2, 2]]


def test_names_of_formats() -> None:
    assert str(of("sdb201")) == "sdb201"
    assert str(TensorFormat((), ())) == "none"
    with refused("level 1: format 'unique': must be dense, compressed, bitvector"):
        TensorFormat(("dense", "unique"), (0, 1))
    with refused("modes (0, 2) of 2 levels: must be a permutation of (0, 1)"):
        TensorFormat(("dense", "dense"), (0, 2))


def test_what_does_not_fit_is_refused() -> None:
    with refused("B: format ss01 has 2 levels: must have 1, one for each dimension"):
        store(Tensor.from_any([1.0]), of("ss01"), name="B")
    with refused("tensor: bitvector words of 33 bits: must be 1 to 32"):
        store(MATRIX, of("bb01"), word_bits=33)


@pytest.mark.parametrize(
    ("format", "error"),
    [
        (
            "dd10",
            "B: level 1 (dimension 0, dense) has 100,000 x 90,000 positions: at most 268,435,456; "
            "a compressed level stores only entries",
        ),
        (
            "db10",
            "B: level 1 (dimension 0, bitvector) needs 100,000 x 2,813 words: at most 268,435,456; "
            "a compressed level stores only entries",
        ),
    ],
)
def test_tensors_beyond_memory_are_refused(format: str, error: str) -> None:
    tensor = Tensor((90_000, 100_000), [[3, 5]], [1.0])
    with pytest.raises(CapacityError) as caught:
        store(tensor, of(format), name="B")
    assert str(caught.value) == error
    assert restore(store(tensor, of("ss01"))).coordinates.tolist() == [[3, 5]]


GOOD = store(MATRIX, of("ss01"))
BITS = store(MATRIX, of("db01"))


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize(
    ("storage", "number", "changes", "error"),
    [
        (
            GOOD,
            0,
            {"segments": ints(0, 1)},
            "level 0: segments[1] is 1: must be 2, the number of coordinates",
        ),
        (GOOD, 1, {"segments": ints(1, 2, 3)}, "level 1: segments[0] is 1: must be 0"),
        (GOOD, 1, {"segments": ints(0, 3)}, "level 1: segments are 2: must be 3"),
        (
            GOOD,
            1,
            {"segments": ints(0, 4, 3)},
            "level 1: segments[2] is 3, below 4 before it: must not descend",
        ),
        (
            GOOD,
            1,
            {"segments": np.zeros(3)},
            "level 1: segments are float64 of 1 dimensions: must be int64 of one",
        ),
        (GOOD, 0, {"coordinates": ints(0, 4)}, "level 0: coordinates[1] is 4: must be 0 to 3"),
        (GOOD, 1, {"coordinates": ints(-1, 2, 1)}, "level 1: coordinates[0] is -1: must be 0 to 2"),
        (
            GOOD,
            1,
            {"coordinates": ints(2, 2, 1)},
            "level 1: coordinates[1] is 2 after 2 in the same fiber: must ascend",
        ),
        (
            GOOD,
            1,
            {"coordinates": ints(2, 1, 1)},
            "level 1: coordinates[1] is 1 after 2 in the same fiber: must ascend",
        ),
        (
            GOOD,
            1,
            {"coordinates": np.zeros((3, 1), np.int64)},
            "level 1: coordinates are int64 of 2 dimensions: must be int64 of one",
        ),
        (GOOD, 1, {"size": 4}, "level 1: size 4: must be that of dimension 1, 3, and not negative"),
        (BITS, 1, {"words": np.zeros(3, np.uint32)}, "level 1: words are 3: must be 4"),
        (
            BITS,
            1,
            {"words": np.array([5, 0, 9, 0], np.uint32)},
            "level 1: words[2] is 0x9: must have no bit for a coordinate from 3 on",
        ),
        (BITS, 1, {"word_bits": 40}, "level 1: words of 40 bits: must be 1 to 32"),
    ],
)
def test_faults_are_found(
    storage: Storage, number: int, changes: dict[str, Any], error: str
) -> None:
    levels = list(storage.levels)
    levels[number] = replace(levels[number], **changes)
    for reader in (check, restore):
        with refused(error):
            reader(replace(storage, levels=tuple(levels)))


def test_faults_of_the_whole_are_found() -> None:
    with refused("values are 2: must be 3"):
        check(replace(GOOD, values=np.zeros(2)))
    with refused("values are int64 of 1 dimensions: must be float64 of one"):
        check(replace(GOOD, values=ints(1, 2, 3)))
    with refused("format ss01 with 1 levels and 2 dimensions: must have 2 of each"):
        check(replace(GOOD, levels=GOOD.levels[:1]))
    with refused("level 0: CompressedLevel in format ds01: must be dense"):
        check(replace(GOOD, format=of("ds01")))
