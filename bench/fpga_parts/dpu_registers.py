"""What each register of a DPU for an ECP5 gives in clock, and costs in cycles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.fpga_parts import variants
from bench.fpga_parts.dpu_speed import speed, workloads
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
    "fetch_stages=6",
    "fault_stages=1",
    "pe_stages=5",
)
"""One after the other, from a machine without registers that can be left out."""

_FEWEST = {"pe_stages": 3, "write_stages": 0, "fetch_stages": 3, "fault_stages": 0}


def run(request: Request) -> tuple[list[Record], bool]:
    """Builds the machine before and after each step."""
    jobs = variants.step_by_step(CONFIG, _FEWEST, STEPS, workloads(request, BENCH), speed, request)
    return variants.run(BENCH, jobs, request)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each step."""
    return variants.table("Registers of the DPU", records)


def verdict(records: Sequence[Record]) -> str:
    """A line for each step: before → after."""
    return "\n".join(
        f"{text}, {after['mops'] / before['mops']:.2f} times the operations per second"
        for text, before, after in variants.changes(records)
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Clock and operations per second after each step."""
    variants.draw_steps(records, path, "M operations/s", lambda row: row["mops"])
