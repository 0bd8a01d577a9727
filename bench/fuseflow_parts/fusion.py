"""Models with dense features and intermediates, by what shares a graph: the paper's figures 12 and
14."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fuseflow_parts import figures, models
from bench.fuseflow_parts.variants import FULL, GCN, GRAPHSAGE, LAYER, NONE
from bench.lib.exact import is_exact
from bench.lib.jobs import AT_ONCE
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.regions import regions_of
from gnarl.sw.compiler.sam.fuse.schedule import Schedule, parse_schedule
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.report import intensity
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.estimate.estimate import MOST_CYCLES_OF_ALL, Estimate, estimate
from gnarl.sw.runtime.sam.estimate.estimate import ROWS as DEFAULT_ROWS
from gnarl.sw.runtime.sam.search.candidate import Candidates
from gnarl.sw.runtime.sam.search.regions import with_blocks
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "fuseflow.fusion"

WORDS = 8_388_608
"""Of each array."""

BLOCK = 16
"""Positions of a block of a decoder's mask, and words of a value in blocks."""

IMAGES = 5

SHARE = 0.5
"""Of the weights, which are pruned."""

VARIANTS = (NONE, LAYER, FULL)


@dataclass(frozen=True)
class Network:
    """What an example makes.

    make, arguments
        its function, and what this is given.
    small
        its function of a few small cases.
    paper
        how many times as fast as unfused it is by layer and in full: in the paper's artefact, Cora
        with dense features, and in its figure 12, whose decoders have blocks of 16. Empty: it does
        not say.
    array_words, accumulator_words
        of each array, and of each accumulator, where it is not the configuration's.
    rows
        of each launch that are simulated.
    most_cycles
        of a launch all of which must be simulated.
    words
        of values: of blocks, if there are several.
    like
        arguments of a smaller model, on which the indices of blocks are looked for; empty: on this.
    run
        variants that are run besides, to be compared bit for bit.
    """

    example: str
    make: str
    arguments: tuple[int, ...] = ()
    small: str = "small"
    paper: tuple[float, ...] = ()
    array_words: int = WORDS
    accumulator_words: int = 0
    rows: int = DEFAULT_ROWS
    most_cycles: int = MOST_CYCLES_OF_ALL
    words: int = 1
    like: tuple[int, ...] = ()
    run: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """The graph that must be there; "" for none."""
        return self.make if self.example in (GCN, GRAPHSAGE) else ""

    def overrides(self) -> tuple[str, ...]:
        """Of the configuration."""
        arrays = f"array_words={self.array_words}"
        if not self.accumulator_words:
            return (arrays,)
        return arrays, f"accumulator_words={self.accumulator_words}"


_QUARTER = (256, 192, 3, BLOCK)
_GPT3 = (1024, 768, 12, BLOCK)
"""Of two decoders: positions, width, heads, all 64 wide, and positions of a block."""

NETWORKS = {
    GCN: Network("gcn", "cora", small="karate", paper=(1.63, 0.29), run=(LAYER,)),
    GRAPHSAGE: Network("graphsage", "cora", small="karate", paper=(2.10, 0.48)),
    "autoencoder": Network("autoencoder", "images", paper=(1.01, 1.94), run=(FULL,)),
    "decoder": Network("decoder", "model", _QUARTER, paper=(1.75, 2.70), rows=32),
    "decoder in blocks": Network(
        "decoder", "model", _QUARTER, paper=(1.75, 2.70), rows=16, words=BLOCK
    ),
}
MORE_NETWORKS = {
    "gcn, citeseer": Network("gcn", "citeseer", small="karate", array_words=1 << 24),
    "graphsage, citeseer": Network("graphsage", "citeseer", small="karate", array_words=1 << 24),
    "autoencoder of 262,144": Network(
        "autoencoder",
        "model",
        (262_144, 512, IMAGES),
        paper=(1.01, 1.94),
        array_words=1 << 26,
        accumulator_words=1 << 18,
        rows=512,
        most_cycles=1 << 30,
    ),
    "GPT-3 in blocks": Network(
        "decoder",
        "model",
        _GPT3,
        paper=(1.75, 2.70),
        rows=8,
        most_cycles=1 << 30,
        words=BLOCK,
        like=_QUARTER,
    ),
}
"""Those that a full request has besides."""

ALL_NETWORKS = {**NETWORKS, **MORE_NETWORKS}

LEAST = 0.9
"""Of what fusion by layers can gain."""

