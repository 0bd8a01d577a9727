"""Estimates of fused models against their runs: operations, bytes and cycles from 256 rows, and
the ranks of fusions from sparsities alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter

from bench.fuseflow_parts import figures, models
from bench.fuseflow_parts.decoder import head
from bench.fuseflow_parts.variants import FULL, LAYER, NETWORKS, NONE, VARIANTS
from bench.lib.exact import is_exact
from bench.lib.measurements import measure_exact
from bench.lib.plots import save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.estimate.estimate import estimate
from gnarl.sw.runtime.sam.search.sparsities import random_inputs
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.tensor.operands import named_operand

BENCH = "fuseflow.heuristic"

DATA = ("cora",)
MORE_DATA = ("citeseer",)

ATTENTION, LENGTH, BLOCK = "attention", 1024, 64
"""The example's head, as long as the paper's, with its mask."""

LIMITS = {"operations": 3.0, "bytes": 10.0}
"""Mean errors in percent."""

PAPER = {"operations": "1.8 to 2.8", "bytes": "5.7 to 11.5"}
"""Of its three models."""

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "cycles_error": Metric("%", "lower"),
    "operations_error": Metric("%", "lower"),
    "bytes_error": Metric("%", "lower"),
    "faster": Metric("", "higher"),
    "by_sparsities": Metric("cycles", "none"),
    "bit_exact": Metric("", "higher"),
}
"""``…_error``: of the estimate against the run; ``faster``: seconds of the run on the model over
those of the estimate; ``by_sparsities``: cycles estimated with inputs of which only the shares of
zeros are known."""

_HEADER = {
    "cycles": "cycles",
    "cycles_error": "error, %",
    "operations_error": "of operations",
    "bytes_error": "of bytes",
    "faster": "× as fast",
    "by_sparsities": "cycles by sparsities",
}


@dataclass(frozen=True)
class Job:
    """A network, its data and how it is fused."""

    network: str
    data: str
    variant: str
    workloads: Path
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"network": self.network, "data": self.data, "variant": self.variant}

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(models.CONFIG, models.OVERRIDES)

    def source(self) -> Any:
        """What a device reads as the model."""
        if self.network == ATTENTION:
            return head(LENGTH, self.seed, BLOCK, first=2)
        os.environ["GNARL_WORKLOADS"] = str(self.workloads.resolve())
        return f"{ROOT / 'examples' / f'{self.network}.py'}:{self.data}"

    def __str__(self) -> str:
        return f"{self.network}, {self.data}, {self.variant}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    with Device(job.configuration(), "model") as device:
        workload = device.workload(job.source())
        program = device.compile(workload, **VARIANTS[job.variant])
        estimate(program, workload.inputs)  # compiles what both need
        begin = time.perf_counter()
        found = estimate(program, workload.inputs)
        middle = time.perf_counter()
        result = device.run(program, workload.inputs)
        end = time.perf_counter()
        measured = figures.run_figures(device, program, result)
        exact = is_exact(device, result)
    return {
        "cycles": measured["cycles"],
        "cycles_error": _error(found.cycles, measured["cycles"]),
        "operations_error": _error(found.operations, measured["operations"]),
        "bytes_error": _error(found.bytes, measured["bytes"]),
        "faster": (end - middle) / (middle - begin),
        "by_sparsities": _by_sparsities(workload, program),
        "bit_exact": exact,
    }


def _error(found: float, real: float) -> float:
    return 100 * abs(found / real - 1)


def _by_sparsities(workload: SamModel, program: Program) -> int:
    """Cycles estimated with all inputs that have zeros replaced by random ones."""
    shares = {}
    for name, given in workload.inputs.items():
        tensor = named_operand(name, given, finite=False).tensor
        share = 1 - tensor.nnz / np.prod(tensor.shape, dtype=float)
        if share:
            shares[workload.names.get(name, name)] = float(share)
    return estimate(program, random_inputs(workload, shares)).cycles


def run(request: Request) -> tuple[list[Record], bool]:
    """Estimates and runs every variant on the data that are there; whether all went well."""
    jobs = [Job(*each, request.workloads, request.seed) for each in _chosen(request)]
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def _chosen(request: Request) -> Iterator[tuple[str, str, str]]:
    for data in ("karate",) if request.quick else request.cases(DATA, MORE_DATA):
        file = request.workloads / "graph" / f"{data}_adjacency.mtx"
        if data != "karate" and not file.is_file():
            request.console.print(f"{BENCH}: {data} is absent: skipped", style="yellow")
            continue
        for network, variants in NETWORKS.items():
            for variant in variants:
                yield network, data, variant
    if not request.quick:
        for variant in (NONE, FULL):
            yield ATTENTION, f"{LENGTH}", variant


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each variant of each model."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(measured).items()]
    names = ["network", "data", "variant"]
    return {"Estimates": Cells([*names, *_HEADER.values()], body, names=3)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [f"bit-exact: {exact} of {len(table)} runs"]
    for name, limit in LIMITS.items():
        errors = [row[f"{name}_error"] for row in table.values()]
        mean = float(np.mean(errors))
        lines.append(
            f"error of {name}, mean {mean:.2f} %, worst {max(errors):.2f}, limit of the mean "
            f"{limit:g} {mark(mean <= limit)} (paper {PAPER[name]})"
        )
    errors = [row["cycles_error"] for row in table.values()]
    lines.append(f"error of cycles, mean {np.mean(errors):.2f} %, worst {max(errors):.2f}")
    for network, data in dict.fromkeys(labels[:2] for labels in table):
        own = {key[2]: row for key, row in table.items() if key[:2] == (network, data)}
        shown = [each for each in (NONE, LAYER, FULL) if each in own]
        by_run = sorted(shown, key=lambda each: own[each]["cycles"])
        guessed = sorted(shown, key=lambda each: own[each]["by_sparsities"])
        lines.append(
            f"{network}, {data}: by sparsities alone {' < '.join(guessed)}, as in runs "
            f"{mark(by_run == guessed)}"
        )
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles estimated from sparsities alone over cycles of runs."""
    table = rows(measured)
    figure, (axes,) = subplots(1, (7, 4.6))
    for network in dict.fromkeys(name for name, *_ in table):
        own = [row for (name, *_), row in table.items() if name == network]
        runs, guessed = ([row[key] for row in own] for key in ("cycles", "by_sparsities"))
        axes.scatter(runs, guessed, label=network, edgecolor="#555555", linewidth=0.5)
    ends = [f(row["cycles"] for row in table.values()) for f in (min, max)]
    axes.plot(ends, ends, color="#999999", linewidth=1)
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="cycles of the run", ylabel="cycles, estimated from shares of zeros alone")
    axes.set_title(f"{models.CONFIG}: fused and unfused models", loc="left", fontsize=11)
    axes.legend(frameon=False)
    save(figure, path)
