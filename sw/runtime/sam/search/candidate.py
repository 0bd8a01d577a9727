"""Schedules of a model with what they are taken to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.compile import CompiledModel, compile_model
from gnarl.sw.compiler.sam.fuse.barriers import with_moved
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule, parse_schedule
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.program.host_step import with_made
from gnarl.sw.runtime.sam.estimate.estimate import ROWS, Estimate, estimate, estimate_launch
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.search.part import part_of
from gnarl.sw.runtime.target.explorer import Estimated
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.tensor.storage import TensorFormat


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
    def formats(self) -> dict[str, TensorFormat]:
        """How tensors are stored that regions take or leave, by name."""
        found = dict(self.compiled.statements.formats)
        for region in self.compiled.regions:
            found |= region.formats
        return with_moved(self.compiled.statements, found)

    @property
    def summary(self) -> Estimated:
        launches = self.compiled.program.launches
        return Estimated(
            self.estimate.cycles,
            self.estimate.operations,
            self.estimate.bytes,
            max(_size(graph_of(launch.sections)) for launch in launches),
        )


class Taken(NamedTuple):
    """What a region is taken to take: cycles, the order of its loops, and the most words of a
    value."""

    cycles: int
    order: tuple[str, ...]
    words: int


class Candidates:
    """Makes candidates for a model, a machine and inputs; ``rows`` of each launch are simulated."""

    def __init__(
        self, model: SamModel, config: SamConfig, inputs: Mapping[str, Any], rows: int = ROWS
    ) -> None:
        self.model, self._config, self._inputs, self._rows = model, config, inputs, rows

    def compiled(self, **options: Any) -> CompiledModel:
        """The program with these options of the compiler. Raises ``GnarlError``."""
        return compile_model(self.model, self._config, **options)

    def candidate(self, **options: Any) -> Candidate:
        """The candidate with these options of the compiler. Raises ``GnarlError`` where there is no
        program, or none that runs."""
        compiled = self.compiled(**options)
        return Candidate(compiled, estimate(compiled.program, self._inputs, self._rows))

    def made(self, **options: Any) -> Candidate | None:
        """The same; ``None``: there is none."""
        try:
            return self.candidate(**options)
        except GnarlError:
            return None

    def of_region(self, whole: Candidate, region: Region, *, fixed: bool = True) -> Taken | None:
        """What a region is taken to take in the place of those of ``whole`` that have its
        statements; ``None``: it has no graph.

        ``fixed`` as in ``part_of``.
        """
        program = whole.compiled.statements
        shapes = program_shapes(program, {name: self.model.shapes[name] for name in program.inputs})
        try:
            model, schedule = part_of(program, region, shapes.tensors, whole.formats, fixed)
            compiled = compile_model(model, self._config, schedule=schedule, is_part=True)
            (launch,), steps = compiled.program.launches, compiled.program.steps
            tensors = with_made(steps, whole.estimate.tensors, moved)
            found, _ = estimate_launch(launch, tensors, self._rows)
        except GnarlError:
            return None
        graph = graph_of(launch.sections)
        words = max(graph.words_of(block.name) for block in graph.blocks)
        return Taken(found.cycles, compiled.regions[0].order, words)


def _size(graph: Graph) -> int:
    """Blocks of a graph, one with values of several words as so many."""
    return sum(graph.words_of(block.name) for block in graph.blocks)


def with_region(schedule: Schedule, number: int, region: Region) -> Schedule:
    """The schedule with another region in the place of one."""
    regions = list(schedule.regions)
    regions[number] = region
    return replace(schedule, regions=tuple(regions))


def statements_of(regions: Sequence[Region]) -> list[str]:
    """All of their statements, in order."""
    return [name for region in regions for name in region.statements]
