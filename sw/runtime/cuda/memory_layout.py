"""Buffers of a launch side by side in one piece of device memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ALIGNMENT = 256
"""Alignment of each buffer, bytes: no two of them share a line of a cache."""


def aligned(size: int) -> int:
    """``size`` rounded up to a multiple of ``ALIGNMENT``, bytes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def places(sizes: Sequence[int] | np.ndarray) -> tuple[np.ndarray, int]:
    """Offsets of buffers of these sizes, int64 [buffers], and the size of all; bytes."""
    rounded = -(-np.array(sizes, np.int64) // ALIGNMENT) * ALIGNMENT
    ends = np.cumsum(rounded)
    return ends - rounded, int(ends[-1])
