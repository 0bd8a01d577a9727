"""GCN of two layers on graphs that were made up, by sparsity and structure: the paper's figure
15."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.fuseflow_parts import figures, models
from bench.fuseflow_parts.variants import FULL, LAYER, NONE
from bench.lib.jobs import AT_ONCE
from bench.lib.measurements import measure_exact
from bench.lib.plots import save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.estimate.estimate import estimate
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.structure"

NODES, FEATURES, HIDDEN, CLASSES = 500, 128, 16, 7
SPARSITIES = (50, 60, 70, 80, 90, 95)
VARIANTS = (NONE, LAYER, FULL)

BLOCKS = 10
"""On the diagonal, of one size; what they do not hold lies anywhere."""

ROWS = 8
"""Of each launch that are simulated: fully fused, the densest graphs take 4 billion cycles."""

METRICS = {
    "estimate": Metric("cycles", "lower"),
    "longest": figures.METRICS["longest"],
    "distance": figures.METRICS["distance"],
    "bit_exact": Metric("", "higher"),
}


def uniform(rng: np.random.Generator) -> np.ndarray:
    """Weights of all places, equal."""
    return np.ones((NODES, NODES))


def power_law(rng: np.random.Generator) -> np.ndarray:
    """A node's edges are proportional to a power of its rank, in an order drawn at random."""
    degrees = rng.permutation(np.arange(1, NODES + 1) ** -0.5)
    return np.outer(degrees, degrees)


def block_diagonal(rng: np.random.Generator) -> np.ndarray:
    """Places in a node's block are far likelier than others."""
    block = np.arange(NODES) * BLOCKS // NODES
    return np.where(block[:, np.newaxis] == block, 1e6, 1.0)


STRUCTURES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "uniform": uniform,
    "power law": power_law,
    "block diagonal": block_diagonal,
}
"""Weights by which places of edges are drawn, by name."""


@dataclass(frozen=True)
class Job:
    """A graph and what shares a graph of blocks."""

    structure: str
    sparsity: int
    variant: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {
            "structure": self.structure,
            "sparsity": f"{self.sparsity}",
            "variant": self.variant,
        }

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(models.CONFIG, models.OVERRIDES)

    def __str__(self) -> str:
        return f"{self.structure}, {self.sparsity} %, {self.variant}"


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``."""
    import torch

    example = runpy.run_path(f"{ROOT / 'examples' / 'gcn.py'}")
    torch.manual_seed(job.seed)
    network = example["GCN"](FEATURES, HIDDEN, CLASSES).eval()
    inputs = example["csr"](adjacency(job)), torch.rand(NODES, FEATURES)
    with Device(job.configuration(), "model") as device:
        workload = device.workload((network, inputs))
        program = device.compile(workload, fuse=job.variant)
        found = estimate(program, workload.inputs, ROWS)
        return {
            "estimate": found.cycles,
            **figures.estimated_streams(found),
            "bit_exact": True,
        }


def adjacency(job: Job) -> Any:
    """A matrix with exactly as many entries as the sparsity leaves."""
    import scipy.sparse

    rng = np.random.default_rng(job.seed)
    entries = NODES * NODES * (100 - job.sparsity) // 100
    weights = STRUCTURES[job.structure](rng)
    # The least of exponential variables by their rates are a draw without replacement.
    keys = rng.exponential(size=weights.shape) / weights
    chosen = np.argpartition(keys.ravel(), entries)[:entries]
    values = rng.uniform(0.1, 1.0, entries)
    places = np.unravel_index(np.sort(chosen), weights.shape)
    return scipy.sparse.csr_array((values, places), shape=weights.shape)


def run(request: Request) -> tuple[list[Record], bool]:
    """Estimates every graph; whether all went well."""
    jobs = [
        Job(structure, sparsity, variant, request.seed)
        for structure in STRUCTURES
        for sparsity in (SPARSITIES[-1:] if request.quick else SPARSITIES)
        for variant in VARIANTS
    ]
    return measure_exact(BENCH, measure, jobs, METRICS, request, processes=AT_ONCE)


def _gains(measured: Sequence[Record]) -> dict[tuple[str, str], tuple[float, float]]:
    """Times as fast as unfused, by layer and in full, by structure and sparsity."""
    table = rows(measured)
    found = {}
    for structure, sparsity in dict.fromkeys(labels[:2] for labels in table):
        none, layer, full = (table[structure, sparsity, each]["estimate"] for each in VARIANTS)
        found[structure, sparsity] = none / layer, none / full
    return found


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each graph."""
    table = rows(measured)
    body = []
    for labels, gains in _gains(measured).items():
        none, layer, full = (table[*labels, each] for each in VARIANTS)
        figures_of = [f"{none['estimate']:,}"]
        for row, gain in ((layer, gains[0]), (full, gains[1])):
            figures_of += [f"{row['estimate']:,}", f"{gain:.3g}"]
        distances = (f"{row['distance']:.2f}" for row in (none, layer, full))
        body.append([*labels, *figures_of, " / ".join(distances)])
    names = ["structure", "sparsity, %"]
    fused = ["by layer", "× as fast", "in full", "× as fast"]
    header = [*names, "cycles, unfused", *fused, "distances"]
    return {"Structure": Cells(header, body, names=2)}


def verdict(measured: Sequence[Record]) -> str:
    """Whether gains follow sparsity as the paper's do, in a line each."""
    gains = _gains(measured)
    lines = []
    for structure in dict.fromkeys(name for name, _ in gains):
        own = [each for (name, _), each in gains.items() if name == structure]
        layer, full = [each for each, _ in own], [each for _, each in own]
        lines.append(
            f"{structure}: by layer {layer[0]:.2f} to {layer[-1]:.2f} times as fast with more "
            f"zeros, rising {mark(layer == sorted(layer))}; in full {full[0]:.3f} to "
            f"{full[-1]:.3f}, always slower {mark(max(full) < 1)}"
        )
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Times as fast as unfused over sparsity."""
    gains = _gains(measured)
    figure, all_axes = subplots(2, (9.5, 4))
    for at, (axes, label) in enumerate(zip(all_axes, ("by layer", "in full"), strict=True)):
        for structure in dict.fromkeys(name for name, _ in gains):
            own = {int(each): gain for (name, each), gain in gains.items() if name == structure}
            axes.plot(list(own), [gain[at] for gain in own.values()], marker="o", label=structure)
        axes.axhline(1, color="#999999", linewidth=1)
        axes.set(xlabel="sparsity, %", ylabel="times as fast as unfused")
        axes.set_title(f"fused {label}", loc="left", fontsize=11)
    all_axes[0].legend(frameon=False)
    save(figure, path)
