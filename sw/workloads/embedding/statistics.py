"""How many rows samples look up: what a cost model knows of a feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.sw.workloads.embedding.model import (
    MAXIMUM_POOLING,
    Batch,
    EmbeddingModel,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.truncated_normal import TruncatedNormal

LONG_BAGS = 512
"""One sample in so many, the paper's largest batch, has a bag longer than ``longest`` says."""


@dataclass(frozen=True)
class FeatureStatistics:
    """Numbers of indices of a feature's samples.

    mean, std
        over all samples; those without the feature count as 0.
    longest
        of a large batch: the number that at most one sample in ``LONG_BAGS`` exceeds.
    coverage
        share of samples that have at least one index.
    """

    mean: float
    std: float
    longest: float
    coverage: float


def from_factors(factors: PoolingFactors) -> FeatureStatistics:
    """What synthesised batches have in expectation; exact but for rounding.

    A sample that has the feature has ``floor(X)`` indices, X being the truncated normal.
    """
    lengths, shares = _distribution(factors)
    shares = shares * factors.coverage
    shares[0] += 1.0 - factors.coverage
    return _summary(lengths, shares)


def from_batches(model: EmbeddingModel, batches: Sequence[Batch]) -> list[FeatureStatistics]:
    """For each feature what its samples in ``batches`` have; all 0 where there are no samples."""
    statistics = []
    for position in range(len(model.features)):
        bags = [np.diff(batch.features[position].offsets) for batch in batches]
        lengths = np.concatenate([np.zeros(0, np.int64), *bags])
        if not len(lengths):
            statistics.append(FeatureStatistics(0.0, 0.0, 0.0, 0.0))
            continue
        values, counts = np.unique(lengths, return_counts=True)
        statistics.append(_summary(values.astype(np.float64), counts / len(lengths)))
    return statistics


def observed_factors(lengths: np.ndarray) -> PoolingFactors:
    """What is known of pooling factors from samples that have so many indices."""
    present = lengths[lengths > 0]
    if not len(present):
        return PoolingFactors(coverage=0.0)
    mean, std = float(present.mean()), min(float(present.std()), MAXIMUM_POOLING)
    # Numbers that are drawn are rounded down.
    mean = min(mean + 0.5 if std else mean, MAXIMUM_POOLING)
    return PoolingFactors(mean, std, coverage=len(present) / len(lengths))


def _distribution(factors: PoolingFactors) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of bags, ascending from 0, and the share of samples with the feature for each."""
    if factors.std == 0:
        return np.array([0.0, factors.mean]), np.array([0.0, 1.0])
    normal = TruncatedNormal(factors.mean, factors.std, 0, factors.limit)
    lengths = np.arange(factors.limit + 1.0)
    below = normal.probability_below(np.append(lengths, lengths[-1] + 1.0))
    below[-1] = 1.0
    return lengths, np.diff(below)


def _summary(lengths: np.ndarray, shares: np.ndarray) -> FeatureStatistics:
    mean = float(lengths @ shares)
    above = np.cumsum(shares[::-1])[::-1] - shares
    return FeatureStatistics(
        mean=mean,
        std=math.sqrt(float((lengths - mean) ** 2 @ shares)),
        longest=float(lengths[np.argmax(above <= 1 / LONG_BAGS)]),
        coverage=float(shares[lengths > 0].sum()),
    )
