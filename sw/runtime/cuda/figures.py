"""What reports say of a batch that was looked up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sw.program.program import Program
from sw.runtime.cuda.machines import EmbeddingJob
from sw.runtime.report import Chart, Figures
from sw.runtime.result import Result


def figures(program: Program, result: Result[EmbeddingJob]) -> Figures:
    """Operations are elements of tables that are pooled."""
    (run,) = result.launches
    batch, features = run.job.batch, run.job.program.model.features
    operations = sum(
        len(inputs.indices) * feature.dim
        for feature, inputs in zip(features, batch.features, strict=True)
    )
    lookups = int(batch.counts.sum())
    statistics = {**program.statistics, "batch": batch.size, "lookups": lookups}
    charts = _charts(run.job, run.finished.counters)
    return Figures(operations, statistics=statistics, charts=charts)


def _charts(job: EmbeddingJob, counters: Mapping[str, int]) -> list[Chart]:
    features: Counter[str] = Counter()
    lookups: Counter[str] = Counter()
    for number, inputs in enumerate(job.batch.features):
        name = job.program.schedules.schedule(number).template
        features[name] += 1
        lookups[name] += len(inputs.indices)
    names = sorted(features, key=lambda name: (-features[name], name))
    return [
        Chart("Features by template", [(n, features[n]) for n in names], features.total()),
        Chart("Look-ups by template", [(n, lookups[n]) for n in names], lookups.total()),
        Chart("Launch", list(counters.items()), 0),
    ]
