"""Tensors whose neighbours along a dimension are blocks: stored, and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.storage import Storage, TensorFormat, store
from gnarl.sw.workloads.tensor.tensor import Tensor


def in_blocks(shape: tuple[int, ...], mode: int, words: int) -> tuple[int, ...]:
    """A shape whose dimension ``mode`` counts blocks of ``words``; the last one may be begun."""
    return (*shape[:mode], -(-shape[mode] // words), *shape[mode + 1 :])


def store_blocks(
    tensor: Tensor, format: TensorFormat, mode: int, words: int, word_bits: int, name: str
) -> Storage:
    """The tensor in a format, whose level of dimension ``mode`` has coordinates of blocks.

    ``values`` are float64 [positions, words], 0 where there is no entry, ``shape`` is that of
    ``in_blocks``. Raises as ``store`` does.
    """
    block, word = np.divmod(tensor.coordinates[:, mode], words)
    coordinates = tensor.coordinates.copy()
    coordinates[:, mode] = block
    first, number = _distinct(coordinates)
    # A block is identified by its number from 1 on among the values.
    numbers = np.arange(1, len(first) + 1, dtype=np.float64)
    shape = in_blocks(tensor.shape, mode, words)
    blocks = Tensor(shape, coordinates[first], numbers)
    stored = store(blocks, format, word_bits, name)
    values = np.zeros((len(first) + 1, words))
    values[number + 1, word] = tensor.values
    return replace(stored, values=values[stored.values.astype(np.int64)])


def entries_of_blocks(
    coordinates: np.ndarray, values: np.ndarray, mode: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates, int64 [n, order], ascending, and values [n] of the entries of blocks: int64
    [blocks, order] and [blocks, words]. What lies behind ``size`` is left out."""
    words = values.shape[1]
    found = np.repeat(coordinates, words, axis=0)
    found[:, mode] = found[:, mode] * words + np.tile(np.arange(words), len(coordinates))
    is_there = found[:, mode] < size
    found, kept = found[is_there], values.reshape(-1)[is_there]
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
