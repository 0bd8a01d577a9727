"""What steps of a session do, each in a process of its own: one part of the benchmark, one job."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from bench.cuda_parts import bits, card, counters, launches, measure, outputs, tuning
from bench.cuda_parts.contenders import LeftOut
from bench.cuda_parts.protocol import machine
from bench.cuda_parts.session.outcome import (
    DONE,
    FAILED,
    NOT_POSSIBLE,
    UNFINISHED,
    WRONG,
    Outcome,
)
from bench.lib.jobs import TimeLimit
from bench.lib.records import records
from bench.lib.results import Results
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.runtime.machine.tools import cxx

PYTORCH = "torch"
_PYTORCH_ON_GPU = "lib/libtorch_cuda.so"


class Task(Protocol):
    """Work of a step, pickled to the process that does it."""

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        """Does it, until a deadline of ``time.time``. Raises ``GnarlError``."""


def do(task: Task, gpu: GpuInfo, deadline: float) -> Outcome:
    """How a task ends, whatever ails it."""
    try:
        return task(gpu, deadline)
    except TimeLimit as error:
        return Outcome(UNFINISHED, str(error))
    except LeftOut as error:
        return Outcome(NOT_POSSIBLE, _line(error))
    except GnarlError as error:
        return Outcome(FAILED, _line(error))
    except Exception as error:  # one step must not take the others with it
        return Outcome(FAILED, f"{type(error).__name__}: {_line(error)}")


def look_at_card(gpu: GpuInfo, results: Results, seed: int) -> None:
    """Measures the GPU."""
    job = card.Job(gpu, seed)
    values = card.measure(job)
    also = machine(gpu) | job.key()
    results.add(records(card.BENCH, job.labels, values, card.METRICS, job.setting(), also=also))


@dataclass(frozen=True)
class Outputs:
    """Whether a model's outputs are right."""

    job: outputs.Job

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        outputs.measure(replace(self.job, gpu=gpu, deadline=deadline))
        return _right(self.job.results, outputs.BENCH, self.job.source.name)


@dataclass(frozen=True)
class Launches:
    """Fixed cost and slope of a model."""

    job: launches.Job

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        launches.measure(replace(self.job, deadline=deadline))
        return Outcome(DONE)


@dataclass(frozen=True)
class Counters:
    """The profiler's counters of some kernels."""

    jobs: tuple[counters.Job, ...]

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        for job in self.jobs:
            counters.measure(replace(job, gpu=gpu, deadline=deadline))
        return Outcome(DONE)


@dataclass(frozen=True)
class Comparison:
    """A model with some contenders.

    module
        that they need.
    file
        that they need, and what makes it.
    """

    job: measure.Job
    module: str = ""
    file: Path | None = None

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        if self.module and (lacking := _lacking(self.module)):
            return Outcome(NOT_POSSIBLE, lacking)
        if self.file is not None and not self.file.is_file():
            return Outcome(NOT_POSSIBLE, f"{self.file.name} is not there: it was not tuned")
        measured = measure.measure(replace(self.job, deadline=deadline))
        if measured.failed:
            late = time.time() >= deadline
            return Outcome(UNFINISHED if late else FAILED, "; ".join(measured.failed))
        left_out = "; ".join(measured.left_out)
        if len(measured.left_out) >= max(1, len(self.job.contenders)):
            return Outcome(NOT_POSSIBLE, left_out)
        names = (measure.OURS, *self.job.contenders)
        right = _right(self.job.results, self.job.bench, *self.job.labels.values(), names)
        return replace(right, reason="; ".join(filter(None, [right.reason, left_out])))


@dataclass(frozen=True)
class Tuning:
    """A model is tuned, which goes on from its journal."""

    job: tuning.Job
    results: Results

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        job = replace(self.job, gpu=gpu, deadline=deadline)
        job.schedules.mkdir(exist_ok=True)
        values = tuning.measure(job)
        also = machine(gpu) | tuning.key(job)
        self.results.add(
            records(tuning.BENCH, job.labels, values, tuning.METRICS, job.setting(), also=also)
        )
        return Outcome(DONE)


@dataclass(frozen=True)
class Bits:
    """A template with a pooling, against the emulation."""

    template: str
    pooling: str
    seed: int
    results: Results

    def __call__(self, gpu: GpuInfo, deadline: float) -> Outcome:
        compiler, *_ = cxx()
        if shutil.which(compiler) is None:
            return Outcome(NOT_POSSIBLE, f"the emulation needs a C++ compiler: {compiler}")
        job = bits.Job(self.template, self.pooling, gpu, self.seed)
        values = bits.measure(job)
        also = machine(gpu) | bits.key(job)
        self.results.add(
            records(bits.BENCH, job.labels, values, bits.METRICS, job.setting(), also=also)
        )
        return Outcome(DONE if values["equal"] else WRONG)


def _lacking(module: str) -> str:
    """What there is not of a module that must work on a GPU, without the time to import it."""
    for name in dict.fromkeys((PYTORCH, module)):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return f"{name} is not installed"
        if name == PYTORCH and not (Path(spec.origin).parent / _PYTORCH_ON_GPU).is_file():
            return f"{name} is installed for the CPU"
    return ""


def _right(results: Results, bench: str, *labels: str | Sequence[str]) -> Outcome:
    """Whether all results with these labels, the first of a record's, are bit-exact."""
    wrong = [
        str([*record.labels.values()][-1])
        for record in results.load()
        if record.bench == bench
        and (record.metric, record.value) == ("bit_exact", False)
        and all(
            value == wanted if isinstance(wanted, str) else value in wanted
            for value, wanted in zip(record.labels.values(), labels, strict=False)
        )
    ]
    return Outcome(WRONG, f"not bit-exact: {', '.join(wrong)}") if wrong else Outcome(DONE)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
