"""Cycles of workloads in each place: the model's; and those of the core that the compiler
estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.lib.cycles import cycles_of
from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.cost.core import part_cycles
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.workloads.loops.workload import LoopWorkload

_NO_LIMIT = 1 << 40


@dataclass(frozen=True)
class EngineRun:
    """A workload in one place.

    cycles
        from arrays in main memory and back to it.
    warm
        without those in which main memory alone works; ``None`` where something runs on the core.
    """

    program: Program
    cycles: int
    warm: int | None
    is_exact: bool


def run_in(
    given: LoopWorkload, named: NamedConfiguration, place: str, known: Mapping[str, EngineRun]
) -> EngineRun | None:
    """Runs on a machine that has run nothing before; ``None`` where it does not run there.
    ``known``: of other places, which may have the same program."""
    config = named.config
    assert isinstance(config, SramConfig)
    inputs = {**given.inputs, **(given.sizes or {})}
    with Device(named, "model") as device:
        try:
            fat = device.compile(given, place=place)
            program = device.target.compiler.lowered(fat, inputs, config, quiet)
        except (WorkloadError, CapacityError):
            return None
        for other in known.values():
            if is_same(program, other.program):
                return other
        result = device.run(program, inputs)
        is_exact = device.verify(result).bit_exact
    warm = None if result.counters["cycles_core"] else warm_cycles(result)
    return EngineRun(program, cycles_of(result), warm, is_exact)


def warm_cycles(result: Result[Any]) -> int:
    """Cycles without those in which main memory alone works."""
    return cycles_of(result) - result.counters["cycles_transfer"]


def core_estimate(program: Program, config: SramConfig) -> int:
    """Estimates the cycles of a program that runs on the core as a whole."""
    words = program.launches[0].sections["instructions"].tolist()
    instructions = [Instruction.decoded(tuple(each)) for each in words]
    return part_cycles(instructions, config, _NO_LIMIT)


def is_same(program: Program, other: Program) -> bool:
    """Whether commands and instructions are."""
    return all(
        np.array_equal(section, other.launches[0].sections[name])
        for name, section in program.launches[0].sections.items()
        if name in ("commands", "instructions")
    )
