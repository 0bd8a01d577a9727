"""Traffic and energy of workloads in each place, and dataflows. Source: Infinity Stream, section 8,
figures 12, 15 and 18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean
from bench.lib.tables import Cells
from bench.sram_compute_parts.workloads import SEVERAL, sizes_text, workload
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.figures import traffic
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "sram_compute.energy"
CONFIG = "sram_b4"

NO_ENGINES = "no_engines"
"""``auto`` on a machine without stream engines: the paper's In-L3."""

PLACES = ("core", "near", "memory", NO_ENGINES, "auto")

NAMES = {NO_ENGINES: "memory or core"} | {each: each for each in PLACES if each != NO_ENGINES}

ON_NETWORK = ("between_banks", "other_data", "control")
"""Kinds of ``traffic`` that leave a bank."""

DATAFLOWS = {"mm": "mm_inner", "kmeans": "kmeans_inner", "gather_mlp": "gather_mlp_inner"}
"""Outer products, and the same as inner ones."""

BITLINE = 0.054
"""pJ of a bitline in a cycle in which it computes, or is read or written: 0.19 pJ for an addition
of 8 bits (5.27 TOPS/W at 0.6 V, 28 nm) over its 8 cycles, at 0.9 V. Source: Wang et al., A 28-nm
Compute SRAM, JSSC 2020."""

WIRE = 0.1
"""pJ of a bit on a millimetre of wire."""

IN_BANK, BETWEEN_BANKS = 1, 4
"""Millimetres that a bit goes from a tile to another one of its bank; from bank to bank."""

LINE = 8 * 1300
"""pJ of a line of main memory, as all below of Horowitz, Computing's Energy Problem, ISSCC 2014, at
45 nm and 0.9 V: 64 bits of DRAM."""

INSTRUCTION, FLOAT, CACHED_WORD = 70, 3.7, 5
"""pJ of an instruction besides what it computes; of a product in float32; of 32 bits of a cache of
8 KiB."""

LINE_ROWS, STRIP = 32, 32
"""Rows of a line of words; elements of a strip of stream engines."""

PAPER_ENERGY = {NO_ENGINES: 1.5, "auto": 2.4}
"""How many times less than near."""

PAPER_TRAFFIC = {("core", "near"): 0.71, ("core", "auto"): 0.10, ("near", "auto"): 0.25}
"""Bytes on the network of the second over those of the first."""

PAPER_MIX, PAPER_OUTER = 1.24, 4.4
"""Cycles of In-L3 over those of Inf-S; of the inner product on the core over the outer one where it
is the fastest."""

METRICS = {
    **{f"cycles_{place}": Metric("cycles", "lower") for place in PLACES},
    **{f"network_{place}": Metric("bytes", "lower") for place in PLACES},
    **{f"energy_{place}": Metric("nJ", "lower") for place in PLACES},
    "bit_exact": Metric("", "higher"),
}
"""``None`` for a place that does not run the workload."""


@dataclass(frozen=True)
class Job:
    """A workload in all places."""

    workload: str
    sizes: Mapping[str, int]
    seed: int
    config: str = CONFIG

    def named(self, *changes: str) -> NamedConfiguration:
        return load_configuration(self.config, changes)

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "sizes": sizes_text(self.sizes)}

    def setting(self) -> Setting:
        return Setting.of(self.named(), self.seed)

    def __str__(self) -> str:
        return self.workload


def energy(config: SramConfig, counters: Mapping[str, int]) -> float:
    """pJ of a run, of what counters count: no leakage, no clock, no control."""
    core_lines = counters["core_lines_read"] + counters["core_lines_written"]
    array_lines = counters["lines_loaded"] + counters["lines_stored"]
    lines = core_lines + array_lines + counters["command_lines"]
    row = BITLINE * config.bitlines
    in_banks = WIRE * IN_BANK * counters["bits_between_tiles"]
    return (
        LINE * lines
        + row * LINE_ROWS * array_lines
        + row * config.tiles * counters["cycles_compute"]
        + 2 * BITLINE * sum(counters[name] for name in _MOVED)
        + in_banks
        + WIRE * BETWEEN_BANKS * counters["bits_between_banks"]
        + (INSTRUCTION + config.core_lanes * (FLOAT + CACHED_WORD)) * counters["core_instructions"]
        + STRIP * (FLOAT + row) * counters["near_strips"]
    )


