"""One model on one GPU: every contender on the same batches, each by turns with this project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from bench.cuda_parts.contenders import Contender, Fused, LeftOut
from bench.cuda_parts.field import Field, configuration_for, our_schedules
from bench.cuda_parts.model_sources import ModelSource
from bench.cuda_parts.protocol import key_of, machine
from bench.cuda_parts.stored_batches import StoredBatches
from bench.cuda_parts.torch_contenders import embedding_bags, torchrec
from bench.cuda_parts.uniform import uniform_schedules
from bench.lib.jobs import TimeLimit, require_time
from bench.lib.records import Metric, Setting, records
from bench.lib.results import Results
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.runtime.cuda.grid import static_mapping
from gnarl.sw.workloads.embedding.data import batch_sizes
from gnarl.sw.workloads.embedding.model import EmbeddingModel

OURS = "this project"
UNIFORM = "uniform, warp per sample"
BEST_UNIFORM = "best uniform"
SEPARATE = "separate and combine"
QUICKLY_TUNED = "quick tuning"
ON_DEVICE = "mapped on the GPU"
AVERAGE, MAXIMUM = "static mapping, average", "static mapping, maximum"
TORCH = "embedding_bag"
TORCHREC = "TorchRec"

VARYING = "varying"
"""Batches of the sizes that ``batch_sizes`` gives (RecFlex, VI-A); others have one size."""

METRICS = {
    "kernel_ms": Metric("ms", "lower"),
    "speedup": Metric("", "none"),
    "of_bound": Metric("", "higher"),
    "mapping_share": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
    "clock_mhz": Metric("MHz", "none"),
}
"""Metrics of a contender over all batches. ``speedup``: of this project's kernel over it, timed by
turns. ``of_bound``: ``Limits.bound_ms`` over its time. ``mapping_share``: time of the thread
mapping, on the host or the GPU, over the kernel's. ``clock_mhz``: behind the last batch."""

MODEL_METRICS = {
    "batches": Metric("", "none"),
    "samples": Metric("", "none"),
    "bound_ms": Metric("ms", "none"),
    "without_cache_ms": Metric("ms", "none"),
    "bandwidth": Metric("GB/s", "none"),
    "l2_bandwidth": Metric("GB/s", "none"),
    "empty_us": Metric("µs", "none"),
    "multi_hot_share": Metric("", "none"),
}
"""Metrics of a model and its batches. ``without_cache_ms``: if every look-up went to memory."""


Ways = Callable[["Job", Field, ScheduleSet], dict[str, Callable[[], Contender]]]
"""Contenders of a job, on its field, with this project's schedules: how each contender is made, by
name. Some take long, which is for when it is their turn."""


@dataclass(frozen=True)
class Job:
    """A model with batches of a kind, and how much of it to measure.

    bench
        of the records.
    sizes
        ``VARYING``, or the samples of each batch.
    schedules
        folder of ``MODEL.json`` and ``MODEL.separate.json``, as tuned; what is absent is chosen by
        the cost model, or left out.
    contenders
        those of ``ways`` that take part.
    ways
        what each contender is made by, this project first.
    metrics
        those of ``METRICS`` that are recorded.
    results
        to which records are added.
    deadline
        of ``time.time``.
    stored
        batches that others have made.
    tuned
        folder of what contenders were tuned to, if it is another than ``schedules``.
    """

    bench: str
    source: ModelSource
    sizes: str
    batches: int
    seed: int
    schedules: Path
    contenders: tuple[str, ...]
    results: Results
    deadline: float | None = None
    ways: Ways = field(default_factory=lambda: layer_ways)
    metrics: tuple[str, ...] = tuple(METRICS)
    stored: StoredBatches | None = None
    tuned: Path | None = None

    @property
    def labels(self) -> dict[str, str]:
        return {"model": self.source.name, "sizes": self.sizes}

    def batch_sizes(self) -> list[int]:
        if self.sizes == VARYING:
            return batch_sizes(self.batches, self.seed)
        return [int(self.sizes)] * self.batches

    def setting(self, gpu: GpuInfo) -> Setting:
        return Setting.of(configuration_for(gpu), self.seed, self.batches)

    def __str__(self) -> str:
        return f"{self.source.name}, {self.batches} batches, {self.sizes}"


