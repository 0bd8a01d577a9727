"""Embedding layers of recommendation models: what the tables are and how they are looked up."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property

import ml_dtypes
import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS, RowwiseFormat, RowwiseTable

POOLINGS = ("sum", "mean", "max")

TABLE_TYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Element types of tables and outputs, by name. Tables may be of ``ROWWISE_FORMATS``, too."""

INDEX_TYPES: dict[str, np.dtype] = {"int32": np.dtype(np.int32), "int64": np.dtype(np.int64)}
"""Types of indices and offsets, by name."""

MAXIMUM_ROWS = 2**31 - 1
MAXIMUM_DIM = 4096
MAXIMUM_BATCH = 2**20
MAXIMUM_POOLING = 2**20
"""The largest mean, standard deviation and maximum of pooling factors."""

# In standard deviations: beyond the first no sample is expected (probability 1e-23), and a maximum
# further below the mean than the second is a mistake (probability 1e-197).
_LONGEST = 10
_SHORTEST = 30


@dataclass(frozen=True)
class PoolingFactors:
    """Indices of a sample that has the feature: a normal distribution, truncated (RecFlex, V).

    mean, std
        of the distribution before truncation to ``0 .. maximum``, from which numbers of indices are
        rounded down; ``std`` 0 means exactly ``mean``, a whole number.
    maximum
        ``None``: no upper bound.
    coverage
        share of samples that have the feature, 0 to 1; the others have no indices.

    ``Feature`` refuses what ``violation`` finds.
    """

    mean: float = 1.0
    std: float = 0.0
    maximum: int | None = None
    coverage: float = 1.0

    @property
    def limit(self) -> int:
        """The most indices that a sample may be expected to have; at least 1."""
        if self.maximum is not None:
            return self.maximum
        return max(1, math.ceil(self.mean + _LONGEST * self.std))

    def violation(self) -> str:
        """The first wrong field, as ``field = value: what is allowed``; empty if there is none."""
        for field, high in (("mean", MAXIMUM_POOLING), ("std", MAXIMUM_POOLING), ("coverage", 1)):
            value = getattr(self, field)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= high:
                return f"{field} = {value!r}: must be a number from 0 to {high}"
        if self.maximum is not None and (
            type(self.maximum) is not int or not 1 <= self.maximum <= MAXIMUM_POOLING
        ):
            return f"maximum = {self.maximum!r}: must be a whole number from 1 to {MAXIMUM_POOLING}"
        limit = math.inf if self.maximum is None else self.maximum
        if self.std == 0 and (self.mean > limit or self.mean != int(self.mean)):
            below = "" if self.maximum is None else f", at most maximum = {self.maximum}"
            return f"mean = {self.mean!r}: must be a whole number{below}, since std is 0"
        if self.mean > limit + _SHORTEST * self.std:
            return (
                f"mean = {self.mean!r}: must be at most {_SHORTEST} standard deviations above "
                f"maximum = {self.maximum}"
            )
        return ""


@dataclass(frozen=True)
class FeatureKind:
    """What the code of a feature depends on; the fields are those of ``Feature``."""

    dim: int
    pooling: str
    table_type: str
    output_type: str
    weighted: bool
    pruned: bool = False


