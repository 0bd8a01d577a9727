"""Tensors whose neighbours along some dimensions are blocks: stored, and back.

``modes`` has the words along each of these dimensions, in the order of a block's words: those along
the last one are next to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.storage import Storage, TensorFormat, store
from gnarl.sw.workloads.tensor.tensor import Tensor

Modes = Mapping[int, int]


def in_blocks(shape: tuple[int, ...], modes: Modes) -> tuple[int, ...]:
    """A shape that counts blocks, the last of which may be begun."""
    return tuple(-(-size // modes.get(mode, 1)) for mode, size in enumerate(shape))


def store_blocks(
    tensor: Tensor, format: TensorFormat, modes: Modes, word_bits: int, name: str
) -> Storage:
    """The tensor in a format, whose levels have coordinates of blocks.

    ``values`` are float64 [positions, words], 0 where there is no entry, ``shape`` is that of
    ``in_blocks``. Raises as ``store`` does.
    """
    coordinates = tensor.coordinates.copy()
    word = np.zeros(tensor.nnz, np.int64)
    for mode, words in modes.items():
        coordinates[:, mode], place = np.divmod(coordinates[:, mode], words)
        word = word * words + place
    first, number = _distinct(coordinates)
    # A block is identified by its number from 1 on among the values.
    numbers = np.arange(1, len(first) + 1, dtype=np.float64)
    blocks = Tensor(in_blocks(tensor.shape, modes), coordinates[first], numbers)
    stored = store(blocks, format, word_bits, name)
    values = np.zeros((len(first) + 1, prod(modes.values())))
    values[number + 1, word] = tensor.values
    return replace(stored, values=values[stored.values.astype(np.int64)])


def entries_of_blocks(
    coordinates: np.ndarray, values: np.ndarray, modes: Modes, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates, int64 [n, order], ascending, and values [n] of the entries of blocks: int64
    [blocks, order] and [blocks, words]. What lies outside of ``shape`` is left out."""
    count, words = values.shape
    found, kept = np.repeat(coordinates, words, axis=0), values.reshape(-1)
    word = np.tile(np.arange(words), count)
    is_there = np.ones(len(found), bool)
    for mode, along in reversed(list(modes.items())):
        word, place = np.divmod(word, along)
        found[:, mode] = found[:, mode] * along + place
        is_there &= found[:, mode] < shape[mode]
    found, kept = found[is_there], kept[is_there]
    order = ascending_order(found)
    return found[order], kept[order]


def partial_block(points: np.ndarray, mode: int, words: int) -> np.ndarray | None:
    """One of ``points``, int64 [n, order], whose block along dimension ``mode`` has not all of its
    points, ``None`` if there is none such."""
    coordinates = points.copy()
    coordinates[:, mode] //= words
    _, number = _distinct(coordinates)
    partial = np.flatnonzero(np.bincount(number)[number] < words)
    return points[partial[0]] if len(partial) else None


def _distinct(coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct row is, in ascending order of rows, and the number of each row's."""
    order = ascending_order(coordinates)
    ordered = coordinates[order]
    begins = np.ones(len(ordered), bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.empty(len(ordered), np.int64)
    number[order] = np.cumsum(begins) - 1
    return order[begins], number
