"""Coordinates that a tensor lists, as those of entries of another."""

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
