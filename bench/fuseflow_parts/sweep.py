"""A nested product in all orders of its loops, as the paper's figure 18 sweeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import networkx
import numpy as np
import scipy.sparse

from bench.fuseflow_parts import figures
from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.host_steps import statement_of
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor

BENCH = "fuseflow.sweep"

CONFIG = "sam_fp32"
TEXT = "T(i,m)=sum[l](A(i,l)*X(l,m)); N(i,j)=sum[m](T(i,m)*W(m,j)) -f=A:ds -f=X:ds -f=W:dd"
INDICES = "ilmj"
COLUMNS = 16
PAPER = 29.0

_OF_RUN = ("cycles", "longest", "operations", "bytes")

METRICS = {
    "has_graph": Metric("", "none"),
    **{name: figures.METRICS[name] for name in _OF_RUN},
    "copies": Metric("", "none"),
    "copied_bytes": Metric("bytes", "none"),
    "bit_exact": Metric("", "higher"),
}
"""``copies``: operands that are stored once more, to suit the order; ``copied_bytes``: their
coordinates and values, of four bytes each, read and written. All is 0 where there is no graph."""

_HEADER = {
    **{name: figures.HEADER[name] for name in _OF_RUN},
    "copies": "copies",
    "copied_bytes": "bytes of copies",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """An order of loops, outermost first."""

    order: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"order": self.order}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return self.order


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    inputs = _inputs(job.seed)
    # The result, too, suits the order.
    modes = "0,1" if job.order.index("i") < job.order.index("j") else "1,0"
    schedule = Schedule(
        formats={"N": f"ss:{modes}"}, regions=(Region(("T", "N"), tuple(job.order)),)
    )
    with Device(CONFIG, "model") as device:
        try:
            program = device.compile(_product(inputs), schedule=schedule)
        except WorkloadError:
            return {**dict.fromkeys(METRICS, 0), "has_graph": False, "bit_exact": True}
        result = device.run(program, inputs)
        measured = figures.run_figures(device, program, result)
        bit_exact = device.verify(result).bit_exact
    copied = [inputs[statement_of(step).operands[0].tensor] for step in program.steps]
    words = sum(each.nnz * (len(each.shape) + 1) for each in copied)
    return {
        "has_graph": True,
        **{name: measured[name] for name in _OF_RUN},
        "copies": len(copied),
        "copied_bytes": 2 * 4 * words,
        "bit_exact": bit_exact,
    }


def _inputs(seed: int) -> dict[str, Tensor]:
    """The karate club's matrix as A and as X, and dense weights."""
    graph = networkx.karate_club_graph()
    adjacency = scipy.sparse.csr_array(networkx.to_scipy_sparse_array(graph, weight=None))
    weights = np.random.default_rng(seed).standard_normal((len(graph), COLUMNS))
    tensors = {"A": adjacency, "X": adjacency, "W": weights.astype(np.float32)}
    return {name: Tensor.from_any(each) for name, each in tensors.items()}


def _product(inputs: dict[str, Tensor]) -> SamModel:
    program = parse_program(TEXT, "nested product")
    shapes = program_shapes(program, {name: each.shape for name, each in inputs.items()}).tensors
    operands = {name: Operand(tensor) for name, tensor in inputs.items()}
    return SamModel(program.name, program, shapes, {}, operands, {})


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every order; whether all went well."""
    orders = ["".join(each) for each in permutations(INDICES)]
    jobs = [Job(order, request.seed) for order in request.cases(orders, quick=2)]
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each order that has a graph, the fastest first."""
    there = {labels: row for labels, row in rows(measured).items() if row["has_graph"]}
    ranked = sorted(there.items(), key=lambda each: each[1]["cycles"])
    body = [cells(row, labels, _HEADER) for labels, row in ranked]
    return {"Orders of loops": Cells(["order", *_HEADER.values()], body, names=1)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    there = [row for row in table.values() if row["has_graph"]]
    cycles = [row["cycles"] for row in there]
    without = ", ".join(order for (order,), row in table.items() if not row["has_graph"]) or "none"
    exact = sum(row["bit_exact"] for row in there)
    return "\n".join(
        [
            f"worst over best order, cycles: {max(cycles) / min(cycles):.1f} (paper {PAPER:g})",
            f"orders with a graph: {len(there)} of {len(table)}; without: {without}, in which what "
            "is summed up in an accumulator would have to be walked again and again",
            f"bit-exact: {exact} of {len(there)} runs {mark(exact == len(there))}",
        ]
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each order over those of the worst, as the paper has them."""
    table = {order: row for (order,), row in rows(measured).items() if row["has_graph"]}
    ranked = sorted(table, key=lambda order: table[order]["cycles"])
    worst = table[ranked[-1]]["cycles"]
    figure, (axes,) = subplots(1, (9, 4.2))
    axes.bar(ranked, [table[order]["cycles"] / worst for order in ranked], 0.7, color=PALETTE[0])
    axes.set(ylabel="cycles / cycles of the worst order", yscale="log")
    axes.tick_params(axis="x", rotation=60)
    axes.set_title(f"{CONFIG}: (A·X)·W, karate club, in all orders", loc="left", fontsize=11)
    save(figure, path)
