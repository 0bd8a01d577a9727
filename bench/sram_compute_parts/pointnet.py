"""PointNet++ by stage and place. Source: Infinity Stream, table 4 and figure 19."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots, timeline
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.tables import Cells
from bench.sram_compute_parts.pointnet_network import (
    CONNECTED,
    MLP,
    SAMPLE,
    STAGES,
    stages,
)
from bench.sram_compute_parts.pointnet_places import Machine
from bench.sram_compute_parts.pointnet_table import MSG, NETWORKS, SMALL, SSG
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "sram_compute.pointnet"
CONFIG = "sram_b4"
CHANGES = ("banks=16", "core_lanes=16", f"memory_bytes={64 << 20}")
"""As many lanes of the core as there may be, and with the paper's ratio 4,096 bitlines for each:
65,536, a 64th of the paper's."""

PLACES = ("core", "near", "memory")
COLUMNS: Mapping[str, Sequence[str]] = {
    "core": ("core",),
    "near": ("core", "near"),
    "memory": ("core", "memory"),
    "auto": PLACES,
}
"""Where a column's stages may run: what the place refuses runs on the core."""

PAPER = {
    "SSG": {"auto": 1.69, "near": 1.31, "memory": 1.10},
    "MSG": {"auto": 1.93, "near": 1.12, "memory": 1.37},
}
"""Cycles of Base over those of Inf-S, Near-L3 and In-L3, of section 8."""

PAPER_SAMPLE, PAPER_MLP = {"SSG": 0.46}, {"SSG": 0.48}
"""Shares of Base's cycles, of section 8."""

METRICS = {
    **{
        f"{column}_{place}": Metric("cycles", "lower")
        for column, places in COLUMNS.items()
        for place in places
    },
    "bit_exact": Metric("", "higher"),
}
"""``auto_near``: cycles near memory where the compiler places everything, and so on."""

_HATCHES = {"core": "", "near": "////", "memory": "...."}


@dataclass(frozen=True)
class Job:
    """A stage of a set abstraction, ``kernel``."""

    network: str
    kernel: str
    stage: str
    seed: int
    changes: tuple[str, ...] = CHANGES

    @property
    def labels(self) -> dict[str, Any]:
        return {"network": self.network, "kernel": self.kernel, "stage": self.stage}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG, self.changes), self.seed)

    def __str__(self) -> str:
        return f"{self.network}, {self.kernel}, {self.stage}"


@cache
def _machine(changes: tuple[str, ...]) -> Machine:
    named: NamedConfiguration = load_configuration(CONFIG, changes)
    return Machine(named)


def measure(job: Job) -> dict[str, int | bool]:
    """Values of ``METRICS``."""
    machine = _machine(job.changes)
    (calls,) = (
        each.calls
        for each in stages(NETWORKS[job.network], job.seed)
        if (each.kernel, each.name) == (job.kernel, job.stage)
    )
    by_column = {column: machine.in_column(calls, column) for column in COLUMNS}
    return {
        **{
            f"{column}_{place}": round(by_column[column].places[place])
            for column, places in COLUMNS.items()
            for place in places
        },
        "bit_exact": all(each.is_exact for each in by_column.values()),
    }


