"""What differs between kinds of workloads: models of embedding layers, and expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.machine import JobT
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Figures
from gnarl.sw.runtime.report.vanished import Given
from gnarl.sw.runtime.report.verify import Verification
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.made_up import MadeUp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Kind(ABC, Generic[JobT]):
    """Methods are those of readers, executors and presenters, see ``gnarl.sw.runtime.target``."""

    @abstractmethod
    def inputs(
        self,
        program: Program,
        workload: Any,
        arguments: RunArguments,
    ) -> object: ...

    @abstractmethod
    def made_up(
        self,
        program: Program,
        workload: Any,
        arguments: RunArguments,
    ) -> MadeUp: ...

    @abstractmethod
    def bind(self, program: Program, inputs: object) -> dict[str, Array]: ...

    @abstractmethod
    def given(self, program: Program, inputs: object) -> Iterator[Given]: ...

    @abstractmethod
    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> JobT: ...

    @abstractmethod
    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]: ...

    @abstractmethod
    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]: ...

    @abstractmethod
    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification: ...

    @abstractmethod
    def figures(self, program: Program, result: Result[JobT]) -> Figures: ...

    @abstractmethod
    def draw(self, program: Program, result: Result[JobT], title: str, path: Path) -> None: ...

    @abstractmethod
    def plot(
        self, program: Program, result: Result[JobT], title: str, axes: Axes | None
    ) -> Figure: ...
