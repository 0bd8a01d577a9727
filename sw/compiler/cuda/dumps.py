"""What the passes have made, as text."""

from __future__ import annotations

from collections.abc import Sequence

from sw.compiler.cuda.feature_groups import FeatureGroup
from sw.compiler.cuda.schedule import ScheduleSet
from sw.compiler.passes import text_of
from sw.workloads.embedding.model import EmbeddingModel


def group_texts(model: EmbeddingModel, groups: Sequence[FeatureGroup]) -> dict[str, str]:
    """A paragraph a group: its kind, its features, and the schedules that they may have."""
    lines = []
    for number, group in enumerate(groups):
        kind, known = group.example.kind, group.statistics
        lines += [
            f"group {number}: {group.example.rows} rows of {kind.dim} {kind.table_type}, "
            f"{kind.pooling}{', weighted' if kind.weighted else ''}, "
            f"{kind.output_type} outputs, {known.mean:.3g} ± {known.std:.3g} indices a sample, "
            f"none in {1 - known.coverage:.3g} of the samples",
            f"  features {' '.join(model.features[at].name for at in group.features)}",
            *(f"  candidate {schedule}" for schedule in group.estimates.candidates),
        ]
    return {"txt": text_of(lines)}


def schedule_texts(model: EmbeddingModel, chosen: ScheduleSet) -> dict[str, str]:
    """A line a feature."""
    header = (
        f"{chosen.arch}, {chosen.block_threads} threads a block, {chosen.blocks_per_sm} blocks a "
        f"multiprocessor: {chosen.origin}"
    )
    lines = [f"{f.name}: {chosen.schedule(number)}" for number, f in enumerate(model.features)]
    return {"txt": text_of([header, *lines])}
