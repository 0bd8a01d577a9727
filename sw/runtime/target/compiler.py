"""What compiles: from workloads to programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import ConfigError, WorkloadError
from gnarl.sw.compiler.passes import PassResult, Trace
from gnarl.sw.program.program import Program
from gnarl.sw.program.schema import Schema
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.target.generator import Hardware
from gnarl.sw.runtime.target.reader import WorkloadT
from gnarl.sw.runtime.target.unsupported import refuse_named

ConfigT = TypeVar("ConfigT", bound=TargetConfig)


class Compiler(ABC, Generic[ConfigT, WorkloadT]):
    """The second part of a target.

    filled_in
        fields of configurations that are part of the program, where a configuration leaves them
        ``None`` or empty.
    changeable
        options of ``compile`` that a compiled program can be given anew.
    """

    filled_in: ClassVar[tuple[str, ...]] = ()
    changeable: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Schema of this target's program sections."""

    @property
    @abstractmethod
    def passes(self) -> tuple[PassResult[Any, Any], ...]:
        """Passes of its compiler, in order."""

    def resolve(self, config: ConfigT) -> ConfigT:
        """``config`` with fields that follow from others by compilation."""
        return config

    def differences(self, program: Program, config: ConfigT) -> list[str]:
        """Why a program does not run on ``config``, a text each; none if it does."""
        return program.differences(config, self.filled_in)

    def warm_up(self) -> None:
        """Whatever the compiler needs to be done once in a process."""

    @abstractmethod
    def compile(
        self,
        workload: WorkloadT,
        config: ConfigT,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        """A program for ``config``; ``trace.after`` is called with each pass's result.

        Raises ``WorkloadError``, and ``CapacityError`` that names what ``config`` has too little
        of.
        """

    def changed(self, program: Program, config: ConfigT, **options: Any) -> Program:
        """A compiled program with other values of some of ``changeable``. Raises
        ``WorkloadError``."""
        return program

    def lowered(self, program: Program, inputs: object, config: ConfigT, stages: Stages) -> Program:
        """What runs on ``config`` for such inputs, as the executor's ``bind`` takes them: of a
        program that leaves that to a run, by default of none, the one for the inputs' shapes.

        Raises ``WorkloadError``, ``CapacityError``.
        """
        return program

    def at_sizes(
        self,
        program: Program,
        config: ConfigT,
        tensors: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> Program:
        """What of a program's file runs on ``config`` for arrays of such files and sizes, to be
        listed. Raises ``WorkloadError``, by default for any, and ``CapacityError``."""
        refuse_named("--tensor", tensors, program.target)
        refuse_named("--size", sizes, program.target)
        return program

    def optimise(
        self, text: str, file: str, passes: Sequence[str], config: ConfigT, zeros: Sequence[str]
    ) -> str:
        """MLIR text, called ``file`` in messages, behind ``passes`` of the compiler, by name.

        ``zeros``: arrays that are 0 before the run. Raises ``WorkloadError``.
        """
        raise WorkloadError(f"{file}: MLIR text is not supported by target {config.target}")

    def tune(
        self,
        hardware: Hardware[ConfigT],
        source: str,
        output: Path,
        *,
        seed: int,
        stages: Stages,
        **options: Any,
    ) -> str:
        """Writes a file of choices for the compiler, and says how they were found."""
        raise ConfigError([f"{hardware.name}: target {hardware.config.target} has no schedules"])
