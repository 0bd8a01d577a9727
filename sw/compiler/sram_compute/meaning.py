"""What a program of commands computes, where it was lowered from a nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sw.compiler.sram_compute.tdfg.plan import Step
from sw.program.program import Program
from sw.workloads.loops.binding import Binding, bind
from sw.workloads.loops.nest import Nest


@dataclass(frozen=True)
class Meaning:
    """nest
        as the source has it.
    order
        the same with the operations in the program's order.
    sizes, scalars
        for which it was lowered; scalars as numbers of Python.
    steps
        what memory does of it.
    """

    nest: Nest
    order: Nest
    sizes: Mapping[str, int]
    scalars: Mapping[str, float]
    steps: tuple[Step, ...]

    def binding(self, nest: Nest, tensors: Mapping[str, Any]) -> Binding:
        """Of ``nest`` or ``order``. Raises ``WorkloadError``."""
        return bind(nest, {**tensors, **self.scalars}, self.sizes)


@dataclass(frozen=True)
class LoweredProgram(Program):
    """A program of commands that knows what it means; its file does not."""

    meaning: Meaning = field(kw_only=True, repr=False, compare=False)


def meaning(program: Program) -> Meaning | None:
    """``None`` for commands that were written by hand."""
    return program.meaning if isinstance(program, LoweredProgram) else None
