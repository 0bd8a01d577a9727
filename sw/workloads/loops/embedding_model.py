"""Embedding models as loop nests: one for all features of a kind, which differ in their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.embedding_tables import (
    embedding_tables_max,
    embedding_tables_mean,
    embedding_tables_sum,
    embedding_tables_weighted,
    embedding_tables_weighted_mean,
)

_NESTS = {
    ("sum", False): embedding_tables_sum,
    ("mean", False): embedding_tables_mean,
    ("max", False): embedding_tables_max,
    ("sum", True): embedding_tables_weighted,
    ("mean", True): embedding_tables_weighted_mean,
}
"""Nests by pooling, and whether it is weighted."""

RESULT = "out"
"""What the nests write: [features, bags, dim]."""


@dataclass(frozen=True)
class ModelWorkload:
    """An embedding model as a workload. ``batch``: what is looked up, or ``None`` to synthesise it;
    programs are made for its size and, to the next power of two, its look-ups. ``place``: where it
    comes from, for messages."""

    model: EmbeddingModel
    batch: Batch | None = None
    place: str = "the batch"


@dataclass(frozen=True)
class FeatureGroup:
    """Features of one kind, in the model's order, for batches of ``bags`` samples that look up at
    most ``lookups`` rows in all of their tables together."""

    features: tuple[Feature, ...]
    bags: int
    lookups: int

    @property
    def name(self) -> str:
        """Unlike that of other groups."""
        first = self.features[0]
        return f"{'weighted ' * first.weighted}{first.pooling}, dim {first.dim}"

    @property
    def nest(self) -> Nest:
        return _NESTS[self.features[0].pooling, self.features[0].weighted]

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the nest."""
        return {
            "features": len(self.features),
            "bags": self.bags,
            "lookups": self.lookups,
            "rows": sum(feature.rows for feature in self.features),
            "dim": self.features[0].dim,
        }

    def arrays(self, tensors: Mapping[str, Array]) -> dict[str, np.ndarray]:
        """The nest's arrays, from tensors as ``program_tensors.model_tensors`` calls them, which
        are checked. Raises ``WorkloadError`` for too many look-ups."""
        given: Mapping[str, Any] = tensors
        names = [feature.name for feature in self.features]
        counts = [len(given[f"{name}.indices"]) for name in names]
        if sum(counts) > self.lookups:
            raise WorkloadError(
                f"{', '.join(names)}: {sum(counts)} look-ups: must be at most {self.lookups}, for "
                "which the program is made"
            )
        starts = np.cumsum([0, *counts])[:-1]
        rows = np.cumsum([0, *(feature.rows for feature in self.features)])[:-1]
        offsets = [given[f"{n}.offsets"] + start for n, start in zip(names, starts, strict=True)]
        packed = {
            "first_rows": rows.astype(np.int32),
            "offsets": np.stack(offsets).astype(np.int32),
            "indices": self._padded([given[f"{n}.indices"] for n in names], np.int32),
            "tables": np.concatenate([given[f"{n}.table"] for n in names]),
        }
        if self.features[0].weighted:
            packed["weights"] = self._padded([given[f"{n}.weights"] for n in names], np.float32)
        return packed

    def outputs(self, results: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """[bags, dim] by feature, from what the nest writes."""
        return dict(zip([each.name for each in self.features], results[RESULT], strict=True))

    def _padded(self, parts: Sequence[np.ndarray], type: Any) -> np.ndarray:
        found = np.zeros(self.lookups, type)
        whole = np.concatenate(parts)
        found[: len(whole)] = whole
        return found


def feature_groups(model: EmbeddingModel, batch: Batch) -> list[FeatureGroup]:
    """All features by their kind, in the order of the first of each.

    Raises ``WorkloadError`` naming a feature whose types are not float32, or that is pruned.
    """
    kinds: dict[object, list[int]] = {}
    for number, feature in enumerate(model.features):
        for field in ("table_type", "output_type"):
            if getattr(feature, field) != "float32":
                raise WorkloadError(
                    f"feature {feature.name}: {field} = {getattr(feature, field)!r}: must be "
                    "float32 in loop nests"
                )
        if feature.pruned:
            raise WorkloadError(
                f"feature {feature.name}: pruned = True: must be false in loop nests"
            )
        kinds.setdefault(feature.kind, []).append(number)
    groups = []
    for numbers in kinds.values():
        lookups = sum(len(batch.features[number].indices) for number in numbers)
        features = tuple(model.features[number] for number in numbers)
        groups.append(FeatureGroup(features, batch.size, 1 << max(lookups - 1, 0).bit_length()))
    return groups
