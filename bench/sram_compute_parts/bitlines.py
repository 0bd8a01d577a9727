"""Memory against stream engines, over bitlines a lane: where they break even."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_exact
from bench.lib.plots import line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell
from bench.lib.tables import Cells
from bench.sram_compute_parts.in_places import EngineRun, run_in
from bench.sram_compute_parts.workloads import sizes_text, workload
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "sram_compute.bitlines"
CONFIG = "sram_b4"
BITLINES = (256, 1024, 4096, 16384)
"""Bitlines of a bank, which has one lane."""

WORKLOADS = ("vec_add", "array_sum", "stencil1d", "stencil2d", "row_sums", "mm")

PLACES = ("memory", "near")

METRICS = {
    **{f"cycles_{place}": Metric("cycles", "lower") for place in PLACES},
    **{f"warm_{place}": Metric("cycles", "lower") for place in PLACES},
    "bit_exact": Metric("", "higher"),
}


@dataclass(frozen=True)
class Job:
    """A workload that fills the bitlines, of banks that have ``bitlines`` each."""

    workload: str
    bitlines: int
    seed: int

    def named(self) -> NamedConfiguration:
        config = load_configuration(CONFIG).config
        assert isinstance(config, SramConfig)
        return load_configuration(CONFIG, [f"arrays={self.bitlines // config.bitlines}"])

    @property
    def sizes(self) -> dict[str, int]:
        config = self.named().config
        assert isinstance(config, SramConfig)
        elements = self.bitlines * config.banks
        found = {"steps": 2} if self.workload.startswith("stencil") else {}
        if self.workload == "mm":
            found["inner"] = 16
        if self.workload in ("vec_add", "array_sum", "stencil1d"):
            return {"n": elements, **found}
        return {"rows": isqrt(elements), "columns": isqrt(elements), **found}

    @property
    def labels(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "bitlines": self.bitlines,
            "sizes": sizes_text(self.sizes),
        }

    def setting(self) -> Setting:
        return Setting.of(self.named(), self.seed)

    def __str__(self) -> str:
        return f"{self.workload}, {self.bitlines} bitlines a lane"


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``."""
    measured = workload(job.workload, job.sizes, job.seed)
    runs: dict[str, EngineRun] = {}
    for place in PLACES:
        if (placed := run_in(measured, job.named(), place, runs)) is not None:
            runs[place] = placed
    return {
        **{f"cycles_{place}": runs[place].cycles if place in runs else None for place in PLACES},
        **{f"warm_{place}": runs[place].warm if place in runs else None for place in PLACES},
        "bit_exact": all(placed.is_exact for placed in runs.values()),
    }


def jobs(request: Request) -> list[Job]:
    """All; the smallest ones where it must be quick."""
    if request.quick:
        return [Job("vec_add", BITLINES[0], request.seed)]
    return [Job(name, bitlines, request.seed) for name in WORKLOADS for bitlines in BITLINES]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def _over(row: Mapping[str, Any], kind: str) -> float | None:
    """Cycles of stream engines over those of memory."""
    near, memory = row[f"{kind}_near"], row[f"{kind}_memory"]
    return None if near is None or memory is None else near / memory


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload and number of bitlines."""
    body = [
        [
            *map(str, labels),
            cell(row["cycles_memory"]),
            cell(row["cycles_near"]),
            cell(_over(row, "cycles")),
            cell(row["warm_memory"]),
            cell(row["warm_near"]),
            cell(_over(row, "warm")),
            cell(row["bit_exact"]),
        ]
        for labels, row in rows(records).items()
    ]
    header = ["workload", "bitlines a lane", "sizes", "memory", "near", "near over memory"]
    header += ["memory, warm", "near, warm", "near over memory, warm", "bit-exact"]
    return {"Bitlines a lane": Cells(header, body, names=3)}


def break_even(records: Sequence[Record], kind: str) -> dict[str, int | None]:
    """The fewest bitlines a lane from which on memory takes fewer cycles, of each workload."""
    first: dict[str, int | None] = {}
    for labels, row in rows(records).items():
        name, bitlines = str(labels[0]), int(labels[1])
        over = _over(row, kind)
        if over is None or over <= 1:
            first[name] = None
        elif first.get(name) is None:
            first[name] = bitlines
    return first


def verdict(records: Sequence[Record]) -> str:
    """The bitlines at which memory and stream engines break even."""
    lines = []
    for kind, text in (("cycles", "from main memory"), ("warm", "warm")):
        parts = [
            f"{name} {'above ' + str(BITLINES[-1]) if bitlines is None else bitlines}"
            for name, bitlines in break_even(records, kind).items()
        ]
        lines.append(f"memory ahead of near from so many bitlines a lane on, {text}: ")
        lines[-1] += ", ".join(parts)
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    lines.append(f"bit-exact: {exact} of {len(table)} runs")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles of stream engines over those of memory."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for labels, row in rows(records).items():
        if (over := _over(row, "warm")) is not None:
            lines.setdefault(str(labels[0]), []).append((int(labels[1]), over))
    figure, (axes,) = subplots(1, (8, 4.6))
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    line_at(axes, 1)
    axes.set(xscale="log", yscale="log", xlabel="bitlines a lane", ylabel="near over memory, warm")
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
