"""The attention of a decoder with BigBird's mask, from PyTorch: each statement alone, and fused."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fuseflow_parts import figures
from bench.fuseflow_parts.variants import FULL, NONE
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "fuseflow.decoder"

CONFIG = "sam_fp32"
WIDTH, BLOCK = 16, 8
LENGTHS = (64, 256)
ON_RTL = (64, FULL)

METRICS = {
    **figures.METRICS,
    "error": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``error``: the largest one of an element against float64, relative to it."""

_HEADER = {**figures.HEADER, "error": "error", "bit_exact": "bit-exact"}


@dataclass(frozen=True)
class Job:
    """How many positions there are, what shares a graph, and what it runs on."""

    length: int
    fuse: str
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"length": f"{self.length}", "variant": self.fuse, "backend": self.backend}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.length}, {self.fuse}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    with Device(CONFIG, job.backend) as device:
        workload = device.workload(head(job.length, job.seed))
        program = device.compile(workload, fuse=job.fuse)
        result = device.run(program, workload.inputs)
        verification = device.verify(result)
        return {
            **figures.run_figures(device, program, result),
            "error": verification.max_rel_error,
            "bit_exact": verification.bit_exact,
        }


def head(
    length: int, seed: int, block: int = BLOCK, first: int = 1, width: int = WIDTH
) -> tuple[Any, tuple[Any, ...]]:
    """The example's head with random queries, keys and values, ``width`` wide, and ``first`` blocks
    that see all."""
    import torch

    example = runpy.run_path(f"{ROOT / 'examples' / 'attention.py'}")
    module = example["Attention"](example["bigbird_mask"](length, block, first))
    torch.manual_seed(seed)
    return module.eval(), tuple(torch.randn(length, width) for _ in range(3))


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every length; whether all went well."""
    jobs = []
    for length in request.cases(LENGTHS):
        for fuse in (NONE, FULL):
            jobs.append(Job(length, fuse, "model", request.seed))
            if request.backend == "rtl" and (length, fuse) == ON_RTL:
                jobs.append(Job(length, fuse, "rtl", request.seed))
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each length and variant, with its cycles over those of no fusion."""
    table = rows(measured)
    body = []
    for labels, row in table.items():
        none = table[labels[0], NONE, "model"]
        over = {"over_none": row["cycles"] / none["cycles"]}
        body.append(cells({**row, **over}, labels, _HEADER, shown=figures.SHOWN))
    names = ["length", "variant", "backend"]
    return {"Attention": Cells([*names, *_HEADER.values()], body, names=3)}


def verdict(measured: Sequence[Record]) -> str:
    """What fusion gains, in a line each."""
    table = rows(measured)
    lines = []
    for length in dict.fromkeys(length for length, *_ in table):
        none, full = (table[length, each, "model"] for each in (NONE, FULL))
        lines.append(
            f"length {length}: times as fast fused as not {none['cycles'] / full['cycles']:.2f}, "
            f"bytes {full['bytes'] / none['bytes']:.2f} of those"
        )
    exact = sum(row["bit_exact"] for row in table.values())
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each length, fused and not."""
    table = rows(measured)
    lengths = list(dict.fromkeys(length for length, *_ in table))
    series = {
        way: [table[each, way, "model"]["cycles"] for each in lengths] for way in (NONE, FULL)
    }
    figure, (axes,) = subplots(1, (6, 4.2))
    bars(axes, series)
    axes.set_xticks(range(len(lengths)), [f"{each} positions" for each in lengths])
    axes.set(ylabel="cycles")
    axes.set_title(f"{CONFIG}: BigBird attention, {WIDTH} wide", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    save(figure, path)
