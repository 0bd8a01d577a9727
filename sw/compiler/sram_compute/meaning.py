"""What a program of commands computes, where it was lowered from a nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gnarl.sw.compiler.sram_compute.command_places import CommandPlaces
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.place import Location

_IN = {"memory": "in memory", "near": "near memory", "core": "on the core"}


@dataclass(frozen=True)
class EngineStatements:
    """Neighbouring statements of a nest's body that run on one engine.

    first
        where the first of them is in the source; ``count``: how many there are.
    engine
        ``memory``, ``near`` or ``core``.
    refusal
        why memory does not compute some of them; empty where it could or was not asked.
    """

    first: Location
    count: int
    engine: str
    refusal: str

    def __str__(self) -> str:
        many = f"{self.count} statements " if self.count > 1 else ""
        reason = f"; not in memory: {self.refusal}" if self.refusal else ""
        return f"{self.first}: {many}{_IN[self.engine]}{reason}"


@dataclass(frozen=True)
class Meaning:
    """What a program of commands means.

    nest
        as the source has it.
    order
        the same with the operations in the program's order.
    sizes, scalars
        for which it was lowered; scalars as numbers of Python.
    steps
        what memory does of it.
    parts
        where each part of it runs, in order.
    places
        in the source, of all commands.
    remarks
        what was not done as well as it might have been, and why, a line each.
    """

    nest: Nest
    order: Nest
    sizes: Mapping[str, int]
    scalars: Mapping[str, float]
    steps: tuple[Step, ...]
    parts: tuple[EngineStatements, ...]
    places: CommandPlaces
    remarks: tuple[str, ...]

    def binding(self, nest: Nest, tensors: Mapping[str, Any]) -> Binding:
        """The binding of ``nest`` or ``order``. Raises ``WorkloadError``."""
        return bind(nest, {**tensors, **self.scalars}, self.sizes)


@dataclass(frozen=True)
class SpecialisedProgram(Program):
    """A program of commands that knows what it means; its file does not."""

    meaning: Meaning = field(kw_only=True, repr=False, compare=False)


def meaning(program: Program) -> Meaning | None:
    """``None`` for commands that were written by hand."""
    return program.meaning if isinstance(program, SpecialisedProgram) else None
