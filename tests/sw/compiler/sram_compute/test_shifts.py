"""Algorithms 1 and 2 against NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.compiler.sram_compute.decompose import decompose
from gnarl.sw.compiler.sram_compute.shifts import Shifts, shifts
from gnarl.sw.compiler.sram_compute.tiles import Tiling, valid_tiles
from tests.support.sram_compute.spread_tiles import gather, spread


@st.composite
def tensors(draw: st.DrawFn) -> tuple[Tiling, np.ndarray, np.ndarray]:
    """An array in tiles, and the bounds of a part of it that is not empty."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 12)) for _ in range(rank))
    tile = tuple(draw(st.sampled_from([1, 2, 4, 8])) for _ in range(rank))
    first = [draw(st.integers(0, size - 1)) for size in shape]
    last = [draw(st.integers(low + 1, size)) for low, size in zip(first, shape, strict=True)]
    return Tiling(shape, tile), np.array(first), np.array(last)


def box(bounds: np.ndarray) -> tuple[slice, ...]:
    """A box of an array whose dimension 0 is the last one."""
    return tuple(slice(low, high) for low, high in bounds[::-1])


@given(tensors())
@settings(max_examples=50, deadline=None)
def test_parts_are_the_tensor_and_never_cross_tiles_in_part(tensor):
    tiling, first, last = tensor
    found = np.zeros(tiling.shape[::-1], int)
    parts = decompose(first, last, np.array(tiling.tile))
    for part in parts:
        found[box(part)] += 1
        for (low, high), extent in zip(part, tiling.tile, strict=True):
            is_whole = low % extent == 0 and high % extent == 0
            assert low < high and (is_whole or low // extent == (high - 1) // extent)
    expected = np.zeros(tiling.shape[::-1], int)
    expected[box(np.stack([first, last], 1))] = 1
    assert (found == expected).all()
    assert len(parts) <= 3 ** len(tiling.shape)


def test_parts_of_figure_9():
    parts = decompose(np.array([0, 0]), np.array([4, 3]), np.array([2, 2]))
    assert parts.tolist() == [[[0, 4], [0, 2]], [[0, 4], [2, 3]]]


def shifts_of(
    first: np.ndarray, last: np.ndarray, tiling: Tiling, dimension: int, distance: int
) -> Shifts:
    shape, tile = np.array(tiling.shape), np.array(tiling.tile)
    return shifts(first, last, shape, tile, dimension, distance)


def performed(commands: Shifts, tiling: Tiling, dimension: int, values: np.ndarray) -> np.ndarray:
    """What commands do to elements by tile and bitline; -1 where nothing comes to."""
    found = np.full((tiling.tiles, tiling.bitlines), -1)
    shape = [*tiling.grid[::-1], *tiling.tile[::-1]]
    source, target = values.reshape(shape), found.reshape(shape)
    place = len(tiling.shape) - 1 - dimension
    for bits, tiles, between, within in zip(
        commands.bits, commands.tiles, commands.between, commands.within, strict=True
    ):
        taken = [*box(tiles), *box(bits)]
        given = list(taken)
        for at, step in ((place, between), (len(tiling.shape) + place, within)):
            given[at] = slice(taken[at].start + step, taken[at].stop + step)
        assert (target[tuple(given)] == -1).all()
        target[tuple(given)] = source[tuple(taken)]
    return found


@given(tensors(), st.data())
@settings(max_examples=100, deadline=None)
def test_moves_are_those_of_numpy(tensor, data):
    tiling, first, last = tensor
    dimension = data.draw(st.integers(0, len(tiling.shape) - 1))
    size = tiling.shape[dimension]
    distance = data.draw(st.integers(-size, size))
    values = np.arange(np.prod(tiling.shape)).reshape(tiling.shape[::-1])
    elements = spread(tiling, values)
    assert (gather(tiling, elements) == values).all()

    expected = np.full_like(values, -1)
    for place in np.ndindex(values.shape):
        coordinates = np.array(place[::-1])
        if (coordinates >= first).all() and (coordinates < last).all():
            coordinates[dimension] += distance
            if 0 <= coordinates[dimension] < size:
                expected[tuple(coordinates[::-1])] = values[place]
    commands = shifts_of(first, last, tiling, dimension, distance)
    found = performed(commands, tiling, dimension, elements)
    assert (gather(tiling, found) == expected).all()


def test_a_move_by_whole_tiles_is_one_command():
    tiling = Tiling((64,), (16,))
    commands = shifts_of(np.array([0]), np.array([48]), tiling, 0, 16)
    assert [commands.between.tolist(), commands.within.tolist()] == [[1], [0]]
    assert len(shifts_of(np.array([0]), np.array([48]), tiling, 0, -64).between) == 0


def test_tiles_hold_whole_lines():
    all_tiles = [[1 << low, 256 >> low] for low in range(9)]
    assert valid_tiles((64, 64), 256, 16, 16).tolist() == all_tiles
    assert valid_tiles((64, 64), 256, 4, 16).tolist() == all_tiles[2:]
    assert valid_tiles((60, 64), 256, 16, 16).tolist() == []
