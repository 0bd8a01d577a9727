"""Measures on this machine's GPUs what a tuner asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.tune.interference import TuningKernel, tuning_kernel
from gnarl.sw.compiler.cuda.tune.measurer import (
    DeviceFailure,
    FusedJob,
    Job,
    JobFailure,
    LocalJob,
    job_key,
)
from gnarl.sw.runtime.cuda.gpu.driver import Context, GpuError, call
from gnarl.sw.runtime.cuda.gpu.embedding import (
    DeviceTables,
    GpuEmbedding,
    GpuRun,
    compile_program,
    upload,
)
from gnarl.sw.runtime.cuda.gpu.gpus import gpus, require_gpu, runs_on
from gnarl.sw.runtime.cuda.task_map import TaskMap, map_tasks
from gnarl.sw.workloads.embedding.data import synthesise_tables
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel

_PASSES = 3
"""Times that a fused kernel goes through all batches; the fastest counts."""


def find_measurer(
    model: EmbeddingModel, config: CudaConfig, batches: Sequence[Batch]
) -> GpuMeasurer | None:
    """A measurer on all GPUs that run kernels of the configuration's architecture.

    ``None`` where this machine has no GPU. Raises ``GpuError`` where those that it has do not fit.
    """
    available = gpus()
    if not available:
        return None
    fitting = [number for number, gpu in enumerate(available) if runs_on(config.arch, gpu.arch)]
    require_gpu(config.arch, fitting[0] if fitting else 0)
    return GpuMeasurer(model, batches, fitting)


class GpuMeasurer:
    """``Measurer`` on the GPUs with these numbers, with tables of synthesised values.

    Kernels are compiled ahead on all cores. To be used in a ``with`` block.
    """

    def __init__(
        self, model: EmbeddingModel, batches: Sequence[Batch], numbers: Sequence[int]
    ) -> None:
        self._model = model
        self._batches = [batch for batch in batches if batch.size]
        self._numbers = tuple(numbers)
        self._values = synthesise_tables(model)
        self._tables: dict[int, DeviceTables] = {}
        self._compilers = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "compile")
        self._compiled: dict[str, Future[None]] = {}

    def __enter__(self) -> GpuMeasurer:
        return self

    def __exit__(self, *_: object) -> None:
        """Compiles nothing more."""
        self._compilers.shutdown(wait=False, cancel_futures=True)

    def devices(self) -> int:
        return len(self._numbers)

    def products(self) -> str:
        found = gpus()
        return ", ".join(sorted({found[number].name for number in self._numbers}))

    def prepare(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._compiled[job_key(job)] = self._compilers.submit(self._compile, job)

    def local(self, device: int, job: LocalJob) -> list[float]:
        with self._failures(device):
            kernel, number = self._kernel(job), self._numbers[device]
            copies = upload([self._values[job.feature]] * kernel.candidates, number)
            shared = self._tables_on(number)
            padding = [shared.addresses[source] for source in kernel.sources[kernel.candidates :]]
            tables = DeviceTables([*copies.addresses, *padding], (copies, shared))
            embedding = GpuEmbedding(kernel.program, tables, device=number)
            _launch(embedding, kernel, self._batches[0], timed=True)  # warms up
            times = np.zeros((2, len(kernel.sources)))
            for batch in self._batches:
                times += _launch(embedding, kernel, batch, timed=True)[1]
            return [float(time) for time in times[:, : kernel.candidates].flat]

    def fused(self, device: int, job: FusedJob) -> float:
        with self._failures(device):
            kernel, number = self._kernel(job), self._numbers[device]
            shared = self._tables_on(number)
            tables = DeviceTables([shared.addresses[source] for source in kernel.sources], shared)
            embedding = GpuEmbedding(kernel.program, tables, device=number)
            _launch(embedding, kernel, self._batches[0])  # warms up
            passes = [
                sum(_launch(embedding, kernel, batch)[0].kernel_ms for batch in self._batches)
                for _ in range(_PASSES)
            ]
            return 1e6 * min(passes)

    def _compile(self, job: Job) -> None:
        """Compiles a job's kernel into the cache of compiled kernels."""
        kernel = tuning_kernel(self._model, job)
        compile_program(kernel.program, timed=isinstance(job, LocalJob))

    def _kernel(self, job: Job) -> TuningKernel:
        """The kernel of a job, when it has been compiled."""
        if (compiled := self._compiled.pop(job_key(job), None)) is not None:
            compiled.result()
        return tuning_kernel(self._model, job)

    def _tables_on(self, number: int) -> DeviceTables:
        """The model's tables, copied to the device once."""
        if number not in self._tables:
            self._tables[number] = upload(self._values, number)
        return self._tables[number]

    @contextmanager
    def _failures(self, device: int) -> Iterator[None]:
        """Tells apart failures of kernels and of devices, lost contexts included."""
        try:
            yield
        except GpuError as error:
            try:
                with Context(self._numbers[device]):
                    call("cuCtxSynchronize")
            except GpuError:
                raise DeviceFailure(str(error)) from error
            raise JobFailure(str(error)) from error
        except GnarlError as error:
            raise JobFailure(str(error)) from error


def _launch(
    embedding: GpuEmbedding, kernel: TuningKernel, batch: Batch, *, timed: bool = False
) -> tuple[GpuRun, np.ndarray]:
    """A launch, and for timed ones sum and maximum of each feature's block times, in cycles; where
    workers are warps, of its tasks' times.

    Blocks of all features are mixed, where candidates are to be compared, so that all of them run
    in the same company. Warps take tasks in an order of their own.
    """
    inputs = kernel.batch(batch)
    mapping: TaskMap | None = None
    if kernel.program.kernel.layout is None:
        order = "interleaved" if kernel.candidates else "contiguous"
        mapping = map_tasks(kernel.program.block_counts, batch.size, inputs.counts, order)
    staged = embedding.stage(inputs, mapping)
    embedding.launch(staged, timed=timed)
    run = embedding.collect(staged, fetch=False)
    times = np.zeros((2, len(kernel.sources)))
    if run.block_times is not None:
        spans = (run.block_times["end"] - run.block_times["begin"]).astype(float)
        done = mapping or staged.planned
        assert done is not None
        np.add.at(times[0], done.tasks["feature"], spans)
        np.maximum.at(times[1], done.tasks["feature"], spans)
    return run, times
