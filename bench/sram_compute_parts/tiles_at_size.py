"""Estimated cycles in every tile at table 3's sizes. Source: Infinity Stream, figures 16 and 17."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.records import Record, Setting
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.tables import Cells
from bench.sram_compute_parts import tiles
from bench.sram_compute_parts.breakdown import CHANGES, CONFIG
from bench.sram_compute_parts.tiles import NONE, PAPER, RULE
from bench.sram_compute_parts.workloads import TABLE_3, sizes_text, workload
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator
from gnarl.sw.compiler.sram_compute.optimise.saturate import optimise_plan
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step, plan
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.loops.workload import LoopWorkload

BENCH = "sram_compute.tiles_at_size"

FLAGS = (RULE, PAPER, NONE)

METRICS = {name: tiles.METRICS[name] for name in ("cycles", *FLAGS)}
"""``cycles``: estimated, of all commands."""

SIZES: Mapping[str, Mapping[str, int]] = {
    **{name: sizes for name, sizes in TABLE_3.items() if name not in ("stencil1d", "mm_inner")},
    "lifting": TABLE_3["conv2d"],
    "row_sums": TABLE_3["conv2d"],
}
"""Workloads of two and three dimensions. The compiler makes ``mm`` of ``mm_inner``."""


@dataclass(frozen=True)
class Job:
    """A workload at a size, in a tile, extents as indices have them."""

    workload: str
    sizes: Mapping[str, int]
    tile: tuple[int, ...]
    seed: int
    changes: tuple[str, ...] = CHANGES

    @property
    def labels(self) -> dict[str, Any]:
        text = "x".join(map(str, self.tile))
        return {"workload": self.workload, "sizes": sizes_text(self.sizes), "tile": text}

    def named(self) -> NamedConfiguration:
        return load_configuration(CONFIG, self.changes)

    def setting(self) -> Setting:
        return Setting.of(self.named(), self.seed)

    def __str__(self) -> str:
        return ", ".join(self.labels.values())


def measure(job: Job) -> dict[str, int | bool | None]:
    """Values of ``METRICS``."""
    given, steps, generator = _generator(
        job.workload, tuple(job.sizes.items()), job.seed, job.changes
    )
    config = job.named().config
    assert isinstance(config, SramConfig)
    rank = len(job.tile)
    padded = (*job.tile[::-1], *(1,) * (3 - rank))
    try:
        cycles = generator.generate(given.binding, padded).estimate
    except CapacityError:
        cycles = None
    rule = generator.generate(given.binding).tiling.tile
    return {
        "cycles": cycles,
        RULE: rule == padded,
        PAPER: tiles.paper_tile(steps, generator.tilings(given.binding)) == padded,
        NONE: job.tile == (1,) * (rank - 1) + (config.bitlines,),
    }


@cache
def _generator(
    name: str, sizes: tuple[tuple[str, int], ...], seed: int, changes: tuple[str, ...]
) -> tuple[LoopWorkload, tuple[Step, ...], CodeGenerator]:
    """A workload, its plan, and what lowers that as the optimiser leaves it."""
    given = workload(name, dict(sizes), seed)
    config = load_configuration(CONFIG, changes).config
    assert isinstance(config, SramConfig)
    steps = plan(given.nest, streams=False)
    generator = CodeGenerator(given.nest, optimise_plan(steps, reassociate=True), config)
    return given, steps, generator


def jobs(request: Request) -> list[Job]:
    """All tiles that fit of all workloads; of a small one where it must be quick."""
    sizes: Mapping[str, Mapping[str, int]] = SIZES
    changes: tuple[str, ...] = CHANGES
    if request.quick:
        sizes, changes = {"stencil2d_int32": {"rows": 16, "columns": 32}}, ()
    all_jobs = []
    for name, each in sizes.items():
        given, _, generator = _generator(name, tuple(each.items()), request.seed, changes)
        rank = tiles.rank_of(name)
        for tiling in generator.tilings(given.binding):
            tile = tiling.tile[:rank][::-1]
            all_jobs.append(Job(name, each, tile, request.seed, changes))
    return all_jobs


def run(request: Request) -> tuple[list[Record], bool]:
    """Estimates all."""
    results = Results.begin(request.results, True)
    return measure_all(
        BENCH, measure, jobs(request), METRICS, console=request.console, results=results
    )


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload."""
    return tiles.tables(records, FLAGS)


def verdict(records: Sequence[Record]) -> str:
    """The rule, and the paper's heuristics, against the best tile, and none against the rule."""
    return tiles.against(records, (RULE, PAPER))


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles over those of the best tile."""
    tiles.draw(records, path, FLAGS)
