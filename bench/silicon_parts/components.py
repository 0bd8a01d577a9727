"""DPUs by component, as the paper's table of its own has them.

Source: DPU-v2, table II.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell
from bench.lib.tables import Cells
from bench.silicon_parts.libraries import libraries, versions
from gnarl.sw.runtime.area.measure import measure as measure_area
from gnarl.sw.runtime.area.report import Row
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "silicon.components"

CONFIGS = ("dpu_d1_b8", "dpu_d2_b16", "dpu_d3_b64")
_QUICK_CONFIGS = ("dpu_d1_b8",)


@dataclass(frozen=True)
class Group:
    """Components that the paper counts as one.

    components
        of the DPU's core; those that are in no group, and the host port, are the rest.
    square_millimetres
        the paper's area, at 28 nm; ``None`` where it has no such thing.
    """

    components: tuple[str, ...]
    square_millimetres: float | None


GROUPS = {
    "PEs": Group(("tree_*",), 0.13 + 0.04),  # with registers, which lie within ours
    "input interconnect": Group(("crossbar",), 0.14),
    "output interconnect": Group(("interconnect",), 0.01),
    "register banks": Group(("bank_*",), 0.35 + 0.03),  # with what finds write addresses
    "instruction fetch": Group(("fetch",), 0.06),
    "decoder": Group(("decoder",), 0.04 + 0.01),
    "data memory's port": Group(("data_memory", "instruction_memory"), None),
    "counters, errors, run control": Group(("counters", "faults", "control", "issue"), None),
}
REST = "host port and the rest"
PAPER_LOGIC = sum(group.square_millimetres or 0.0 for group in GROUPS.values())
"""Square millimetres without memories."""

METRICS = {
    **{name: Metric("NAND2", "lower") for name in (*GROUPS, REST, "gates")},
    "flip_flops": Metric("", "lower"),
    "area": Metric("library's unit", "lower"),
    "memory_bits": Metric("bit", "none"),
    "delay_ns": Metric("ns", "lower"),
    "watts": Metric("W", "lower"),
}


@dataclass(frozen=True)
class Job:
    """A configuration in the cells of a library."""

    liberty: Path
    config: str

    @property
    def labels(self) -> dict[str, str]:
        return {"library": self.liberty.stem, "config": self.config}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(self.config), 0)

    def __str__(self) -> str:
        return f"{self.config} in {self.liberty.stem}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every configuration with every library."""
    configs = _QUICK_CONFIGS if request.quick else CONFIGS
    jobs = [Job(file, each) for file in libraries(request, "components") for each in configs]
    if not jobs:
        return [], True
    return measure_all(BENCH, measure, jobs, METRICS, console=request.console, also=versions())


def measure(job: Job) -> dict[str, float | int | None]:
    """Values of ``METRICS``."""
    report = measure_area(load_configuration(job.config), job.liberty)
    cost = report.root.cost
    return {
        **gates_by_group(report.root),
        "gates": round(cost.gates),
        "flip_flops": cost.flip_flops,
        "area": cost.area,
        "memory_bits": report.root.memory_bits,
        "delay_ns": report.clock.delay_ns if report.clock else None,
        "watts": report.root.watts,
    }


def gates_by_group(root: Row) -> dict[str, int]:
    """Gates of each group of ``GROUPS``, and of what is in none."""
    (core,) = (row for row in root.parts if row.name == "core")
    gates = {row.name: row.cost.gates for row in core.parts}
    found = {
        name: round(sum(gates.get(each, 0.0) for each in group.components))
        for name, group in GROUPS.items()
    }
    return {**found, REST: round(root.cost.gates) - sum(found.values())}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Shares of groups in gates, a column for each configuration; then figures of the whole."""
    table = rows(records)
    names = [f"{config}, {library}" for library, config in table]
    body = [
        [name, *(_share(row[name], row["gates"]) for row in table.values()), _paper(name)]
        for name in (*GROUPS, REST)
    ]
    whole = [
        [title, *(cell(row.get(metric)) for row in table.values())]
        for metric, title in (
            ("gates", "gates"),
            ("flip_flops", "flip-flops"),
            ("area", "area, library's unit"),
            ("memory_bits", "bits of memories, not in the area"),
            ("delay_ns", "longest path, ns"),
            ("watts", "power at that clock, W"),
        )
    ]
    return {
        "Shares of gates, %": Cells(["component", *names, "paper, 28 nm"], body),
        "Whole": Cells(["", *names], whole),
    }


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}"


def _paper(name: str) -> str:
    area = GROUPS[name].square_millimetres if name in GROUPS else None
    return "" if area is None else _share(area, PAPER_LOGIC)


def verdict(records: Sequence[Record]) -> str:
    """The two largest groups of each."""
    return "\n".join(_summary(labels, row) for labels, row in rows(records).items())


def _summary(labels: tuple[Any, ...], row: dict[str, Any]) -> str:
    library, config = labels
    largest = sorted(GROUPS, key=lambda name: -row[name])[:2]
    shares = ", ".join(f"{name} {_share(row[name], row['gates'])} %" for name in largest)
    clock = "" if row["delay_ns"] is None else f", {1000 / row['delay_ns']:.0f} MHz"
    return f"{config} in {library}, before layout: {row['gates']:,} gates{clock}; {shares}"


def draw(records: Sequence[Record], path: Path) -> None:
    """Shares by group."""
    figure, (axes,) = subplots(1, (9, 4.8))
    groups = [*GROUPS, REST]
    series = {
        f"{config}, {library}": [100 * row[name] / row["gates"] for name in groups]
        for (library, config), row in rows(records).items()
    }
    paper = [100 * (group.square_millimetres or 0.0) / PAPER_LOGIC for group in GROUPS.values()]
    bars(axes, {**series, "paper, 28 nm": [*paper, 0.0]})
    axes.set_xticks(range(len(groups)), groups, rotation=30, ha="right")
    axes.set(ylabel="% of the gates")
    axes.legend(frameon=False)
    save(figure, path)
