"""Kernels of unfused models on one fabric: cycles of its RTL against those of the model, as the
paper's figure 13 compares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.fuseflow_parts import figures
from bench.fuseflow_parts.attention import attention
from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, Value, records, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.figures import longest_stream
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "fuseflow.kernels"

CONFIG = "sam_fabric_ml"
GCN, GRAPHSAGE, ATTENTION = "GCN", "GraphSAGE", "attention"
EXAMPLES = {GCN: "gcn.py:karate", GRAPHSAGE: "graphsage.py:karate"}
MODELS = (GCN, GRAPHSAGE, ATTENTION)

LIMIT_R2 = 0.991

METRICS = {
    "rtl": Metric("cycles", "lower"),
    "model": Metric("cycles", "none"),
    "difference": Metric("%", "none"),
    "longest": figures.METRICS["longest"],
    "distance": figures.METRICS["distance"],
    "error": Metric("", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``difference``: of the model's cycles from the RTL's; ``error``: the largest one of an element
against float64, relative to it."""

_HEADER = {
    "rtl": "cycles, RTL",
    "model": "cycles, model",
    "difference": "difference, %",
    "longest": "longest stream",
    "distance": figures.HEADER["distance"],
    "error": "error",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """A model, and whether its kernels run on the RTL, too."""

    model: str
    on_rtl: bool
    seed: int

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return self.model


def measure(job: Job) -> dict[str, dict[str, Value]]:
    """Values of ``METRICS`` by kernel."""
    simulated = _run(job, "model")
    if not job.on_rtl:
        return {name: {"model": cycles, **rest} for name, (cycles, rest) in simulated.items()}
    return {
        name: {
            "rtl": cycles,
            "model": simulated[name][0],
            "difference": 100 * (simulated[name][0] / cycles - 1),
            **rest,
        }
        for name, (cycles, rest) in _run(job, "rtl").items()
    }


def _run(job: Job, backend: str) -> dict[str, tuple[int, dict[str, Value]]]:
    """Cycles of each kernel, and how right its result is for the operands that it had."""
    with Device(CONFIG, backend) as device:
        if job.model == ATTENTION:
            workload, inputs = attention(job.seed)
        else:
            workload = device.workload(f"{ROOT / 'examples' / EXAMPLES[job.model]}")
            inputs = workload.inputs
        result = device.run(device.compile(workload, fuse="none"), inputs)
        return {name: (cycles, rest) for name, cycles, rest in _kernels(device, result)}


def _kernels(device: Device, result: Result[Any]) -> list[tuple[str, int, dict[str, Value]]]:
    known = dict(result.tensors)
    kernels = []
    for run in result.launches:
        own = _program_of(result.program, run.launch.name)
        tensors = {spec.name: known[spec.name] for spec in own.inputs}
        verification = device.target.executor.verify(own, tensors, run.finished.outputs)
        assert run.finished.cycles is not None
        longest = longest_stream(run.launch, run.finished.counters)
        rest: dict[str, Value] = {
            "longest": longest,
            "distance": run.finished.cycles / longest,
            "error": verification.max_rel_error,
            "bit_exact": verification.bit_exact,
        }
        kernels.append((run.launch.name, run.finished.cycles, rest))
        known |= run.finished.outputs
    return kernels


def _program_of(program: Program, name: str) -> Program:
    """The program of one of the launches."""
    (launch,) = (each for each in program.launches if each.name == name)
    return replace(program, inputs=launch.inputs, outputs=launch.outputs, launches=(launch,))


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every kernel of all models; whether all went well."""
    jobs = [Job(model, request.backend == "rtl", request.seed) for model in request.cases(MODELS)]
    results = run_jobs(measure, jobs, title=BENCH, console=request.console)
    measured: list[Record] = []
    well = True
    for job, result in zip(jobs, results, strict=True):
        if isinstance(result, Failure):
            well = False
            continue
        for kernel, values in result.items():
            well = well and bool(values["bit_exact"])
            labels = {"model": job.model, "kernel": kernel}
            measured += records(BENCH, labels, values, METRICS, job.setting())
    return measured, well


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each kernel."""
    table = rows(measured)
    body = [cells(row, labels, _HEADER, shown={"error": ".1e"}) for labels, row in table.items()]
    return {"Kernels": Cells(["model", "kernel", *_HEADER.values()], body, names=2)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(measured)
    exact = sum(row["bit_exact"] for row in table.values())
    counts = ", ".join(f"{sum(model == name for name, _ in table)} of {model}" for model in MODELS)
    lines = [f"kernels of one build: {len(table)} ({counts}); bit-exact: {exact}"]
    cycles = normalised(measured)
    if len(cycles):
        agreement = determination(*cycles.T)
        worst = max(abs(row["difference"]) for row in table.values())
        same = sum(row["rtl"] == row["model"] for row in table.values())
        lines += [
            f"R² of the model's cycles, {agreement:.4f}, at least {LIMIT_R2:g} "
            f"{mark(agreement >= LIMIT_R2)} (paper 0.991)",
            f"same cycles: {same} of {len(table)}; largest difference {worst:.1f} %",
        ]
    return "\n".join(lines)


def normalised(measured: Sequence[Record]) -> np.ndarray:
    """Cycles over those of the model's fastest kernel: RTL and model [kernels, 2], of all kernels
    that have both."""
    ratios = []
    table = rows(measured)
    for model in MODELS:
        cycles = np.array(
            [
                (row["rtl"], row["model"])
                for (name, _), row in table.items()
                if name == model and "rtl" in row
            ]
        )
        if len(cycles):
            ratios.append(cycles / cycles.min())
    return np.concatenate(ratios) if ratios else np.zeros((0, 2))


def determination(measured: np.ndarray, predicted: np.ndarray) -> float:
    """R², the coefficient of determination, of a prediction as it is, without a fit."""
    left = np.square(measured - predicted).sum()
    return float(1 - left / np.square(measured - measured.mean()).sum())


def draw(measured: Sequence[Record], path: Path) -> None:
    """The model's cycles of each kernel against the RTL's, normalised."""
    figure, (axes,) = subplots(1, (6, 5))
    for model in MODELS:
        cycles = normalised([each for each in measured if each.labels["model"] == model])
        axes.scatter(*cycles.T, s=18, label=model)
    both = normalised(measured)
    if len(both):
        axes.plot([1, both.max()], [1, both.max()], "--", color="0.6", linewidth=1)
        axes.set(xscale="log", yscale="log")
    axes.set(xlabel="cycles, RTL, over the fastest", ylabel="cycles, model, over the fastest")
    axes.set_title(f"{CONFIG}: kernels of unfused models", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    save(figure, path)
