"""What the passes have made, as text."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.compiler.cuda.feature_groups import BlockSize
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.passes import text_of
from gnarl.sw.workloads.embedding.model import EmbeddingModel


def group_texts(model: EmbeddingModel, sizes: Sequence[BlockSize]) -> dict[str, str]:
    """A paragraph a group: its kind, its features, and the schedules that they may have with each
    size of blocks."""
    lines = []
    for number, of_sizes in enumerate(zip(*(size.groups for size in sizes), strict=True)):
        group = of_sizes[0]
        kind, known = group.example.kind, group.statistics
        lines += [
            f"group {number}: {group.example.rows} rows of {kind.dim} {kind.table_type}, "
            f"{kind.pooling}{', weighted' if kind.weighted else ''}, "
            f"{kind.output_type} outputs, {known.mean:.3g} ± {known.std:.3g} indices a sample, "
            f"none in {1 - known.coverage:.3g} of the samples",
            f"  features {' '.join(model.features[at].name for at in group.features)}",
        ]
        for size, sized in zip(sizes, of_sizes, strict=True):
            threads = f"{size.config.block_threads} threads a block"
            lines += [f"  {threads}: {schedule}" for schedule in sized.estimates.candidates]
    return {"txt": text_of(lines)}


def schedule_texts(model: EmbeddingModel, chosen: ScheduleSet) -> dict[str, str]:
    """A line a feature."""
    header = (
        f"{chosen.arch}, {chosen.block_threads} threads a block, {chosen.blocks_per_sm} blocks a "
        f"multiprocessor: {chosen.origin}"
    )
    lines = [f"{f.name}: {chosen.schedule(number)}" for number, f in enumerate(model.features)]
    return {"txt": text_of([header, *lines])}
