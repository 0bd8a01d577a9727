"""Embedding layers of recommendation models: what the tables are and how they are looked up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import ml_dtypes
import numpy as np

from hw.lib.errors import WorkloadError

POOLINGS = ("sum", "mean", "max")

TABLE_TYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Element types of tables and outputs, by name."""

INDEX_TYPES: dict[str, np.dtype] = {"int32": np.dtype(np.int32), "int64": np.dtype(np.int64)}
"""Types of indices and offsets, by name."""

MAXIMUM_ROWS = 2**31 - 1
MAXIMUM_DIM = 4096
MAXIMUM_BATCH = 2**20


@dataclass(frozen=True)
class PoolingFactors:
    """Indices of a sample that has the feature: a normal distribution, truncated (RecFlex, V).

    mean, std
        of the distribution before truncation to ``0 .. maximum``; ``std`` 0 means exactly ``mean``.
    maximum
        ``None``: no upper bound.
    coverage
        share of samples that have the feature, 0 to 1; the others have no indices.
    """

    mean: float = 1.0
    std: float = 0.0
    maximum: int | None = None
    coverage: float = 1.0


@dataclass(frozen=True)
class FeatureKind:
    """What the code of a feature depends on; the fields are those of ``Feature``."""

    dim: int
    pooling: str
    table_type: str
    output_type: str
    index_type: str
    weighted: bool


@dataclass(frozen=True)
class Feature:
    """One feature field, with a table of its own.

    rows, dim
        the table's shape.
    pooling
        how a sample's rows become one: ``sum``, ``mean`` (by the number of indices), ``max``.
        Samples without indices give zeroes.
    table_type, output_type
        names of ``TABLE_TYPES``; pooling is in float32.
    index_type
        a name of ``INDEX_TYPES``, of indices and offsets.
    weighted
        whether every index has a float32 weight that its row is multiplied by; not with ``max``.
    factors
        what is known of its pooling factors: for synthesis and for the first choice of a schedule.

    The constructor raises ``WorkloadError`` naming the feature and the field.
    """

    name: str
    rows: int
    dim: int
    pooling: str = "sum"
    table_type: str = "float32"
    output_type: str = "float32"
    index_type: str = "int64"
    weighted: bool = False
    factors: PoolingFactors = PoolingFactors()

    def __post_init__(self) -> None:
        for field, low, high in (("rows", 1, MAXIMUM_ROWS), ("dim", 1, MAXIMUM_DIM)):
            value = getattr(self, field)
            if type(value) is not int or not low <= value <= high:
                raise self._wrong(field, f"must be a whole number from {low} to {high}")
        for field, allowed in (
            ("pooling", POOLINGS),
            ("table_type", tuple(TABLE_TYPES)),
            ("output_type", tuple(TABLE_TYPES)),
            ("index_type", tuple(INDEX_TYPES)),
        ):
            if getattr(self, field) not in allowed:
                raise self._wrong(field, f"must be one of {', '.join(allowed)}")
        if self.weighted and self.pooling == "max":
            raise self._wrong("weighted", "must be false with pooling max")
        factors = self.factors
        if not (factors.mean >= 0 and factors.std >= 0 and 0 <= factors.coverage <= 1):
            raise self._wrong("factors", "mean and std must be at least 0, coverage from 0 to 1")

    def _wrong(self, field: str, allowed: str) -> WorkloadError:
        return WorkloadError(f"feature {self.name}: {field} = {getattr(self, field)!r}: {allowed}")

    @property
    def kind(self) -> FeatureKind:
        return FeatureKind(
            self.dim,
            self.pooling,
            self.table_type,
            self.output_type,
            self.index_type,
            self.weighted,
        )


@dataclass(frozen=True)
class EmbeddingModel:
    """The embedding layer of a recommendation model.

    The output of a sample is the features' pooled rows, one after the other. Raises
    ``WorkloadError`` for no features, or two of one name.
    """

    name: str
    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        if not self.features:
            raise WorkloadError(f"model {self.name}: has no features")
        seen: set[str] = set()
        for feature in self.features:
            if feature.name in seen:
                raise WorkloadError(f"model {self.name}: two features are named {feature.name}")
            seen.add(feature.name)

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the features: what schedules and programs are made for."""
        text = json.dumps([asdict(feature) for feature in self.features], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class FeatureInputs:
    """What one batch looks up in one feature's table.

    indices
        [values], of the feature's index type.
    offsets
        [batch + 1], of the same type: sample ``s`` has ``indices[offsets[s]:offsets[s + 1]]``.
    weights
        float32 [values]; ``None`` where the feature has none.
    """

    indices: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Batch:
    """Inputs of every feature of a model, in its order, for ``size`` samples."""

    size: int
    features: Sequence[FeatureInputs]
