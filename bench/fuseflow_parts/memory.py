"""Fusion where arrays have memories of their own, and where they lie in lines behind channels: the
paper's figures 12 and 14, whose memory is off the chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fuseflow_parts import figures, fusion, models
from bench.fuseflow_parts.variants import FULL, GCN, GRAPHSAGE, LAYER, NONE
from bench.lib.exact import is_exact
from bench.lib.jobs import AT_ONCE
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.memory"

LOCAL, LINES = "local", "lines"
CHANNELS, LINE_BYTES, LATENCY, LINE_CYCLES = 8, 64, 100, 2
PORT_LINES, PREFETCH, IN_FLIGHT = 64, 8, 64
OVERRIDES = {
    LOCAL: (),
    LINES: (
        "memory=lines",
        f"memory_channels={CHANNELS}",
        f"line_bytes={LINE_BYTES}",
        f"memory_latency={LATENCY}",
        f"line_cycles={LINE_CYCLES}",
        f"port_lines={PORT_LINES}",
        f"prefetch_lines={PREFETCH}",
        f"memory_in_flight={IN_FLIGHT}",
    ),
}
"""A stack of HBM2 has 256 GB/s: at a gigahertz 256 bytes a cycle, as here."""

NETWORKS = (GCN, GRAPHSAGE)
MORE_NETWORKS = ("autoencoder", "decoder in blocks")
"""Those that a full request has besides; a row of a block is a line."""

VARIANTS = (NONE, LAYER, FULL)
RUN = (GCN, LAYER, LINES)
"""What is run besides, to be compared bit for bit."""

METRICS = {
    "estimate": Metric("cycles", "lower"),
    "bytes": Metric("bytes", "lower"),
    "line_bytes": Metric("bytes", "lower"),
    "longest": figures.METRICS["longest"],
    "distance": figures.METRICS["distance"],
    "cycles": Metric("cycles", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``line_bytes``: of lines that move; ``cycles``: of a run."""

_HEADER = {
    "estimate": "cycles, estimated",
    "gain": "× as fast",
    "over_local": "× local",
    "bytes": "bytes of rows",
    "line_bytes": "bytes of lines",
    "over_bytes": "× rows",
    "share": "% of bandwidth",
    "longest": figures.HEADER["longest"],
    "distance": figures.HEADER["distance"],
    "cycles": "cycles, run",
}


@dataclass(frozen=True)
class Job:
    """A model, what shares a graph, and where its arrays lie."""

    network: str
    variant: str
    memory: str
    workloads: Path
    seed: int
    quick: bool

    @property
    def labels(self) -> dict[str, str]:
        return {"network": self.network, "variant": self.variant, "memory": self.memory}

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    @property
    def is_run(self) -> bool:
        return (self.network, self.variant, self.memory) == RUN

    def configuration(self) -> NamedConfiguration:
        of_network = fusion.NETWORKS[self.network].overrides()
        return load_configuration(models.CONFIG, (*of_network, *OVERRIDES[self.memory]))

    def __str__(self) -> str:
        return f"{self.network}, {self.variant}, {self.memory}"


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``."""
    of_fusion = fusion.Job(job.network, job.variant, job.workloads, job.seed, job.quick)
    with Device(job.configuration(), "model") as device:
        workload = device.workload(fusion.source(of_fusion))
        program, found = fusion.estimated(device, workload, of_fusion)
        values = {
            "estimate": found.cycles,
            "bytes": found.bytes,
            "line_bytes": found.line_bytes if job.memory == LINES else None,
            **figures.estimated_streams(found),
            "cycles": None,
            "bit_exact": True,
        }
        if job.is_run:
            result = device.run(program, workload.inputs)
            values["cycles"] = result.cycles
            values["bit_exact"] = is_exact(device, result)
    return values


def run(request: Request) -> tuple[list[Record], bool]:
    """Estimates the models in both memories, if their data are there; whether all went well."""
    jobs = [
        Job(network, variant, memory, request.workloads, request.seed, request.quick)
        for network in _there(request)
        for variant in VARIANTS
        for memory in OVERRIDES
    ]
    return measure_exact(
        BENCH, measure, jobs, METRICS, request, processes=AT_ONCE, alone=lambda job: job.is_run
    )


def _there(request: Request) -> Iterator[str]:
    if request.quick or (request.workloads / "graph" / "cora_adjacency.mtx").is_file():
        yield from NETWORKS
    else:
        request.console.print(f"{BENCH}: cora is absent: skipped", style="yellow")
    if request.full:
        yield from MORE_NETWORKS


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model, variant and memory, with its figures over those of no fusion, of local
    memories, and of the rows."""
    table = rows(measured)
    body = []
    for labels, row in table.items():
        network, variant, memory = labels
        over: dict[str, Any] = {
            "gain": table[network, NONE, memory]["estimate"] / row["estimate"],
            "over_local": row["estimate"] / table[network, variant, LOCAL]["estimate"],
        }
        if memory == LINES:
            over["over_bytes"] = row["line_bytes"] / row["bytes"]
            over["share"] = 100 * _share(row)
        body.append(cells({**row, **over}, labels, _HEADER))
    return {"Memory": Cells(["network", "variant", "memory", *_HEADER.values()], body, names=3)}


