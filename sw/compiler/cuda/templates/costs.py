"""Estimates that ``work`` of several templates has in common."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.templates.row_lanes import RowLanes
from gnarl.sw.workloads.embedding.model import Feature


def pool_instructions(feature: Feature, vector: int, chunks: int = 1) -> float:
    """Warp instructions for a row of each lane, in so many vectors.

    The row's address and a test, a load for each vector, and for each element an addition and, from
    16 bits, a conversion. A code takes two to convert and one to scale, and a quantised row an
    address and a load of its scale and bias.
    """
    if feature.rowwise:
        return 4 + chunks * (1 + vector * 4)
    of_element = 2 if feature.table_type != "float32" else 1
    return 2 + chunks * (1 + vector * of_element)


def round_instructions(feature: Feature, vector: int, unroll: int) -> float:
    """Warp instructions for a round of ``pool_rows``, which fetches its indices ahead."""
    fetch = 4 * (1 + feature.weighted)
    return unroll * (fetch + pool_instructions(feature, vector)) + 5


def combine_instructions(vector: int, lanes: int, threads: int = WARP_THREADS) -> float:
    """Warp instructions for combining groups of so many lanes among so many threads."""
    return 2 * vector * ((threads // lanes).bit_length() - 1)


def store_instructions(vector: int, chunks: int = 1) -> float:
    """Warp instructions for finishing a sample's vectors and storing them."""
    return chunks * (10 + 2 * vector)


def mean_samples(samples: int, batch: float) -> float:
    """Mean number of samples of blocks that take up to ``samples``."""
    return batch / max(1, math.ceil(batch / samples))


def mean_length(batch: float, values: float) -> float:
    """Indices of a sample."""
    return values / batch if batch else 0.0


def sample_sectors(feature: Feature, batch: float, values: float) -> float:
    """Sectors for the rows, indices, weights, offset and output of a sample of mean length."""
    rows = RowLanes(feature, 1)
    return rows.sample_sectors() + mean_length(batch, values) * rows.row_sectors()
