"""Cycles of workloads in every tile that fits. Source: Infinity Stream, figures 16 and 17."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean, mark
from bench.lib.tables import Cells
from bench.sram_compute_parts.in_memory import lowered_in_memory
from bench.sram_compute_parts.in_places import warm_cycles
from bench.sram_compute_parts.workloads import nest, sizes_text, workload
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator
from gnarl.sw.compiler.sram_compute.tdfg.graph import Move, Reduce
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step, plan, regions
from gnarl.sw.compiler.sram_compute.tiles import Tiling
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "sram_compute.tiles"
CONFIG = "sram_b4"

TO_BEST, TO_NONE = 1.02, 1.34
"""What Infinity Stream has, in section 8: cycles of its tiles over those of the best, and of none
over those of its tiles."""

RULE, SEARCHED, PAPER, NONE = FLAGS = ("is_rule", "is_searched", "is_paper", "is_none")

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "warm": Metric("cycles", "lower"),
    **{name: Metric("", "none") for name in FLAGS},
    "bit_exact": Metric("", "higher"),
}
"""Whether the tile is that of the compiler's rule, of its search by estimates, or of the paper's
heuristics; or that of no tiling, whose elements are neighbours in memory. ``cycles``, ``warm``:
``None`` where values need more memory than there is; ``warm``: without those in which main memory
alone works."""

_SQUARE, _LONG = {"rows": 64, "columns": 64}, {"rows": 32, "columns": 256}
_BOX = {"planes": 4, "rows": 16, "columns": 32, "steps": 1}

SIZES: Mapping[str, Sequence[Mapping[str, int]]] = {
    "conv2d": (_SQUARE, _LONG),
    "stencil2d": ({**_SQUARE, "steps": 1}, {**_LONG, "steps": 1}),
    "stencil2d_int32": (_SQUARE, _LONG),
    "lifting": (_SQUARE, _LONG),
    "row_sums": (_SQUARE, _LONG),
    "mm": ({**_SQUARE, "inner": 16}, {**_LONG, "inner": 16}),
    "mm_int8": ({**_SQUARE, "inner": 16},),
    "gauss_elim": ({"n": 16}, {"n": 32}),
    "stencil3d": (_BOX,),
    "conv3d": ({"outputs": 2, "inputs": 2, "rows": 16, "columns": 32},),
    "conv2d_int8": (_SQUARE,),
}
"""Workloads of two and three dimensions; a row of the array fits a tile, and all rows do without
tiling."""


@dataclass(frozen=True)
class Job:
    """A workload at a size, in a tile, extents as indices have them."""

    workload: str
    sizes: Mapping[str, int]
    tile: tuple[int, ...]
    seed: int
    config: str = CONFIG

    @property
    def labels(self) -> dict[str, Any]:
        text = "x".join(map(str, self.tile))
        return {"workload": self.workload, "sizes": sizes_text(self.sizes), "tile": text}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(self.config), self.seed)

    def __str__(self) -> str:
        return ", ".join(self.labels.values())


def measure(job: Job) -> dict[str, int | bool | None]:
    """Values of ``METRICS``, on a model that has run nothing before."""
    measured = workload(job.workload, job.sizes, job.seed)
    chosen = _chosen(job.workload, tuple(job.sizes.items()), job.seed, job.config)
    flags = {name: tile == job.tile for name, tile in chosen.items()}
    with Device(load_configuration(job.config), "model") as device:
        tile = job.labels["tile"]
        program = device.compile(measured, seed=job.seed, place="memory", tile=tile)
        try:
            result = device.run(program, {**measured.inputs, **(measured.sizes or {})})
        except CapacityError:
            return {"cycles": None, "warm": None, **flags, "bit_exact": True}
        return {
            "cycles": cycles_of(result),
            "warm": warm_cycles(result),
            **flags,
            "bit_exact": device.verify(result).bit_exact,
        }


@cache
def _chosen(
    name: str, sizes: tuple[tuple[str, int], ...], seed: int, config_name: str
) -> dict[str, tuple[int, ...]]:
    """The tile of each of the flags."""
    measured = workload(name, dict(sizes), seed)
    config = load_configuration(config_name).config
    assert isinstance(config, SramConfig)
    rank = rank_of(name)
    steps = plan(measured.nest, streams=False)
    tilings = CodeGenerator(measured.nest, steps, config).tilings(measured.binding)
    none = (1,) * (rank - 1) + (config.bitlines,)
    return {
        RULE: lowered_in_memory(measured, config, None).tiling.tile[:rank][::-1],
        SEARCHED: lowered_in_memory(measured, config, "best").tiling.tile[:rank][::-1],
        PAPER: paper_tile(steps, tilings)[:rank][::-1],
        NONE: none,
    }


def paper_tile(steps: tuple[Step, ...], tilings: Sequence[Tiling]) -> tuple[int, ...]:
    """The tile that the paper's heuristics choose among those that fit, dimension 0 first: with the
    most of the dimensions that are reduced; for shifts the nearest to a square; for broadcasts the
    smallest extent in dimension 0. Source: Infinity Stream, section 4.1."""
    nodes = [node for region in regions(steps) for node in region.graph.nodes]
    reduced = {node.dimension for node in nodes if isinstance(node, Reduce)}
    shifts = any(isinstance(node, Move) for node in nodes)

    def key(tiling: Tiling) -> tuple[int, ...]:
        tile, shape = tiling.tile, tiling.shape
        used = [extent for extent, size in zip(tile, shape, strict=True) if size > 1]
        inside = prod(min(tile[at], shape[at]) for at in reduced)
        square = max(used) // min(used) if shifts else 0
        return -inside, square, tiling.tiles, tile[0]

    return min(tilings, key=key).tile


def rank_of(name: str) -> int:
    """Dimensions of a workload's lattice."""
    return max(len(array.shape) for array in nest(name).arrays.values())


