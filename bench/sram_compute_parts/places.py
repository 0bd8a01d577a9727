"""Memory, stream engines, the core, and what the compiler chooses of the three."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean, mark
from bench.lib.tables import Cells
from bench.sram_compute_parts.in_places import EngineRun, run_in
from bench.sram_compute_parts.workloads import SEVERAL, sizes_text, workload
from gnarl.hw.lib.lines.line_size import WORD_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.golden.loop_code import MemoryLayout
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.workload import LoopWorkload

BENCH = "sram_compute.places"
CONFIG = "sram_b4"
PLACES = ("memory", "near", "core")
CHOSEN = "auto"

LIMIT = 1.1
"""Cycles of what is chosen over those of the best place."""

BASELINE = 0.8
"""The share of what lanes and main memory allow."""

PAPER = {
    ("near", "memory"): 2.1,
    ("core", "near"): 2.0,
    ("core", CHOSEN): 5.1,
    ("near", CHOSEN): 2.6,
}
"""Cycles of the first over those of the second, of Infinity Stream's section 8."""

_BASELINES = (
    ("least", "cycles_near", "near, of what lanes or main memory allow"),
    ("least", "cycles_core", "core, of what lanes or main memory allow"),
    ("least_warm", "warm_near", "near, warm, of what lanes or banks allow"),
)
"""Metrics of what is possible and of what is, and what their quotient is called."""

ON_RTL: Mapping[str, Mapping[str, int]] = {"gauss_elim": {"n": 32}}
"""Sizes at which what is chosen runs on the RTL besides the smallest ones."""

METRICS = {
    **{f"cycles_{place}": Metric("cycles", "lower") for place in (*PLACES, CHOSEN)},
    "warm_memory": Metric("cycles", "lower"),
    "warm_near": Metric("cycles", "lower"),
    "cycles_rtl": Metric("cycles", "lower"),
    "least": Metric("cycles", "none"),
    "least_warm": Metric("cycles", "none"),
    "bit_exact": Metric("", "higher"),
}
"""``None`` for a place that does not run the workload. ``cycles_rtl``: of what was chosen, where it
was simulated; ``least``, ``least_warm``: as ``least_cycles`` has them."""


@dataclass(frozen=True)
class Job:
    """A workload at a size, in all places; ``is_on_rtl``: on the RTL besides."""

    workload: str
    sizes: Mapping[str, int]
    seed: int
    is_on_rtl: bool
    config: str = CONFIG

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "sizes": sizes_text(self.sizes)}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(self.config), self.seed)

    def __str__(self) -> str:
        return f"{self.workload}, {sizes_text(self.sizes)}"


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``."""
    measured, named = workload(job.workload, job.sizes, job.seed), load_configuration(job.config)
    config = named.config
    assert isinstance(config, SramConfig)
    runs: dict[str, EngineRun] = {}
    for place in (*PLACES, CHOSEN):
        if (placed := run_in(measured, named, place, runs)) is not None:
            runs[place] = placed
    exact = all(placed.is_exact for placed in runs.values())
    chosen, rtl = runs[CHOSEN], None
    if job.is_on_rtl:
        with Device(named, "rtl") as device:
            result = device.run(chosen.program, {**measured.inputs, **(measured.sizes or {})})
            exact &= device.verify(result).bit_exact
        rtl = cycles_of(result)
        exact &= rtl == chosen.cycles
    return {
        **{
            f"cycles_{place}": runs[place].cycles if place in runs else None
            for place in (*PLACES, CHOSEN)
        },
        **{f"warm_{place}": _warm(runs.get(place)) for place in ("memory", "near")},
        "cycles_rtl": rtl,
        **least_cycles(measured, config),
        "bit_exact": exact,
    }


def _warm(placed: EngineRun | None) -> int | None:
    return None if placed is None else placed.warm


def least_cycles(given: LoopWorkload, config: SramConfig) -> dict[str, int]:
    """Lower bounds of a workload's cycles: the larger of the compute time, with as many lanes as
    banks and an operation of the source on float32 a cycle, and the time to bring in each array
    once, from main memory or, warm, from banks at a word a cycle each."""
    binding, banks = given.binding, config.banks
    everywhere = MemoryLayout(dict.fromkeys(binding.arrays, 0), sys.maxsize)
    lanes = GoldenLoops(given.nest).work(binding, everywhere).operations / banks
    octets = sum(array.nbytes for array in binding.arrays.values())
    return {
        "least": round(max(lanes, octets / (config.bandwidth * banks))),
        "least_warm": round(max(lanes, octets / (WORD_BYTES * banks))),
    }


def jobs(request: Request) -> list[Job]:
    """All workloads at five sizes each, the smallest and those of ``ON_RTL`` also on the RTL; few
    and small ones where it must be quick."""
    is_on_rtl = request.backend == "rtl"
    if request.quick:
        return [Job("vec_add", {"n": n}, request.seed, is_on_rtl, "sram_b2") for n in (16, 256)]
    return [
        Job(name, sizes, request.seed, is_on_rtl and sizes in (several[0], ON_RTL.get(name)))
        for name, several in SEVERAL.items()
        for sizes in several
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def best(row: Mapping[str, Any]) -> int:
    """Cycles of the best place."""
    return min(int(row[name]) for place in PLACES if (row[name := f"cycles_{place}"]) is not None)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload and size."""
    body = [
        [
            *map(str, labels),
            *(cell(row[f"cycles_{place}"]) for place in (*PLACES, CHOSEN)),
            cell(row[f"cycles_{CHOSEN}"] / best(row)),
            cell(row["least"]),
            *(_share_cell(row, *each[:2]) for each in _BASELINES),
            *(cell(row[name]) for name in ("warm_memory", "warm_near", "cycles_rtl")),
            cell(row["bit_exact"]),
        ]
        for labels, row in rows(records).items()
    ]
    header = ["workload", "sizes", "memory", "near", "core", "auto", "auto over the best"]
    header += ["bound", "near, of its bound", "core, of its bound", "near, warm, of its bound"]
    header += ["memory, warm", "near, warm", "auto on RTL", "bit-exact"]
    return {"Three places": Cells(header, body, names=2)}


