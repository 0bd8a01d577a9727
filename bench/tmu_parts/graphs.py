"""Products with the adjacency matrices of graphs: real ones, and power-law graphs of two sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.lib.inputs import existing
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.tmu_parts.runs import CONFIG, run_named
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.loops.operation_inputs import GRAPHS, RELATIONS

BENCH = "tmu.graphs"

SIZES = (1024, 2048)
"""Vertices: with any mean degree they fit 8 MiB of memory."""

LARGER = {"products": (2048, 4096)}
"""Where the smallest ``SIZES`` still has many of its rows in L2."""

LIMIT = 1.05
"""At most so many times the cycles an edge at one size as at the other."""

REAL = {
    "Cora": "graph/cora_adjacency.mtx",
    "Citeseer": "graph/citeseer_adjacency.mtx",
}
"""Files below the folder of real inputs."""

POWER_LAW = tuple(name for name in GRAPHS if name not in RELATIONS)

_LEVEL = 4

METRICS = {
    "edges": Metric("edges", "none"),
    "cycles": Metric("cycles", "lower"),
    "cycles_an_edge": Metric("cycles", "lower"),
    "instructions_an_element": Metric("", "lower"),
    "words_an_element": Metric("", "lower"),
    "bytes_read": Metric("bytes", "lower"),
    "share": Metric("", "higher"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {
    "edges": "edges",
    "cycles": "cycles",
    "cycles_an_edge": "cycles an edge",
    "instructions_an_element": "instructions an element",
    "words_an_element": "words an element",
    "bytes_read": "bytes read",
    "share": "share of bound",
}


@dataclass(frozen=True)
class Job:
    """A graph: one of table III's and its ``vertices``, or one in a ``file``."""

    graph: str
    vertices: int
    backend: str
    seed: int
    file: Path | None = None

    @property
    def labels(self) -> dict[str, Any]:
        size = self.vertices or "all"
        return {"graph": self.graph, "vertices": size, "backend": self.backend}

    @property
    def workload(self) -> str:
        return f"spmm:{self.file}" if self.file else f"spmm:{self.graph}:{self.vertices}"

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return " ".join(map(str, [self.graph, self.vertices or ""])).strip()


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    run = run_named(job.workload, (), job.backend, job.seed, opt=_LEVEL)
    edges = len(run.workload.inputs["indices"])
    elements = edges * run.workload.inputs["dense"].shape[1]
    return {
        "edges": edges,
        "cycles": run.cycles,
        "cycles_an_edge": run.cycles / edges,
        "instructions_an_element": run.instructions / elements,
        "words_an_element": run.words / elements,
        "bytes_read": run.statistics["bytes_read"],
        "share": run.statistics["lower_bound"] / run.cycles,
        "bit_exact": run.bit_exact,
    }


def jobs(request: Request) -> list[Job]:
    """Real graphs, as far as there are files, and all of table III's at both sizes."""
    job = partial(Job, backend=request.backend, seed=request.seed)
    if request.quick:
        return [job("arxiv", vertices) for vertices in (64, 128)]
    all_jobs = []
    for graph, path in REAL.items():
        all_jobs += [job(graph, 0, file=file) for file in existing(request, BENCH, [path])]
    return all_jobs + [
        job(graph, vertices) for graph in POWER_LAW for vertices in LARGER.get(graph, SIZES)
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request)


def ratios(records: Sequence[Record]) -> dict[str, float]:
    """The largest cycles an edge of a graph over the smallest, of those at several sizes."""
    table: dict[str, list[float]] = {}
    for (graph, *_), row in rows(records).items():
        table.setdefault(graph, []).append(row["cycles_an_edge"])
    return {graph: max(costs) / min(costs) for graph, costs in table.items() if len(costs) > 1}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run."""
    body = [cells(row, labels[:2], _HEADER) for labels, row in rows(records).items()]
    return {"SpMM": Cells(["graph", "vertices", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """How much the cost of an edge depends on the size of the graph."""
    return "\n".join(
        f"{graph}, cycles an edge at two sizes: {ratio - 1:.1%} apart, at most {LIMIT - 1:.0%} "
        f"{mark(ratio <= LIMIT)}"
        for graph, ratio in ratios(records).items()
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles an edge."""
    costs = {
        " ".join(map(str, labels[:2])): row["cycles_an_edge"]
        for labels, row in rows(records).items()
    }
    figure, (axes,) = subplots(1, (9, 4))
    bars(axes, {"cycles an edge": list(costs.values())})
    axes.set_xticks(range(len(costs)), list(costs), rotation=45, ha="right")
    axes.set(ylabel="cycles an edge")
    axes.set_title("SpMM, level 4", loc="left", fontsize=11)
    save(figure, path)
