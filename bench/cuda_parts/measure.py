"""One model on one GPU: every contender on the same batches, in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.cuda_parts.contenders import Contender, Fused, equal
from bench.cuda_parts.memory import ColdCache, copy_bandwidth
from bench.cuda_parts.torch_contenders import TorchContender, embedding_bags, first_line, torchrec
from bench.cuda_parts.traffic import traffic
from bench.cuda_parts.uniform import choose_uniform, uniform_schedules
from bench.lib.records import Metric, Setting
from sw.compiler.cuda import schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.cost_model import choose_schedules
from sw.compiler.cuda.program import build_program
from sw.compiler.cuda.schedule import ScheduleSet
from sw.compiler.cuda.templates import templates
from sw.golden import embedding as golden
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.cuda.gpu.driver import Context
from sw.runtime.cuda.gpu.embedding import DeviceTables, GpuEmbedding, upload
from sw.runtime.cuda.gpu.gpus import GpuInfo, gpus, require_gpu
from sw.runtime.cuda.grid import static_mapping
from sw.workloads.embedding.data import batch_sizes, synthesise_batch, synthesise_tables
from sw.workloads.embedding.model import Batch, EmbeddingModel
from sw.workloads.embedding.recflex import load_model

OURS = "this project"
UNIFORM = "uniform, warp per sample"
BEST_UNIFORM = "best uniform"
SEPARATE = "separate and combine"
ON_DEVICE = "mapped on the GPU"
AVERAGE, MAXIMUM = "static mapping, average", "static mapping, maximum"
TORCH = "embedding_bag, kernels only"
TORCH_EAGER = "embedding_bag"
TORCHREC = "TorchRec"

METRICS = {
    "kernel_ms": Metric("ms", "lower"),
    "speedup": Metric("", "none"),
    "of_bound": Metric("", "higher"),
    "mapping_share": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""Of a contender over all batches. ``speedup``: of this project's kernel over it. ``of_bound``: the
time in which the bytes that must move are moved at the bandwidth of a copy, over its time.
``mapping_share``: time of the thread mapping, on the host or the GPU, over the kernel's."""

MODEL_METRICS = {
    "batches": Metric("", "none"),
    "bound_ms": Metric("ms", "none"),
    "without_cache_ms": Metric("ms", "none"),
    "bandwidth": Metric("GB/s", "none"),
    "multi_hot_share": Metric("", "none"),
}
"""Of a model. ``without_cache_ms``: as ``bound_ms``, if every look-up went to memory."""

_TRIED = 8
"""Batches that decide which uniform schedule is best."""
_AHEAD = 6
_SYNTHESISERS = 3
"""Batches made beforehand, and processes that make them: some hundred MB in all."""


@dataclass(frozen=True)
class Job:
    """A model, and how much of it to measure.

    schedules
        folder of ``MODEL.json`` and ``MODEL.separate.json``, as tuned; what is absent is chosen by
        the cost model, or left out.
    """

    path: Path
    batches: int
    seed: int
    schedules: Path
    device: int = 0

    def configuration(self, gpu: GpuInfo) -> NamedConfiguration:
        """For the GPU."""
        assert gpu.kernel_arch is not None
        return load_configuration(f"cuda_{gpu.kernel_arch.replace('_', '')}")

    def setting(self, gpu: GpuInfo) -> Setting:
        return Setting.of(self.configuration(gpu), self.seed, self.batches)

    @property
    def name(self) -> str:
        return self.path.stem

    def __str__(self) -> str:
        return f"{self.name}, {self.batches} batches"


@dataclass(frozen=True)
class Measured:
    """Values by metric: of the model, and of each contender; and what was left out, and why."""

    model: dict[str, Any]
    contenders: dict[str, dict[str, Any]]
    origin: str
    left_out: list[str]


