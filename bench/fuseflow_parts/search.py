"""Schedules of two-layer networks, found by estimates: are those that were left out worse?"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from bench.fuseflow_parts import models
from bench.fuseflow_parts.variants import GCN, GRAPHSAGE
from bench.lib.exact import is_exact
from bench.lib.jobs import AT_ONCE, Failure, run_jobs
from bench.lib.plots import save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, records, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.explore.pareto import front
from gnarl.sw.runtime.explore.schedules import left_out
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.search.explorer import FOUND, SamExplorer
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.explorer import Alternative

BENCH = "fuseflow.search"

LANES = (1, 4)
WORDS = (1, 16)
KEEP = 1.25
NETWORKS = ((GCN, "karate"), (GRAPHSAGE, "karate"))
MORE_NETWORKS = ((GCN, "cora"),)

METRICS = {
    "estimate": Metric("cycles", "lower"),
    "cycles": Metric("cycles", "lower"),
    "blocks": Metric("", "lower"),
    "left_out": Metric("", "none"),
    "seconds": Metric("s", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``blocks``: of the largest graph, one with values of several words as so many; ``left_out``:
whether estimates leave it out; ``seconds``: of a core, for its run, in the first row of a network
for the search, too."""

_HEADER = {"estimate": "estimate", "cycles": "cycles", "blocks": "blocks"}


@dataclass(frozen=True)
class Job:
    """A network and its data."""

    network: str
    data: str
    workloads: Path
    seed: int

    def configuration(self) -> NamedConfiguration:
        return load_configuration(models.CONFIG, models.OVERRIDES)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return f"{self.network}, {self.data}"


Schedules = list[tuple[dict[str, str], dict[str, float | int | bool]]]
"""Labels and values of ``METRICS`` of each."""


def measure(job: Job) -> Schedules:
    """All schedules that the search finds, each run, whatever its estimate."""
    os.environ["GNARL_WORKLOADS"] = str(job.workloads.resolve())
    explorer, configuration = SamExplorer(), job.configuration()
    found: Schedules = []
    with Device(configuration, "model") as device:
        workload = device.workload(f"{ROOT / 'examples' / f'{job.network}.py'}:{job.data}")
        begin = time.process_time()
        alternatives = explorer.alternatives(
            workload,
            configuration.config,
            lanes=LANES,
            words=WORDS,
            sparsities=None,
            advance=lambda share: None,
        )
        search = time.process_time() - begin
        out = left_out([each.estimate for each in alternatives], KEEP)
        for number, (each, is_out) in enumerate(zip(alternatives, out, strict=True)):
            begin = time.process_time()
            program = device.compile(workload, **explorer.options(each.schedule, f"{number}"))
            result = device.run(program, workload.inputs)
            taken = time.process_time() - begin
            assert result.cycles is not None
            values = {
                "estimate": each.estimate.cycles,
                "cycles": result.cycles,
                "blocks": each.estimate.blocks,
                "left_out": is_out,
                "seconds": taken + (0 if number else search),
                "bit_exact": is_exact(device, result),
            }
            found.append((_labels(job, each), values))
    return found


def _labels(job: Job, alternative: Alternative) -> dict[str, str]:
    return {"network": job.network, "data": job.data, **alternative.values}


def run(request: Request) -> tuple[list[Record], bool]:
    """Searches for every network on the data that are there; whether all went well."""
    jobs = []
    for network, data in request.cases(NETWORKS, MORE_NETWORKS):
        file = request.workloads / "graph" / f"{data}_adjacency.mtx"
        if data != "karate" and not file.is_file():
            request.console.print(f"{BENCH}: {data} is absent: skipped", style="yellow")
            continue
        jobs.append(Job(network, data, request.workloads, request.seed))
    results = Results.begin(request.results, False)
    measured: list[Record] = []

    def keep(job: Job, found: Schedules) -> None:
        for labels, values in found:
            made = records(BENCH, labels, values, METRICS, job.setting())
            measured.extend(made)
            results.add(made)

    done = run_jobs(
        measure, jobs, title=BENCH, console=request.console, processes=AT_ONCE, finished=keep
    )
    failed = any(isinstance(each, Failure) for each in done)
    return measured, not failed and all(row["bit_exact"] for row in rows(measured).values())


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each schedule that runs and that no other one has fewer cycles and blocks than."""
    body = []
    for labels, row in _best(measured).items():
        body.append(cells(row, labels, _HEADER))
    names = ["network", "data", *SamExplorer.fields]
    return {"Schedules": Cells([*names, *_HEADER.values()], body, names=len(names))}


def _of_models(measured: Sequence[Record]) -> dict[tuple[str, str], dict[tuple[str, ...], dict]]:
    found: dict[tuple[str, str], dict[tuple[str, ...], dict]] = {}
    for labels, row in rows(measured).items():
        found.setdefault((labels[0], labels[1]), {})[labels] = row
    return found


def _best(measured: Sequence[Record]) -> dict[tuple[str, ...], dict]:
    best: dict[tuple[str, ...], dict] = {}
    for own in _of_models(measured).values():
        is_best = front([(row["cycles"], row["blocks"]) for row in own.values()])
        best |= dict(compress(own.items(), is_best))
    return best


def verdict(measured: Sequence[Record]) -> str:
    """Whether the best survive, what was saved, and how long it took, in a line each."""
    table, best = rows(measured), _best(measured)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [f"bit-exact: {exact} of {len(table)} runs"]
    for (network, data), own in _of_models(measured).items():
        out = [row for row in own.values() if row["left_out"]]
        lost = sum(best[labels]["left_out"] for labels in own if labels in best)
        kept = sum(labels in best for labels in own) - lost
        serial = {
            labels[2:4]: row["cycles"] for labels, row in own.items() if labels[4:] == ("1", "1")
        }
        others = min(cycles for (fuse, _), cycles in serial.items() if fuse != FOUND)
        found = min(cycles for (fuse, _), cycles in serial.items() if fuse == FOUND)
        seconds = sum(row["seconds"] for row in own.values())
        lines += [
            f"{network}, {data}: {len(own)} schedules, {len(out)} left out; of those on the front "
            f"{kept} kept, {lost} lost {mark(not lost)}",
            f"{network}, {data}: regions found over the best of none, layer and full, all "
            f"associations, one lane, values of one word: {found / others:.2f}",
            f"{network}, {data}: {seconds / 60:.1f} minutes on one core for all, those left out "
            "run, too (paper: 56 configurations in 96 hours)",
        ]
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles over blocks of all schedules."""
    found = _of_models(measured)
    figure, all_axes = subplots(len(found), (4 * len(found), 4.2))
    for axes, ((network, data), own) in zip(all_axes, found.items(), strict=True):
        for is_out, label in ((True, "left out"), (False, "kept")):
            shown = [row for row in own.values() if row["left_out"] == is_out]
            axes.scatter(
                [row["blocks"] for row in shown],
                [row["cycles"] for row in shown],
                color="none" if is_out else None,
                edgecolor="#555555",
                linewidth=0.6,
                label=label,
            )
        axes.set(xscale="log", yscale="log", xlabel="blocks of the largest graph", ylabel="cycles")
        axes.set_title(f"{network}, {data}", loc="left", fontsize=11)
        axes.legend(frameon=False)
    save(figure, path)
