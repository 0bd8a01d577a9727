"""One workload on one machine: compiled, run, and compared."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bench.lib.bits import same_bits
from bench.lib.cycles import cycles_of
from bench.lib.records import Metric, Setting
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.dag.generate import random_dag
from gnarl.sw.workloads.dag.workload import DagWorkload

METRICS = {
    "operations": Metric("operations", "none"),
    "cycles": Metric("cycles", "lower"),
    "ops_per_cycle": Metric("operations/cycle", "higher"),
    "blocks": Metric("instructions", "lower"),
    "copies": Metric("words", "lower"),
    "loads": Metric("instructions", "lower"),
    "stores": Metric("instructions", "lower"),
    "spills": Metric("words", "lower"),
    "nops": Metric("instructions", "lower"),
    "bound_operations": Metric("cycles", "none"),
    "bound_inputs": Metric("cycles", "none"),
    "bound_critical_path": Metric("cycles", "none"),
    "lower_bound": Metric("cycles", "none"),
    "distance": Metric("cycles/cycle", "lower"),
    "compile_s": Metric("s", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``distance`` is cycles over the largest lower bound; ``blocks`` are instructions that compute."""

_STATISTICS = (
    "operations",
    *("blocks", "copies", "loads", "stores", "spills", "nops"),
    *("bound_operations", "bound_inputs", "bound_critical_path", "lower_bound"),
)


@dataclass(frozen=True)
class Job:
    """A workload's file on a configuration with ``field=value`` overrides.

    backend
        ``rtl`` or ``model``.
    """

    path: Path
    config: str
    overrides: tuple[str, ...]
    backend: str
    seed: int

    @property
    def workload(self) -> str:
        return self.path.stem

    @property
    def device(self) -> Device:
        """Its machine, the same in all jobs of a process."""
        return _device(self.config, self.overrides, self.backend)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(self.config, self.overrides)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        overrides = "".join(f" {text}" for text in self.overrides)
        return f"{self.workload} on {self.config}{overrides}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. Raises ``GnarlError`` where a compiler, machine or model gives up."""
    warm_up()
    device = job.device
    workload = device.workload(job.path, job.seed)
    begin = time.perf_counter()
    program = device.compile(workload, seed=job.seed)
    compile_s = time.perf_counter() - begin

    cycles, bit_exact = run_program(job, program, workload)
    statistics = {name: program.statistics[name] for name in _STATISTICS}
    return {
        **statistics,
        "cycles": cycles,
        "ops_per_cycle": statistics["operations"] / cycles,
        "distance": cycles / max(1, statistics["lower_bound"]),
        "compile_s": compile_s,
        "bit_exact": bit_exact,
    }


def run_program(job: Job, program: Program, workload: DagWorkload) -> tuple[int, bool]:
    """Cycles on the job's machine, and whether outputs are the golden model's.

    On ``rtl``, they must also be the model's, in as many cycles.
    """
    result = job.device.run(program, workload.inputs)
    bit_exact = job.device.verify(result).bit_exact
    if job.backend == "rtl":
        model = replace(job, backend="model").device.run(program, workload.inputs)
        bit_exact = bit_exact and same_bits(result, model) and model.cycles == result.cycles
    return cycles_of(result), bit_exact


@cache
def warm_up() -> None:
    """Compiles something small, once in a process, so that the passes are machine code by now."""
    configuration = load_configuration("dpu_d3_b64")
    Device(configuration, "model").compile(random_dag(64, seed=0))


@cache
def _device(config: str, overrides: tuple[str, ...], backend: str) -> Device:
    return Device(load_configuration(config, overrides), backend)
