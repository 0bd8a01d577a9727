"""Batches that are made ahead, by other processes than the one that measures."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

from bench.cuda_parts.traffic import Traffic, traffic
from gnarl.sw.program.cache import digest_of
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel


@dataclass(frozen=True)
class StoredBatches:
    """Batches in a folder, each with what it must move."""

    folder: Path

    def path(self, model: EmbeddingModel, size: int, seed: int, number: int) -> Path:
        """The file of a batch."""
        digest = digest_of(model.digest, str(size), str(seed), str(number))
        return self.folder / f"{digest}.pickle"

    def make(self, model: EmbeddingModel, size: int, seed: int, number: int) -> None:
        """Makes a batch, unless it is there."""
        path = self.path(model, size, seed, number)
        if path.is_file():
            return
        work = path.with_suffix(".work")
        made = synthesise(model, size, seed, number)
        work.write_bytes(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
        work.rename(path)

    def load(
        self, model: EmbeddingModel, size: int, seed: int, number: int
    ) -> tuple[Batch, Traffic]:
        """A batch, which is made now unless it is there."""
        path = self.path(model, size, seed, number)
        if not path.is_file():
            return synthesise(model, size, seed, number)
        batch, moved = pickle.loads(path.read_bytes())
        return batch, moved


def synthesise(model: EmbeddingModel, size: int, seed: int, number: int) -> tuple[Batch, Traffic]:
    """A batch, and what it must move."""
    batch = synthesise_batch(model, size, seed, number)
    return batch, traffic(model, batch)
