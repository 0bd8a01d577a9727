"""Two-layer graph convolutional networks: cycles, operations and bounds by what shares a graph."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.fuseflow_parts.variants import BEST, LAYER, LAYER_GLOBAL, NONE, VARIANTS
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.figures import longest_stream
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.models"

CONFIG = "sam_fp32"
OVERRIDES = ("array_words=524288",)
"""Citeseer's A·X, which unfused networks store, has 302,314 entries."""
DATA = ("karate", "citeseer", "cora")
ON_RTL = ("cora", LAYER)

COMPILATIONS = 7

LIMIT_BEST = 0.45
LIMIT_GLOBAL = 1.27
LIMIT_COMPILE_MS = 100.0
LIMIT_ERROR = 1e-5

METRICS = {
    "launches": Metric("", "none"),
    "cycles": Metric("cycles", "lower"),
    "operations": Metric("", "none"),
    "bytes": Metric("bytes", "lower"),
    "intensity": Metric("operations/byte", "none"),
    "longest": Metric("tokens", "none"),
    "distance": Metric("cycles/token", "lower"),
    "compile_ms": Metric("ms", "lower"),
    "error": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``bytes``: read and written in memories; ``intensity``: operations over them; ``longest``: tokens
of the longest streams, the sum of all launches; ``distance``: cycles over them; ``compile_ms``: the
median of several, without what ``torch.export`` takes; ``error``: the largest one against float64,
over the largest result."""

_HEADER = {
    "launches": "launches",
    "cycles": "cycles",
    "over_none": "× none",
    "operations": "operations",
    "bytes": "bytes",
    "intensity": "operations a byte",
    "longest": "longest streams",
    "distance": "distance",
    "compile_ms": "compile ms",
    "error": "error",
    "bit_exact": "bit-exact",
}

_SHOWN = {"intensity": ".3f", "error": ".1e"}
"""How figures are shown that two places are too few for."""


@dataclass(frozen=True)
class Job:
    """A network's data, how it is fused, and what it runs on."""

    data: str
    variant: str
    backend: str
    workloads: Path
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"data": self.data, "variant": self.variant, "backend": self.backend}

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, OVERRIDES)

    def __str__(self) -> str:
        return f"{self.data}, {self.variant}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. Raises ``GnarlError`` where a compiler, machine or model gives up."""
    os.environ["GNARL_WORKLOADS"] = str(job.workloads.resolve())
    with Device(job.configuration(), job.backend) as device:
        workload = device.workload(f"{ROOT / 'examples' / 'gcn.py'}:{job.data}")
        options = VARIANTS[job.variant]
        seconds = []
        for _ in range(COMPILATIONS):
            begin = time.perf_counter()
            program = device.compile(workload, **options)
            seconds.append(time.perf_counter() - begin)
        compile_ms = float(np.median(seconds)) * 1e3
        result = device.run(program, workload.inputs)
        verification = device.verify(result)
        reference = device.target.executor.reference(program, result.tensors)
        figures = device.target.presenter.figures(program, result)
    longest = sum(longest_stream(run.launch, run.finished.counters) for run in result.launches)
    exact = {name: _dense(array) for name, array in reference.items()}
    largest = max(float(np.abs(array).max()) for array in exact.values())
    error = max(
        float(np.abs(_dense(result.outputs[name]) - array).max()) for name, array in exact.items()
    )
    assert result.cycles is not None and figures.bytes is not None
    return {
        "launches": len(result.launches),
        "cycles": result.cycles,
        "operations": figures.operations,
        "bytes": figures.bytes,
        "intensity": figures.operations / figures.bytes,
        "longest": longest,
        "distance": result.cycles / longest,
        "compile_ms": compile_ms,
        "error": error / largest,
        "bit_exact": verification.bit_exact,
    }


def _dense(array: Any) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array.astype(np.float64)
    values = np.zeros(array.shape)
    values[tuple(array.coordinates.T)] = array.values
    return values


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every variant on the data that are there; whether all went well."""
    jobs = []
    for data in DATA[: 1 if request.quick else None]:
        if (
            data != "karate"
            and not (request.workloads / "graph" / f"{data}_adjacency.mtx").is_file()
        ):
            request.console.print(f"{BENCH}: {data} is absent: skipped", style="yellow")
            continue
        for variant in VARIANTS:
            jobs.append(Job(data, variant, "model", request.workloads, request.seed))
            if request.backend == "rtl" and (data, variant) == ON_RTL:
                jobs.append(Job(data, variant, "rtl", request.workloads, request.seed))
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each variant on each data set, with its cycles over those of no fusion."""
    table = rows(measured)
    body = []
    for (data, variant, backend), row in table.items():
        none = table.get((data, NONE, "model"))
        over = {"over_none": row["cycles"] / none["cycles"]} if none else {}
        body.append(cells({**row, **over}, [data, variant, backend], _HEADER, shown=_SHOWN))
    return {"Networks": Cells(["data", "variant", "backend", *_HEADER.values()], body, names=3)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [f"bit-exact: {exact} of {len(table)} runs"]
    data = "cora" if ("cora", LAYER, "model") in table else "karate"
    own = {
        variant: row
        for (name, variant, backend), row in table.items()
        if (name, backend) == (data, "model")
    }
    best = own[BEST]["cycles"] / own[LAYER]["cycles"]
    wide = own[LAYER_GLOBAL]["cycles"] / own[LAYER]["cycles"]
    compile_ms = max(row["compile_ms"] for row in table.values())
    error = max(row["error"] for row in table.values())
    return "\n".join(
        [
            *lines,
            f"{data}: cycles of the best schedule over the layers', {best:.3g}, limit "
            f"{LIMIT_BEST:g} {mark(best <= LIMIT_BEST)}",
            f"{data}: cycles of global over factored iteration, {wide:.3g}, at least "
            f"{LIMIT_GLOBAL:g} {mark(wide >= LIMIT_GLOBAL)} (paper 1.33)",
            f"compile ms after export, worst {compile_ms:.3g}, limit {LIMIT_COMPILE_MS:g} "
            f"{mark(compile_ms <= LIMIT_COMPILE_MS)}",
            f"error over the largest result, worst {error:.1e}, limit {LIMIT_ERROR:g} "
            f"{mark(error <= LIMIT_ERROR)}",
        ]
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each variant as shares of those without fusion."""
    table = rows(measured)
    names = list(dict.fromkeys(data for data, *_ in table))
    series = {
        variant: [
            table[data, variant, "model"]["cycles"] / table[data, NONE, "model"]["cycles"]
            for data in names
        ]
        for variant in VARIANTS
    }
    figure, (axes,) = subplots(1, (9, 4.4))
    bars(axes, series)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="cycles / cycles without fusion")
    axes.set_title(f"{CONFIG}: two-layer GCN", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
