"""What presents runs of machines behind the common host port."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic

from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host_machine import HostJob, OperandsT
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.timeline import Activity, draw_timeline, joined
from gnarl.sw.runtime.target.presenter import Presenter


class HostPresenter(Presenter[HostJob[OperandsT]], ABC, Generic[OperandsT]):
    """A presenter that draws what each cycle was spent on."""

    @abstractmethod
    def activity(self, run: LaunchRun[HostJob[OperandsT]]) -> Activity:
        """What each cycle of a launch was spent on."""

    def draw(
        self, program: Program, result: Result[HostJob[OperandsT]], title: str, path: Path
    ) -> None:
        activity = joined([self.activity(run) for run in result.launches])
        draw_timeline(activity, f"{title}; {activity.note}" if activity.note else title, path)
