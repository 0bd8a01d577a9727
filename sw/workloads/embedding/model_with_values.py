"""Models that bring their tables and a batch along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnarl.sw.workloads.embedding.inputs import Inputs, file_inputs, refuse_batch
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel


@dataclass(frozen=True, eq=False)
class ModelWithValues:
    """A model with values of its own. ``tables``: for each feature [rows, dim]."""

    model: EmbeddingModel
    tables: Sequence[np.ndarray]
    batch: Batch

    def inputs(self, values: Path | None, batch: int | None) -> Inputs:
        """Its own, but for what the file ``values`` has. Raises ``WorkloadError`` for a size of the
        ``batch``."""
        if values is not None:
            return file_inputs(self.model, values, batch, self.tables)
        refuse_batch(batch, self.model.name, self.batch)
        return self.tables, self.batch
