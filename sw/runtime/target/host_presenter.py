"""What presents runs of machines behind the common host port."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host_machine import HostJob, OperandsT
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.timeline import (
    NOT_THE_MACHINES,
    Activity,
    draw_timeline,
    joined,
    timeline_figure,
)
from gnarl.sw.runtime.report.trace_events import write_trace
from gnarl.sw.runtime.target.presenter import Presenter, is_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class HostPresenter(Presenter[HostJob[OperandsT]], ABC, Generic[OperandsT]):
    """A presenter that draws what each cycle was spent on, or writes it as trace events."""

    traces = True

    @abstractmethod
    def activity(self, run: LaunchRun[HostJob[OperandsT]]) -> Activity:
        """What each cycle of a launch was spent on."""

    def draw(
        self, program: Program, result: Result[HostJob[OperandsT]], title: str, path: Path
    ) -> None:
        write = write_trace if is_trace(path) else draw_timeline
        write(self._activity(result), title, path)

    def plot(
        self,
        program: Program,
        result: Result[HostJob[OperandsT]],
        title: str,
        axes: Axes | None = None,
    ) -> Figure:
        return timeline_figure(self._activity(result), title, axes)

    def _activity(self, result: Result[HostJob[OperandsT]]) -> Activity:
        return joined([_told(self.activity(run), run) for run in result.launches])


def _told(activity: Activity, run: LaunchRun[Any]) -> Activity:
    """The activity with a note, if it has none, where it is not of the cycles that the machine has
    counted."""
    counted = run.finished.cycles
    if activity.note or counted is None or counted == activity.cycles:
        return activity
    return replace(activity, note=NOT_THE_MACHINES)