def jobs(request: Request) -> list[Job]:
    """All stages of both classifiers; a small set abstraction where it must be quick."""
    networks, changes = ((SMALL,), ()) if request.quick else ((SSG, MSG), CHANGES)
    return [
        Job(network.name, stage.kernel, stage.name, request.seed, changes)
        for network in networks
        for stage in stages(network, request.seed)
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the bits of NumPy's."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


Row = Mapping[str, Any]


def total(several: Sequence[Row], column: str, places: Sequence[str] = PLACES) -> int:
    """Cycles of some stages; those in some places alone."""
    return sum(
        row[f"{column}_{place}"] for row in several for place in COLUMNS[column] if place in places
    )


def _networks(records: Sequence[Record]) -> dict[str, dict[tuple[str, str], Row]]:
    """Rows by kernel and stage, of each network."""
    made: dict[str, dict[tuple[str, str], Row]] = {}
    for (network, kernel, stage), row in rows(records).items():
        made.setdefault(network, {})[kernel, stage] = row
    return made


def _where(several: Sequence[Row]) -> str:
    """Shares of the cycles of ``auto``, of 0.5 % or more."""
    whole = max(1, total(several, "auto"))
    shares = {place: total(several, "auto", (place,)) / whole for place in PLACES}
    kept = {place: share for place, share in shares.items() if share >= 0.005}
    if len(kept) == 1:
        return next(iter(kept))
    return ", ".join(f"{place} {share:.0%}" for place, share in kept.items())


def _line(*names: str, of: Sequence[Row]) -> list[str]:
    return [*names, *(f"{total(of, column):,}" for column in COLUMNS), _where(of)]


def _table(
    records: Sequence[Record], title: str, kept: Callable[[str, str], str | None], sums: bool
) -> Cells:
    """Rows with the same text of ``kept``, of kernel and stage, as one; ``None``: left out."""
    body = []
    for network, table in _networks(records).items():
        groups: dict[str, list[Row]] = {}
        for (kernel, stage), row in table.items():
            if (name := kept(kernel, stage)) is not None:
                groups.setdefault(name, []).append(row)
        body += [_line(network, name, of=several) for name, several in groups.items()]
        if sums:
            body.append(_line(network, "all", of=list(table.values())))
    return Cells(["network", title, *COLUMNS, "where auto has it"], body, names=2)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Cycles by stage; and of layers, by set abstraction."""
    return {
        "Stages": _table(records, "stage", lambda kernel, stage: stage, True),
        "Layers": _table(
            records,
            "layers of",
            lambda kernel, stage: kernel if stage in (MLP, CONNECTED) else None,
            False,
        ),
    }


def _share(table: Mapping[tuple[str, str], Row], stage: str, column: str) -> float:
    several = [row for (_, name), row in table.items() if name == stage]
    return total(several, column) / max(1, total(list(table.values()), column))


def _beside(text: str, papers: float | None, form: str) -> str:
    return text if papers is None else f"{text} (the paper's {papers:{form}})"


def verdict(records: Sequence[Record]) -> str:
    """How many times as fast as on the core, and where its cycles go, beside the paper's."""
    lines = []
    for network, table in _networks(records).items():
        several, papers = list(table.values()), PAPER.get(network, {})
        ratios = {
            column: total(several, "core") / max(1, total(several, column))
            for column in ("auto", "near", "memory")
        }
        texts = (
            _beside(f"{column} {ratio:.2f}", papers.get(column), ".2f")
            for column, ratio in ratios.items()
        )
        lines.append(f"{network}, cycles of core over those of: {', '.join(texts)}")
        shares = ", ".join(
            _beside(f"{stage} {_share(table, stage, 'core'):.0%}", given.get(network), ".0%")
            for stage, given in ((SAMPLE, PAPER_SAMPLE), (MLP, PAPER_MLP))
        )
        of_auto = f"{SAMPLE} {_share(table, SAMPLE, 'auto'):.0%}"
        lines.append(f"{network}, of the core's cycles: {shares}; of auto's: {of_auto}")
    exact = [row["bit_exact"] for row in rows(records).values()]
    return "\n".join([*lines, f"bit-exact: {sum(exact)} of {len(exact)} stages"])


def draw(records: Sequence[Record], path: Path) -> None:
    """A bar for each column, of all stages in order: figure 19."""
    networks = _networks(records)
    colours = dict(zip(STAGES, PALETTE, strict=True))
    figure, axes = subplots(len(networks), (11, 3.6))
    for each, (network, table) in zip(axes, networks.items(), strict=True):
        whole = total(list(table.values()), "core")
        parts = [
            [
                (row[f"{column}_{place}"] / whole, colours[stage], _HATCHES[place])
                for (_, stage), row in table.items()
                for place in COLUMNS[column]
            ]
            for column in COLUMNS
        ]
        timeline(each, list(COLUMNS), parts)
        each.set_title(f"PointNet++ {network}", loc="left", fontsize=11)
        each.set_xlabel("cycles over those of the core")
    _legend(figure, colours)
    save(figure, path)


def _legend(figure: Any, colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    shown = [Patch(facecolor=colour, label=stage) for stage, colour in colours.items()]
    named = {"core": "on the core", "near": "near memory", "memory": "in memory"}
    shown += [
        Patch(facecolor="white", edgecolor="black", hatch=hatch, label=named[place])
        for place, hatch in _HATCHES.items()
    ]
    figure.legend(handles=shown, frameon=False, loc="outside lower center", ncols=9, fontsize=8)
