"""The steps of a session, in the order of their worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from bench.cuda_parts import (
    counters,
    end_to_end,
    kernels,
    launches,
    measure,
    outputs,
    scale,
    tuning,
    variants,
)
from bench.cuda_parts.measure import (
    AVERAGE,
    BEST_UNIFORM,
    MAXIMUM,
    ON_DEVICE,
    OURS,
    QUICKLY_TUNED,
    SEPARATE,
    TORCH,
    TORCHREC,
    UNIFORM,
    VARYING,
)
from bench.cuda_parts.model_sources import ManyFeatures, Mlperf, ModelFolder, ModelSource
from bench.cuda_parts.session import supplies, tasks
from bench.cuda_parts.session.state import State
from bench.cuda_parts.session.subjects import ModelSubject, Subject, TemplateSubject
from bench.cuda_parts.session.supplies import BatchItem, Item, KernelItem
from bench.cuda_parts.stored_batches import StoredBatches
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.model import POOLINGS

PROFILER, FBGEMM, PYTORCH = counters.PROFILER, "fbgemm_gpu", tasks.PYTORCH
COMPILER = "C++ compiler"
"""What a step may need that a machine may lack."""

_BITS_FIRST = ("D", "E")
_TIMES_FIRST = ("E", "D", "A", "C", "B")
_COUNTED = ("D", "E", "A")
_COUNTED_UNIFORM = "A"

_MLPERF_BYTES = 2 << 30

_NOWHERE = GpuInfo("", "sm_90", 1, 0, 0)
"""Stands in jobs for the GPU, which is not known before the session has begun."""


@dataclass(frozen=True)
class Plan:
    """How much is measured of what.

    models
        their folders.
    state
        where records go.
    schedules
        folder of this project's schedules, as in ``our_schedules``.
    stored
        batches that are made ahead.
    quick
        whether a little of each kind of step, of the first model, is enough.
    step_seconds
        of a step, at most.
    """

    models: Sequence[Path]
    state: State
    schedules: Path
    stored: StoredBatches
    seed: int
    quick: bool
    step_seconds: float

    @property
    def batches(self) -> int:
        """Batches of varying sizes."""
        return 2 if self.quick else 32

    def ordered(self, first: Sequence[str], only: bool = False) -> list[ModelFolder]:
        """The models, those named ``first`` in their order, then the others, if not ``only``
        these; in a quick session the first of them."""
        models = self.models[:1] if self.quick else self.models
        by_name = {path.stem: path for path in models}
        names = [name for name in first if name in by_name]
        if not only or self.quick:
            names += [name for name in by_name if name not in names]
        return [ModelFolder(by_name[name]) for name in names]


@dataclass(frozen=True)
class Step:
    """A thing to be done that is worth saving by itself.

    name
        by which the state knows it.
    seconds
        that it may take; it is ended then.
    needs
        what it cannot do without: where this is missing for one step, it is for the others.
    items
        what it needs that is made ahead.
    """

    name: str
    subject: Subject
    task: tasks.Task
    seconds: float
    needs: str = ""
    items: tuple[Item, ...] = ()


Steps = Iterator[Step]


def all_steps(plan: Plan) -> list[Step]:
    """All steps, those that are worth most first."""
    kinds: tuple[Callable[[Plan], Steps], ...] = (
        _outputs,
        _launches,
        _counters,
        _kernels,
        _variants,
        _tuning,
        _tuned,
        _long_tail,
        _static,
        _separate,
        _torchrec,
        _scale,
        _end_to_end,
        _more_batches,
        _embedding_bags,
        _bits,
    )
    return [step for kind in kinds for step in kind(plan)]


def _outputs(plan: Plan) -> Steps:
    for source in plan.ordered(_BITS_FIRST):
        sizes = outputs.samples(plan.quick)
        job = outputs.Job(
            source,
            sizes,
            _NOWHERE,
            plan.seed,
            plan.schedules,
            plan.state.results("outputs"),
            None,
            plan.stored,
        )
        items = [*_kernel(plan, source, supplies.OURS), *_batches(plan, source, sizes)]
        yield _step(plan, "outputs", source, tasks.Outputs(job), items=items, seconds=30)


def _launches(plan: Plan) -> Steps:
    for source in plan.ordered(_BITS_FIRST):
        sizes, batches = launches.amount(plan.quick)
        job = launches.Job(
            source,
            sizes,
            batches,
            plan.seed,
            plan.schedules,
            plan.state.results("launches"),
            None,
            plan.stored,
        )
        items = _batches(plan, source, job.batch_sizes())
        yield _step(plan, "launches", source, tasks.Launches(job), items=items)


def _counters(plan: Plan) -> Steps:
    for source in plan.ordered(_COUNTED, only=True):
        for size in counters.samples(plan.quick):
            uniform = source.name == _COUNTED_UNIFORM
            jobs = tuple(
                counters.Job(
                    source,
                    kernel,
                    size,
                    _NOWHERE,
                    plan.seed,
                    plan.schedules,
                    plan.state.results("counters"),
                    None,
                    plan.stored.folder,
                )
                for kernel in (OURS, *([UNIFORM] * uniform))
            )
            name = f"counters of {size}"
            items = _batches(plan, source, [size])
            task = tasks.Counters(jobs)
            yield _step(plan, name, source, task, needs=PROFILER, items=items)


def _kernels(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        items = [
            *_kernel(plan, source, supplies.UNIFORM),
            *_kernel(plan, source, supplies.UNIFORM_CHOICES),
        ]
        yield _compare(plan, "kernels", source, (UNIFORM, BEST_UNIFORM), items)


def _variants(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        job = variants.job_of(
            source, plan.batches, plan.seed, plan.schedules, plan.state.results("variants")
        )
        yield _of_job(plan, "variants", job)


def _tuning(plan: Plan) -> Steps:
    yield from _tune(plan, "two-stage")


def _tuned(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        file = plan.state.schedules / f"{source.name}.json"
        yield _compare(plan, "tuned", source, (QUICKLY_TUNED,), file=file)


def _long_tail(plan: Plan) -> Steps:
    contenders = (UNIFORM, AVERAGE, MAXIMUM)
    sizes, batches = ("16", 1) if plan.quick else (kernels.LONG_TAIL, 4)
    for source in plan.ordered(_TIMES_FIRST):
        yield _compare(
            plan, f"batches of {sizes}", source, contenders, sizes=sizes, batches=batches
        )


def _static(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        yield _compare(plan, "static mappings", source, (AVERAGE, MAXIMUM, ON_DEVICE))


def _separate(plan: Plan) -> Steps:
    """Tuning of each feature alone, and what comes of it."""
    yield from _tune(plan, "separate")
    for source in plan.ordered(_TIMES_FIRST):
        file = plan.state.schedules / f"{source.name}.separate.json"
        yield _compare(plan, "separate", source, (SEPARATE,), file=file)


def _torchrec(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        yield _compare(plan, "TorchRec", source, (TORCHREC,), module=FBGEMM)


def _scale(plan: Plan) -> Steps:
    """MLPerf's tables are smaller than in ``scale``: to make those would take a minute."""
    features, most = scale.amount(plan.quick)
    sources = (ManyFeatures(plan.models[0], features), Mlperf(min(most, _MLPERF_BYTES)))
    for contender, module in ((UNIFORM, ""), (TORCHREC, FBGEMM)):
        for source in sources:
            job = measure.Job(
                scale.BENCH,
                source,
                VARYING,
                1 if plan.quick else 8,
                plan.seed,
                plan.schedules,
                (contender,),
                plan.state.results("scale"),
            )
            yield _of_job(plan, f"scale, {contender}", job, module=module)