@dataclass
class Measured:
    """What was left out, and what failed: whose, and why."""

    left_out: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def measure(job: Job) -> Measured:
    """Adds records to the job's results: of the model, then of each contender when it is measured.

    Those that are there are not measured again; without this project none is. Raises
    ``GnarlError`` where there is no GPU.
    """
    model = job.source.load()
    field = Field(model, job.batch_sizes(), job.seed, stored=job.stored)
    setting = job.setting(field.gpu)
    chosen = our_schedules(job.source.name, job.schedules, model, field.config)
    key = key_of(field.gpu, build_program(model, chosen))
    also = machine(field.gpu) | key
    labels = job.labels | {"schedules": chosen.origin}
    of_model = f"{job.bench}.models"
    if not job.results.has(of_model, labels, setting, key):
        values = _of_model(field)
        job.results.add(records(of_model, labels, values, MODEL_METRICS, setting, also=also))
    measured = Measured()
    ways = job.ways(job, field, chosen)
    ours: Contender | None = None
    for name in (OURS, *job.contenders):
        labels = job.labels | {"kernel": name}
        known = job.results.has(job.bench, labels, setting, key)
        if known and name != OURS:
            continue
        try:
            require_time(job.deadline)
            contender = ways[name]()
            ours = ours or contender
            if not known:
                values = _compare(field, ours, contender, job.deadline)
        except GnarlError as error:
            kind = measured.left_out if isinstance(error, LeftOut) else measured.failed
            kind.append(f"{name}: {error}")
            if ours is None or isinstance(error, TimeLimit):
                break
            continue
        if not known:
            values = {metric: values[metric] for metric in job.metrics}
            job.results.add(records(job.bench, labels, values, METRICS, setting, also=also))
    return measured


def multi_hot_share(model: EmbeddingModel) -> float:
    """The share of features whose samples may have other than one index."""
    many = [feature.factors.mean != 1 or feature.factors.std > 0 for feature in model.features]
    return sum(many) / len(many)


def layer_ways(job: Job, field: Field, chosen: ScheduleSet) -> dict[str, Callable[[], Contender]]:
    """How each contender is made that computes the embedding layer."""

    tuned = job.tuned or job.schedules

    @cache
    def ours() -> Fused:
        return field.fused(chosen)

    @cache
    def mapped() -> Fused:
        """Ours, unless its workers are warps, which map nothing: then blocks are."""
        if ours().embedding.program.kernel.layout is None:
            return ours()
        blocks = replace(field.config, workers="blocks")
        return field.fused(choose_schedules(field.model, blocks))

    def static(strategy: str) -> Fused:
        embedding = mapped().embedding
        mapping = static_mapping(embedding.program, strategy, job.seed)
        return Fused(embedding, field.cold, mapping)

    return {
        OURS: ours,
        UNIFORM: lambda: field.fused(uniform_schedules(field.model, field.config)),
        ON_DEVICE: lambda: Fused(mapped().embedding, field.cold, "device"),
        AVERAGE: lambda: static("average"),
        MAXIMUM: lambda: static("maximum"),
        SEPARATE: lambda: field.tuned(tuned / f"{job.source.name}.separate.json"),
        QUICKLY_TUNED: lambda: field.tuned(tuned / f"{job.source.name}.json"),
        TORCHREC: lambda: field.foreign(torchrec),
        TORCH: lambda: field.foreign(embedding_bags),
        BEST_UNIFORM: field.best_uniform,
    }


def _of_model(field: Field) -> dict[str, Any]:
    moved, limits = [each for _, each in field.batches], field.limits
    return {
        "batches": len(moved),
        "samples": sum(batch.size for batch, _ in field.batches),
        "bound_ms": _bound_ms(field),
        "without_cache_ms": 1e3 * sum(each.without_cache for each in moved) / limits.memory,
        "bandwidth": 1e-9 * limits.memory,
        "l2_bandwidth": 1e-9 * limits.l2,
        "empty_us": 1e3 * limits.empty_ms,
        "multi_hot_share": multi_hot_share(field.model),
    }


def _bound_ms(field: Field) -> float:
    return sum(field.limits.bound_ms(moved) for _, moved in field.batches)


def _compare(
    field: Field, ours: Contender, contender: Contender, deadline: float | None
) -> dict[str, Any]:
    """Values of ``METRICS``. Raises ``TimeLimit`` when the deadline has passed."""
    exact = field.check(contender)
    contender.mapping_ms = 0.0
    ours_ms = total = 0.0
    for batch, _ in field.batches:
        require_time(deadline)
        if contender is not ours:
            ours_ms += ours.time(batch)
        total += contender.time(batch)
    return {
        "kernel_ms": total,
        "speedup": total / (ours_ms or total),
        "of_bound": _bound_ms(field) / total,
        "mapping_share": contender.mapping_ms / total or None,
        "bit_exact": exact,
        "clock_mhz": field.clock_mhz(),
    }
