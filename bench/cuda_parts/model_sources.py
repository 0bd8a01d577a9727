"""Sources of the models of a comparison: the paper's folders, or made of facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Protocol

from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors
from gnarl.sw.workloads.embedding.recflex import load_model

MLPERF_ROWS = (
    *(40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956),
    *(405_282, 10, 2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000),
    *(590_152, 12_973, 108, 36),
)
MLPERF_INDICES = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
MLPERF_DIM = 128
"""Size of DLRM-DCNv2's tables, and of a sample's look-ups in the multi-hot Criteo data set:
MLCommons, ``recommendation_v2`` of the training benchmarks."""


class ModelSource(Protocol):
    """A model, before it is made. Pickled to the process that measures it."""

    @property
    def name(self) -> str:
        """Its name, and that of its files of schedules."""

    def load(self) -> EmbeddingModel:
        """Raises ``WorkloadError`` for bad input."""

    def __hash__(self) -> int:
        """Equal for the same model."""


@dataclass(frozen=True)
class ModelFolder:
    """One that ``load_model`` reads."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    def load(self) -> EmbeddingModel:
        return load_model(self.path)


@dataclass(frozen=True)
class ManyFeatures:
    """``count`` features: those of a model, over and over, each with a table of its own."""

    path: Path
    count: int

    @property
    def name(self) -> str:
        return f"{self.count}_features"

    def load(self) -> EmbeddingModel:
        features = islice(cycle(load_model(self.path).features), self.count)
        named = (replace(each, name=f"f{at}") for at, each in enumerate(features))
        return EmbeddingModel(self.name, tuple(named))


@dataclass(frozen=True)
class Mlperf:
    """MLPerf's 26 tables; the largest cut off, so that all have at most so many ``bytes``."""

    bytes: int

    @property
    def name(self) -> str:
        return "mlperf"

    def load(self) -> EmbeddingModel:
        most = max(MLPERF_ROWS)
        while 4 * MLPERF_DIM * sum(min(rows, most) for rows in MLPERF_ROWS) > self.bytes:
            most //= 2
        features = (
            Feature(f"f{at}", min(rows, most), MLPERF_DIM, factors=PoolingFactors(float(indices)))
            for at, (rows, indices) in enumerate(zip(MLPERF_ROWS, MLPERF_INDICES, strict=True))
        )
        return EmbeddingModel(self.name, tuple(features))
