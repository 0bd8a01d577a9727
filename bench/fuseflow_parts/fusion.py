"""Models with dense features and intermediates, by what shares a graph: the paper's figures 12 and
14."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fuseflow_parts import models
from bench.fuseflow_parts.variants import FULL, GCN, GRAPHSAGE, LAYER, NONE
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.regions import regions_of
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.runtime.report.report import intensity
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.estimate.estimate import ROWS as DEFAULT_ROWS
from gnarl.sw.runtime.sam.estimate.estimate import Estimate, estimate
from gnarl.sw.runtime.sam.search.candidate import Candidates
from gnarl.sw.runtime.sam.search.regions import with_blocks
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.fusion"

OVERRIDES = ("array_words=8388608",)
AUTOENCODER, DECODER, BLOCKED = "autoencoder", "decoder", "decoder in blocks"

POSITIONS, WIDTH, HEADS, BLOCK = 256, 192, 3, 16
"""Of two decoders: a quarter of GPT-3 Small's, whose heads are 64 wide, too."""

IN_BLOCKS = ("array_words=524288",)
"""Arrays of blocks have as many words as the others: a row of ``BLOCK`` words is one."""

ROWS = {DECODER: 32, BLOCKED: 16}
"""Of each launch that are simulated, where they are fewer than usual."""

SHARE = 0.5
"""Of the weights, which are pruned."""

VARIANTS = (NONE, LAYER, FULL)
RUN = ((GCN, LAYER), (AUTOENCODER, FULL))
"""What is run besides, to be compared bit for bit."""

PAPER = {
    GCN: (1.63, 0.29),
    GRAPHSAGE: (2.10, 0.48),
    AUTOENCODER: (1.01, 1.94),
    DECODER: (1.75, 2.70),
    BLOCKED: (1.75, 2.70),
}
"""By layer and in full: of its artefact, Cora with dense features, and of its figure 12, whose
decoders have blocks of 16."""

LEAST = 0.9
"""Of what fusion by layers can gain."""

