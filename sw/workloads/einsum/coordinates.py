"""Coordinates that a tensor lists, or a mask leaves, as those of entries of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.tensor.tensor import Tensor


def listed(name: str, tensor: Tensor, shape: Sequence[int]) -> np.ndarray:
    """The coordinates of each entry, int64 [entries, order], from a tensor [order, entries].

    Raises ``WorkloadError`` naming the first number that is no coordinate in ``shape``.
    """
    numbers = np.zeros(tensor.shape)
    numbers[tuple(tensor.coordinates.T)] = tensor.values
    limits = np.array(shape)[:, np.newaxis]
    wrong = np.argwhere(~((numbers >= 0) & (numbers < limits) & (numbers == np.floor(numbers))))
    if len(wrong):
        row, place = map(int, wrong[0])
        raise WorkloadError(
            f"{name}({row}, {place}) = {numbers[row, place]:g}: must be a whole number from 0 to "
            f"below {shape[row]}"
        )
    return numbers.T.astype(np.int64)


def left_by(name: str, mask: Tensor) -> np.ndarray:
    """The coordinates where a mask is 0, int64 [entries, order].

    Raises ``WorkloadError`` naming the first number that is neither 0 nor -∞, and
    ``CapacityError``.
    """
    other = (mask.values != 0) & (mask.values != -np.inf)
    if other.any():
        first = int(np.argmax(other))
        place = ", ".join(map(str, mask.coordinates[first].tolist()))
        raise WorkloadError(
            f"{name}({place}) = {mask.values[first]:g}: must be 0 or -inf, as in what the program "
            "was compiled for"
        )
    return np.argwhere(mask.to_dense() == 0)
