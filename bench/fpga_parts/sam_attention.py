"""Whether a head of attention, all of it one SAM graph, fits an ECP5, and at which clock."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.fpga_parts import variants
from bench.lib.cycles import cycles_of
from bench.lib.records import ROOT, Record
from bench.lib.request import Request
from bench.lib.summary import mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fpga.sam_attention"

CONFIG = "sam_fp32"
_EXAMPLE = ROOT / "examples" / "attention.py"

LIMIT_MHZ = 50

_REGISTERS = ("alu_stages=5", "local_latency=2", "stream_latency=2")
_ARRAYS = ("array_words=4096", "accumulator_words=1024")

VARIANTS = ("index_bits=16", "index_bits=32")
"""References of the repeated positions need 16 bits."""


@dataclass(frozen=True)
class AttentionJob(variants.Job):
    """``Job`` of the example's graph, in which all layers are one."""

    @property
    def hardware(self) -> NamedConfiguration:
        with Device(load_configuration(self.config, self.overrides), "model") as device:
            return device.hardware(device.compile(_example(), fuse="full"))


def run(request: Request) -> tuple[list[Record], bool]:
    """Builds the machine with each width of indices."""
    folder = request.output / "fpga" / "sam_attention"
    jobs = [
        AttentionJob(name, CONFIG, (*_REGISTERS, *_ARRAYS, name), (), request.seed, folder, speed)
        for name in (VARIANTS[:1] if request.quick else VARIANTS)
    ]
    return variants.run(BENCH, jobs, request)


def speed(job: variants.Job) -> variants.Speed:
    """Measures the head of 64 positions on the model."""
    module, inputs = _example()
    arrays = [np.asarray(each) for each in inputs]
    given = dict(zip(("query", "key", "value"), arrays, strict=True))
    with Device(load_configuration(job.config, job.overrides), "model") as device:
        run = device.run(device.compile((module, inputs), fuse="full"), given)
        assert device.verify(run).difference == ""
    return variants.Speed(cycles_of(run), None)


@cache
def _example() -> tuple[Any, Any]:
    found: tuple[Any, Any] = runpy.run_path(str(_EXAMPLE))["bigbird"]()
    return found


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each width."""
    return variants.table("Attention on SAM", records)


def verdict(records: Sequence[Record]) -> str:
    """A line for each width: the clock against the limit, and the time of the head."""
    return "\n".join(
        f"{name}: {row['luts']:,} LUTs, {row['clock']:.1f} MHz, limit {LIMIT_MHZ} "
        f"{mark(row['clock'] >= LIMIT_MHZ)}, the head in {row['cycles'] / row['clock']:,.0f} µs"
        for name, row in variants.by_name(records).items()
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Clock and time of each width."""
    variants.draw_steps(records, path, "time, µs", lambda row: row["cycles"] / row["clock"])
