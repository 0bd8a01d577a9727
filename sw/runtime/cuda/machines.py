"""A GPU, or its emulation on the CPU, as machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.schedule import MAPPINGS
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding, EmulatedRun
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding, GpuRun, StagedBatch
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.grid import map_batch, tasks_of_plan
from gnarl.sw.runtime.cuda.task_map import Mapping, TaskMap
from gnarl.sw.runtime.machine.machine import Finished
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.workloads.embedding.model import Batch

EmbeddingT = TypeVar("EmbeddingT")


@dataclass(frozen=True)
class EmbeddingJob:
    """A batch to look up.

    tables
        for each feature [rows, dim], not to be changed.
    grid
        the tasks that blocks, or warps, do.
    mapping
        as a launch is given it.
    """

    program: EmbeddingProgram
    tables: Sequence[np.ndarray]
    batch: Batch
    grid: TaskMap
    mapping: Mapping

    def outputs(self, buffers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by name, from the buffers of output types."""
        return self.program.split(buffers)


def chosen_grid(
    program: EmbeddingProgram, batch: Batch, mapping: str | None
) -> tuple[TaskMap, Mapping]:
    """``grid`` and ``mapping`` of a job, by a name of ``MAPPINGS``; by default the first.

    Raises ``WorkloadError`` for other names, and for any where workers are warps.
    """
    if program.kernel.layout is not None:
        if mapping is not None:
            raise WorkloadError(
                f"mapping = {mapping!r}: not supported where workers are warps, whose tasks follow "
                "from the batch's size: must be left out, or workers = blocks"
            )
        plan = program.plan(batch.size)
        return tasks_of_plan(program.kernel.layout, plan), plan
    mapping = mapping or MAPPINGS[0]
    if mapping not in MAPPINGS:
        raise WorkloadError(f"mapping = {mapping!r}: must be one of {', '.join(MAPPINGS)}")
    grid = map_batch(program, batch, mapping)
    return grid, "device" if mapping == "device" else grid


class _EmbeddingMachine(Generic[EmbeddingT]):
    """Keeps the kernel and the tables from one job to the next, as long as these are the same.

    ``make`` brings a program and its tables to the machine.
    """

    _job: EmbeddingJob
    _embedding: EmbeddingT

    def __init__(
        self,
        stages: Stages,
        make: Callable[[EmbeddingProgram, Sequence[np.ndarray]], EmbeddingT],
    ) -> None:
        self._stages = stages
        self._make = make
        self._loaded: tuple[EmbeddingProgram, Sequence[np.ndarray]] | None = None

    def load(self, job: EmbeddingJob) -> None:
        """Tables are known by their arrays: what is changed in place is not loaded again."""
        self._job = job
        if self._holds(job):
            return
        self.close()  # frees its memory first
        with self._stages("build kernel"):
            self._embedding = self._make(job.program, job.tables)
        self._loaded = job.program, job.tables

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded = None
            del self._embedding

    def _holds(self, job: EmbeddingJob) -> bool:
        if self._loaded is None or self._loaded[0] is not job.program:
            return False
        return all(one is other for one, other in zip(self._loaded[1], job.tables, strict=True))


class EmulationMachine(_EmbeddingMachine[EmulatedEmbedding]):
    """Counts tasks, blocks that did them, and what the threads did."""

    _run: EmulatedRun

    def __init__(self, stages: Stages) -> None:
        super().__init__(stages, EmulatedEmbedding)

    def start(self) -> None:
        pass

    def wait(self) -> None:
        self._run = self._embedding.run(self._job.batch, self._job.mapping)

    def read(self) -> Finished:
        outputs = self._job.outputs(self._run.outputs)
        counters = {"tasks": len(self._job.grid.tasks), **asdict(self._run.statistics)}
        return Finished(outputs, None, counters)


class GpuMachine(_EmbeddingMachine[GpuEmbedding]):
    """Counts tasks, blocks that did them, and nanoseconds of the kernel by the device's events.

    Raises ``GpuError`` where there is no GPU of the architecture.
    """

    _staged: StagedBatch
    _run: GpuRun

    def __init__(self, config: CudaConfig, stages: Stages) -> None:
        super().__init__(stages, partial(GpuEmbedding, checked=config.checked))
        require_gpu(config.arch)

    def start(self) -> None:
        self._staged = self._embedding.stage(self._job.batch, self._job.mapping)
        self._embedding.launch(self._staged)

    def wait(self) -> None:
        self._run = self._embedding.collect(self._staged)

    def read(self) -> Finished:
        outputs = self._job.outputs(self._run.outputs)
        counters = {
            "tasks": len(self._job.grid.tasks),
            "blocks": self._staged.blocks,
            "kernel_ns": round(1e6 * self._run.kernel_ms),
        }
        return Finished(outputs, None, counters)
