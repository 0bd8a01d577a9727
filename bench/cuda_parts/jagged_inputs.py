"""A batch as TorchRec has it, on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.cuda_parts.traffic import INDEX
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel


@dataclass(frozen=True)
class JaggedInputs:
    """Does as TorchRec's ``KeyedJaggedTensor``, which need not be installed; without weights.

    Indices, offsets and lengths are int32, as this project's kernels have them.
    """

    names: list[str]
    counts: list[int]
    indices: Any
    bounds: Any
    sizes: Any

    @classmethod
    def of(cls, model: EmbeddingModel, batch: Batch, device: str) -> JaggedInputs:
        """The inputs on a device of PyTorch's."""
        import torch

        lengths = np.concatenate([np.diff(each.offsets) for each in batch.features])
        indices = np.concatenate([each.indices for each in batch.features])
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        return cls(
            [feature.name for feature in model.features],
            [len(each.indices) for each in batch.features],
            *(
                torch.from_numpy(array.astype(INDEX)).to(device)
                for array in (indices, bounds, lengths)
            ),
        )

    def keys(self) -> list[str]:
        return self.names

    def values(self) -> Any:
        return self.indices

    def offsets(self) -> Any:
        return self.bounds

    def lengths(self) -> Any:
        return self.sizes

    def length_per_key(self) -> list[int]:
        return self.counts

    def weights_or_none(self) -> None:
        return None
