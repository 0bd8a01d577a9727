"""Small kernels in C, as people write them: which of them each place takes, with gcc's bits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, mark
from bench.lib.tables import Cells
from bench.sram_compute_parts import c_reference
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind, dimension, sizes_of
from gnarl.sw.workloads.loops.ir.nest import Array, Nest
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType
from gnarl.sw.workloads.loops.workload import LoopWorkload

BENCH = "sram_compute.c_kernels"
CONFIG = "sram_b4"
PLACES = ("memory", "near", "core", "auto")

WANTED = {"memory": 80, "auto": 100}
"""Kernels that a place should take."""

FILE = Path(__file__).with_name("c_kernels.c")
TEXT = FILE.read_text()
NAMES = tuple(re.findall(r"^void (\w+)", TEXT, re.MULTILINE))

ULPS = {"sigmoid": 8, "softmax": 8}
"""Units in the last place by which results of kernels with ``expf`` may differ from gcc's."""

QUICK = ("dot_int8", "flip_horizontal")
"""Kernels that are enough where it must be quick."""

_SIZES = {"h": 9, "w": 13, "m": 17, "n": 19, "p": 7, "c": 3, "d": 5, "in": 11, "out": 7}
_LENGTH = 400
"""Elements behind pointers whose loops do not say how many."""

_SCALARS = {"steps": 3}

_SMALL = 9
"""The largest of integers of one of two runs; those of the other are any of their type."""

METRICS = {
    **{f"cycles_{place}": Metric("cycles", "lower") for place in PLACES},
    "bit_exact": Metric("", "higher"),
}
"""``None`` for a place that refuses the kernel. ``bit_exact``: all that ran has gcc's bits,
but for ``ULPS``."""


@dataclass(frozen=True)
class Job:
    """A kernel in all places."""

    kernel: str
    seed: int

    @property
    def labels(self) -> dict[str, Any]:
        return {"kernel": self.kernel}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return self.kernel


@dataclass(frozen=True)
class PlaceRun:
    """A kernel in one place. ``refusal``: why it does not run; else ``cycles`` of the model, and
    whether results are gcc's."""

    cycles: int | None
    is_exact: bool
    refusal: str = ""


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``: cycles of the run with small integers."""
    runs = {place: run_in(job.kernel, place, job.seed) for place in PLACES}
    return {
        **{f"cycles_{place}": each.cycles for place, each in runs.items()},
        "bit_exact": all(each.is_exact for each in runs.values()),
    }


def run_in(kernel: str, place: str, seed: int = 0) -> PlaceRun:
    """Runs a kernel twice on the model, sums in the source's order; each result is compared."""
    cycles, is_exact = 0, True
    for is_wide in (True, False):
        try:
            nest = read_source(TEXT, str(FILE), kernel)
            given, sizes = _values(nest, seed, is_wide)
            with Device(CONFIG, "model") as device:
                workload = LoopWorkload(kernel, nest, given, sizes)
                program = device.compile(workload, place=place, reassociate=False)
                result = device.run(program, {**given, **sizes})
        except (WorkloadError, CapacityError) as error:
            return PlaceRun(None, True, str(error))
        wanted = c_reference.results(library(TEXT), TEXT, nest, bind(nest, given, sizes))
        is_exact &= all(
            _is_same(np.asarray(result.outputs[name]), array, ULPS.get(kernel, 0))
            for name, array in wanted.items()
        )
        cycles = cycles_of(result)
    return PlaceRun(cycles, is_exact)


def _is_same(found: np.ndarray, wanted: np.ndarray, ulps: int) -> bool:
    if ulps:
        return bool((np.abs(found - wanted) <= ulps * np.spacing(np.abs(wanted))).all())
    return c_reference.one_nan(found) == c_reference.one_nan(wanted)


@cache
def library(text: str) -> Any:
    """Functions as gcc compiles them."""
    with TemporaryDirectory() as folder:
        return c_reference.compiled(Path(folder), text)


def _values(nest: Nest, seed: int, is_wide: bool) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Random values of all parameters, and sizes."""
    random, names = np.random.default_rng(seed), [each.name for each in nest.sizes]
    sizes = sizes_of(nest, {}, _LENGTH, {name: _SIZES[name] for name in names if name in _SIZES})
    given = {}
    for each in nest.parameters:
        if each.name in nest.temporaries:
            continue
        if isinstance(each, Array):
            shape = tuple(dimension(size, sizes) for size in each.shape)
            given[each.name] = _draw(random, each.type, shape, is_wide)
        elif each.name in _SCALARS:
            given[each.name] = np.asarray(_SCALARS[each.name], each.type.dtype)
        else:
            given[each.name] = _draw(random, each.type, (), False)
    return given, sizes


def _draw(
    random: np.random.Generator, type: ScalarType, shape: tuple[int, ...], is_wide: bool
) -> np.ndarray:
    if type == FLOAT32:
        return np.asarray(random.standard_normal(shape), np.float32)
    least, most = (type.least, type.most) if is_wide else (max(type.least, -_SMALL), _SMALL)
    return np.asarray(random.integers(least, most + 1, shape), type.dtype)


def jobs(request: Request) -> list[Job]:
    """All kernels; a few where it must be quick."""
    return [Job(name, request.seed) for name in (QUICK if request.quick else NAMES)]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has gcc's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each kernel."""
    body = [
        [
            *map(str, labels),
            *(cell(row[f"cycles_{place}"]) for place in PLACES),
            cell(row["bit_exact"]) if _runs(row) else "",
        ]
        for labels, row in rows(records).items()
    ]
    return {"C kernels": Cells(["kernel", *PLACES, "bit-exact"], body)}


def _runs(row: Mapping[str, Any]) -> bool:
    return any(row[f"cycles_{place}"] is not None for place in PLACES)


def _taken(table: Sequence[Mapping[str, Any]], place: str) -> int:
    return sum(row[f"cycles_{place}"] is not None for row in table)


def verdict(records: Sequence[Record]) -> str:
    """How many kernels each place takes, and whether all are right."""
    table = rows(records)
    lines = []
    for place in PLACES:
        taken = _taken([*table.values()], place)
        wanted = WANTED.get(place)
        beside = "" if wanted is None else f", at least {wanted}: {mark(taken >= wanted)}"
        lines.append(f"{place} takes {taken} of {len(table)} kernels{beside}")
    refused = [labels[0] for labels, row in table.items() if row["cycles_auto"] is None]
    if refused:
        lines.append(f"refused by all: {', '.join(refused)}")
    exact = [row["bit_exact"] for row in table.values() if _runs(row)]
    lines.append(f"with gcc's bits wherever they run: {sum(exact)} of {len(exact)} kernels")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """How many kernels each place takes."""
    table = [*rows(records).values()]
    figure, (axes,) = subplots(1, (6, 3.6))
    bars(axes, {"kernels": [_taken(table, place) for place in PLACES]})
    axes.set_xticks(range(len(PLACES)), list(PLACES))
    axes.set(ylabel="kernels")
    axes.set_title(f"Taken, of {len(table)}", loc="left", fontsize=11)
    save(figure, path)
