"""Ways to compute an embedding layer on a GPU, timed alike: see ``ColdStart``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bench.cuda_parts.cold_start import ColdStart
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding
from gnarl.sw.runtime.cuda.task_map import Mapping
from gnarl.sw.workloads.embedding.model import Batch


class LeftOut(GnarlError):
    """Why a contender does not take part."""


class Contender(Protocol):
    """One way."""

    mapping_ms: float
    """Time of thread mapping so far, on the host or the device."""

    def time(self, batch: Batch) -> float:
        """Milliseconds of the batch's kernels, by the device's events."""

    def outputs(self, batch: Batch) -> list[np.ndarray] | None:
        """Outputs of each feature [batch, dim]; ``None`` where they are not compared. Not timed: a
        first run loads kernels."""


@dataclass
class Fused:
    """A fused kernel of this project.

    mapping
        the same for every batch; or made for each, on the ``"device"`` or, ``None``, on the host.
    """

    embedding: GpuEmbedding
    cold: ColdStart
    mapping: Mapping = None
    mapping_ms: float = field(default=0.0, init=False)

    def time(self, batch: Batch, after: Batch | None = None) -> float:
        """The time of a batch. ``after``: the kernel pools that batch first, once caches are
        empty."""
        embedding = self.embedding
        batches = [batch] if after is None else [after, batch]
        staged = [embedding.stage(each, self.mapping) for each in batches]

        def launch() -> None:
            for each in staged:
                embedding.launch(each)

        self.cold.put(embedding.stream.handle, launch)
        run = embedding.collect(staged[-1], fetch=False)
        self.mapping_ms += run.mapping_ms
        return run.kernel_ms

    def outputs(self, batch: Batch) -> list[np.ndarray]:
        buffers = self.embedding.run(batch, self.mapping).outputs
        return list(self.embedding.program.split(buffers).values())


def equal(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> bool:
    """Bit for bit."""
    return all(
        one.shape == other.shape
        and np.array_equal(
            np.ascontiguousarray(one).view(np.uint8), np.ascontiguousarray(other).view(np.uint8)
        )
        for one, other in zip(found, wanted, strict=True)
    )
