"""Workloads lowered for memory alone."""

from __future__ import annotations

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.compile import compile
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode
from gnarl.sw.compiler.sram_compute.lowering import Specialiser
from gnarl.sw.compiler.sram_compute.sections import fat_program
from gnarl.sw.workloads.loops.workload import LoopWorkload


def lowered_in_memory(given: LoopWorkload, config: SramConfig, tile: str | None) -> MemoryCode:
    """Generates the code that ``--place memory`` and ``--tile`` ask for. Raises ``WorkloadError``,
    ``CapacityError``."""
    fat = fat_program(compile(given, config, trace=Trace(), place="memory", tile=tile))
    assert fat is not None
    specialiser, binding = Specialiser(fat, given.name, config), given.binding
    ((_, lowered),) = specialiser.parts(binding, given.inputs)
    assert isinstance(lowered, MemoryCode)
    return lowered
