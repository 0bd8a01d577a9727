"""A machine for jobs of any kind."""

from __future__ import annotations

from typing import Any

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.machines import EmbeddingJob, EmulationMachine, GpuMachine
from gnarl.sw.runtime.cuda.tensor.sampled_product import (
    SampledProductJob,
    SampledProductMachine,
)
from gnarl.sw.runtime.machine.machine import Finished, Machine
from gnarl.sw.runtime.report.stages import Stages

CudaJob = EmbeddingJob | SampledProductJob


class JobMachine:
    """See ``Machine``. Keeps what jobs of one kind loaded until one of the other kind comes.

    Raises ``GpuError`` where the backend is ``cuda`` and there is no GPU of the architecture.
    """

    _machine: Machine[Any] | None = None
    _kind: type[CudaJob] | None = None

    def __init__(self, config: CudaConfig, backend: str, stages: Stages) -> None:
        self._emulated = backend == "emulation"
        if not self._emulated:
            with stages("connect to GPU"):
                require_gpu(config.arch)
        self._config = config
        self._stages = stages

    def load(self, job: CudaJob) -> None:
        kind = SampledProductJob if isinstance(job, SampledProductJob) else EmbeddingJob
        if kind is not self._kind:
            self.close()  # frees its memory first
            self._machine, self._kind = self._make(kind), kind
        self._loaded.load(job)

    def start(self) -> None:
        self._loaded.start()

    def wait(self) -> None:
        self._loaded.wait()

    def read(self) -> Finished:
        return self._loaded.read()

    def close(self) -> None:
        if self._machine is not None:
            self._machine.close()
            self._machine = self._kind = None

    @property
    def _loaded(self) -> Machine[Any]:
        assert self._machine is not None
        return self._machine

    def _make(self, kind: type[CudaJob]) -> Machine[Any]:
        if kind is SampledProductJob:
            return SampledProductMachine(self._stages, emulated=self._emulated)
        if self._emulated:
            return EmulationMachine(self._stages)
        return GpuMachine(self._config, self._stages)
