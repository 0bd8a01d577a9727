"""What executes: from programs and inputs to outputs that are right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.host_step import HostStep
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import INTEGER_TYPES, REAL_TYPES, Array
from gnarl.sw.runtime.machine.board.serial_address import SerialAddress
from gnarl.sw.runtime.machine.machine import JobT, LaunchRun, Machine
from gnarl.sw.runtime.machine.waves.view import Unit
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.report.vanished import Given, elements
from gnarl.sw.runtime.report.verify import Verification, compare
from gnarl.sw.runtime.target.compiler import ConfigT
from gnarl.sw.runtime.target.generator import Generator, Hardware


class Executor(ABC, Generic[ConfigT, JobT]):
    """The third part of a target.

    backends
        what can run its programs; the first is the default, see ``default_backend``.
    limits_cycles
        whether runs of more than so many cycles can be ended, see ``limited``.
    generator
        of its hardware, where it is generated.
    """

    backends: ClassVar[tuple[str, ...]]
    limits_cycles: ClassVar[bool] = False
    generator: Generator[Any] | None = None

    def default_backend(self) -> str:
        """The backend where none is asked for."""
        return self.backends[0]

    def bind(self, program: Program, inputs: object) -> dict[str, Array]:
        """The program's input tensors, from any form that the target's users have.

        By default arrays, or what NumPy takes for such, by name. Raises ``WorkloadError`` for
        values that are missing or do not fit.
        """
        return arrays_by_name(inputs)

    def given(self, program: Program, inputs: object) -> Iterator[Given]:
        """All numbers that a run is given, from what ``bind`` takes, with the formats they go to.

        By default those of the program's inputs, and of formats of ``gnarl.hw.lib.formats`` only.
        """
        tensors = self.bind(program, inputs)
        for spec in program.inputs:
            if spec.type not in (*INTEGER_TYPES, *REAL_TYPES):
                yield elements(spec, tensors[spec.name])

    @abstractmethod
    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> JobT:
        """What a machine is given for a launch. Raises ``WorkloadError``, ``CapacityError``."""

    def limited(self, job: JobT, max_cycles: int | None) -> JobT:
        """The job, which ends with an error if it takes more than ``max_cycles``, at least 1; by
        default more than any right program of its kind takes. Called with a number only where
        ``limits_cycles``."""
        return job

    def sampled(self, job: JobT) -> JobT:
        """The job, with counters that a picture needs to be read in its course; by default none."""
        return job

    def check(self, job: JobT) -> None:
        """Raises ``GnarlError`` for what is sure to stop a job, before any machine is built."""

    def made(self, step: HostStep, tensors: Mapping[str, Array]) -> Array:
        """What the host makes of tensors between launches. Raises ``WorkloadError``.

        By default an error, as programs have no steps.
        """
        raise TypeError(step)

    @abstractmethod
    def machine(
        self,
        hardware: Hardware[ConfigT],
        backend: str,
        *,
        waves: Path | None,
        port: SerialAddress | None,
        stages: Stages,
    ) -> Machine[JobT]:
        """A machine of one configuration.

        waves
            file for its signals, if it has any.
        port
            where the board is, for backend ``fpga`` and no other.
        """

    @property
    def units(self) -> Sequence[Unit] | None:
        """What views show of waves in FST format; ``None`` where no machine writes such."""
        return None

    @abstractmethod
    def golden(self, program: Program, tensors: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs that the program must have, bit for bit."""

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs of the workload in float64; the golden model's where nothing is rounded."""
        return self.golden(program, tensors)

    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification:
        """Compares outputs with the golden model and with float64."""
        golden = self.golden(program, tensors)
        return compare(program.outputs, outputs, golden, self.reference(program, tensors))

    def diagnose(
        self, hardware: Hardware[ConfigT], run: LaunchRun[JobT], machine: Machine[JobT]
    ) -> str:
        """Why the launch that ``machine`` ran last gave wrong outputs; empty if unknown."""
        return ""

    def cause(self, program: Program, tensors: Mapping[str, Array]) -> str:
        """What in a workload makes machines stop with an error; empty if unknown."""
        return ""


def arrays_by_name(inputs: object) -> dict[str, Array]:
    """Arrays, or what NumPy takes for such, by name, as arrays. Raises ``WorkloadError``."""
    if not isinstance(inputs, Mapping):
        raise WorkloadError(f"inputs are a {type(inputs).__name__}: must be arrays by name")
    return {
        name: value if hasattr(value, "coordinates") else np.asarray(value)
        for name, value in inputs.items()
    }
