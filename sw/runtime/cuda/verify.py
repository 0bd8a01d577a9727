"""Compares what a batch looked up with the golden model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sw.golden.embedding import bound, exact_in_any_order, pool, pool_float64
from sw.runtime.verify import Verification, max_relative_error
from sw.workloads.embedding.model import Batch, EmbeddingModel, Feature


def verify(
    model: EmbeddingModel,
    tables: Sequence[np.ndarray],
    batch: Batch,
    outputs: Sequence[np.ndarray],
) -> Verification:
    """``outputs``: for each feature [batch, dim].

    Where a feature's sums are exact in any order its bits must be the golden model's; elsewhere
    results must be within the bound of ``sw.golden.embedding.bound``.
    """
    bit_exact, error, wrong, count, first = True, 0.0, 0, 0, ""
    for feature, table, inputs, found in zip(
        model.features, tables, batch.features, outputs, strict=True
    ):
        arguments = (table, inputs.indices, inputs.offsets, inputs.weights, feature.pooling)
        golden = pool(*arguments, feature.output_type)
        differs = ~_equal(found, golden)
        bit_exact = bit_exact and not differs.any()
        limit = None
        if differs.any() and not exact_in_any_order(*arguments):
            limit = bound(*arguments, feature.output_type)
            differs &= ~(np.abs(found.astype(np.float64) - golden.astype(np.float64)) <= limit)
        error = max(error, max_relative_error(found.astype(np.float64), pool_float64(*arguments)))
        wrong += int(differs.sum())
        count += differs.size
        if differs.any() and not first:
            first = _described(feature, found, golden, limit, np.argwhere(differs)[0])
    difference = f"{wrong:,} of {count:,} outputs differ; the first is {first}" if wrong else ""
    return Verification(bit_exact, difference, error)


def _equal(found: np.ndarray, golden: np.ndarray) -> np.ndarray:
    """Of bits, but for the sign of zero, which depends on the order of additions."""
    return (found == golden) | (np.isnan(found) & np.isnan(golden))


def _described(
    feature: Feature,
    found: np.ndarray,
    golden: np.ndarray,
    limit: np.ndarray | None,
    place: np.ndarray,
) -> str:
    at = tuple(place.tolist())
    within = "" if limit is None else f" within {limit[at]:.1e}"
    return (
        f"{feature.name}[{at[0]}, {at[1]}]: {float(found[at])!r}, "
        f"must be {float(golden[at])!r}{within}"
    )
