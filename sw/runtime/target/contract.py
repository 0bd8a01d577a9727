"""What every target is: four parts, which commands, devices and reports go through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, final

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import ConfigError, ProgramError
from gnarl.sw.program.paths import CONFIGURATIONS
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.machine import JobT
from gnarl.sw.runtime.target.command_line import CommandLine
from gnarl.sw.runtime.target.compiler import Compiler, ConfigT
from gnarl.sw.runtime.target.executor import Executor
from gnarl.sw.runtime.target.explorer import Explorer
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.old_names import DerivedTargetError
from gnarl.sw.runtime.target.presenter import Presenter
from gnarl.sw.runtime.target.reader import FileReader, Reader, SourceT, WorkloadT


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Target(Generic[ConfigT, SourceT, WorkloadT, JobT]):
    """A target. It is imported when it is used.

    configuration
        the class of its configurations, which has its name.
    reader, compiler, executor, presenter
        what it does with a workload, in this order.
    command_line
        what commands say of it, and options of its own.
    explorer
        what finds schedules, where its compiler has some.
    configurations
        the folder of its configurations that can be called by name; by default the project's.
    demo
        configuration that ``gnarl demo`` runs the examples on; empty: none.
    own_workload
        the configuration's field that may name a workload, if there is one.
    """

    configuration: type[ConfigT]
    reader: Reader[SourceT, WorkloadT]
    compiler: Compiler[ConfigT, WorkloadT]
    executor: Executor[ConfigT, JobT]
    presenter: Presenter[JobT]
    configurations: Path = CONFIGURATIONS
    command_line: CommandLine = CommandLine()
    explorer: Explorer | None = None
    demo: str = ""
    own_workload: str = ""

    def __init_subclass__(cls) -> None:
        from gnarl.sw.runtime.target.host_executor import HostExecutor
        from gnarl.sw.runtime.target.host_presenter import HostPresenter

        parts = (Reader, FileReader, Compiler, Executor, HostExecutor, Generator)
        raise DerivedTargetError(cls, (*parts, HostPresenter, Presenter))

    @property
    def name(self) -> str:
        """The name, as in configuration files: ``target = "name"``."""
        return self.configuration.target


AnyTarget: TypeAlias = Target[Any, Any, Any, Any]


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
    target: AnyTarget
    config: TargetConfig
    overrides: dict[str, Any]

    @property
    def generator(self) -> Generator[Any]:
        """The generator of the hardware. Raises ``ConfigError`` where the target has none."""
        generator = self.target.executor.generator
        if generator is None:
            raise ConfigError([f"{self.name}: target {self.target.name} has no Verilog"])
        return generator

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
            found = self.target.compiler.differences(program, self.config)
        if found:
            raise ProgramError(f"program for another configuration: {'; '.join(found)}")
