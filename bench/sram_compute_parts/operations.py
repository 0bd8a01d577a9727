"""What operations cost on real data: cycles of the sequencer, skips that are not taken included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, mark
from bench.lib.tables import Cells
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.operation import Operation as Function
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.division import divide
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from gnarl.sw.runtime.target.configuration import load_configuration
from manual.sram_microcode import PIMEVAL

BENCH = "sram_compute.operations"
CONFIG = "sram_b4"

WIDTHS = (4, 8, 16, 32)
FLOAT = "float32"
INTEGERS = ("add", "multiply", "multiply_full", "multiply_full_unsigned")
FLOATS = ("add", "multiply", "divide")
ANY, NORMAL = "any bits", "normal data"
SETS = 16
"""Sets of operands, a pair on each bitline of a bank."""

_BASES = {Base.A: 0, Base.B: 32, Base.D: 64, Base.E: 64, Base.S: 128}
SCRATCH_ROWS = 48
_LIMITS = {
    ("add", NORMAL): 640,
    ("add", ANY): 720,
    ("multiply", NORMAL): 800,
    ("multiply", ANY): 1400,
    ("divide", NORMAL): 1000,
    ("divide", ANY): 1700,
}

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "fewest": Metric("cycles", "lower"),
    "scratch_rows": Metric("rows", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``cycles``: the most of all sets, ``fewest``: the least."""


@dataclass(frozen=True)
class Job:
    """An operation on integers of ``width`` bits, or on float32."""

    operation: str
    type: str
    width: int
    data: str
    seed: int
    sets: int = SETS

    @property
    def labels(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "type": self.type,
            "width": self.width,
            "data": self.data,
        }

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.operation} of {self.type} {self.width}, {self.data}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``: runs on the model of a bank, whose rows hold anything before."""
    config = load_configuration(CONFIG).config
    assert isinstance(config, SramConfig)
    is_float = job.type == FLOAT
    known = FLOAT_OPERATIONS[FLOAT] if is_float else INTEGER_OPERATIONS
    operation, n = known[job.operation], 0 if is_float else job.width
    bitlines = config.arrays * config.bitlines
    cycles, right = [], True
    for a, b in _operands(job, bitlines):
        used, results = _run(operation, n, job, (a, b), config)
        cycles.append(used)
        right = right and bool((results == _expected(job, a, b)).all())
    return {
        "cycles": max(cycles),
        "fewest": min(cycles),
        "scratch_rows": operation.scratch_rows(n),
        "bit_exact": right,
    }


def _run(
    operation: Operation,
    n: int,
    job: Job,
    operands: tuple[np.ndarray, np.ndarray],
    config: SramConfig,
) -> tuple[int, np.ndarray]:
    """Cycles, and results: uint64 [bitlines]."""
    array = ComputeArray(config.wordlines, len(operands[0]), np.random.default_rng(job.seed))
    for base, values in zip((Base.A, Base.B), operands, strict=True):
        array.write(_BASES[base], values, job.width)
    cycles = array.run(operation.program(n), _BASES, n, skips=config.skip)
    return cycles, array.read(_BASES[Base.D], _result_bits(job))


def _result_bits(job: Job) -> int:
    return job.width * (2 if job.operation.startswith("multiply_full") else 1)


def _operands(job: Job, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs, int64 or uint64 [count]: the first set begins with all pairs of corners."""
    random = np.random.default_rng(job.seed)
    is_signed = job.type == "int"
    for number in range(job.sets):
        if job.data == NORMAL:
            yield _normal(random, count), _normal(random, count)
            continue
        a, b = random.integers(0, 1 << job.width, (2, count), np.uint64)
        if number == 0:
            pairs = np.meshgrid(*2 * [_corners(job)])
            corners = [each.ravel()[:count] for each in pairs]
            a[: len(corners[0])], b[: len(corners[1])] = corners
        yield (_signed(a, job.width), _signed(b, job.width)) if is_signed else (a, b)


def _normal(random: np.random.Generator, count: int) -> np.ndarray:
    """Bits of float32: normal numbers, whose products and quotients are normal, too."""
    numbers = random.uniform(1, 2, count) * 2.0 ** random.integers(-30, 31, count)
    signed = (numbers * random.choice([-1, 1], count)).astype(np.float32)
    return signed.view(np.uint32).astype(np.uint64)


def _corners(job: Job) -> np.ndarray:
    """Words: of integers least and greatest, and those about 0; of floats each kind."""
    if job.type != FLOAT:
        most = (1 << job.width) - 1
        return np.unique(np.array([0, 1, 2, most >> 1, (most >> 1) + 1, most - 1, most], np.uint64))
    format = FLOAT_FORMATS[FLOAT]
    exponents = [0, 1, format.bias - 1, format.bias, format.bias + 1, 2 * format.bias]
    exponents.append(2 * format.bias + 1)
    fractions = [0, 1, 1 << format.fraction - 1, (1 << format.fraction) - 1]
    positive = [each << format.fraction | low for each in exponents for low in fractions]
    return np.array(positive + [each | 1 << job.width - 1 for each in positive], np.uint64)


