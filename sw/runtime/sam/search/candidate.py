"""Schedules of a model with what they are taken to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.compile import CompiledModel, compile_model
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule, parse_schedule
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.program.host_step import with_made
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.sam.estimate.estimate import Estimate, estimate, estimate_launch
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.target.explorer import Estimated


@dataclass(frozen=True)
class Candidate:
    """A schedule that a model has a program with, and its estimate."""

    compiled: CompiledModel
    estimate: Estimate

    @property
    def schedule(self) -> Schedule:
        """All of it, whatever was left to the compiler."""
        return parse_schedule(self.compiled.schedule, "schedule")

    @property
    def cycles(self) -> int:
        return self.estimate.cycles

    @property
    def summary(self) -> Estimated:
        launches = self.compiled.program.launches
        return Estimated(
            self.estimate.cycles,
            self.estimate.operations,
            self.estimate.bytes,
            max(launch.statistics["blocks"] for launch in launches),
        )


class Candidates:
    """Makes candidates for a model, a machine and inputs."""

    def __init__(self, model: SamModel, config: SamConfig, inputs: Mapping[str, Any]) -> None:
        self.model, self._config, self._inputs = model, config, inputs

    def compiled(self, **options: Any) -> CompiledModel:
        """The program with these options of the compiler. Raises ``GnarlError``."""
        return compile_model(self.model, self._config, **options)

    def made(self, **options: Any) -> Candidate | None:
        """The candidate with these options of the compiler, if it has a program that runs."""
        try:
            compiled = self.compiled(**options)
            return Candidate(compiled, estimate(compiled.program, self._inputs))
        except GnarlError:
            return None

    def cycles_of(
        self, schedule: Schedule, region: int, tensors: Mapping[str, Array]
    ) -> tuple[int, CompiledModel] | None:
        """What one region of a schedule is taken to take, given all that others leave, and the
        program; ``None``: there is none."""
        try:
            compiled = self.compiled(schedule=schedule)
            launch, steps = compiled.program.launches[region], compiled.program.steps
            found, _ = estimate_launch(launch, with_made(steps, tensors, moved))
        except GnarlError:
            return None
        return found.cycles, compiled


def with_region(schedule: Schedule, number: int, region: Region) -> Schedule:
    """The schedule with another region in the place of one."""
    regions = list(schedule.regions)
    regions[number] = region
    return replace(schedule, regions=tuple(regions))


def statements_of(regions: Sequence[Region]) -> list[str]:
    """All of their statements, in order."""
    return [name for region in regions for name in region.statements]
