"""Compares what a batch looked up with the golden model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from gnarl.sw.golden.embedding import (
    bound,
    embedding_bags,
    exact_in_any_order,
    pool,
    pool_float64,
    what_is_pooled,
)
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.report.tally import Tally
from gnarl.sw.runtime.report.verify import Verification, difference, entry_name, verification
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature


def golden(model: EmbeddingModel, tables: Sequence[np.ndarray], batch: Batch) -> dict[str, Array]:
    """The bits that outputs must have where sums do not depend on their order."""
    outputs = embedding_bags(model, tables, batch)
    return {feature.name: output for feature, output in zip(model.features, outputs, strict=True)}


def reference(
    model: EmbeddingModel, tables: Sequence[np.ndarray], batch: Batch
) -> dict[str, Array]:
    """The outputs in float64."""
    batch = what_is_pooled(model, batch)
    return {
        feature.name: pool_float64(feature.elements(table), inputs, feature.pooling)
        for feature, table, inputs in zip(model.features, tables, batch.features, strict=True)
    }


def verify(
    model: EmbeddingModel,
    tables: Sequence[np.ndarray],
    batch: Batch,
    outputs: Mapping[str, Array],
) -> Verification:
    """Verifies a model's outputs. ``outputs``: [batch, dim] by feature.

    Where a feature's sums are exact in any order its bits must be the golden model's; elsewhere
    results must be within the bound of ``gnarl.sw.golden.embedding.bound``.
    """
    batch = what_is_pooled(model, batch)
    bit_exact, tally, wrong, count, first = True, Tally(), 0, 0, ""
    for feature, table, inputs in zip(model.features, tables, batch.features, strict=True):
        output = np.asarray(outputs[feature.name])
        arguments = (feature.elements(table), inputs, feature.pooling)
        wanted = pool(*arguments, feature.output_type)
        differs = ~_equal(output, wanted)
        bit_exact = bit_exact and not differs.any()
        limit = None
        if differs.any() and not exact_in_any_order(*arguments):
            limit = bound(*arguments, feature.output_type)
            with np.errstate(invalid="ignore"):  # of equal infinities
                off = np.abs(output.astype(np.float64) - wanted.astype(np.float64))
            differs &= ~(off <= limit)
        exact, element = pool_float64(*arguments), partial(_element, feature, output.shape)
        tally.add(output.astype(np.float64).reshape(-1), exact.reshape(-1), element)
        wrong += int(differs.sum())
        count += differs.size
        if differs.any() and not first:
            first = _described(feature, output, wanted, limit, np.argwhere(differs)[0])
    return verification(bit_exact, difference(wrong, count, first), tally)


def _element(feature: Feature, shape: tuple[int, ...], at: int) -> str:
    return entry_name(feature.name, np.array(np.unravel_index(at, shape)))


def _equal(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Whether bits are equal, but for the sign of zero, which depends on the order of additions."""
    return (found == wanted) | (np.isnan(found) & np.isnan(wanted))


def _described(
    feature: Feature,
    found: np.ndarray,
    wanted: np.ndarray,
    limit: np.ndarray | None,
    place: np.ndarray,
) -> str:
    at = tuple(place.tolist())
    within = "" if limit is None else f" within {limit[at]:.1e}"
    name = entry_name(feature.name, at)
    return f"{name}: {float(found[at])!r}, must be {float(wanted[at])!r}{within}"