_MOVED = ("bits_within_tiles", "bits_between_tiles", "bits_between_banks")


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``, on a model that has run nothing before."""
    measured = workload(job.workload, job.sizes, job.seed)
    found: dict[str, float | int | bool | None] = dict.fromkeys(METRICS)
    exact = True
    for place in PLACES:
        named = job.named("near_lanes=0") if place == NO_ENGINES else job.named()
        config = named.config
        assert isinstance(config, SramConfig)
        with Device(named, "model") as device:
            try:
                program = device.compile(
                    measured, seed=job.seed, place="auto" if place == NO_ENGINES else place
                )
                result = device.run(program, {**measured.inputs, **(measured.sizes or {})})
            except (WorkloadError, CapacityError):
                continue
            exact &= device.verify(result).bit_exact
        moved = traffic(result.counters)
        found |= {
            f"cycles_{place}": cycles_of(result),
            f"network_{place}": sum(moved[kind] for kind in ON_NETWORK),
            f"energy_{place}": energy(config, result.counters) / 1000,
        }
    return {**found, "bit_exact": exact}


def jobs(request: Request) -> list[Job]:
    """The largest size of each workload; a small one where it must be quick."""
    if request.quick:
        return [Job("vec_add", {"n": 16}, request.seed, "sram_b2")]
    return [Job(name, sizes[-1], request.seed) for name, sizes in SEVERAL.items()]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload: bytes on the network, and energy, in each place; and cycles of
    dataflows."""
    table = rows(records)
    names = [NAMES[place] for place in PLACES]
    found = {}
    for title, metric in (("Bytes on the network", "network"), ("Energy, nJ", "energy")):
        body = [
            [*map(str, labels), *(cell(_whole(row[f"{metric}_{each}"])) for each in PLACES)]
            for labels, row in table.items()
        ]
        header = ["workload", "sizes", *(f"{title}: {name}" for name in names)]
        found[title] = Cells(header, body, names=2)
    by_name = {labels[0]: row for labels, row in table.items()}
    both = [name for pair in DATAFLOWS.items() for name in pair if name in by_name]
    body = [[name, *(cell(by_name[name][f"cycles_{each}"]) for each in PLACES)] for name in both]
    found["Dataflows"] = Cells(["workload", *(f"cycles: {name}" for name in names)], body, names=1)
    return {title: each for title, each in found.items() if each.body}


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _ratio(table: Sequence[Mapping[str, Any]], metric: str, one: str, other: str) -> str:
    """Geometric mean of a metric of one place over that of another, where both run."""
    pairs = [(row[f"{metric}_{one}"], row[f"{metric}_{other}"]) for row in table]
    ratios = [a / b for a, b in pairs if a and b]
    return f"{geometric_mean(ratios):.2f} ({len(ratios)} workloads)" if ratios else "none"


def verdict(records: Sequence[Record]) -> str:
    """Ratios of energy, of traffic and of cycles, beside the paper's."""
    table = rows(records)
    values = list(table.values())
    lines = [
        f"energy, near over {NAMES[place]}: {_ratio(values, 'energy', 'near', place)}, the paper's "
        f"{paper}"
        for place, paper in PAPER_ENERGY.items()
    ]
    lines += [
        f"bytes on the network, {NAMES[to]} over {NAMES[of]}: "
        f"{_ratio(values, 'network', to, of)}, the paper's {paper}"
        for (of, to), paper in PAPER_TRAFFIC.items()
    ]
    lines.append(
        f"cycles, {NAMES[NO_ENGINES]} over auto: {_ratio(values, 'cycles', NO_ENGINES, 'auto')}, "
        f"the paper's {PAPER_MIX}"
    )
    by_name = {labels[0]: row for labels, row in table.items()}
    flows = [pair for pair in DATAFLOWS.items() if by_name.keys() >= {*pair}]
    pairs = [(by_name[outer], by_name[inner]) for outer, inner in flows]
    if pairs:
        over = geometric_mean([b["cycles_core"] / a["cycles_auto"] for a, b in pairs])
        lines.append(
            f"cycles, inner products on the core over outer ones where the compiler places them: "
            f"{over:.2f} ({len(pairs)} workloads), the paper's {PAPER_OUTER}"
        )
    exact = sum(row["bit_exact"] for row in values)
    lines.append(f"bit-exact: {exact} of {len(values)} rows")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Energy and bytes on the network of each place over those near memory."""
    table = {
        labels[0]: row for labels, row in rows(records).items() if row["energy_near"] is not None
    }
    shown = [place for place in PLACES if place != "near"]
    figure, axes = subplots(2, (14, 4.8))
    for each, (metric, text) in zip(
        axes, (("energy", "energy"), ("network", "bytes on the network")), strict=True
    ):
        groups = {
            NAMES[place]: [
                (row[f"{metric}_{place}"] or 0) / row[f"{metric}_near"] for row in table.values()
            ]
            for place in shown
        }
        bars(each, groups)
        line_at(each, 1)
        each.set_xticks(range(len(table)), list(table), rotation=90, fontsize=7)
        each.set(ylabel=f"{text} over near", yscale="log")
    axes[0].set_title("Energy and traffic", loc="left", fontsize=11)
    figure.legend(
        *axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=4
    )
    save(figure, path)
