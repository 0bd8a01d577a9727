"""Products with the coordinates of one loop dealt to several lanes, as the paper's figure 16."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from bench.fuseflow_parts.decoder import BLOCK, head
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
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.lanes"

CONFIG = "sam_fp32"

PRODUCT, CORA = "product of rows", "A·F of Cora"
_BY_ROWS = "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds -s=reorder(i,k,j)"
STATEMENTS = {**SUITE, PRODUCT: _BY_ROWS, CORA: _BY_ROWS}

HEAD, LONG_HEAD = "attention of 64", "attention of 1,024"
ATTENTIONS = {HEAD: (64, BLOCK, 1), LONG_HEAD: (1024, 64, 2)}
"""Positions, those of a block, and blocks that see all."""

LANES = (2, 4, 8, 16)
ON_RTL = 4

ONE = "none"
"""The index of one lane."""


@dataclass(frozen=True)
class Loop:
    """A kernel of ``STATEMENTS`` or ``ATTENTIONS``, the indices whose coordinates are dealt, to how
    many lanes, those of several loops together, and what they must gain by lanes at least.

    more
        numbers of lanes that a full request has besides.
    on_rtl, more_on_rtl
        whether ``ON_RTL`` lanes run on RTL, too, or in a full request.
    """

    kernel: str
    index: str
    lanes: Sequence[int] = LANES
    least: Mapping[int, float] = field(default_factory=dict)
    more: Sequence[int] = ()
    on_rtl: bool = False
    more_on_rtl: bool = False


LOOPS = (
    Loop("mat_sddmm", "i"),
    Loop("mat_sddmm", "j", least={4: 3.8}, more_on_rtl=True),
    Loop("mat_sddmm", "ij", (4, 16), {16: 15.0}),
    Loop("mat_vecmul_ij", "i"),
    Loop("matmul_ijk", "j", more_on_rtl=True),
    Loop(PRODUCT, "i", least={4: 3.8}, on_rtl=True),
    Loop(PRODUCT, "k", more_on_rtl=True),
    Loop(CORA, "i", least={4: 3.8}, on_rtl=True),
    Loop(HEAD, "i", more_on_rtl=True),
    Loop(HEAD, "k", least={4: 3.8}, on_rtl=True),
    Loop(LONG_HEAD, "i", (4, 16, 64), {4: 3.8, 64: 56.0}),
    Loop(LONG_HEAD, "k", (4,), more=(2, 8, 16)),
    Loop(LONG_HEAD, "ik", (16,), {16: 15.0}, more=(4,)),
)
"""``PRODUCT`` and ``CORA`` by rows are one machine."""

SIZE, INNER = 256, 64

LARGE = ("array_words=1048576",)

METRICS = {
    "cycles": Metric("", "lower"),
    "imbalance": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``imbalance``: of the worst loop's lanes, see ``LaneLoads``; 1 without lanes."""

