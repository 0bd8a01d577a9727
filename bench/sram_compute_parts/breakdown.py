"""Counts where cycles and bytes go at table 3's sizes. Source: Infinity Stream, figures 13 and
14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import save, shares, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.tables import Cells
from bench.sram_compute_parts.workloads import (
    IN_PARTS,
    PAPER_CHANGES,
    TABLE_3,
    TABLE_3_OTHERS,
    sizes_text,
    workload,
)
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.figures import CYCLES, traffic
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "sram_compute.breakdown"
CONFIG = "sram_b4"
CHANGES = (*PAPER_CHANGES, "bandwidth=3.2", "memory_channels=4", "network_bits=256")
"""Memory and network as fast as the paper's: 204.8 bytes a cycle, and 256 bits a cycle to each
bank."""

INNER = 256
"""Iterations that are run of table 3's 2,048 of ``mm``: each takes as long as the others."""

NOT_RUN = {
    "gauss_elim": "takes the model an hour",
    "kmeans": "had not ended after half an hour",
}
"""Workloads of table 3 that are left out, and why."""

SIZES: Mapping[str, Mapping[str, int]] = {
    **{name: TABLE_3[name] for name in ("stencil1d", "stencil2d", "stencil3d", "conv2d")},
    "lifting": TABLE_3["conv2d"],
    "mm": {**TABLE_3["mm"], "inner": INNER},
    **TABLE_3_OTHERS,
}

PLACED = tuple(name for name in SIZES if name in IN_PARTS)
"""Workloads that are where the compiler places them, since memory computes a part at most."""

TILES = {"mm": "4x64"}
"""What all iterations of ``mm`` have: the compiler looks at what they take where they are many."""

TRAFFIC = ("within_tiles", "between_tiles", "between_banks", "other_data", "control")

TRANSFER = "fetch and transpose"

PAPER_CYCLES = {TRANSFER: 0.26, "compute": 0.32, "move": 0.19}
"""Mean shares that section 8 has."""

METRICS = {
    "cycles": Metric("cycles", "lower"),
    **{name: Metric("cycles", "lower") for name in CYCLES.values()},
    **{f"bytes_{name}": Metric("bytes", "lower") for name in TRAFFIC},
    "bit_exact": Metric("", "higher"),
}


@dataclass(frozen=True)
class Job:
    """A workload, in memory, but for those ``PLACED``."""

    workload: str
    sizes: Mapping[str, int]
    seed: int
    changes: tuple[str, ...] = CHANGES

    def named(self) -> NamedConfiguration:
        return load_configuration(CONFIG, self.changes)

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "sizes": sizes_text(self.sizes)}

    def setting(self) -> Setting:
        return Setting.of(self.named(), self.seed)

    def __str__(self) -> str:
        return self.workload


def measure(job: Job) -> dict[str, int | bool]:
    """Values of ``METRICS``, on a model that has run nothing before."""
    measured = workload(job.workload, job.sizes, job.seed)
    with Device(job.named(), "model") as device:
        tile = TILES.get(job.workload)
        place = "auto" if job.workload in PLACED else "memory"
        program = device.compile(measured, seed=job.seed, place=place, tile=tile)
        result = device.run(program, {**measured.inputs, **(measured.sizes or {})})
        exact = device.verify(result).bit_exact
    return {
        "cycles": cycles_of(result),
        **{name: result.counters[name] for name in CYCLES.values()},
        **{f"bytes_{name}": count for name, count in traffic(result.counters).items()},
        "bit_exact": exact,
    }


def jobs(request: Request) -> list[Job]:
    """One that is small where it must be quick."""
    if request.quick:
        return [Job("stencil2d", {"rows": 16, "columns": 32, "steps": 1}, request.seed, ())]
    return [Job(name, sizes, request.seed) for name, sizes in SIZES.items()]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def cycle_shares(records: Sequence[Record], without: str = "") -> dict[str, list[float]]:
    """Shares of each workload's cycles by part, leaving out ``without`` and parts that no workload
    has."""
    table = rows(records).values()
    counted = {part: counter for part, counter in CYCLES.items() if part != without}
    totals = [max(1, sum(row[counter] for counter in counted.values())) for row in table]
    parts = {
        part: [row[counter] / total for row, total in zip(table, totals, strict=True)]
        for part, counter in counted.items()
    }
    return {part: values for part, values in parts.items() if any(values)}


def byte_shares(records: Sequence[Record]) -> dict[str, list[float]]:
    """Shares of each workload's bytes by kind of traffic."""
    table = rows(records).values()
    return {
        name.replace("_", " "): [
            row[f"bytes_{name}"] / sum(row[f"bytes_{each}"] for each in TRAFFIC) for row in table
        ]
        for name in TRAFFIC
    }


def _table(records: Sequence[Record], first: str, parts: Mapping[str, list[float]]) -> Cells:
    body = []
    for at, ((name, sizes), row) in enumerate(rows(records).items()):
        total = {
            "cycles": row["cycles"],
            "cycles besides": row["cycles"] - row[CYCLES[TRANSFER]],
            "bytes": sum(row[f"bytes_{each}"] for each in TRAFFIC),
        }[first]
        body.append(
            [name, sizes, f"{total:,}", *(f"{values[at]:.1%}" for values in parts.values())]
        )
    return Cells(["workload", "sizes", first, *parts], body, names=2)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Shares of cycles, of those in which not main memory alone works, and of bytes."""
    return {
        "Cycles": _table(records, "cycles", cycle_shares(records)),
        f"Without {TRANSFER}": _table(records, "cycles besides", cycle_shares(records, TRANSFER)),
        "Bytes": _table(records, "bytes", byte_shares(records)),
    }


def verdict(records: Sequence[Record]) -> str:
    """Mean shares beside the paper's."""
    inside = byte_shares(records)
    moved = [
        within / (within + between + banks)
        for within, between, banks in zip(
            *(inside[name] for name in ("within tiles", "between tiles", "between banks")),
            strict=True,
        )
        if within + between + banks
    ]
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [
        f"cycles, mean shares of {len(table)} workloads: {_means(records)}",
        f"without {TRANSFER}: {_means(records, TRANSFER)}",
    ]
    if moved:
        lines.append(
            f"of bytes that tensors move, within tiles: {min(moved):.0%} to {max(moved):.0%}"
        )
    return "\n".join([*lines, f"bit-exact: {exact} of {len(table)} runs"])


def _means(records: Sequence[Record], without: str = "") -> str:
    """Mean shares, beside those of the paper's section 8."""
    whole = 1 - PAPER_CYCLES.get(without, 0)
    return ", ".join(
        f"{part} {sum(values) / len(values):.0%}"
        + (f" (the paper's {PAPER_CYCLES[part] / whole:.0%})" if part in PAPER_CYCLES else "")
        for part, values in cycle_shares(records, without).items()
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Both, side by side."""
    names = [name for name, _ in rows(records)]
    figure, axes = subplots(2, (11, 4.6))
    for each, (title, parts) in zip(
        axes,
        {"Bytes moved": byte_shares(records), "Cycles": cycle_shares(records)}.items(),
        strict=True,
    ):
        shares(each, names, parts)
        each.set_title(title, loc="left", fontsize=11)
    save(figure, path)