def _share(row: dict[str, Any]) -> float:
    """Of what channels can move in as many cycles."""
    share: float = row["line_bytes"] / (row["estimate"] * CHANNELS * LINE_BYTES / LINE_CYCLES)
    return share


def verdict(measured: Sequence[Record]) -> str:
    """What fusion gains in either memory, beside the paper, in a line each."""
    table = rows(measured)
    lines = []
    for network in dict.fromkeys(name for name, *_ in table):
        paper = fusion.NETWORKS[network].paper
        for memory in OVERRIDES:
            none, layer, full = (table[network, each, memory] for each in VARIANTS)
            gains = [none["estimate"] / each["estimate"] for each in (layer, full)]
            text = f"{network}, {memory}: {fusion.gains_of(gains, paper)}"
            if memory == LINES:
                moved = [each["line_bytes"] / none["line_bytes"] for each in (layer, full)]
                text += f"; bytes of lines over those unfused {moved[0]:.2f}, {moved[1]:.2f}"
            lines.append(text)
    ran = [row for row in table.values() if row["cycles"] is not None]
    worst = max((abs(row["estimate"] / row["cycles"] - 1) for row in ran), default=0.0)
    exact = sum(row["bit_exact"] for row in ran)
    lines.append(f"runs besides: {len(ran)}, bit-exact: {exact}; estimates within {worst:.2%}")
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each variant over those of no fusion in the same memory; bytes of rows and lines
    over those of rows without fusion."""
    table = rows(measured)
    names = list(dict.fromkeys(name for name, *_ in table))
    figure, all_axes = subplots(2, (11, 3.8))
    bars(
        all_axes[0],
        {
            f"{variant}, {memory}": [
                table[name, variant, memory]["estimate"] / table[name, NONE, memory]["estimate"]
                for name in names
            ]
            for variant in (LAYER, FULL)
            for memory in OVERRIDES
        },
    )
    bars(
        all_axes[1],
        {
            f"{variant}, {what}": [
                table[name, variant, LINES][metric] / table[name, NONE, LINES]["bytes"]
                for name in names
            ]
            for variant in VARIANTS
            for metric, what in (("bytes", "rows"), ("line_bytes", "lines"))
        },
    )
    for axes, label in zip(all_axes, ("cycles / cycles", "bytes / bytes of rows"), strict=True):
        axes.axhline(1, color="#999999", linewidth=1)
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel=f"{label} without fusion", yscale="log")
        axes.legend(frameon=False, fontsize=8)
    save(figure, path)
