"""What each register of a DPU for an ECP5 gives in clock, and costs in cycles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bench.fpga_parts import variants
from bench.fpga_parts.dpu_speed import speed, workloads
from bench.fpga_parts.variants import by_name
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.tables import Cells

BENCH = "fpga.dpu_registers"

CONFIG = "dpu_ecp5"

STEPS = (
    "pe_stages=3",
    "pe_stages=4",
    "write_stages=1",
    "fetch_stages=4",
    "fetch_stages=5",
    "fault_stages=1",
    "pe_stages=5",
)
"""One after the other, from a machine without registers that can be left out."""

_FEWEST = {"pe_stages": 3, "write_stages": 0, "fetch_stages": 3, "fault_stages": 0}


def run(request: Request) -> tuple[list[Record], bool]:
    """Builds the machine before and after each step."""
    files = workloads(request, BENCH)
    jobs, fields = [], dict(_FEWEST)
    for step in STEPS[:1] if request.quick else STEPS:
        name, _, value = step.partition("=")
        fields[name] = int(value)
        overrides = tuple(f"{name}={value}" for name, value in fields.items())
        folder = request.output / "fpga" / "dpu_registers"
        jobs.append(variants.Job(step, CONFIG, overrides, files, request.seed, folder, speed))
    return variants.run(BENCH, jobs, request)


def tables(found: Sequence[Record]) -> dict[str, Cells]:
    """A row for each step."""
    return variants.table("Registers of the DPU", found)


def verdict(found: Sequence[Record]) -> str:
    """A line for each step: before → after."""
    rows = list(by_name(found).items())
    return "\n".join(
        f"{step}: {before['clock']:.1f} → {after['clock']:.1f} MHz, "
        f"{after['cycles'] / before['cycles']:.3f} times the cycles, "
        f"{after['mops'] / before['mops']:.2f} times the operations per second"
        for (_, before), (step, after) in pairwise(rows)
    )


def draw(found: Sequence[Record], path: Path) -> None:
    """Clock and operations per second after each step."""
    variants.draw_steps(found, path, "M operations/s", lambda row: row["mops"])
