"""What each register of a SAM machine for an ECP5 gives in clock, and costs in cycles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from bench.fpga_parts import variants
from bench.lib.cycles import cycles_of
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.summary import geometric_mean
from bench.lib.tables import Cells
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.runtime.run.device import Device

BENCH = "fpga.sam_registers"

CONFIG = "sam_ecp5"

STEPS = ("alu_stages=1", "alu_stages=3", "alu_stages=5", "stream_latency=2", "local_latency=2")
"""One after the other, from a machine without registers that can be left out."""

_FEWEST = {"alu_stages": 1, "local_latency": 1, "stream_latency": 1}
_SIZE = 48
_DENSITIES = (0.02, 0.05, 0.2)


def run(request: Request) -> tuple[list[Record], bool]:
    """Builds the machine before and after each step."""
    jobs = variants.step_by_step(CONFIG, _FEWEST, STEPS, (), speed, request)
    return variants.run(BENCH, jobs, request)


def speed(job: variants.Job) -> variants.Speed:
    """Measures products of random matrices on RTL. Raises ``GnarlError`` as the compiler does."""
    config = job.hardware.config
    assert isinstance(config, SamConfig)
    with Device(job.hardware) as device:
        program = device.compile(config.expression)
        cycles = []
        for inputs in _operands(job.seed):
            result = device.run(program, inputs)
            cycles.append(cycles_of(result))
    return variants.Speed(geometric_mean(cycles), None)


@cache
def _operands(seed: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    shape = (_SIZE, _SIZE)
    return [
        {
            name: np.where(random.random(shape) < density, random.standard_normal(shape), 0.0)
            for name in ("B", "C")
        }
        for density in _DENSITIES
    ]


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each step."""
    return variants.table("Registers of SAM", records)


def verdict(records: Sequence[Record]) -> str:
    """A line for each step: before → after."""
    return "\n".join(text for text, _, _ in variants.changes(records))


def draw(records: Sequence[Record], path: Path) -> None:
    """Clock and time after each step."""
    variants.draw_steps(records, path, "time, µs", lambda row: row["cycles"] / row["clock"])
