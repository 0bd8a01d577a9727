"""One statement on one machine: compiled, run, and compared."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.bits import same_bits
from bench.lib.cycles import cycles_of
from bench.lib.records import Metric, Setting
from bench.sam_parts.kernels import AS_THERE, HALF_FULL, KERNELS, LANES, operands
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.figures import longest_stream
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

CONFIG = "sam_fp32"

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "longest_stream": Metric("tokens", "none"),
    "bound": Metric("tokens", "none"),
    "distance": Metric("cycles/token", "lower"),
    "results": Metric("entries", "none"),
    "compile_s": Metric("s", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``longest_stream`` of the run, ``bound`` of the same graph without skipping; ``distance`` is
cycles over ``bound``."""


def entries(output: Array) -> int:
    """Entries that are stored."""
    return output.size if isinstance(output, np.ndarray) else len(output.values)


@dataclass(frozen=True)
class Job:
    """A kernel on a matrix's operands.

    variant
        one of the kernel's.
    backend
        ``rtl``, on which results must also be the model's; or ``model``.
    """

    kernel: str
    folder: Path
    variant: str
    backend: str
    seed: int
    overrides: tuple[str, ...] = field(default=())

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, self.overrides)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        variant = f", {self.variant}" if self.variant != AS_THERE else ""
        overrides = "".join(f" {text}" for text in self.overrides)
        return f"{self.kernel} on {self.folder.name}{variant}{overrides}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. Raises ``GnarlError`` where a compiler, machine or model gives up."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == job.kernel)
    inputs = operands(kernel, job.folder, job.variant == HALF_FULL, job.seed)
    text = SUITE[kernel.variant]
    if job.variant == LANES:
        text = f"{text} {kernel.lanes}"
    return run(text, inputs, job.backend, job.overrides)


def run(
    text: str, inputs: Mapping[str, Any], backend: str, overrides: tuple[str, ...] = ()
) -> dict[str, float | int | bool]:
    """Values of ``METRICS`` for a statement."""
    device = _device(overrides, backend)
    workload = device.workload((text, inputs))
    device.compile(workload)
    begin = time.perf_counter()
    program = device.compile(workload)
    compile_s = time.perf_counter() - begin

    result = device.run(program, workload.inputs)
    bit_exact = device.verify(result).bit_exact
    if backend == "rtl":
        model = _device(overrides, "model").run(program, workload.inputs)
        bit_exact = bit_exact and same_bits(result, model)
    (launch,) = program.launches
    bound = _bound(workload, overrides)
    cycles = cycles_of(result)
    return {
        "cycles": cycles,
        "longest_stream": longest_stream(launch, result.counters),
        "bound": bound,
        "distance": cycles / bound,
        "results": sum(map(entries, result.outputs.values())),
        "compile_s": compile_s,
        "bit_exact": bit_exact,
    }


def _bound(workload: SamWorkload, overrides: tuple[str, ...]) -> int:
    """Tokens of the longest stream without skipping."""
    unskipped = dict.fromkeys((*overrides, "skip=false"))
    device = _device(tuple(unskipped), "model")
    program = device.compile(workload)
    (launch,) = program.launches
    return longest_stream(launch, device.run(program, workload.inputs).counters)


@cache
def _device(overrides: tuple[str, ...], backend: str) -> Device:
    return Device(load_configuration(CONFIG, overrides), backend)
