"""The optimiser, region by region: what it leaves to compute, and what it takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.peak_memory import peak_bytes
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.sram_compute_parts.workloads import names, nest
from gnarl.sw.compiler.sram_compute.optimise.costs import graph_cost
from gnarl.sw.compiler.sram_compute.optimise.saturate import optimise
from gnarl.sw.compiler.sram_compute.tdfg.graph import Compute, Const, Graph
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, regions
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "sram_compute.optimiser"
CONFIG = "sram_b4"

_SMALL = "vec_add"
FIGURE_6 = "conv2d"
WANTED = 1
"""Multiplications by a constant that figure 6 leaves, of ``PRINTED``."""
PRINTED = 4

LIMIT_S = 5.0
LIMIT_MIB = 2048.0

METRICS = {
    "nodes_before": Metric("nodes", "none"),
    "nodes": Metric("nodes", "lower"),
    "cost_before": Metric("cycles", "none"),
    "cost": Metric("cycles", "lower"),
    "multiplications_before": Metric("nodes", "none"),
    "multiplications": Metric("nodes", "lower"),
    "by_constant_before": Metric("nodes", "none"),
    "by_constant": Metric("nodes", "lower"),
    "seconds": Metric("s", "lower"),
    "peak_mib": Metric("MiB", "lower"),
}
"""``by_constant``: the most multiplications by one and the same constant, ``cost``: the estimate
that the optimiser goes by."""

_HEADER = {
    "nodes_before": "nodes before",
    "nodes": "after",
    "cost_before": "estimated cycles before",
    "cost": "after",
    "multiplications_before": "multiplications before",
    "multiplications": "after",
    "by_constant_before": "by one constant before",
    "by_constant": "after",
    "seconds": "CPU s",
    "peak_mib": "peak memory, MiB",
}


@dataclass(frozen=True)
class Job:
    """A region of a workload's plan, by number."""

    workload: str
    region: int
    seed: int

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "region": self.region}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.workload}, region {self.region}"


def measure(job: Job) -> dict[str, float | int]:
    """Values of ``METRICS``, in a process that has done nothing else. The peak of memory is of all:
    interpreter, libraries and the nest's plan. The time is without imports."""
    graph = _graphs(job.workload)[job.region]
    optimise(_graphs(_SMALL)[0], reassociate=True)
    begin = time.process_time()
    optimised = optimise(graph, reassociate=True).graph
    seconds = time.process_time() - begin
    return {
        "nodes_before": len(graph.nodes),
        "nodes": len(optimised.nodes),
        "cost_before": graph_cost(graph),
        "cost": graph_cost(optimised),
        "multiplications_before": multiplications(graph),
        "multiplications": multiplications(optimised),
        "by_constant_before": most_by_a_constant(graph),
        "by_constant": most_by_a_constant(optimised),
        "seconds": seconds,
        "peak_mib": peak_bytes() / 2**20,
    }


def _graphs(workload: str) -> list[Graph]:
    return [each.graph for each in regions(plan(nest(workload), streams=False))]


def multiplications(graph: Graph) -> int:
    return sum(isinstance(each, Compute) and each.function == "*" for each in graph.nodes)


def most_by_a_constant(graph: Graph) -> int:
    """Multiplications by that constant by which there are the most."""
    found: Counter[Const] = Counter()
    for node in graph.nodes:
        if isinstance(node, Compute) and node.function == "*":
            operands = [graph.nodes[each] for each in node.operands]
            found.update({each for each in operands if isinstance(each, Const)})
    return max(found.values(), default=0)


def jobs(request: Request) -> list[Job]:
    """Every region of every workload."""
    known = [FIGURE_6] if request.quick else names()
    job = partial(Job, seed=request.seed)
    return [job(name, region) for name in known for region in range(len(_graphs(name)))]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all, each in a process of its own; whether none got dearer."""
    return measure_all(
        BENCH,
        measure,
        jobs(request),
        METRICS,
        console=request.console,
        right=lambda values: values["cost"] <= values["cost_before"],
        fresh=True,
    )


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each region."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Optimiser": Cells(["workload", "region", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """Figure 6, and the limits of time and memory."""
    table = rows(records)
    lines = []
    for (workload, _), row in table.items():
        if workload == FIGURE_6:
            before, after = row["by_constant_before"], row["by_constant"]
            good = (before, after) == (PRINTED, WANTED)
            lines.append(
                f"figure 6, multiplications by C0: {before} → {after}, asked {PRINTED} → {WANTED} "
                f"{mark(good)}"
            )
    slowest = max(row["seconds"] for row in table.values())
    largest = max(row["peak_mib"] for row in table.values())
    lines += [
        f"slowest of {len(table)} regions: {slowest:.2f} CPU s, limit {LIMIT_S:g} "
        f"{mark(slowest <= LIMIT_S)}",
        f"largest peak memory: {largest:,.0f} MiB, limit {LIMIT_MIB:,.0f} MiB "
        f"{mark(largest <= LIMIT_MIB)}",
    ]
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Estimates before and after, and the time that it took."""
    table = rows(records)
    labels = [f"{workload} {region}" for workload, region in table]
    figure, axes = subplots(2, (12, 4.5))
    bars(axes[0], {each: [row[each] for row in table.values()] for each in ("cost_before", "cost")})
    axes[0].legend(["before", "after"], frameon=False)
    axes[0].set(ylabel="estimated cycles")
    bars(axes[1], {"CPU s": [row["seconds"] for row in table.values()]})
    line_at(axes[1], LIMIT_S)
    axes[1].set(ylabel="CPU s")
    for each in axes:
        each.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=8)
    save(figure, path)
