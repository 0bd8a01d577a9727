"""Attention whose rows wait for their own sums: cycles and bits of queues, as deep as found or all
as deep as a row is long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.fuseflow_parts.attention_head import Head, attention, bigbird
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.depths import size_queues

BENCH = "fuseflow.attention"

WIDTH = 16
QUEUE_DEPTH = 8
FOUND, UNIFORM = "as found", "as a row"
ROWS = (64, 128, 1024)
ON_RTL = ((64, FOUND),)
MORE_ON_RTL = ((64, UNIFORM), (128, FOUND), (128, UNIFORM))
MAX_CYCLES = 20_000_000

LIMIT_CYCLES = {64: 52_971, 128: 208_043}
LIMIT_BITS = 1 / 3

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "bound": Metric("cycles", "none"),
    "bits": Metric("bits", "lower"),
    "error": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``bound``: multiplications of a product, which has one a cycle; ``bits``: of all queues;
``error``: the largest one against float64."""

_HEADER = {
    "cycles": "cycles",
    "bound": "bound",
    "bits": "bits of queues",
    "error": "error",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """A head whose first rows of attention have all ``length`` columns, and its queues."""

    length: int
    queues: str
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"longest row": f"{self.length:,}", "queues": self.queues, "backend": self.backend}

    def setting(self) -> Setting:
        return Setting("attention", (), self.configuration(self.head()).digest, self.seed)

    def head(self) -> Head:
        random = np.random.default_rng(self.seed)
        return Head.random(bigbird(self.length, random), WIDTH, random)

    def configuration(self, head: Head) -> SamConfig:
        entries = int(head.mask.sum())
        fields: dict[str, Any] = {
            "index_bits": max(16, entries.bit_length()),
            "array_words": 1 << max(14, (entries - 1).bit_length()),
            "accumulator_words": 2 * WIDTH,
        }
        if self.queues == UNIFORM:
            return SamConfig(graph=attention(), queue_depth=self.length, **fields)
        least = SamConfig(queue_depth=QUEUE_DEPTH, **fields)
        sized = size_queues(attention(), head.lengths, least)
        return SamConfig(graph=sized, queue_depth=QUEUE_DEPTH, **fields)

    def __str__(self) -> str:
        return f"rows of {self.length:,}, queues {self.queues}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. Raises ``GnarlError`` where the machine gives up."""
    head = job.head()
    config = job.configuration(head)
    run = head.on_rtl if job.backend == "rtl" else head.on_simulator
    found, cycles = run(config, MAX_CYCLES)
    return {
        "cycles": cycles,
        "bound": int(head.mask.sum()) * WIDTH,
        "bits": queue_bits(config),
        "error": float(np.abs(found - head.expected()).max()),
        "bit_exact": bool((found.view(np.uint32) == head.golden().view(np.uint32)).all()),
    }


def queue_bits(config: SamConfig) -> int:
    """Bits of all queues of a machine of one graph: of payloads, and of two more a token."""
    graph = config.graph
    assert graph is not None
    return sum(
        (edge.depth or config.queue_depth)
        * (config.stream_width(graph.kind_of_stream(edge.source, edge.output)) + 2)
        for edge in graph.edges
    )


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures rows of every length; whether all went well."""
    jobs, on_rtl = [], request.cases(ON_RTL, MORE_ON_RTL)
    for length in request.cases(ROWS):
        for queues in (UNIFORM, FOUND):
            jobs.append(Job(length, queues, "model", request.seed))
            if request.backend == "rtl" and (length, queues) in on_rtl:
                jobs.append(Job(length, queues, "rtl", request.seed))
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each length, queues and backend."""
    table = rows(measured)
    body = [cells(row, labels, _HEADER, shown={"error": ".1e"}) for labels, row in table.items()]
    return {"Attention": Cells(["longest row", "queues", "backend", *_HEADER.values()], body, 3)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    lines = []
    for (length, queues, backend), row in table.items():
        if queues != FOUND:
            continue
        other = table[length, UNIFORM, "model"]
        share = row["bits"] / other["bits"]
        most = LIMIT_CYCLES.get(int(length.replace(",", "")), other["cycles"])
        lines.append(
            f"rows of {length}, {backend}: {row['cycles']:,} cycles, limit {most:,} "
            f"{mark(row['cycles'] <= most)}; bits over those of queues as deep as a row, "
            f"{share:.2f}, limit {LIMIT_BITS:.2f} {mark(share <= LIMIT_BITS)}"
        )
    exact = sum(row["bit_exact"] for row in table.values())
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Bits of queues by the length of rows."""
    table = rows(measured)
    lengths = list(dict.fromkeys(length for length, *_ in table))
    series = {
        queues: [table[length, queues, "model"]["bits"] for length in lengths]
        for queues in (UNIFORM, FOUND)
    }
    figure, (axes,) = subplots(1, (6, 4))
    bars(axes, series)
    axes.set_xticks(range(len(lengths)), lengths)
    axes.set(xlabel="longest row", ylabel="bits of queues", yscale="log")
    axes.set_title("A head of BigBird attention", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    save(figure, path)