_HEADER = {
    "cycles": "cycles",
    "gain": "times as fast",
    "imbalance": "imbalance",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """A kernel, the loops that are dealt, how many lanes they have together, and what runs it."""

    kernel: str
    index: str
    lanes: int
    backend: str
    workloads: Path
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {
            "kernel": self.kernel,
            "index": self.index,
            "lanes": f"{self.lanes}",
            "backend": self.backend,
        }

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        is_large = self.kernel in (PRODUCT, CORA, LONG_HEAD)
        return load_configuration(CONFIG, LARGE if is_large else ())

    def __str__(self) -> str:
        return f"{self.kernel}, {self.index}, {self.lanes} lanes, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    lanes = round(job.lanes ** (1 / len(job.index)))
    dealt = tuple((index, lanes) for index in job.index) if lanes > 1 else ()
    with Device(job.configuration(), job.backend) as device:
        if job.kernel in ATTENTIONS:
            length, block, first = ATTENTIONS[job.kernel]
            model = device.workload(head(length, job.seed, block, first))
            names = tuple(each.name for each in model.program.einsums)
            schedule = Schedule(regions=(Region(names, lanes=dealt),))
            program, inputs = device.compile(model, schedule=schedule), model.inputs
        else:
            inputs = _inputs(job)
            options = "".join(f" -s=parallelize({index},{number})" for index, number in dealt)
            program = device.compile((STATEMENTS[job.kernel] + options, inputs))
        result = device.run(program, inputs)
        assert result.cycles is not None
        (launch,) = device.target.presenter.figures(program, result).launches.values()
        imbalance = launch.get("lane_imbalance")
        return {
            "cycles": result.cycles,
            "imbalance": imbalance if isinstance(imbalance, float) else 1.0,
            "bit_exact": is_exact(device, result),
        }


def _inputs(job: Job) -> dict[str, Any]:
    """Square matrices of ``SIZE`` with 3 % of their elements, 5 % for a vector's, twice that size
    and 2 % for a product of rows; dense operands ``INNER`` wide.

    Rows of products have those with the most multiplications first: hosts deal them so to lanes,
    and one lane must have the same order.
    """
    noise = np.random.default_rng(job.seed)

    def sparse(share: float, size: int = SIZE) -> Any:
        return scipy.sparse.random_array((size, size), density=share, rng=noise, format="csr")

    match job.kernel:
        case kernel if kernel == CORA:
            folder = job.workloads / "graph"
            one, other = (
                scipy.sparse.csr_array(scipy.io.mmread(folder / f"{name}.mtx"))
                for name in ("cora_adjacency", "cora_features")
            )
            return {"B": _heaviest_first(one, other), "C": other}
        case kernel if kernel == PRODUCT:
            one, other = sparse(0.02, 2 * SIZE), sparse(0.02, 2 * SIZE)
            return {"B": _heaviest_first(one, other), "C": other}
        case "mat_sddmm":
            dense = noise.random((SIZE, INNER)), noise.random((INNER, SIZE))
            return {"B": sparse(0.03), "C": dense[0], "D": dense[1]}
        case "mat_vecmul_ij":
            return {"B": sparse(0.05), "c": noise.random(SIZE)}
    return {"B": sparse(0.03), "C": sparse(0.03)}


def _heaviest_first(one: Any, other: Any) -> Any:
    """The rows of a factor, those with the most products with another one first."""
    products = (one != 0).astype(int) @ np.diff(other.indptr)
    return one[np.argsort(-products, kind="stable")]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every loop with every number of lanes; whether all went well."""
    jobs: dict[Job, None] = {}
    for loop in LOOPS[3:4] if request.quick else LOOPS:
        if (
            loop.kernel == CORA
            and not (request.workloads / "graph" / "cora_features.mtx").is_file()
        ):
            request.console.print(f"{BENCH}: {CORA} is absent: skipped", style="yellow")
            continue
        runs = [(ONE, 1, "model")]
        runs += [(loop.index, n, "model") for n in request.cases(loop.lanes, loop.more, quick=2)]
        if request.backend == "rtl" and (loop.on_rtl or (request.full and loop.more_on_rtl)):
            runs.append((loop.index, ON_RTL, "rtl"))
        own = request.workloads, request.seed
        jobs |= dict.fromkeys(Job(loop.kernel, *run, *own) for run in runs)
    return measure_exact(BENCH, measure, list(jobs), METRICS, request, processes=AT_ONCE)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each loop and number of lanes, with the cycles of one lane over its own."""
    table = rows(measured)
    body = [
        cells(
            {**row, "gain": _gain(table, labels)},
            labels,
            _HEADER,
            shown={"gain": ".2f", "imbalance": ".2f"},
        )
        for labels, row in table.items()
    ]
    names = ["kernel", "loop", "lanes", "backend"]
    return {"Lanes": Cells([*names, *_HEADER.values()], body, names=4)}


def _gain(table: dict[tuple[str, ...], Any], labels: tuple[str, ...]) -> float:
    """Cycles with one lane, over those of a row."""
    found: float = table[labels[0], ONE, "1", "model"]["cycles"] / table[labels]["cycles"]
    return found


def verdict(measured: Sequence[Record]) -> str:
    """What lanes gain, in a line each."""
    table = rows(measured)
    lines = []
    for loop in LOOPS:
        gains: dict[int, float] = {}
        for labels in table:
            if labels[:2] == (loop.kernel, loop.index):
                lanes = int(labels[2])
                gains[lanes] = min(_gain(table, labels), gains.get(lanes, math.inf))
        shown = []
        for lanes in sorted({ON_RTL, max(gains, default=0)}):
            if lanes in gains:
                least = loop.least.get(lanes)
                asked = (
                    "" if least is None else f", at least {least:g} {mark(gains[lanes] >= least)}"
                )
                shown.append(f"with {lanes} lanes {gains[lanes]:.2f}{asked}")
        if shown:
            over = " and ".join(loop.index)
            lines.append(f"{loop.kernel}, over {over}: times as fast {', '.join(shown)}")
    exact = sum(row["bit_exact"] for row in table.values())
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Times as fast as one lane, by the number of lanes."""
    table = rows(measured)
    figure, (axes,) = subplots(1, (8, 4.2))
    loops = dict.fromkeys(labels[:2] for labels in table if labels[1] != ONE)
    for number, (kernel, index) in enumerate(loops):
        found = [(1, 1.0)]
        found += [
            (int(lanes), _gain(table, (kernel, index, lanes, "model")))
            for *own, lanes, backend in table
            if (*own, backend) == (kernel, index, "model")
        ]
        turn, colour = divmod(number, len(PALETTE))
        style = ("o-", "s--", "^:")[turn]
        label = f"{kernel}, {index}"
        axes.plot(*zip(*found, strict=True), style, color=PALETTE[colour], label=label)
    most = max(int(labels[2]) for labels in table)
    axes.plot((1, most), (1, most), ":", color="grey")
    axes.set(xlabel="lanes", ylabel="times as fast as one", xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(_ticks(most))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(_ticks(0))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(f"{CONFIG}: coordinates of one loop dealt to lanes", loc="left", fontsize=11)
    save(figure, path)


def _ticks(most: int) -> Any:
    from matplotlib.ticker import FixedLocator

    return FixedLocator([each for each in (1, *LANES, 32, 64) if each <= most])
