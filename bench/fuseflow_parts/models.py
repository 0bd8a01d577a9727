"""Two-layer graph networks: cycles, operations and bounds by what shares a graph."""

from __future__ import annotations

import os
import runpy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.fuseflow_parts import figures
from bench.fuseflow_parts.variants import (
    BEST,
    FULL,
    GCN,
    GRAPHSAGE,
    LAYER,
    LAYER_GLOBAL,
    NETWORKS,
    NONE,
    VARIANTS,
)
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.models"

CONFIG = "sam_fp32"
OVERRIDES = ("array_words=524288",)
"""Citeseer's A·X, which unfused networks store, has 302,314 entries."""
DATA = ("karate", "cora")
MORE_DATA = ("citeseer",)
ADJACENCY = "_adjacency.mtx"
ON_RTL = (GCN, "cora", LAYER)

COMPILATIONS = 7

PAPER = {GCN: "1.63, 0.29", GRAPHSAGE: "2.10, 0.48"}
"""By layer and in full, of the paper's artefact: Cora with dense features."""

LIMIT_BEST = 0.45
LIMIT_GLOBAL = 1.27
LIMIT_COMPILE_MS = {GCN: 100.0, GRAPHSAGE: 750.0}
LIMIT_ERROR = 1e-5

METRICS = {
    **figures.METRICS,
    "compile_ms": Metric("ms", "lower"),
    "error": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``compile_ms``: the median of several, without what ``torch.export`` takes; ``error``: the
largest one against float64, over the largest result."""

_HEADER = {
    **figures.HEADER,
    "compile_ms": "compile ms",
    "error": "error",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """A network, its data, how it is fused, and what it runs on."""

    network: str
    data: str
    variant: str
    backend: str
    workloads: Path
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {
            "network": self.network,
            "data": self.data,
            "variant": self.variant,
            "backend": self.backend,
        }

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, OVERRIDES)

    def __str__(self) -> str:
        return f"{self.network}, {self.data}, {self.variant}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. Raises ``GnarlError`` where a compiler, machine or model gives up."""
    os.environ["GNARL_WORKLOADS"] = str(job.workloads.resolve())
    with Device(job.configuration(), job.backend) as device:
        workload = device.workload(_source(job))
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
        measured = figures.run_figures(device, program, result)
    exact = {name: _dense(array) for name, array in reference.items()}
    largest = max(float(np.abs(array).max()) for array in exact.values())
    error = max(
        float(np.abs(_dense(result.outputs[name]) - array).max()) for name, array in exact.items()
    )
    return {
        **measured,
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
    others = _others(request.workloads) if request.full else []
    for data in (*request.cases(DATA, MORE_DATA), *others):
        if data != "karate" and not (request.workloads / "graph" / f"{data}{ADJACENCY}").is_file():
            request.console.print(f"{BENCH}: {data} is absent: skipped", style="yellow")
            continue
        for network, variant in ((name, each) for name in NETWORKS for each in NETWORKS[name]):
            own = network, data, variant
            jobs.append(Job(*own, "model", request.workloads, request.seed))
            if request.full and request.backend == "rtl" and own == ON_RTL:
                jobs.append(Job(*own, "rtl", request.workloads, request.seed))
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def _source(job: Job) -> Any:
    """The model with its data, as a device reads it."""
    file = f"{ROOT / 'examples' / f'{job.network}.py'}"
    if job.data in (*DATA, *MORE_DATA):
        return f"{file}:{job.data}"
    return runpy.run_path(file)["graph"](job.data)


def _others(workloads: Path) -> list[str]:
    """More graphs in the folder of workloads, such as others of the paper's table 2."""
    names = (path.name.removesuffix(ADJACENCY) for path in workloads.glob(f"graph/*{ADJACENCY}"))
    return sorted(set(names) - {*DATA, *MORE_DATA})


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each variant on each data set, with its cycles over those of no fusion."""
    table = rows(measured)
    body = []
    for labels, row in table.items():
        none = table.get((*labels[:2], NONE, "model"))
        over = {"over_none": row["cycles"] / none["cycles"]} if none else {}
        body.append(cells({**row, **over}, labels, _HEADER, shown=figures.SHOWN))
    names = ["network", "data", "variant", "backend"]
    return {"Networks": Cells([*names, *_HEADER.values()], body, names=4)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [f"bit-exact: {exact} of {len(table)} runs"]
    data = "cora" if (GCN, "cora", LAYER, "model") in table else "karate"
    own = {variant: table[GCN, data, variant, "model"] for variant in NETWORKS[GCN]}
    for network in NETWORKS:
        none, layer, full = (
            table[network, data, each, "model"]["cycles"] for each in (NONE, LAYER, FULL)
        )
        is_ranked = layer < none < full
        lines.append(
            f"{network}, {data}: times as fast as unfused, by layer {none / layer:.2f}, in full "
            f"{none / full:.2f} (paper {PAPER[network]}), ranked as there {mark(is_ranked)}"
        )
    best = own[BEST]["cycles"] / own[LAYER]["cycles"]
    wide = own[LAYER_GLOBAL]["cycles"] / own[LAYER]["cycles"]
    for network, limit in LIMIT_COMPILE_MS.items():
        worst = max(row["compile_ms"] for (name, *_), row in table.items() if name == network)
        lines.append(
            f"{network}: compile ms after export, worst {worst:.3g}, limit {limit:g} "
            f"{mark(worst <= limit)}"
        )
    error = max(row["error"] for row in table.values())
    return "\n".join(
        [
            *lines,
            f"{data}: cycles of the best schedule over the layers', {best:.3g}, limit "
            f"{LIMIT_BEST:g} {mark(best <= LIMIT_BEST)}",
            f"{data}: cycles of global over factored iteration, {wide:.3g}, at least "
            f"{LIMIT_GLOBAL:g} {mark(wide >= LIMIT_GLOBAL)} (paper 1.33)",
            f"error over the largest result, worst {error:.1e}, limit {LIMIT_ERROR:g} "
            f"{mark(error <= LIMIT_ERROR)}",
        ]
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each variant as shares of those without fusion."""
    table = rows(measured)
    names = list(dict.fromkeys(data for _, data, *_ in table))
    figure, all_axes = subplots(len(NETWORKS), (11, 4.4))
    for axes, (network, variants) in zip(all_axes, NETWORKS.items(), strict=True):
        series = {
            variant: [
                table[network, data, variant, "model"]["cycles"]
                / table[network, data, NONE, "model"]["cycles"]
                for data in names
            ]
            for variant in variants
        }
        bars(axes, series)
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="cycles / cycles without fusion", yscale="log")
        axes.set_title(f"{CONFIG}: two-layer {network}", loc="left", fontsize=11)
    shown = all_axes[0].get_legend_handles_labels()
    figure.legend(*shown, frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
