"""Sampled products as jobs, on a GPU or its emulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gnarl.sw.compiler.cuda.tensor.sampled_product import SampledOperands, SampledProductProgram
from gnarl.sw.runtime.cuda.emulation.sampled_product import EmulatedSampledProduct
from gnarl.sw.runtime.cuda.gpu.sampled_product import GpuSampledProduct
from gnarl.sw.runtime.machine.machine import Finished
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.tensor import Tensor


class Kernel(Protocol):
    """A kernel that is ready to run."""

    def run(self, operands: SampledOperands) -> tuple[np.ndarray, Mapping[str, int]]:
        """Values of the entries, [entries] of the expression's format, and counters."""


@dataclass(frozen=True)
class SampledProductJob:
    """Operands, and where the result's entries are.

    coordinates, shape
        of the result: int64 [entries, 2], in the order of the operands' entries.
    """

    program: SampledProductProgram
    operands: SampledOperands
    coordinates: np.ndarray
    shape: tuple[int, ...]

    def outputs(self, values: np.ndarray) -> dict[str, Tensor]:
        """Outputs by name, from the values of entries."""
        order = ascending_order(self.coordinates)
        result = Tensor(self.shape, self.coordinates[order], values[order])
        return {self.program.expression.statement.result.tensor: result}


class SampledProductMachine:
    """Keeps the kernel from one job to the next, as long as it is of the same program."""

    _job: SampledProductJob
    _kernel: Kernel

    def __init__(self, stages: Stages, *, emulated: bool) -> None:
        self._stages = stages
        self._make = EmulatedSampledProduct if emulated else GpuSampledProduct
        self._program: SampledProductProgram | None = None

    def load(self, job: SampledProductJob) -> None:
        self._job = job
        if self._program is not job.program:
            with self._stages("build kernel"):
                self._kernel = self._make(job.program)
            self._program = job.program

    def start(self) -> None:
        pass

    def wait(self) -> None:
        self._values, self._counters = self._kernel.run(self._job.operands)

    def read(self) -> Finished:
        return Finished(self._job.outputs(self._values), None, self._counters)

    def close(self) -> None:
        if self._program is not None:
            self._program = None
            del self._kernel