METRICS = {
    "estimate": Metric("cycles", "lower"),
    "operations": Metric("", "none"),
    "bytes": Metric("bytes", "lower"),
    "intensity": Metric("operations/byte", "none"),
    "bound": Metric("", "none"),
    "cycles": Metric("cycles", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``bound``: of unfused rows, their cycles over those of the largest statement of each region that
a layer has; ``cycles``: of a run."""

_HEADER = {
    "estimate": "cycles, estimated",
    "gain": "× as fast",
    "operations": "operations",
    "over_operations": "× none",
    "bytes": "bytes",
    "over_bytes": "× none",
    "intensity": "operations a byte",
    "cycles": "cycles, run",
}


@dataclass(frozen=True)
class Job:
    """A model and what shares a graph."""

    network: str
    variant: str
    workloads: Path
    seed: int
    quick: bool

    @property
    def labels(self) -> dict[str, str]:
        return {"network": self.network, "variant": self.variant}

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        overrides = IN_BLOCKS if self.network == BLOCKED else OVERRIDES
        return load_configuration(models.CONFIG, overrides)

    def __str__(self) -> str:
        return f"{self.network}, {self.variant}"


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``."""
    with Device(job.configuration(), "model") as device:
        workload = device.workload(source(job))
        if job.network == BLOCKED:
            found = _in_blocks(workload, job)
        else:
            program = device.compile(workload, fuse=job.variant, schedule=pruned(job.network))
            found = estimate(program, workload.inputs, ROWS.get(job.network, DEFAULT_ROWS))
        values = {
            "estimate": found.cycles,
            "operations": found.operations,
            "bytes": found.bytes,
            "intensity": intensity(found.operations, found.bytes),
            "bound": _bound(workload, found) if job.variant == NONE else None,
            "cycles": None,
            "bit_exact": True,
        }
        if (job.network, job.variant) in RUN:
            result = device.run(program, workload.inputs)
            values["cycles"] = result.cycles
            values["bit_exact"] = device.verify(result).bit_exact
    return values


def _in_blocks(workload: SamModel, job: Job) -> Estimate:
    """What the model does with values of so many words, along indices of each region by which it
    gains most."""
    config = job.configuration().config
    assert isinstance(config, SamConfig)
    candidates = Candidates(workload, config, workload.inputs, ROWS[BLOCKED])
    made = with_blocks(candidates, candidates.candidate(fuse=job.variant), BLOCK)
    assert made is not None
    return made.estimate


def source(job: Job) -> Any:
    """The model with its inputs, as a device reads it."""
    os.environ["GNARL_WORKLOADS"] = str(job.workloads.resolve())
    name = DECODER if job.network == BLOCKED else job.network
    example = runpy.run_path(f"{ROOT / 'examples' / f'{name}.py'}")
    if job.network == AUTOENCODER:
        return example["small" if job.quick else "images"]()
    if job.network in (DECODER, BLOCKED):
        return example["small"]() if job.quick else example["model"](POSITIONS, WIDTH, HEADS, BLOCK)
    import torch

    module, (adjacency, features) = example["karate" if job.quick else "cora"]()
    torch.manual_seed(job.seed)
    for layer in module.modules():
        if isinstance(layer, torch.nn.Linear):
            with torch.no_grad():
                layer.weight[torch.rand(layer.weight.shape) < SHARE] = 0
    return module, (adjacency, torch.rand(features.shape))


def pruned(network: str) -> Schedule | None:
    """Weights stored without their zeros; an autoencoder's are so already, a decoder's dense."""
    layers = {GCN: ("conv1", "conv2"), GRAPHSAGE: ("self1", "neigh1", "self2", "neigh2")}
    if network not in layers:
        return None
    return Schedule(formats={f"{name}.weight": "ds:1,0" for name in layers[network]})


def _bound(workload: SamModel, unfused: Estimate) -> float:
    """How many times as fast fusion by layers can be, each region as fast as its slowest
    statement."""
    cycles = {launch.name: launch.cycles for launch in unfused.launches}
    regions = regions_of(workload.program, LAYER)
    slowest = (max(cycles[name] for name in region.statements) for region in regions)
    return unfused.cycles / sum(slowest)


def run(request: Request) -> tuple[list[Record], bool]:
    """Estimates every model whose data are there; whether all went well."""
    jobs = [
        Job(network, variant, request.workloads, request.seed, request.quick)
        for network in _there(request)
        for variant in VARIANTS
    ]
    return measure_exact(BENCH, measure, jobs, METRICS, request)


def _there(request: Request) -> Iterator[str]:
    is_there = (request.workloads / "graph" / "cora_adjacency.mtx").is_file()
    for network in PAPER:
        if network in (AUTOENCODER, DECODER, BLOCKED) or request.quick or is_there:
            yield network
        else:
            request.console.print(f"{BENCH}: cora is absent: skipped", style="yellow")


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and variant, with its figures over those of no fusion."""
    table = rows(measured)
    body = []
    for labels, row in table.items():
        none = table[labels[0], NONE]
        over = {
            "gain": none["estimate"] / row["estimate"],
            "over_operations": row["operations"] / none["operations"],
            "over_bytes": row["bytes"] / none["bytes"],
        }
        body.append(cells({**row, **over}, labels, _HEADER))
    return {"Fusion": Cells(["network", "variant", *_HEADER.values()], body, names=2)}


def verdict(measured: Sequence[Record]) -> str:
    """What fusion gains, beside the paper, in a line each."""
    table = rows(measured)
    lines = []
    for network in dict.fromkeys(name for name, _ in table):
        none, layer, full = (table[network, each] for each in VARIANTS)
        gains = [none["estimate"] / each["estimate"] for each in (layer, full)]
        wanted = PAPER[network]
        is_ranked = sorted([1.0, *gains]).index(1.0) == sorted([1.0, *wanted]).index(1.0)
        share = gains[0] / none["bound"]
        lines.append(
            f"{network}: times as fast as unfused, by layer {gains[0]:.2f}, in full "
            f"{gains[1]:.2f} (paper {wanted[0]:.2f}, {wanted[1]:.2f}), ranked as there "
            f"{mark(is_ranked)}; by layer {share:.0%} of what it can gain, {none['bound']:.2f}, at "
            f"least {LEAST:.0%} {mark(share >= LEAST)}"
        )
    ran = [row for row in table.values() if row["cycles"] is not None]
    worst = max((abs(row["estimate"] / row["cycles"] - 1) for row in ran), default=0.0)
    exact = sum(row["bit_exact"] for row in ran)
    lines.append(f"runs besides: {len(ran)}, bit-exact: {exact}; estimates within {worst:.2%}")
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles, operations and bytes of each variant over those of no fusion."""
    table = rows(measured)
    names = list(dict.fromkeys(name for name, _ in table))
    shown = {"estimate": "cycles", "operations": "operations", "bytes": "bytes"}
    figure, all_axes = subplots(len(shown), (11, 3.8))
    for axes, (metric, label) in zip(all_axes, shown.items(), strict=True):
        series = {
            variant: [table[name, variant][metric] / table[name, NONE][metric] for name in names]
            for variant in (LAYER, FULL)
        }
        bars(axes, series)
        axes.axhline(1, color="#999999", linewidth=1)
        axes.set_xticks(range(len(names)), names, fontsize=8, rotation=30, ha="right")
        axes.set(ylabel=f"{label} / {label} without fusion")
    figure.legend(*all_axes[0].get_legend_handles_labels(), frameon=False, ncols=2)
    save(figure, path)
