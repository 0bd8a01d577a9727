"""Mirrors ``gnarl/pool_rows.cuh``: how the vectors of a row lie on the lanes of a warp; and what
look-ups move."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.sw.compiler.cuda.architectures import SECTOR_BYTES, WARP_THREADS
from gnarl.sw.workloads.embedding.model import Feature

_FLOAT_BYTES = 4
_INDEX_BYTES = 4


@dataclass(frozen=True)
class RowLanes:
    """Geometry of a feature's rows in vectors of so many elements."""

    feature: Feature
    vector: int

    @property
    def vectors(self) -> int:
        """Vectors of a row."""
        return self.feature.dim // self.vector

    @property
    def lanes(self) -> int:
        """Lanes of a row, a power of two: its vectors lie side by side there."""
        return min(WARP_THREADS, 1 << (self.vectors - 1).bit_length())

    @property
    def tiles(self) -> int:
        """Turns that a row longer than its lanes takes."""
        return -(-self.vectors // self.lanes)

    def warp_totals_bytes(self, block_threads: int) -> int:
        """``sizeof`` a ``WarpTotals``."""
        return block_threads // WARP_THREADS * self.vector * self.lanes * _FLOAT_BYTES

    def partial_bytes(self) -> int:
        """Bytes of a bag's partial in the workspace."""
        return self.feature.dim * _FLOAT_BYTES

    def row_sectors(self) -> float:
        """Sectors for looking up one row: its own, its index's and its weight's."""
        index = _INDEX_BYTES + _FLOAT_BYTES * self.feature.weighted
        return sectors(self.feature.row_bytes) + index / SECTOR_BYTES

    def sample_sectors(self) -> float:
        """Sectors for a sample's offset and its output."""
        return sectors(self.feature.output_bytes) + _INDEX_BYTES / SECTOR_BYTES


def sectors(size: int) -> int:
    """Memory sectors of ``size`` bytes that begin with a sector."""
    return -(-size // SECTOR_BYTES)