def jobs(request: Request) -> list[Job]:
    """All tiles that fit of all workloads; of one where it must be quick."""
    given = {"stencil2d_int32": ({"rows": 16, "columns": 32},)} if request.quick else SIZES
    config = load_configuration(CONFIG).config
    assert isinstance(config, SramConfig)
    all_jobs = []
    for name, several in given.items():
        for sizes in several:
            measured = workload(name, sizes, request.seed)
            generator = CodeGenerator(measured.nest, plan(measured.nest, streams=False), config)
            rank = rank_of(name)
            all_jobs += [
                Job(name, sizes, each.tile[:rank][::-1], request.seed)
                for each in generator.tilings(measured.binding)
            ]
    return all_jobs


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def compared(
    records: Sequence[Record], metric: str = "cycles"
) -> dict[tuple[str, str], dict[str, tuple[str, int]]]:
    """The tile and cycles of each flag and of ``best``, by workload and sizes."""
    table: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
    for (name, sizes, tile), row in rows(records).items():
        if row[metric] is None:
            continue
        chosen = table.setdefault((name, sizes), {})
        one = tile, int(row[metric])
        if "best" not in chosen or one[1] < chosen["best"][1]:
            chosen["best"] = one
        for flag in FLAGS:
            if row.get(flag):
                chosen[flag] = one
    return table


NAMES = {
    "best": "best",
    RULE: "rule",
    SEARCHED: "search",
    PAPER: "paper's heuristics",
    NONE: "no tiling",
}


def tables(records: Sequence[Record], flags: Sequence[str] = FLAGS) -> dict[str, Cells]:
    """A row for each workload and size."""
    header = ["workload", "sizes"]
    for flag in ("best", *flags):
        header += [NAMES[flag], "cycles"]
    body = []
    for labels, chosen in compared(records).items():
        row = [*labels]
        for flag in ("best", *flags):
            tile, cycles = chosen.get(flag, ("", None))
            row += [tile, cell(cycles)]
        body.append(row)
    return {"Tiles": Cells(header, body, names=2)}


def _ratios(
    records: Sequence[Record], flag: str, below: str, metric: str = "cycles"
) -> dict[tuple[str, str], float]:
    """Cycles of one over those of another."""
    return {
        labels: chosen[flag][1] / chosen[below][1]
        for labels, chosen in compared(records, metric).items()
        if flag in chosen and below in chosen
    }


def verdict(records: Sequence[Record]) -> str:
    """The rule against the best tile, the paper's heuristics and none."""
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [against(records)]
    if warm := _ratios(records, NONE, RULE, "warm"):
        mean = geometric_mean(list(warm.values()))
        lines.append(f"no tiling over the rule, warm: {mean:.2f}")
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def against(records: Sequence[Record], flags: Sequence[str] = (RULE, SEARCHED, PAPER)) -> str:
    """Each of the flags against the best tile, and none against the rule."""
    lines = []
    for flag in flags:
        over = _ratios(records, flag, "best")
        worst = max(over, key=over.__getitem__)
        mean = geometric_mean(list(over.values()))
        limit = f", limit {TO_BEST} {mark(mean <= TO_BEST)}" if flag == RULE else ""
        lines.append(
            f"{NAMES[flag]} over the best tile, geometric mean of {len(over)}: {mean:.3f}{limit}; "
            f"at worst {over[worst]:.3f} ({', '.join(worst)})"
        )
    none = _ratios(records, NONE, RULE)
    if none:
        mean = geometric_mean(list(none.values()))
        lines.append(
            f"no tiling over the rule, geometric mean of {len(none)}: {mean:.2f}, asked "
            f"{TO_NONE} {mark(mean >= TO_NONE)}; {min(none.values()):.2f} to "
            f"{max(none.values()):.2f}"
        )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path, flags: Sequence[str] = FLAGS) -> None:
    """Cycles over those of the best tile."""
    table = compared(records)
    groups = {
        NAMES[flag]: [
            chosen[flag][1] / chosen["best"][1] if flag in chosen else 0.0
            for chosen in table.values()
        ]
        for flag in flags
    }
    figure, (axes,) = subplots(1, (11, 4.6))
    bars(axes, groups)
    line_at(axes, 1)
    names = [f"{name}\n{sizes}" for name, sizes in table]
    axes.set_xticks(range(len(table)), names, rotation=90, fontsize=6)
    axes.set(ylabel="cycles over those of the best tile")
    axes.set_title("Tiles", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=4)
    save(figure, path)
