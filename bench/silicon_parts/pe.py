"""Area and longest path of a float32 PE by its pipeline stages, and by what they are placed for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from bench.silicon_parts.libraries import libraries, versions
from gnarl.hw.dpu.pe import Pe
from gnarl.hw.lib.cut_points import TECHNOLOGIES
from gnarl.hw.lib.formats import parse_format
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.area.liberty import load_cells
from gnarl.sw.runtime.area.measure import measure_verilog

BENCH = "silicon.pe"

FORMAT = "float32"
STAGES = range(1, 11)
_QUICK_STAGES = (1, 3)
_TOP = "pe"

METRICS = {
    "gates": Metric("NAND2", "lower"),
    "flip_flops": Metric("", "lower"),
    "area": Metric("library's unit", "lower"),
    "delay_ns": Metric("ns", "lower"),
    "mhz": Metric("MHz", "higher"),
}
_HEADER = {
    "gates": "gates",
    "flip_flops": "flip-flops",
    "area": "area",
    "delay_ns": "longest path, ns",
    "mhz": "clock, MHz",
}


@dataclass(frozen=True)
class Job:
    """A PE with so many pipeline registers, placed for a technology, in the cells of a library."""

    liberty: Path
    technology: str
    stages: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {
            "library": self.liberty.stem,
            "technology": self.technology,
            "stages": self.stages,
        }

    def setting(self) -> Setting:
        return Setting("", (), "", 0)

    def __str__(self) -> str:
        stages = _stages(self.stages)
        return f"{FORMAT} PE at {stages} for {self.technology} in {self.liberty.stem}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every number of stages for every technology with every library."""
    stages = _QUICK_STAGES if request.quick else STAGES
    jobs = [Job(*each) for each in product(libraries(request, "PE"), TECHNOLOGIES, stages)]
    if not jobs:
        return [], True
    return measure_all(BENCH, measure, jobs, METRICS, console=request.console, also=versions())


def measure(job: Job) -> dict[str, float | int | None]:
    """Values of ``METRICS``; those that need OpenSTA are ``None`` without it."""
    verilog = to_verilog(Pe(parse_format(FORMAT), job.stages, job.technology), _TOP)
    measured = measure_verilog(verilog, _TOP, load_cells(job.liberty))
    cost = measured.root.cost
    delay_ns = measured.clock.delay_ns if measured.clock else None
    return {
        "gates": round(cost.gates),
        "flip_flops": cost.flip_flops,
        "area": cost.area,
        "delay_ns": delay_ns,
        "mhz": 1000 / delay_ns if delay_ns else None,
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each number of stages of each technology."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"PE": Cells(["library", "technology", "stages", *_HEADER.values()], body, names=3)}


def verdict(records: Sequence[Record]) -> str:
    """For each library and technology the fastest PE, its cost, and the stages that do not help."""
    return "\n".join(_summary(series, row) for series, row in _by_series(records).items())


def _summary(series: str, by_stage: dict[int, dict[str, Any]]) -> str:
    timed = {stages: row for stages, row in by_stage.items() if row["mhz"] is not None}
    if not timed:
        return f"{series}: longest paths need OpenSTA"
    first, fastest = min(timed), max(timed, key=lambda stages: timed[stages]["mhz"])
    vain = [after for before, after in pairwise(timed) if _gain(timed, before, after) < 1.02]
    text = (
        f"{series}, before layout: {timed[first]['mhz']:.0f} MHz at {_stages(first)}, "
        f"{timed[fastest]['mhz']:.0f} at {_stages(fastest)}, "
        f"in {timed[fastest]['gates'] / timed[first]['gates']:.2f} times the gates"
    )
    if vain:
        text += f"; less than 2 % faster than one stage fewer: {', '.join(map(str, vain))}"
    return text


def _gain(timed: dict[int, dict[str, Any]], before: int, after: int) -> float:
    return timed[after]["mhz"] / timed[before]["mhz"]


def _stages(count: int) -> str:
    return f"{count} stage{'s' * (count > 1)}"


def _by_series(records: Sequence[Record]) -> dict[str, dict[int, dict[str, Any]]]:
    """Rows by stages, of each library and technology."""
    table: dict[str, dict[int, dict[str, Any]]] = {}
    for (library, technology, stages), row in rows(records).items():
        table.setdefault(f"{library}, for {technology}", {})[stages] = row
    return table


def draw(records: Sequence[Record], path: Path) -> None:
    """Clock and gates by stages."""
    figure, (clock, gates) = subplots(2, (9, 4.2))
    for series, by_stage in _by_series(records).items():
        places = list(by_stage)
        mhz = [row["mhz"] or 0.0 for row in by_stage.values()]
        clock.plot(places, mhz, marker="o", label=series)
        gates.plot(places, [row["gates"] for row in by_stage.values()], marker="o", label=series)
    clock.set(xlabel="stages of a PE", ylabel="MHz, before layout", ylim=(0, None))
    gates.set(xlabel="stages of a PE", ylabel="gates (NAND2)", ylim=(0, None))
    gates.legend(frameon=False)
    save(figure, path)
