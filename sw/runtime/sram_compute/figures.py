"""Where a run's cycles and bytes go. Source: Infinity Stream, figures 12 to 14."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hw.sram_compute.config import LINE_BYTES
from sw.program.program import Program
from sw.runtime.report import Chart, Figures
from sw.runtime.result import Result

_CYCLES = {
    "fetch and transpose": "cycles_transfer",
    "move": "cycles_move",
    "compute": "cycles_compute",
    "commands": "cycles_command",
}


def figures(program: Program, result: Result[Any]) -> Figures:
    counters, cycles = result.counters, result.cycles
    moved = traffic(counters)
    statistics = {**program.statistics, **{f"bytes_{name}": each for name, each in moved.items()}}
    charts = []
    if cycles is not None:
        bars = [(label, counters[name]) for label, name in _CYCLES.items()]
        bytes_moved = [(name.replace("_", " "), count) for name, count in moved.items()]
        charts = [
            Chart("Cycles, %", bars, cycles),
            Chart("Bytes moved, %", bytes_moved, max(1, sum(moved.values()))),
        ]
    return Figures(program.statistics.get("operations", 0), statistics=statistics, charts=charts)


def traffic(counters: Mapping[str, int]) -> dict[str, int]:
    """Bytes within a tile, between tiles of a bank, between banks, to and from memory, and of
    commands."""
    lines = counters["lines_loaded"] + counters["lines_stored"]
    return {
        "within_tiles": counters["bits_within_tiles"] // 8,
        "between_tiles": counters["bits_between_tiles"] // 8,
        "between_banks": counters["bits_between_banks"] // 8,
        "other_data": lines * LINE_BYTES,
        "control": counters["command_lines"] * LINE_BYTES,
    }
