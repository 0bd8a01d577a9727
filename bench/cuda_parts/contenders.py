"""Ways to compute an embedding layer on a GPU, timed alike: inputs on the device, caches cold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bench.cuda_parts.memory import ColdCache
from sw.runtime.cuda.gpu.embedding import GpuEmbedding, GpuRun
from sw.runtime.cuda.task_map import Mapping
from sw.workloads.embedding.model import Batch


class Contender(Protocol):
    """One way."""

    mapping_ms: float
    """Time of thread mapping so far, on the host or the device."""

    def time(self, batch: Batch) -> float:
        """Milliseconds of the batch's kernels, by the device's events."""

    def outputs(self, batch: Batch) -> list[np.ndarray] | None:
        """For each feature [batch, dim]; ``None`` where they are not compared."""


@dataclass
class Fused:
    """A fused kernel of this project.

    mapping
        the same for every batch; or made for each, on the ``"device"`` or, ``None``, on the host.
    """

    embedding: GpuEmbedding
    cold: ColdCache
    mapping: Mapping = None
    mapping_ms: float = field(default=0.0, init=False)

    def time(self, batch: Batch) -> float:
        run = self._run(batch, fetch=False)
        self.mapping_ms += run.mapping_ms
        return run.kernel_ms

    def outputs(self, batch: Batch) -> list[np.ndarray]:
        buffers = self._run(batch, fetch=True).outputs
        return list(self.embedding.program.split(buffers).values())

    def _run(self, batch: Batch, fetch: bool) -> GpuRun:
        staged = self.embedding.stage(batch, self.mapping)
        self.cold.put(self.embedding.stream.handle)
        self.embedding.launch(staged)
        return self.embedding.collect(staged, fetch=fetch)


def equal(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> bool:
    """Bit for bit."""
    return all(
        one.shape == other.shape
        and np.array_equal(
            np.ascontiguousarray(one).view(np.uint8), np.ascontiguousarray(other).view(np.uint8)
        )
        for one, other in zip(found, wanted, strict=True)
    )
