"""What reports say of a batch that was looked up."""

from __future__ import annotations

from collections import Counter

from gnarl.sw.compiler.cuda.batch_estimate import estimate_batch
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.cuda.machines import EmbeddingJob
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Estimate, Figures


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
    of_features: Counter[str] = Counter()
    of_lookups: Counter[str] = Counter()
    for number, inputs in enumerate(batch.features):
        name = run.job.program.schedules.schedule(number).template
        of_features[name] += 1
        of_lookups[name] += len(inputs.indices)
    names = sorted(of_features, key=lambda name: (-of_features[name], name))
    charts = [
        Chart("Features by template", [(n, of_features[n]) for n in names], of_features.total()),
        Chart("Look-ups by template", [(n, of_lookups[n]) for n in names], of_lookups.total()),
        Chart("Launch", list(run.finished.counters.items()), 0),
    ]
    estimated = estimate_batch(run.job.program, batch)
    parts = zip(features, estimated.of_feature, strict=True)
    estimate = Estimate(
        estimated.latency / 1000,
        estimated.product,
        {feature.name: nanoseconds / 1000 for feature, nanoseconds in parts},
    )
    return Figures(operations, statistics=statistics, charts=charts, estimate=estimate)
