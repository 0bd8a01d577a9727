"""Memory and stream engines where arrays come from main memory, where results stay in banks, and
where all of it is in banks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean
from bench.lib.tables import Cells
from bench.sram_compute_parts.places import CHOSEN, Job
from bench.sram_compute_parts.places import PAPER as IN_PLACES
from bench.sram_compute_parts.workloads import SEVERAL, workload
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.lowering import Specialiser
from gnarl.sw.compiler.sram_compute.sections import fat_program
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.phases import COMPUTE, in_phases
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.workload import LoopWorkload

BENCH = "sram_compute.regimes"
PLACES = ("memory", "near")
CORE = "core"

STORED, STAY, RESIDENT = "stored", "stay", "resident"
REGIMES = {
    STORED: "loaded and stored",
    STAY: "loaded, results stay",
    RESIDENT: "resident",
}

BEST = "best"
"""The faster of memory and near."""

PAPER = {
    (slow, BEST if fast == CHOSEN else fast): ratio for (slow, fast), ratio in IN_PLACES.items()
}
"""As ``places.PAPER``, whose choice of places is the best one here."""

METRICS = {
    **{f"{place}_{regime}": Metric("cycles", "lower") for place in PLACES for regime in REGIMES},
    CORE: Metric("cycles", "lower"),
    "on_rtl": Metric("runs", "none"),
    "bit_exact": Metric("", "higher"),
}
"""``None`` for what does not run there, or not in such a regime. ``on_rtl``: how many of the runs
were simulated, too, and had the model's cycles."""


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``; each result goes to main memory in the end, and is compared."""
    given = workload(job.workload, job.sizes, job.seed)
    found: dict[str, float | int | bool | None] = dict.fromkeys(METRICS)
    exact, on_rtl = True, 0
    for place in (*PLACES, CORE):
        for regime in REGIMES if place != CORE else (STORED,):
            program = program_in(given, job.config, place, regime)
            if program is None:
                continue
            cycles, is_exact = _run(program, given, job.config, "model")
            exact &= is_exact
            found[place if place == CORE else f"{place}_{regime}"] = cycles
            if job.is_on_rtl:
                exact &= _run(program, given, job.config, "rtl") == (cycles, True)
                on_rtl += 1
    return {**found, "on_rtl": on_rtl, "bit_exact": exact}


def program_in(given: LoopWorkload, config: str, place: str, regime: str) -> Program | None:
    """The program of a workload, in phases where not all of it counts; ``None`` where it does not
    run there, or not in phases."""
    named, inputs = load_configuration(config), {**given.inputs, **(given.sizes or {})}
    assert isinstance(named.config, SramConfig)
    with Device(named, "model") as device:
        try:
            file = device.compile(given, place=place)
            fat = fat_program(file)
            assert fat is not None
            specialiser = Specialiser(
                fat, given.name, named.config, arrays_first=regime == RESIDENT
            )
            program: Program = specialiser.program(given.binding, inputs)
        except (WorkloadError, CapacityError):
            return None
    return program if regime == STORED else in_phases(program, loads_first=regime == RESIDENT)


def _run(
    program: Program, given: LoopWorkload, config: str, backend: str
) -> tuple[int | None, bool]:
    """Cycles of the phase that computes, and whether results are right."""
    with Device(load_configuration(config), backend) as device:
        result = device.run(program, {**given.inputs, **(given.sizes or {})})
        is_exact = device.verify(result).bit_exact
    if len(program.launches) == 1:
        return cycles_of(result), is_exact
    (cycles,) = (run.finished.cycles for run in result.launches if run.launch.name == COMPUTE)
    return cycles, is_exact


def jobs(request: Request) -> list[Job]:
    """All workloads at their largest sizes, and at their smallest ones, these also on the RTL; a
    small one where it must be quick."""
    is_on_rtl = request.backend == "rtl"
    if request.quick:
        return [Job("vec_add", {"n": 16}, request.seed, is_on_rtl, "sram_b2")]
    return [
        Job(name, sizes, request.seed, is_on_rtl and sizes == several[0])
        for name, several in SEVERAL.items()
        for sizes in (several[0], several[-1])
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload and size."""
    names = [name for name in METRICS if name != "bit_exact"]
    body = [
        [*map(str, labels), *(cell(row[name]) for name in names), cell(row["bit_exact"])]
        for labels, row in rows(records).items()
    ]
    header = ["workload", "sizes"]
    header += [f"{place}, {text}" for place in PLACES for text in REGIMES.values()]
    return {"Regimes": Cells([*header, CORE, "runs on RTL", "bit-exact"], body, names=2)}


def _cycles(row: Mapping[str, Any], place: str, regime: str) -> int | None:
    """Cycles in a regime; of the core always from main memory and back."""
    if place == CORE:
        return row[CORE]
    if place != BEST:
        return row[f"{place}_{regime}"]
    return min((each for name in PLACES if (each := row[f"{name}_{regime}"])), default=None)


def verdict(records: Sequence[Record]) -> str:
    """Which place is how much faster in each regime."""
    table = rows(records)
    last = list({labels[0]: row for labels, row in table.items()}.values())
    lines = []
    for (slow, fast), paper in PAPER.items():
        texts = []
        for regime, text in REGIMES.items():
            pairs = [(_cycles(row, slow, regime), _cycles(row, fast, regime)) for row in last]
            ratios = [one / other for one, other in pairs if one and other]
            if ratios:
                texts.append(f"{text} {geometric_mean(ratios):.2f} ({len(ratios)} workloads)")
        lines.append(f"{fast} over {slow}: {', '.join(texts) or 'none'}; the paper's {paper}")
    exact = sum(row["bit_exact"] for row in table.values())
    on_rtl = sum(row["on_rtl"] for row in table.values())
    lines.append(f"bit-exact: {exact} of {len(table)} rows; {on_rtl} runs on RTL, too")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles near memory over those in it, in each regime, at the largest sizes."""
    last = {labels[0]: row for labels, row in rows(records).items()}
    both = {name: row for name, row in last.items() if row["memory_stored"] and row["near_stored"]}
    groups = {
        text: [
            near / memory
            if (near := row[f"near_{regime}"]) and (memory := row[f"memory_{regime}"])
            else 0
            for row in both.values()
        ]
        for regime, text in REGIMES.items()
    }
    figure, (axes,) = subplots(1, (11, 4.6))
    bars(axes, groups)
    line_at(axes, 1)
    axes.set_xticks(range(len(both)), list(both), rotation=90, fontsize=7)
    axes.set(ylabel="cycles near memory over those in it", yscale="log")
    axes.set_title("Regimes, largest sizes", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