def _signed(words: np.ndarray, width: int) -> np.ndarray:
    shift = np.uint64(64 - width)
    return (words << shift).view(np.int64) >> np.int64(64 - width)


def _expected(job: Job, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's integers, modulo the result's bits, or the golden model's floats."""
    if job.type == FLOAT:
        left, right = a.astype(np.uint32), b.astype(np.uint32)
        if job.operation == "divide":
            return divide(left, right, FLOAT)
        numbers = arithmetic(FLOAT)
        function = {"add": Function.ADD, "multiply": Function.MUL}[job.operation]
        result = numbers.apply(function, numbers.numbers(left), numbers.numbers(right))
        return numbers.words(result)
    left, right = a.astype(np.uint64), b.astype(np.uint64)
    result = left + right if job.operation == "add" else left * right
    return result & np.uint64((1 << _result_bits(job)) - 1)


def jobs(request: Request) -> list[Job]:
    """Integers of all widths, and float32 on data of both kinds."""
    job = partial(Job, seed=request.seed, sets=1 if request.quick else SETS)
    found = [
        job(name, "uint" if name.endswith("_unsigned") else "int", width, ANY)
        for name in INTEGERS
        for width in (WIDTHS[:1] if request.quick else WIDTHS)
    ]
    width = FLOAT_FORMATS[FLOAT].width
    return found + [job(name, FLOAT, width, data) for name in FLOATS for data in (NORMAL, ANY)]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the right bits."""
    return measure_all(
        BENCH,
        measure,
        jobs(request),
        METRICS,
        console=request.console,
        right=lambda values: bool(values["bit_exact"]),
    )


def limit(operation: str, type: str, n: int, data: str) -> int:
    """Cycles that are asked."""
    if type == FLOAT:
        return _LIMITS[operation, data]
    if operation == "add":
        return n
    return n * n // 2 + 2 * n if operation == "multiply" else n * n + 2 * n


def published(operation: str, type: str, n: int) -> int:
    """Infinity Stream's cycles of integers, section 5; rows that PIMeval writes of float32."""
    if type == FLOAT:
        return PIMEVAL[operation]
    return n if operation == "add" else n * n + 5 * n


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each operation, width and kind of data."""
    body = []
    for (operation, type, width, data), row in rows(records).items():
        low, high = row["fewest"], row["cycles"]
        body.append(
            [
                operation,
                f"{type}{width}" if type != FLOAT else type,
                data,
                cell(high) if low == high else f"{low:,} to {high:,}",
                cell(limit(operation, type, width, data)),
                cell(published(operation, type, width)),
                cell(row["scratch_rows"]),
            ]
        )
    header = ["operation", "type", "data", "cycles", "asked", "published", "scratch rows"]
    return {"Operations": Cells(header, body, names=3)}


def verdict(records: Sequence[Record]) -> str:
    """Whether all limits are kept: of integers by operation, of float32 one by one."""
    table = rows(records)
    right = sum(row["bit_exact"] for row in table.values())
    lines = [f"results with the right bits: {right} of {len(table)} operations"]
    for operation in INTEGERS:
        widths = {
            width: (row["cycles"], limit(name, type, width, data))
            for (name, type, width, data), row in table.items()
            if name == operation and type != FLOAT
        }
        if widths:
            n, cycles, limits = (
                ", ".join(f"{each:,}" for each in column)
                for column in (widths, *zip(*widths.values(), strict=True))
            )
            good = all(used <= most for used, most in widths.values())
            lines.append(
                f"integer {operation}, n = {n}: {cycles} cycles, limit {limits} {mark(good)}"
            )
    for operation in FLOATS:
        parts = [
            f"{row['cycles']:,} on {data}, limit {_LIMITS[name, data]:,} "
            f"{mark(row['cycles'] <= _LIMITS[name, data])}"
            for (name, type, _, data), row in table.items()
            if (name, type) == (operation, FLOAT)
        ]
        if parts:
            lines.append(
                f"{FLOAT} {operation}, cycles: {'; '.join(parts)}; PIMeval writes "
                f"{PIMEVAL[operation]:,} rows"
            )
    most = max(row["scratch_rows"] for row in table.values())
    lines.append(f"scratch rows: at most {most}, limit {SCRATCH_ROWS} {mark(most <= SCRATCH_ROWS)}")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles, what is asked, and what others need."""
    names, measured, asked, others = [], [], [], []
    for (operation, type, width, data), row in rows(records).items():
        short = operation.replace("multiply_full", "full")
        names.append(f"{short} {data}" if type == FLOAT else f"{short} {type}{width}")
        measured.append(row["cycles"])
        asked.append(limit(operation, type, width, data))
        others.append(published(operation, type, width))
    figure, (axes,) = subplots(1, (11, 4.5))
    bars(axes, {"here": measured, "asked": asked, "published": others})
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    axes.set(ylabel="cycles", yscale="log")
    axes.set_title("What operations cost", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
