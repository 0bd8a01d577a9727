"""One run of a named workload on a TMU, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.lib.cycles import cycles_of
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.tmu.image import Operands
from gnarl.sw.workloads.loops.sources import named_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload

CONFIG = "tmu_l8"


@dataclass(frozen=True)
class Run:
    """A run on a machine. ``statistics``: of the report."""

    workload: LoopWorkload
    program: Program
    result: Result[HostJob[Operands]]
    statistics: Mapping[str, int]
    bit_exact: bool

    @property
    def cycles(self) -> int:
        return cycles_of(self.result)

    @property
    def counters(self) -> Mapping[str, int]:
        return self.result.counters

    @property
    def words(self) -> int:
        """How many words the access unit put into the data queue."""
        return words_queued(self.program, self.counters)

    @property
    def instructions(self) -> int:
        """How many instructions the execute unit ran, including jumps that took no cycle."""
        return self.counters["instructions"] + self.counters.get("jumps_joined", 0)


def words_queued(program: Program, counters: Mapping[str, int]) -> int:
    """How many words the access unit put into the data queue."""
    lanes: int = program.config["lanes"]
    return counters["vectors_queued"] * lanes + counters["words_queued"]


def run_named(
    name: str, overrides: tuple[str, ...], backend: str, seed: int, **options: Any
) -> Run:
    """``options`` are the compiler's."""
    device = _device(overrides, backend)
    workload = named_workload(name, seed)
    program = device.compile(workload, **options)
    result = device.run(program, workload.inputs)
    bit_exact = device.verify(result).bit_exact
    statistics = device.target.presenter.figures(program, result).statistics
    return Run(workload, program, result, statistics, bit_exact)


@cache
def _device(overrides: tuple[str, ...], backend: str) -> Device:
    return Device(load_configuration(CONFIG, overrides), backend)