def _share(row: Mapping[str, Any], least: str, place: str) -> float | None:
    """A bound over a place's cycles; ``None`` where it does not run there."""
    return row[least] / row[place] if row[place] else None


def _share_cell(row: Mapping[str, Any], least: str, place: str) -> str:
    share = _share(row, least, place)
    return "" if share is None else f"{share:.0%} {mark(share >= BASELINE)}"


def _ratio(table: Sequence[Mapping[str, Any]], one: str, other: str) -> str:
    """Geometric mean of the cycles of one over those of another, where both run."""
    ratios = [row[one] / row[other] for row in table if row[one] and row[other]]
    if not ratios:
        return "none"
    return f"{geometric_mean(ratios):.2f} ({len(ratios)} workloads)"


def verdict(records: Sequence[Record]) -> str:
    """How good the choice is, which place is how much faster, and how close to what is possible."""
    table = rows(records)
    over = {labels: row[f"cycles_{CHOSEN}"] / best(row) for labels, row in table.items()}
    worst = max(over, key=over.__getitem__)
    within = sum(ratio <= LIMIT for ratio in over.values())
    lines = [
        f"auto within 10 % of the best of three: {within} of {len(over)} runs "
        f"{mark(within == len(over))}; at worst {over[worst]:.2f} ({', '.join(worst)})"
    ]
    last = {labels[0]: row for labels, row in table.items()}
    large = list(last.values())
    for (slow, fast), paper in PAPER.items():
        ratio = _ratio(large, f"cycles_{slow}", f"cycles_{fast}")
        both = [row for row in large if row[f"cycles_{slow}"]]
        at_bound = _ratio(both, "least", f"cycles_{fast}")
        lines.append(
            f"{fast} over {slow}, largest sizes: {ratio}, the paper's {paper}; were {slow} at its "
            f"bound: {at_bound}"
        )
    lines.append(f"memory over near, warm: {_ratio(large, 'warm_near', 'warm_memory')}")
    for least, place, text in _BASELINES:
        shares = {name: share for name, row in last.items() if (share := _share(row, least, place))}
        short = [f"{name} {share:.0%}" for name, share in shares.items() if share < BASELINE]
        good = len(shares) - len(short)
        below = f"; below: {', '.join(short)}" if short else ""
        lines.append(
            f"{text}, largest sizes, at least {BASELINE:.0%}: {good} of {len(shares)} "
            f"{mark(not short)}{below}"
        )
    exact = sum(row["bit_exact"] for row in table.values())
    on_rtl = sum(row["cycles_rtl"] is not None for row in table.values())
    lines.append(f"bit-exact: {exact} of {len(table)} runs, {on_rtl} of them on RTL, too")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles of each place, and of what is chosen, over those of the best, at the largest sizes."""
    last = {labels[0]: row for labels, row in rows(records).items()}
    groups = {
        place: [(row[f"cycles_{place}"] or 0) / best(row) for row in last.values()]
        for place in (*PLACES, CHOSEN)
    }
    figure, (axes,) = subplots(1, (11, 4.6))
    bars(axes, groups)
    line_at(axes, 1)
    axes.set_xticks(range(len(last)), list(last), rotation=90, fontsize=7)
    axes.set(ylabel="cycles over those of the best place", yscale="log")
    axes.set_title("Places, largest sizes", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=4)
    save(figure, path)
