"""Every kernel of the suite over random tensors of many shapes and densities, against NumPy."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.bits import same_bits
from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_all
from bench.lib.plots import PALETTE, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.sam_parts.cases import cases
from bench.sam_parts.measure import CONFIG
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.figures import longest_stream
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.tensor import Tensor

BENCH = "sam.suite"

LIMIT_COMPILE_S = 0.1

_QUICK = ("matmul_ijk", "mat_elemadd", "vec_spacc_simple")
_OVERRIDES = ("array_words=8192", "accumulator_words=1024")

METRICS = {
    "runs": Metric("runs", "none"),
    "equal": Metric("runs", "higher"),
    "bit_exact": Metric("runs", "higher"),
    "cycles": Metric("cycles", "lower"),
    "distance": Metric("cycles/token", "lower"),
    "compile_s": Metric("s", "lower"),
}
"""``equal``: with integers, to NumPy; ``bit_exact``: with floats, to model and golden model;
``distance``: cycles over the longest stream's tokens, both summed."""

_HEADER = {
    "runs": "runs",
    "equal": "equal to NumPy",
    "bit_exact": "bit-exact",
    "cycles": "cycles",
    "distance": "distance",
    "compile_s": "compile s",
}


@dataclass(frozen=True)
class Job:
    """A kernel of the suite, over all its cases."""

    kernel: str
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"kernel": self.kernel, "backend": self.backend}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG, _OVERRIDES), self.seed)

    def __str__(self) -> str:
        return f"{self.kernel}, {self.backend}"


def measure(job: Job) -> dict[str, float | int]:
    """Values of ``METRICS``. Raises ``GnarlError`` where a compiler, machine or model gives up."""
    configuration = load_configuration(CONFIG, _OVERRIDES)
    device, model = Device(configuration, job.backend), Device(configuration, "model")
    workload = device.workload(SUITE[job.kernel])
    device.compile(workload)
    begin = time.perf_counter()
    program = device.compile(workload)
    compile_s = time.perf_counter() - begin
    equal = exact = runs = cycles = tokens = 0
    with device:
        for case in cases(job.kernel, job.seed):
            runs += 1
            inputs = case.inputs(integers=True)
            expected = case.expected(inputs)
            result = device.run(program, inputs)
            equal += np.array_equal(dense(result), expected)
            cycles += cycles_of(result)
            tokens += longest_stream(program.launches[0], result.counters)
            inputs = case.inputs(integers=False)
            result = device.run(program, inputs)
            other = model.run(program, inputs)
            exact += device.verify(result).bit_exact and same_bits(result, other)
    return {
        "runs": runs,
        "equal": int(equal),
        "bit_exact": int(exact),
        "cycles": cycles,
        "distance": cycles / tokens,
        "compile_s": compile_s,
    }


def dense(result: Result[Any]) -> np.ndarray:
    """A result's only output, float64."""
    (output,) = result.outputs.values()
    array = output if isinstance(output, np.ndarray) else Tensor.from_any(output).to_dense()
    return array.astype(np.float64)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every kernel; whether all went well."""
    kernels = _QUICK if request.quick else tuple(SUITE)
    jobs = [Job(kernel, request.backend, request.seed) for kernel in kernels]
    return measure_all(BENCH, measure, jobs, METRICS, console=request.console, right=_right)


def _right(values: Mapping[str, Any]) -> bool:
    return bool(values["equal"] == values["bit_exact"] == values["runs"])


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each kernel."""
    body = [cells(row, labels[:1], _HEADER, places=3) for labels, row in rows(records).items()]
    return {"The suite": Cells(["kernel", *_HEADER.values()], body)}


def verdict(records: Sequence[Record]) -> str:
    """What is right, and the slowest compilation, in a line each."""
    table = rows(records)
    runs = sum(row["runs"] for row in table.values())
    equal = sum(row["equal"] for row in table.values())
    exact = sum(row["bit_exact"] for row in table.values())
    slowest = max(row["compile_s"] for row in table.values())
    backend = next(iter(table))[1]
    return "\n".join(
        [
            f"on {backend}, integers equal to NumPy: {equal} of {runs} runs",
            f"on {backend}, floats bit-exact to model and golden model: {exact} of {runs} runs",
            f"slowest compilation: {slowest:.3f} s, limit {LIMIT_COMPILE_S:g} s "
            f"{mark(slowest <= LIMIT_COMPILE_S)}",
        ]
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """How far each kernel's cycles are from its longest stream."""
    table = rows(records)
    figure, (axes,) = subplots(1, (11, 4.4))
    places = np.arange(len(table))
    axes.bar(places, [row["distance"] for row in table.values()], 0.7, color=PALETTE[0])
    line_at(axes, 1)
    names = [labels[0] for labels in table]
    axes.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
    axes.set(ylabel="cycles / tokens of the longest stream")
    axes.set_title("The suite over small random tensors", loc="left", fontsize=11)
    save(figure, path)
