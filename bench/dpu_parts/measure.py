"""One workload on one machine: compiled, run, and compared."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.lib.records import Metric, Setting
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.device import Device
from sw.workloads.dag.generate import random_dag

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
        ``rtl``, on which results must also be the model's, in as many cycles; or ``model``.
    """

    path: Path
    config: str
    overrides: tuple[str, ...]
    backend: str
    seed: int

    @property
    def workload(self) -> str:
        return self.path.stem

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
    device = _device(job.config, job.overrides, job.backend)
    workload = device.workload(job.path, job.seed)
    begin = time.perf_counter()
    program = device.compile(workload, seed=job.seed)
    compile_s = time.perf_counter() - begin

    result = device.run(program, workload.inputs)
    bit_exact = device.verify(result).bit_exact
    if job.backend == "rtl":
        model = _device(job.config, job.overrides, "model").run(program, workload.inputs)
        same_bits = all(
            model.outputs[name].tobytes() == output.tobytes()
            for name, output in result.outputs.items()
        )
        bit_exact = bit_exact and same_bits and model.cycles == result.cycles
    statistics = {name: program.statistics[name] for name in _STATISTICS}
    return {
        **statistics,
        "cycles": result.cycles,
        "ops_per_cycle": statistics["operations"] / result.cycles,
        "distance": result.cycles / max(1, statistics["lower_bound"]),
        "compile_s": compile_s,
        "bit_exact": bit_exact,
    }


@cache
def warm_up() -> None:
    """Compiles something small, once in a process, so that the passes are machine code by now."""
    configuration = load_configuration("dpu_d3_b64")
    Device(configuration, "model").compile(random_dag(64, seed=0))


def peak_bytes() -> int:
    """The most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@cache
def _device(config: str, overrides: tuple[str, ...], backend: str) -> Device:
    return Device(load_configuration(config, overrides), backend)