@dataclass(frozen=True)
class Feature:
    """One feature field, with a table of its own.

    rows, dim
        the table's shape.
    pooling
        how a sample's rows become one: ``sum``, ``mean`` (by the number of indices), ``max``.
        Samples without indices give zeroes.
    table_type
        a name of ``TABLE_TYPES`` or, of quantised rows, ``ROWWISE_FORMATS``; pooling is in float32.
    output_type
        a name of ``TABLE_TYPES``.
    index_type
        a name of ``INDEX_TYPES``, of indices and offsets.
    weighted
        whether every index has a float32 weight that its row is multiplied by; not with ``max``.
    factors
        what is known of its pooling factors: for synthesis and for the first choice of a schedule.
    padding_idx
        a row whose indices count for nothing, as in ``torch.nn.EmbeddingBag``: in no sum, no mean's
        divisor, no maximum and no gradient.
    pruned
        whether index -1 stands for a row that was pruned, as in FBGEMM: it adds nothing, but counts
        in a mean's divisor; its weight must be finite. Not with ``max``.

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
    padding_idx: int | None = None
    pruned: bool = False

    def __post_init__(self) -> None:
        if type(self.name) is not str or not self.name or not self.name.isprintable():
            raise WorkloadError(f"feature {self.name!r}: must be named by printable characters")
        for field, low, high in (("rows", 1, MAXIMUM_ROWS), ("dim", 1, MAXIMUM_DIM)):
            value = getattr(self, field)
            if type(value) is not int or not low <= value <= high:
                raise self._wrong(field, f"must be a whole number from {low} to {high}")
        for field, allowed in (
            ("pooling", POOLINGS),
            ("table_type", (*TABLE_TYPES, *ROWWISE_FORMATS)),
            ("output_type", tuple(TABLE_TYPES)),
            ("index_type", tuple(INDEX_TYPES)),
        ):
            if getattr(self, field) not in allowed:
                raise self._wrong(field, f"must be one of {', '.join(allowed)}")
        for field in ("weighted", "pruned"):
            if type(getattr(self, field)) is not bool:
                raise self._wrong(field, "must be true or false")
        if self.weighted and self.pooling == "max":
            raise self._wrong(
                "weighted", "must be false with pooling max, weights are factors of sums"
            )
        if self.pruned and self.pooling == "max":
            raise self._wrong("pruned", "must be false with pooling max, pruned rows are zeroes")
        if self.rowwise and self.dim % self.rowwise.per_byte:
            raise self._wrong("dim", f"must be even with table_type {self.table_type}")
        if type(self.factors) is not PoolingFactors:
            raise self._wrong("factors", "must be PoolingFactors")
        if violation := self.factors.violation():
            raise WorkloadError(f"feature {self.name}: factors.{violation}")
        padding = self.padding_idx
        if padding is not None and (type(padding) is not int or not 0 <= padding < self.rows):
            raise self._wrong("padding_idx", f"must be a row, from 0 to {self.rows - 1}")

    def _wrong(self, field: str, allowed: str) -> WorkloadError:
        return WorkloadError(f"feature {self.name}: {field} = {getattr(self, field)!r}: {allowed}")

    @property
    def kind(self) -> FeatureKind:
        return FeatureKind(*(getattr(self, field.name) for field in fields(FeatureKind)))

    @property
    def first_index(self) -> int:
        """The least index that may be looked up."""
        return -1 if self.pruned else 0

    @property
    def rowwise(self) -> RowwiseFormat | None:
        """The format of a quantised table's rows."""
        return ROWWISE_FORMATS.get(self.table_type)

    @property
    def element_bits(self) -> int:
        """Bits of a row's element, or of its code."""
        return self.rowwise.bits if self.rowwise else 8 * TABLE_TYPES[self.table_type].itemsize

    @property
    def row_bytes(self) -> int:
        if self.rowwise:
            return self.rowwise.row_bytes(self.dim)
        return self.dim * TABLE_TYPES[self.table_type].itemsize

    @property
    def table_shape(self) -> tuple[int, int]:
        """The shape of a table's array: [rows, dim], or [rows, row bytes] where it is quantised."""
        return self.rows, self.row_bytes if self.rowwise else self.dim

    @property
    def table_dtype(self) -> np.dtype:
        """The type of a table's array; uint8 where it is quantised."""
        return np.dtype(np.uint8) if self.rowwise else TABLE_TYPES[self.table_type]

    def elements(self, table: np.ndarray) -> np.ndarray | RowwiseTable:
        """A table's array as [rows, dim], which quantised tables are when rows are taken."""
        return RowwiseTable(table, self.dim, self.rowwise) if self.rowwise else table

    @property
    def output_bytes(self) -> int:
        """Bytes of a sample."""
        return self.dim * TABLE_TYPES[self.output_type].itemsize


@dataclass(frozen=True)
class EmbeddingModel:
    """The embedding layer of a recommendation model.

    The output of a sample is the features' pooled rows, one after the other. Features may be given
    as a list. Raises ``WorkloadError`` for no features, two of one name, and a name that is not
    printable.
    """

    name: str
    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        if type(self.name) is not str or not self.name.isprintable():
            raise WorkloadError(f"model {self.name!r}: must be named by printable characters")
        if not isinstance(self.features, list | tuple):
            raise WorkloadError(f"model {self.name}: features must be a list")
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise WorkloadError(f"model {self.name}: has no features")
        seen: set[str] = set()
        for position, feature in enumerate(self.features):
            if not isinstance(feature, Feature):
                raise WorkloadError(
                    f"model {self.name}: features[{position}] is {type(feature).__name__}: must be "
                    "a Feature"
                )
            if feature.name in seen:
                raise WorkloadError(f"model {self.name}: two features are named {feature.name}")
            seen.add(feature.name)

    @cached_property
    def has_padding(self) -> bool:
        """Whether a feature has a ``padding_idx``."""
        return any(feature.padding_idx is not None for feature in self.features)

    @cached_property
    def has_pruned(self) -> bool:
        """Whether a feature is ``pruned``."""
        return any(feature.pruned for feature in self.features)

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the features: what schedules and programs are made for.

        Pooling factors are left out: they change what is fast, not what is computed. So is what
        indices mean that are no rows.
        """
        features = [asdict(feature) for feature in self.features]
        for feature in features:
            del feature["factors"], feature["padding_idx"], feature["pruned"]
        text = json.dumps(features, sort_keys=True)
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
    divisors
        int [batch]: of means, where they are not the lengths of bags.
    """

    indices: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray | None = None
    divisors: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray:
        """int [batch]: what sums are divided by in means, but for zeroes."""
        return np.diff(self.offsets) if self.divisors is None else self.divisors


@dataclass(frozen=True)
class Batch:
    """Inputs of every feature of a model, in its order, for ``size`` samples."""

    size: int
    features: Sequence[FeatureInputs]

    @property
    def counts(self) -> np.ndarray:
        """int64 [features]: indices of each. Counted on every call."""
        return np.array([len(inputs.indices) for inputs in self.features], np.int64)
