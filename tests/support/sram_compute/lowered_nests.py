"""Nests as programs of commands, for the sizes and scalars of their values."""

from __future__ import annotations

from typing import Any

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.compile import compile
from gnarl.sw.compiler.sram_compute.lowering import Specialiser
from gnarl.sw.compiler.sram_compute.meaning import SpecialisedProgram
from gnarl.sw.compiler.sram_compute.sections import fat_program
from gnarl.sw.workloads.loops.workload import LoopWorkload


def lowered(
    workload: LoopWorkload, config: SramConfig, trace: Trace | None = None, **options: Any
) -> SpecialisedProgram:
    """``options``: of the compiler. Raises ``WorkloadError``, ``CapacityError``."""
    fat = fat_program(compile(workload, config, trace=Trace(), **options))
    assert fat is not None
    specialiser = Specialiser(fat, workload.name, config)
    return specialiser.program(workload.binding, workload.inputs, trace)
