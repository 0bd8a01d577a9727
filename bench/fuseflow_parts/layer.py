"""One layer of a graph convolutional network, relu((A·F)·W), fused: factored against global
iteration on Cora and Citeseer, as the paper's figure 4b compares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

from bench.fuseflow_parts import figures
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.sam_machine import LIMIT_FASTER, machine_s
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.sam.fuse.choices import FACTORED, GLOBAL, ITERATIONS
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.runtime.report.stages import TimedStages, quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor

BENCH = "fuseflow.layer"

CONFIG = "sam_fp32"
DATA = ("cora",)
MORE_DATA = ("citeseer",)
HIDDEN = 16
TEXT = (
    "t(i,m)=sum[k](A(i,k)*F(k,m)); p(i,j)=sum[m](t(i,m)*W(m,j)); h(i,j)=relu(p(i,j)) "
    "-f=A:ds -f=F:ds -f=W:dd -f=h:ds"
)
SEPARATE = "separate"
LIMIT_CYCLES = 1.01 * 2_548_409
LIMIT_GLOBAL = 1.27

_OF_RUN = ("cycles", "longest", "distance")

METRICS = {
    "blocks": Metric("", "none"),
    **{name: figures.METRICS[name] for name in _OF_RUN},
    "cycles_a_second": Metric("cycles/s", "higher"),
    "bit_exact": Metric("", "higher"),
}
"""``cycles_a_second``: cycles over ``machine_s``."""

_HEADER = {
    "blocks": "blocks",
    **{name: figures.HEADER[name] for name in _OF_RUN},
    "cycles_a_second": "machine's cycles/s",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """Data, how the layer is iterated, and what it runs on."""

    data: str
    iteration: str
    backend: str
    workloads: Path
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"data": self.data, "iteration": self.iteration, "backend": self.backend}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.data}, {self.iteration}, {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    names = ("t", "p", "h")
    regions = tuple(Region((name,)) for name in names)
    if job.iteration != SEPARATE:
        regions = (Region(names, iteration=job.iteration),)
    timed = TimedStages(quiet)
    with Device(CONFIG, job.backend, stages=timed) as device:
        inputs = _inputs(job)
        program = device.compile(_layer(inputs), schedule=Schedule(regions=regions))
        result = device.run(program, inputs)
        bit_exact = device.verify(result).bit_exact
        alone_s = machine_s(device, timed, program, inputs)
        measured = figures.run_figures(device, program, result)
    return {
        "blocks": program.statistics["blocks"],
        **{name: measured[name] for name in _OF_RUN},
        "cycles_a_second": measured["cycles"] / alone_s,
        "bit_exact": bit_exact,
    }


def _inputs(job: Job) -> dict[str, Tensor]:
    folder = job.workloads / "graph"
    adjacency, features = (
        Tensor.from_any(scipy.sparse.csr_array(scipy.io.mmread(folder / f"{job.data}_{name}.mtx")))
        for name in ("adjacency", "features")
    )
    weights = np.random.default_rng(job.seed).standard_normal((features.shape[1], HIDDEN))
    return {"A": adjacency, "F": features, "W": Tensor.from_any(weights.astype(np.float32))}


def _layer(inputs: dict[str, Tensor]) -> SamModel:
    program = parse_program(TEXT, "layer")
    shapes = program_shapes(program, {name: each.shape for name, each in inputs.items()}).tensors
    operands = {name: Operand(tensor) for name, tensor in inputs.items()}
    return SamModel("layer", program, shapes, {}, operands, {})


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all data that are there; whether all went well."""
    jobs = []
    for data in request.cases(DATA, MORE_DATA):
        if not (request.workloads / "graph" / f"{data}_adjacency.mtx").is_file():
            request.console.print(f"{BENCH}: {data} is absent: skipped", style="yellow")
            continue
        for iteration in (*ITERATIONS, SEPARATE):
            jobs.append(Job(data, iteration, "model", request.workloads, request.seed))
            if data == "cora" and iteration != SEPARATE and request.backend == "rtl":
                jobs.append(Job(data, iteration, "rtl", request.workloads, request.seed))
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each way to iterate."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(measured).items()]
    names = ["data", "iteration", "backend"]
    return {"One layer": Cells([*names, *_HEADER.values()], body, names=3)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    lines = []
    for data, iteration, backend in table:
        if iteration != FACTORED:
            continue
        factored, wide = (table.get((data, each, backend)) for each in ITERATIONS)
        if factored and wide:
            ratio = wide["cycles"] / factored["cycles"]
            lines.append(
                f"{data}, {backend}: cycles of global over factored iteration, {ratio:.3g}, at "
                f"least {LIMIT_GLOBAL:g} {mark(ratio >= LIMIT_GLOBAL)} (paper 1.33)"
            )
    row = table.get(("cora", FACTORED, "rtl"))
    if row is not None:
        cycles = row["cycles"]
        lines.append(
            f"cora, rtl: {cycles:,} cycles factored, limit {LIMIT_CYCLES:,.0f} "
            f"{mark(cycles <= LIMIT_CYCLES)}"
        )
    for iteration in ITERATIONS:
        built, simulated = (table.get(("cora", iteration, each)) for each in ("rtl", "model"))
        if built and simulated:
            faster = simulated["cycles_a_second"] / built["cycles_a_second"]
            lines.append(
                f"cora, {iteration}: cycles/s of the cycle simulator over those of the Verilated "
                f"machine, {faster:.1f}, at least {LIMIT_FASTER:g} {mark(faster >= LIMIT_FASTER)}"
            )
    exact = sum(row["bit_exact"] for row in table.values())
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each way to iterate."""
    table = rows(measured)
    names = list(dict.fromkeys(data for data, *_ in table))
    ways = (FACTORED, GLOBAL, SEPARATE)
    series = {way: [table[data, way, "model"]["cycles"] for data in names] for way in ways}
    figure, (axes,) = subplots(1, (7, 4.2))
    bars(axes, series)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="cycles")
    axes.set_title(f"{CONFIG}: relu((A·F)·W), {HIDDEN} outputs", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
