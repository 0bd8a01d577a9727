"""Counts where a run's cycles and bytes go. Source: Infinity Stream, figures 12 to 14."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.sw.compiler.sram_compute.meaning import meaning
from gnarl.sw.golden.loop_code import MemoryLayout
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures

Tensors = Mapping[str, Array]

FETCH = "fetch and transpose"

CYCLES = {
    FETCH: "cycles_transfer",
    "move": "cycles_move",
    "compute": "cycles_compute",
    "final reduction": "cycles_final",
    "near-memory": "cycles_near",
    "core": "cycles_core",
    "commands": "cycles_command",
}
"""Counters of a run's parts, by name in reports; together they are all cycles."""


def figures(program: Program, result: Result[HostJob[Tensors]]) -> Figures:
    """Operations are those of a nest's source on float32 and on integers that are no indices or
    bounds, whatever commands did them."""
    counters, cycles = result.counters, result.cycles
    operations = _operations(program, result)
    statistics = {**program.statistics, "operations": operations}
    charts = []
    if cycles is not None:
        moved = traffic(counters)
        statistics |= {f"bytes_{name}": each for name, each in moved.items()}
        bars = [(label, counters[name]) for label, name in CYCLES.items()]
        bytes_moved = [(name.replace("_", " "), count) for name, count in moved.items()]
        charts = [
            Chart("Cycles, %", bars, cycles),
            Chart("Bytes moved, %", bytes_moved, max(1, sum(moved.values()))),
        ]
    meant = meaning(program)
    places = [str(each) for each in meant.parts] if meant is not None else []
    remarks = meant.remarks if meant is not None else ()
    return Figures(operations, statistics=statistics, charts=charts, places=places, remarks=remarks)


def _operations(program: Program, result: Result[HostJob[Tensors]]) -> int:
    meant = meaning(program)
    if meant is None:
        return 0
    binding = meant.binding(meant.nest, result.launches[0].job.operands)
    everywhere = MemoryLayout(dict.fromkeys(binding.arrays, 0), sys.maxsize)
    work = GoldenLoops(meant.nest).work(binding, everywhere)
    return work.operations + work.integers


def traffic(counters: Mapping[str, int]) -> dict[str, int]:
    """Bytes within a tile, between tiles of a bank, between banks, to and from memory, and of
    commands."""
    names = ("lines_loaded", "lines_stored", "core_lines_read", "core_lines_written")
    lines = sum(counters[name] for name in names)
    return {
        "within_tiles": counters["bits_within_tiles"] // 8,
        "between_tiles": counters["bits_between_tiles"] // 8,
        "between_banks": counters["bits_between_banks"] // 8,
        "other_data": lines * LINE_BYTES,
        "control": counters["command_lines"] * LINE_BYTES,
    }
