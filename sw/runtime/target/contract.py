"""What every target is: the one interface of commands, devices and reports to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import ConfigError, ProgramError, WorkloadError
from gnarl.sw.compiler.passes import Pass, Trace
from gnarl.sw.program.paths import CONFIGURATIONS
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.schema import Schema
from gnarl.sw.program.tensor_spec import INTEGER_TYPES, REAL_TYPES, Array
from gnarl.sw.runtime.machine.board.serial_address import SerialAddress
from gnarl.sw.runtime.machine.machine import JobT, LaunchRun, Machine
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Figures
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.report.vanished import Given, elements
from gnarl.sw.runtime.report.verify import Verification, compare
from gnarl.sw.runtime.target.option import TargetOption
from gnarl.sw.workloads.made_up import MadeUp, without

ConfigT = TypeVar("ConfigT", bound=TargetConfig)
WorkloadT = TypeVar("WorkloadT")


@dataclass(frozen=True)
class Example:
    """A workload as the command line takes it: ``source``, files of ``tensors`` by name, and the
    target's own ``options``."""

    name: str
    source: str
    tensors: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


class Target(ABC, Generic[ConfigT, WorkloadT, JobT]):
    """A target. Its instance is imported when it is used.

    name
        as in configuration files: ``target = "name"``.
    configuration
        the class of its configurations.
    configurations
        the folder of its configurations that can be called by name; by default the project's.
    backends
        what can run its programs; the first is the default, see ``default_backend``.
    options
        further options of its compiler and runs, on the command line and in Python.
    limits_cycles
        whether runs of more than so many cycles can be ended, see ``limited``.
    demo
        configuration that ``gnarl demo`` runs the examples on; empty: none.
    own_workload
        the configuration's field that may name a workload, if there is one.
    filled_in
        fields that are part of the program, where a configuration leaves them ``None`` or empty.
    """

    name: ClassVar[str]
    configuration: type[ConfigT]
    configurations: ClassVar[Path] = CONFIGURATIONS
    backends: ClassVar[tuple[str, ...]]
    options: Sequence[TargetOption] = ()
    limits_cycles: ClassVar[bool] = False
    demo: ClassVar[str] = ""
    own_workload: ClassVar[str] = ""
    filled_in: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Schema of this target's program sections."""

    @property
    @abstractmethod
    def passes(self) -> tuple[Pass, ...]:
        """Passes of its compiler, in order."""

    def resolve(self, config: ConfigT) -> ConfigT:
        """``config`` with fields that follow from others by compilation."""
        return config

    def differences(self, program: Program, config: ConfigT) -> list[str]:
        """Why a program does not run on ``config``, a text each; none if it does."""
        return program.differences(config, self.filled_in)

    # From files to programs.

    def examples(self, folder: Path) -> list[Example]:
        """Workloads that ship with the target; what they need is written into a folder."""
        return []

    def source(self, text: str, tensors: Mapping[str, str]) -> Any:
        """What ``workload`` takes, from the command line's WORKLOAD and its ``--tensor NAME=PATH``.

        Raises ``WorkloadError`` for files that do not exist and tensors that are not supported.
        """
        for name in tensors:
            raise WorkloadError(f"--tensor {name}: not supported by target {self.name}")
        if not Path(text).is_file():
            raise WorkloadError(f"{text}: {'not a' if Path(text).exists() else 'no such'} file")
        return Path(text)

    def sized_source(self, source: Any, sizes: Mapping[str, int]) -> Any:
        """What ``source`` gave, with the command line's ``--size NAME=NUMBER``. Raises
        ``WorkloadError`` for sizes that are not supported, by default all."""
        self.refuse_sizes(sizes)
        return source

    @abstractmethod
    def workload(self, source: Any, seed: int = 0) -> WorkloadT:
        """The workload in a file, or from what else the target's users have, or as it is.

        ``seed`` is for values that it lacks.
        """

    def valued(self, workload: WorkloadT, values: Path) -> WorkloadT:
        """The workload of a run with the file ``values``, where programs are made for what is in
        it. Raises ``WorkloadError``."""
        return workload

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

    def optimise(
        self, text: str, file: str, passes: Sequence[str], config: ConfigT, zeros: Sequence[str]
    ) -> str:
        """MLIR text, called ``file`` in messages, behind ``passes`` of the compiler, by name.

        ``zeros``: arrays that are 0 before the run. Raises ``WorkloadError``.
        """
        raise WorkloadError(f"{file}: MLIR text is not supported by target {self.name}")

    def dot(self, program: Program) -> str:
        """The program's graph as Graphviz DOT. Raises ``WorkloadError`` where it has none."""
        raise WorkloadError(f"--dot: not supported by target {self.name}")

    def at_sizes(
        self,
        program: Program,
        config: ConfigT,
        tensors: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> Program:
        """What of a program's file runs on ``config`` for arrays of such files and sizes, to be
        listed. Raises ``WorkloadError``, by default for any, and ``CapacityError``."""
        for name in tensors:
            raise WorkloadError(f"--tensor {name}: not supported by target {self.name}")
        self.refuse_sizes(sizes)
        return program

    def listing(self, program: Program) -> Iterator[str]:
        """The program's instructions, a line each."""
        raise WorkloadError(f"{program.workload}: a listing is not supported by target {self.name}")

    # From inputs to results.

    def inputs(
        self,
        program: Program,
        workload: WorkloadT | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> Any:
        """What ``bind`` takes, from the command line's files in place of the workload's own values.

        By default the attribute ``inputs`` of the workload, or of the one in the file ``values``.
        ``workload`` is ``None`` for program files. Raises ``WorkloadError`` for what is missing.
        """
        for name in tensors:
            raise WorkloadError(f"--tensor {name}: not supported by target {self.name}")
        source: Any = workload if values is None else self.workload(values, seed)
        if source is None:
            raise WorkloadError(
                f"{program.workload}: a program has no input values: --values FILE gives them"
            )
        return source.inputs

    def made_up(
        self,
        program: Program,
        workload: WorkloadT | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
    ) -> MadeUp:
        """The part of what ``inputs`` gives that nobody gave, see ``gnarl.sw.workloads.made_up``.

        By default what the workload says in an attribute of that name, if it has one, but for
        ``tensors``; nothing, where a file has values. Arguments are those of ``inputs``.
        """
        known: MadeUp = getattr(workload, "made_up", {}) if values is None else {}
        return without(known, tensors)

    def sized_inputs(self, program: Program, inputs: Any, sizes: Mapping[str, int]) -> Any:
        """What ``inputs`` gave for a program file, with the command line's ``--size NAME=NUMBER``.
        Raises ``WorkloadError`` for sizes that the program does not leave open, by default all."""
        self.refuse_sizes(sizes)
        return inputs

    def refuse_sizes(self, sizes: Mapping[str, int]) -> None:
        """Raises ``WorkloadError`` if there are any: for what has none to be given."""
        for name in sizes:
            raise WorkloadError(f"--size {name}: not supported by target {self.name}")

    def lowered(self, program: Program, inputs: Any, config: ConfigT, stages: Stages) -> Program:
        """What runs on ``config`` for such inputs, as ``bind`` takes them: of a program that leaves
        that to a run, by default of none, the one for the inputs' shapes.

        Raises ``WorkloadError``, ``CapacityError``.
        """
        return program

    def bind(self, program: Program, inputs: Any) -> dict[str, Array]:
        """The program's input tensors, from any form that the target's users have.

        By default arrays, or what NumPy takes for such, by name. Raises ``WorkloadError`` for
        values that are missing or do not fit.
        """
        if not isinstance(inputs, Mapping):
            raise WorkloadError(f"inputs are a {type(inputs).__name__}: must be arrays by name")
        return {
            name: value if hasattr(value, "coordinates") else np.asarray(value)
            for name, value in inputs.items()
        }

    def given(self, program: Program, inputs: Any) -> Iterator[Given]:
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
        default more than any right program of its kind takes.

        Raises ``WorkloadError`` where cycles are not limited.
        """
        if max_cycles is not None:
            raise WorkloadError(f"--max-cycles {max_cycles}: not supported by target {self.name}")
        return job

    def check(self, job: JobT) -> None:
        """Raises ``GnarlError`` for what is sure to stop a job, before any machine is built."""

    def default_backend(self) -> str:
        """The backend where none is asked for."""
        return self.backends[0]

    @abstractmethod
    def machine(
        self,
        hardware: NamedConfiguration,
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
        self, hardware: NamedConfiguration, run: LaunchRun[JobT], machine: Machine[JobT]
    ) -> str:
        """Why the launch that ``machine`` ran last gave wrong outputs; empty if unknown."""
        return ""

    def cause(self, program: Program, tensors: Mapping[str, Array]) -> str:
        """What in a workload makes machines stop with an error; empty if unknown."""
        return ""

    # Reports.

    def figures(self, program: Program, result: Result[JobT]) -> Figures:
        """What a report says of a run."""
        statistics = program.statistics
        return Figures(statistics.get("operations", 0), statistics=statistics)

    @property
    def draws(self) -> bool:
        """Whether there is such a picture as ``draw`` writes."""
        return type(self).draw is not Target.draw

    def draw(self, program: Program, result: Result[JobT], title: str, path: Path) -> None:
        """Writes a PNG of what the machine did."""
        raise WorkloadError(f"--timeline: not supported by target {self.name}")

    def note(self, backend: str) -> str:
        """What a reader has to know about a backend, or empty."""
        return ""

    def tune(
        self,
        hardware: NamedConfiguration,
        source: str,
        output: Path,
        *,
        seed: int,
        stages: Stages,
        **options: Any,
    ) -> str:
        """Writes a file of choices for the compiler, and says how they were found."""
        raise ConfigError([f"{hardware.name}: target {self.name} has no schedules"])


@dataclass(frozen=True)
class NamedConfiguration:
    """A configuration and what to call it.

    name
        the file's name without extension; also the name of the Verilog module.
    note
        the comment that opens the file.
    overrides
        the fields that differ from the file's, in the order given.
    """

    name: str
    note: str
    target: Target[Any, Any, Any]
    config: TargetConfig
    overrides: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Name, target, digest and every field: the resolved configuration, JSON's types only."""
        return {
            "config": self.name,
            "target": self.target.name,
            "digest": self.config.digest,
            "fields": self.config.to_dict(),
        }

    def require(self, program: Program) -> None:
        """Raises ``ProgramError`` naming what differs if a program is for another configuration."""
        if program.target != self.target.name:
            found = [f"target is {program.target}, must be {self.target.name}"]
        else:
            found = self.target.differences(program, self.config)
        if found:
            raise ProgramError(f"program for another configuration: {'; '.join(found)}")
