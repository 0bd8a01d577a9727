"""Attention with blocks of values, as the paper's figure 17: against one value at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from bench.fuseflow_parts.decoder import head
from bench.fuseflow_parts.lanes import LARGE
from bench.lib.exact import is_exact
from bench.lib.jobs import AT_ONCE
from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.blocks"

CONFIG = "sam_fp32"
ROWS, KEYS = "i", "k"
"""Indices of queries and of keys, along which scores and probabilities have their blocks."""


@dataclass(frozen=True)
class Head:
    """A head of attention: positions, how wide it is, positions of a block of its mask, and blocks
    that see all."""

    length: int
    width: int
    block: int
    first: int

    def __str__(self) -> str:
        return f"{self.length:,} in blocks of {self.block}"


LONG = tuple(Head(1024, 64, block, 2) for block in (16, 64))
MORE_LONG = (Head(1024, 64, 32, 2),)
SHORT = Head(64, 16, 8, 1)
ONE, ON_RTL = (1, 1), (1, 4)
"""Words along queries and keys of the short head on RTL."""
LEAST = 0.8
"""Of the words of a block along keys, that a head must gain by them."""

METRICS = {
    "cycles": Metric("", "lower"),
    "bound": Metric("", "none"),
    "products": Metric("", "higher"),
    "bit_exact": Metric("", "higher"),
}
"""``bound``: cycles that no run takes fewer than, as a product with queries or with values has one
multiplication of a word a cycle; ``products``: multiply-adds of words a cycle, of both together."""

_HEADER = {
    "cycles": "cycles",
    "gain": "times as fast",
    "bound": "bound",
    "products": "multiply-adds a cycle",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """A head, the words of blocks along queries and along keys, and what runs it."""

    head: Head
    words: tuple[int, int]
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"head": f"{self.head}", "words": _shown(self.words), "backend": self.backend}

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, () if self.head == SHORT else LARGE)

    def __str__(self) -> str:
        return f"{self.head}, {_shown(self.words)} words, {self.backend}"


def _shown(words: tuple[int, int]) -> str:
    rows, keys = words
    return f"{rows} × {keys}" if rows > 1 else f"{keys}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    each = job.head
    module, inputs = head(each.length, job.seed, each.block, each.first, each.width)
    with Device(job.configuration(), job.backend) as device:
        model = device.workload((module, inputs))
        names = tuple(statement.name for statement in model.program.einsums)
        along = zip((ROWS, KEYS), job.words, strict=True)
        blocks = tuple((index, words) for index, words in along if words > 1)
        schedule = Schedule(regions=(Region(names, blocks=blocks),))
        program = device.compile(model, schedule=schedule)
        result = device.run(program, model.inputs)
        assert result.cycles is not None
        products = int(module.mask.sum()) * each.width
        return {
            "cycles": result.cycles,
            "bound": products // prod(job.words),
            "products": 2 * products / result.cycles,
            "bit_exact": is_exact(device, result),
        }


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every head with one word and with blocks; whether all went well."""
    runs = [(SHORT, words, "model") for words in (ONE, (1, 2), ON_RTL, (1, 8), (4, 4), (8, 8))]
    if request.backend == "rtl":
        runs += [(SHORT, words, "rtl") for words in (ONE, ON_RTL)]
    if not request.quick:
        heads = request.cases(LONG, MORE_LONG)
        runs += [(each, words, "model") for each in heads for words in (ONE, (1, each.block))]
        runs.append((LONG[0], (LONG[0].block, LONG[0].block), "model"))
    jobs = [Job(*each, request.seed) for each in runs]
    return measure_exact(BENCH, measure, jobs, METRICS, request, processes=AT_ONCE)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each head and number of words, with the cycles of one word over its own."""
    table = rows(measured)
    body = [
        cells(
            {**row, "gain": _gain(table, labels)},
            labels,
            _HEADER,
            shown={"gain": ".2f", "products": ".2f"},
        )
        for labels, row in table.items()
    ]
    names = ["head", "words", "backend"]
    return {"Blocks": Cells([*names, *_HEADER.values()], body, names=3)}


def _gain(table: Mapping[tuple[str, ...], Any], labels: tuple[str, ...]) -> float:
    """Cycles with one word, over those of a row."""
    head, _, backend = labels
    found: float = table[head, "1", backend]["cycles"] / table[labels]["cycles"]
    return found


def verdict(measured: Sequence[Record]) -> str:
    """What blocks gain, in a line each."""
    table = rows(measured)
    lines = []
    for labels in table:
        head, words, backend = labels
        if words == "1":
            continue
        gain, least = _gain(table, labels), ""
        if words.isdecimal():
            asked = LEAST * int(words)
            least = f", at least {asked:g} {mark(gain >= asked)}"
        lines.append(
            f"{head}, {words} words, {backend}: times as fast {gain:.2f}{least}, "
            f"{table[labels]['products']:.1f} multiply-adds a cycle"
        )
    exact = sum(row["bit_exact"] for row in table.values())
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Times as fast as with one word, by the words of a block."""
    table = rows(measured)
    figure, (axes,) = subplots(1, (6.5, 4))
    found = [
        (labels, _gain(table, labels))
        for labels in table
        if labels[1] != "1" and labels[2] == "model"
    ]
    names = [f"{head},\n{words} words" for (head, words, _), _ in found]
    places = range(len(found))
    axes.bar(places, [gain for _, gain in found], color=PALETTE[0], label="times as fast")
    words = [prod(map(int, labels[1].split(" × "))) for labels, _ in found]
    axes.plot(places, words, "_", color="black", markersize=24)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(places, names, fontsize=8, rotation=30, ha="right")
    axes.set_ylabel("times as fast as one word")
    axes.set_title(f"{CONFIG}: BigBird attention in blocks (line: words)", loc="left", fontsize=11)
    save(figure, path)
