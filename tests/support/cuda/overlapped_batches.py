"""Batches on a GPU, each staged while the kernel of the one before works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding, GpuRun
from gnarl.sw.runtime.cuda.task_map import Mapping
from gnarl.sw.workloads.embedding.model import Batch


def run_overlapped(
    embedding: GpuEmbedding, batches: Iterable[Batch], mapping: Mapping = None
) -> Iterator[GpuRun]:
    before = None
    for batch in batches:
        staged = embedding.stage(batch, mapping)
        embedding.launch(staged)
        if before is not None:
            yield embedding.collect(before)
        before = staged
    if before is not None:
        yield embedding.collect(before)
