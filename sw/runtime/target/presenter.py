"""What presents: programs and their runs, to readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.machine import JobT
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Figures
from gnarl.sw.runtime.report.source_lines import SourceLines
from gnarl.sw.runtime.target.unsupported import unsupported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Presenter(Generic[JobT]):
    """The last part of a target. It has no duties: this class is one, too.

    traces
        whether ``draw`` writes trace events where ``is_trace``.
    """

    traces: ClassVar[bool] = False

    def listing(self, program: Program) -> Iterator[str]:
        """The program's instructions, a line each."""
        raise WorkloadError(
            f"{program.workload}: a listing is not supported by target {program.target}"
        )

    def dot(self, program: Program) -> str:
        """The program's graph as Graphviz DOT. Raises ``WorkloadError`` where it has none."""
        raise unsupported("--dot", program.target)

    def figures(self, program: Program, result: Result[JobT]) -> Figures:
        """What a report says of a run."""
        statistics = program.statistics
        return Figures(statistics.get("operations", 0), statistics=statistics)

    @property
    def draws(self) -> bool:
        """Whether there is such a picture as ``draw`` writes."""
        return type(self).draw is not Presenter.draw

    def draw(self, program: Program, result: Result[JobT], title: str, path: Path) -> None:
        """Writes a PNG of what the machine did. ``title`` says what ran where; numbers are to be
        added to it from what is drawn."""
        raise unsupported("--timeline", program.target)

    def plot(
        self, program: Program, result: Result[JobT], title: str, axes: Axes | None = None
    ) -> Figure:
        """The picture that ``draw`` writes, as a figure. ``axes``: where to draw, if not in a new
        one; what they have no room for is left out."""
        raise unsupported("plot", program.target)

    @property
    def knows_lines(self) -> bool:
        """Whether there is such a table as ``source_lines`` makes."""
        return type(self).source_lines is not Presenter.source_lines

    def source_lines(self, program: Program, result: Result[JobT]) -> SourceLines:
        """Which lines of the source the cycles of a run went to. Raises ``WorkloadError`` for a
        program that was not compiled from a source."""
        raise unsupported("--lines", program.target)

    def note(self, backend: str) -> str:
        """What a reader has to know about a backend, or empty."""
        return ""


def is_trace(path: Path) -> bool:
    """Whether a file's name asks for trace events in place of a picture."""
    return path.suffix.lower() == ".json"
