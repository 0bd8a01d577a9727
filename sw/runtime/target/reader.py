"""What reads: from the command line and from Python to workloads, and to the inputs of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.target.unsupported import refuse_named
from gnarl.sw.workloads.made_up import MadeUp, without

SourceT = TypeVar("SourceT")
WorkloadT = TypeVar("WorkloadT")


@dataclass(frozen=True)
class Example:
    """A workload as the command line takes it: ``source``, files of ``tensors`` by name, and the
    target's own ``options``."""

    name: str
    source: str
    tensors: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunArguments:
    """What the command line says of a run's inputs.

    values
        a file of input values.
    tensors
        files of arrays, by name.
    seed
        for values that nobody gives.
    options
        the target's own, of runs.
    """

    values: Path | None = None
    tensors: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


class Reader(ABC, Generic[SourceT, WorkloadT]):
    """The first part of a target.

    ``SourceT``: whatever the target's users have, from paths to objects of Python, workloads
    among it. ``WorkloadT``: what its compiler takes.

    target
        the target's name, for errors.
    """

    target: ClassVar[str]

    def examples(self, folder: Path) -> list[Example]:
        """Workloads that ship with the target; what they need is written into a folder."""
        return []

    @abstractmethod
    def source(self, text: str, tensors: Mapping[str, str]) -> SourceT:
        """What ``workload`` takes, from the command line's WORKLOAD and its ``--tensor NAME=PATH``.

        Raises ``WorkloadError`` for files that do not exist and tensors that are not supported.
        """

    def sized_source(self, source: SourceT, sizes: Mapping[str, int]) -> SourceT:
        """What ``source`` gave, with the command line's ``--size NAME=NUMBER``. Raises
        ``WorkloadError`` for sizes that are not supported, by default all."""
        self.refuse_sizes(sizes)
        return source

    @abstractmethod
    def workload(self, source: SourceT, seed: int = 0) -> WorkloadT:
        """The workload in a file, or from what else the target's users have, or as it is.

        ``seed`` is for values that it lacks. Raises ``WorkloadError``.
        """

    def valued(self, workload: WorkloadT, values: Path) -> WorkloadT:
        """The workload of a run with the file ``values``, where programs are made for what is in
        it. Raises ``WorkloadError``."""
        return workload

    @abstractmethod
    def inputs(
        self, program: Program, workload: WorkloadT | None, arguments: RunArguments
    ) -> object:
        """What the executor's ``bind`` takes, from the command line's files in place of the
        workload's own values.

        ``workload`` is ``None`` for program files. Raises ``WorkloadError`` for what is missing.
        """

    def made_up(
        self, program: Program, workload: WorkloadT | None, arguments: RunArguments
    ) -> MadeUp:
        """The part of what ``inputs`` gives that nobody gave, see ``gnarl.sw.workloads.made_up``.

        By default what the workload says in an attribute of that name, if it has one, but for
        tensors that are given; nothing, where a file has values.
        """
        known: MadeUp = getattr(workload, "made_up", {}) if arguments.values is None else {}
        return without(known, arguments.tensors)

    def sized_inputs(self, program: Program, inputs: object, sizes: Mapping[str, int]) -> object:
        """What ``inputs`` gave for a program file, with the command line's ``--size NAME=NUMBER``.
        Raises ``WorkloadError`` for sizes that the program does not leave open, by default all."""
        self.refuse_sizes(sizes)
        return inputs

    def refuse_sizes(self, sizes: Mapping[str, int]) -> None:
        """Raises ``WorkloadError`` if there are any: for what has none to be given."""
        refuse_named("--size", sizes, self.target)


class FileReader(Reader[Path | SourceT, WorkloadT], Generic[SourceT, WorkloadT]):
    """A reader of workloads that are files, and have their input values in an attribute ``inputs``.

    ``SourceT``: what they may be beside paths.
    """

    def source(self, text: str, tensors: Mapping[str, str]) -> Path | SourceT:
        """The path of a file that exists; no tensors are supported."""
        refuse_named("--tensor", tensors, self.target)
        if not Path(text).is_file():
            raise WorkloadError(f"{text}: {'not a' if Path(text).exists() else 'no such'} file")
        return Path(text)

    def inputs(
        self, program: Program, workload: WorkloadT | None, arguments: RunArguments
    ) -> object:
        """The inputs of the workload, or of the one in the file of values."""
        refuse_named("--tensor", arguments.tensors, self.target)
        source: Any = workload
        if arguments.values is not None:
            source = self.workload(arguments.values, arguments.seed)
        if source is None:
            raise WorkloadError(
                f"{program.workload}: a program has no input values: --values FILE gives them"
            )
        return source.inputs