def measure(job: Job) -> Measured:
    """Raises ``GnarlError`` where there is no such GPU, or a kernel does not compile or run."""
    field = _Field(job)
    model, config = field.model, field.config
    chosen = our_schedules(job.path, job.schedules, model, config)
    first = field.batch(0)
    ours = field.fused(chosen)
    contenders: dict[str, Contender] = {OURS: ours}
    contenders[UNIFORM] = field.fused(uniform_schedules(model, config))
    contenders[BEST_UNIFORM] = field.best_uniform()
    separate = job.schedules / f"{job.name}.separate.json"
    if separate.is_file():
        contenders[SEPARATE] = field.fused(schedule_file.load(separate, model, config))
    else:
        field.left_out.append(f"{SEPARATE}: no {separate}")
    contenders[ON_DEVICE] = Fused(ours.embedding, field.cold, "device")
    for name, strategy in ((AVERAGE, "average"), (MAXIMUM, "maximum")):
        mapping = static_mapping(ours.embedding.program, strategy, job.seed)
        contenders[name] = Fused(ours.embedding, field.cold, mapping)
    contenders |= field.others(first)

    exact = {name: field.check(contender, first) for name, contender in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for each in contenders.values():
        each.mapping_ms = 0.0
    least = without_cache = 0
    for batch in field.batches():
        moved = traffic(model, batch)
        least += moved.least
        without_cache += moved.without_cache
        for name, contender in contenders.items():
            times[name].append(contender.time(batch))

    bound_ms = 1e3 * least / field.bandwidth
    total = {name: float(sum(found)) for name, found in times.items()}
    return Measured(
        {
            "batches": job.batches,
            "bound_ms": bound_ms,
            "without_cache_ms": 1e3 * without_cache / field.bandwidth,
            "bandwidth": 1e-9 * field.bandwidth,
            "multi_hot_share": multi_hot_share(model),
        },
        {
            name: {
                "kernel_ms": total[name],
                "speedup": total[name] / total[OURS],
                "of_bound": bound_ms / total[name],
                "mapping_share": contender.mapping_ms / total[name] or None,
                "bit_exact": exact[name],
            }
            for name, contender in contenders.items()
        },
        chosen.origin,
        field.left_out,
    )


def multi_hot_share(model: EmbeddingModel) -> float:
    """Of the features: those whose samples have other than one index, if any."""
    many = [feature.factors.mean != 1 or feature.factors.std > 0 for feature in model.features]
    return sum(many) / len(many)


def our_schedules(
    path: Path, folder: Path, model: EmbeddingModel, config: CudaConfig
) -> ScheduleSet:
    """As tuned, if the folder has a file for the model at ``path``; else by the cost model."""
    tuned = folder / f"{path.stem}.json"
    if tuned.is_file():
        return schedule_file.load(tuned, model, config)
    return choose_schedules(model, config)


class _Field:
    """What contenders of a model share: the GPU, tables, batches, results to compare with."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.model = load_model(job.path)
        self.gpu = require_gpu_of(job.device)
        config = job.configuration(self.gpu).config
        assert isinstance(config, CudaConfig)
        self.config = config
        self.context = Context(job.device)
        self.bandwidth = copy_bandwidth(self.context, self.gpu)
        self.cold = ColdCache(self.context, self.gpu)
        self.tables = synthesise_tables(self.model, job.seed)
        self.on_device: DeviceTables = upload(self.tables, job.device)
        self.sizes = batch_sizes(job.batches, job.seed)
        self.left_out: list[str] = []
        self._wanted: list[np.ndarray] | None = None

    def fused(self, schedules: ScheduleSet) -> Fused:
        program = build_program(self.model, schedules)
        return Fused(GpuEmbedding(program, self.on_device, device=self.job.device), self.cold)

    def best_uniform(self) -> Fused:
        """Of the uniform choices that which takes the least time for the first batches."""
        batches = [self.batch(number) for number in range(min(_TRIED, self.job.batches))]
        candidates = [self.fused(each) for each in uniform_choices(self.model, self.config)]

        def total(contender: Fused) -> float:
            contender.time(batches[0])  # loads the kernel
            return sum(contender.time(batch) for batch in batches)

        return min(candidates, key=total)

    def others(self, batch: Batch) -> dict[str, Contender]:
        """Those of other projects that are installed, and compute a batch."""
        found: dict[str, Contender] = {}
        makers: tuple[tuple[Callable[..., Any], dict[str, bool]], ...] = (
            (embedding_bags, {TORCH_EAGER: False, TORCH: True}),
            (torchrec, {TORCHREC: False}),
        )
        for make, names in makers:
            try:
                prepare = make(self.model, self.tables, self.job.device)
                for name, replayed in names.items():
                    contender = TorchContender(prepare, self.cold, replayed)
                    contender.time(batch)
                    found[name] = contender
            except Exception as error:  # whatever ails another project is no reason to stop
                missing = ", ".join(name for name in names if name not in found)
                self.left_out.append(f"{missing}: {first_line(error)}")
        return found

    def batch(self, number: int) -> Batch:
        return synthesise_batch(self.model, self.sizes[number], self.job.seed, number)

    def batches(self) -> Iterator[Batch]:
        """All of them; the next are made while one is measured."""
        with ProcessPoolExecutor(_SYNTHESISERS, get_context("spawn")) as pool:
            pending: list[Future[Batch]] = []
            for number, size in enumerate(self.sizes):
                arguments = (self.model, size, self.job.seed, number)
                pending.append(pool.submit(synthesise_batch, *arguments))
                if len(pending) == _AHEAD:
                    yield pending.pop(0).result()
            for each in pending:
                yield each.result()

    def check(self, contender: Contender, batch: Batch) -> bool | None:
        """Whether its outputs are the golden model's; ``None`` where they are not compared."""
        found = contender.outputs(batch)
        if found is None:
            return None
        return equal(found, self._golden(batch))

    def _golden(self, batch: Batch) -> Sequence[np.ndarray]:
        if self._wanted is None:
            self._wanted = golden.embedding_bags(self.model, self.tables, batch)
        return self._wanted


def uniform_choices(model: EmbeddingModel, config: CudaConfig) -> list[ScheduleSet]:
    """One schedule for all features, from each template that has any."""
    found = [
        choose_uniform(model, config, each.candidates, f"uniform: {each.name}")
        for each in templates().values()
    ]
    return [each for each in found if each is not None]


def require_gpu_of(device: int) -> GpuInfo:
    """The GPU of this number, whatever its architecture. Raises ``GpuError`` without one."""
    found = gpus()
    fitting = found[device].kernel_arch if device < len(found) else None
    return require_gpu(fitting or "sm_90", device)