METRICS = {
    "estimate": Metric("cycles", "lower"),
    "operations": Metric("", "none"),
    "bytes": Metric("bytes", "lower"),
    "intensity": Metric("operations/byte", "none"),
    "longest": figures.METRICS["longest"],
    "distance": figures.METRICS["distance"],
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
    "longest": figures.HEADER["longest"],
    "distance": figures.HEADER["distance"],
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
        return load_configuration(models.CONFIG, self.own.overrides())

    @property
    def own(self) -> Network:
        return ALL_NETWORKS[self.network]

    def __str__(self) -> str:
        return f"{self.network}, {self.variant}"


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``."""
    with Device(job.configuration(), "model") as device:
        workload = device.workload(source(job))
        program, found = estimated(device, workload, job)
        values = {
            "estimate": found.cycles,
            "operations": found.operations,
            "bytes": found.bytes,
            "intensity": intensity(found.operations, found.bytes),
            **figures.estimated_streams(found),
            "bound": _bound(workload, found) if job.variant == NONE else None,
            "cycles": None,
            "bit_exact": True,
        }
        if job.variant in job.own.run:
            result = device.run(program, workload.inputs)
            values["cycles"] = result.cycles
            values["bit_exact"] = is_exact(device, result)
    return values


def estimated(device: Device, workload: SamModel, job: Job) -> tuple[Program, Estimate]:
    """The model's program on a device, and what it is taken to do; with values of several words,
    blocks lie along those indices of each region by which it gains most."""
    own, config = job.own, device.configuration.config
    if own.words == 1:
        program = device.compile(workload, fuse=job.variant, schedule=pruned(own))
        return program, estimate(program, workload.inputs, own.rows, own.most_cycles)
    assert isinstance(config, SamConfig)
    smaller = workload if job.quick or not own.like else device.workload(_made(own, own.like))
    candidates = Candidates(smaller, config, smaller.inputs, own.rows)
    made = with_blocks(candidates, candidates.candidate(fuse=job.variant), own.words)
    assert made is not None
    if smaller is workload:
        return made.compiled.program, made.estimate
    schedule = parse_schedule(made.compiled.schedule, f"{job}")
    program = device.compile(workload, schedule=schedule)
    return program, estimate(program, workload.inputs, own.rows, own.most_cycles)


def _made(network: Network, arguments: tuple[int, ...] | None) -> Any:
    """A model of a network's example with its inputs; ``None``: the small one."""
    example = runpy.run_path(f"{ROOT / 'examples' / f'{network.example}.py'}")
    return example[network.small]() if arguments is None else example[network.make](*arguments)


def source(job: Job) -> Any:
    """The model with its inputs, as a device reads it."""
    os.environ["GNARL_WORKLOADS"] = str(job.workloads.resolve())
    own = job.own
    made = _made(own, None if job.quick else own.arguments)
    if not own.data:
        return made
    import torch

    module, (adjacency, features) = made
    torch.manual_seed(job.seed)
    for layer in module.modules():
        if isinstance(layer, torch.nn.Linear):
            with torch.no_grad():
                layer.weight[torch.rand(layer.weight.shape) < SHARE] = 0
    return module, (adjacency, torch.rand(features.shape))


def pruned(network: Network) -> Schedule | None:
    """Weights stored without their zeros; an autoencoder's are so already, a decoder's dense."""
    layers = {GCN: ("conv1", "conv2"), GRAPHSAGE: ("self1", "neigh1", "self2", "neigh2")}
    if network.example not in layers:
        return None
    return Schedule(formats={f"{name}.weight": "ds:1,0" for name in layers[network.example]})


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
    return measure_exact(
        BENCH,
        measure,
        jobs,
        METRICS,
        request,
        processes=AT_ONCE,
        alone=lambda job: job.network in MORE_NETWORKS or job.variant in job.own.run,
    )


def _there(request: Request) -> Iterator[str]:
    for network in request.cases([*NETWORKS], [*MORE_NETWORKS], quick=len(NETWORKS)):
        data = ALL_NETWORKS[network].data
        file = request.workloads / "graph" / f"{data}_adjacency.mtx"
        if not data or request.quick or file.is_file():
            yield network
        else:
            request.console.print(f"{BENCH}: {data} is absent: skipped", style="yellow")


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
        share = gains[0] / none["bound"]
        lines.append(
            f"{network}: {gains_of(gains, ALL_NETWORKS[network].paper)}; by layer {share:.0%} of "
            f"what it can gain, {none['bound']:.2f}, at least {LEAST:.0%} {mark(share >= LEAST)}"
        )
    ran = [row for row in table.values() if row["cycles"] is not None]
    worst = max((abs(row["estimate"] / row["cycles"] - 1) for row in ran), default=0.0)
    exact = sum(row["bit_exact"] for row in ran)
    lines.append(f"runs besides: {len(ran)}, bit-exact: {exact}; estimates within {worst:.2%}")
    return "\n".join(lines)


def gains_of(gains: Sequence[float], paper: Sequence[float]) -> str:
    """How many times as fast a network is by layer and in full, beside the paper, if it says."""
    text = f"times as fast as unfused, by layer {gains[0]:.2f}, in full {gains[1]:.2f}"
    if not paper:
        return text
    is_ranked = sorted([1.0, *gains]).index(1.0) == sorted([1.0, *paper]).index(1.0)
    return f"{text} (paper {paper[0]:.2f}, {paper[1]:.2f}), ranked as there {mark(is_ranked)}"


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