def _end_to_end(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        for contender, module in ((UNIFORM, PYTORCH), (TORCHREC, FBGEMM), (TORCH, PYTORCH)):
            job = measure.Job(
                end_to_end.BENCH,
                source,
                VARYING,
                plan.batches,
                plan.seed,
                plan.schedules,
                (contender,),
                plan.state.results("end_to_end"),
                ways=end_to_end.model_ways,
                metrics=end_to_end.METRICS,
            )
            yield _of_job(plan, f"end to end, {contender}", job, module=module)


def _more_batches(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        batches = 3 if plan.quick else 128
        contenders = (UNIFORM, BEST_UNIFORM)
        yield _compare(plan, f"{batches} batches", source, contenders, batches=batches)


def _embedding_bags(plan: Plan) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        yield _compare(plan, "embedding_bag", source, (TORCH,), module=PYTORCH)


def _bits(plan: Plan) -> Steps:
    """All templates, in no quick session: their kernels, and the emulation, compile for long."""
    known = [] if plan.quick else product(templates(), POOLINGS)
    for template, pooling in known:
        task = tasks.Bits(template, pooling, plan.seed, plan.state.results("bits"))
        subject = TemplateSubject(template, pooling, plan.seed)
        name = f"bits: {template}, {pooling}"
        yield Step(name, subject, task, plan.step_seconds, COMPILER)


def _tune(plan: Plan, strategy: str) -> Steps:
    for source in plan.ordered(_TIMES_FIRST):
        results = plan.state.results("tuning")
        job = tuning.Job(
            source.path,
            strategy,
            tuning.QUICK,
            _NOWHERE,
            plan.seed,
            plan.state.schedules,
            True,
            None,
        )
        yield _step(plan, f"tuning, {strategy}", source, tasks.Tuning(job, results))


def _compare(
    plan: Plan,
    kind: str,
    source: ModelSource,
    contenders: tuple[str, ...],
    items: Sequence[Item] = (),
    *,
    sizes: str = VARYING,
    batches: int = 0,
    module: str = "",
    file: Path | None = None,
) -> Step:
    """Contenders for the embedding layer."""
    job = measure.Job(
        kernels.BENCH,
        source,
        sizes,
        batches or plan.batches,
        plan.seed,
        plan.schedules,
        contenders,
        plan.state.results("kernels"),
        tuned=plan.state.schedules,
    )
    return _of_job(plan, kind, job, items, module=module, file=file)


def _of_job(
    plan: Plan,
    kind: str,
    job: measure.Job,
    items: Sequence[Item] = (),
    *,
    module: str = "",
    file: Path | None = None,
) -> Step:
    task = tasks.Comparison(replace(job, stored=plan.stored), module, file)
    batches = _batches(plan, job.source, job.batch_sizes())
    items = [*_kernel(plan, job.source, supplies.OURS), *items, *batches]
    return _step(plan, kind, job.source, task, needs=module, items=items)


def _step(
    plan: Plan,
    kind: str,
    source: ModelSource,
    task: tasks.Task,
    *,
    needs: str = "",
    items: Sequence[Item] = (),
    seconds: float = 60.0,
) -> Step:
    return Step(
        f"{kind}: {source.name}",
        ModelSubject(source, plan.schedules),
        task,
        min(seconds, plan.step_seconds),
        needs,
        tuple(items),
    )


def _batches(plan: Plan, source: ModelSource, sizes: Sequence[int]) -> list[Item]:
    return [BatchItem(source, size, plan.seed, number) for number, size in enumerate(sizes)]


def _kernel(plan: Plan, source: ModelSource, which: str) -> list[Item]:
    return [KernelItem(source, plan.schedules, which)]
