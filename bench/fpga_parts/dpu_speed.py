"""Cycles of the benchmark's DAGs on a DPU that is built for a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.dpu_parts.measure import Job, measure
from bench.fpga_parts import variants
from bench.lib.inputs import existing, generated
from bench.lib.request import Request
from bench.lib.summary import geometric_mean

WORKLOADS = (
    *("dag/wilt.psdd", "dag/tretail.psdd"),
    *("dag/HB_bp_200_L.mtx", "dag/Bai_rdb968_L.mtx"),
)

_MEMORIES = ("instruction_words=65536", "data_rows=32768")
"""What all of the workloads need. Cycles do not depend on it, and the board's has less."""


def workloads(request: Request, bench: str) -> tuple[Path, ...]:
    """Their files, or generated ones where one is absent."""
    files = existing(request, bench, WORKLOADS)
    if len(files) < len(WORKLOADS):
        files = generated(request, bench)
    return tuple(files)


def speed(job: variants.Job) -> variants.Speed:
    """Measures on the model, whose cycles are the RTL's. Raises ``GnarlError`` as the compiler
    does."""
    overrides = (*job.overrides, *_MEMORIES)
    runs: list[dict[str, Any]] = [
        measure(Job(file, job.config, overrides, "model", job.seed)) for file in job.files
    ]
    return variants.Speed(
        geometric_mean([each["cycles"] for each in runs]),
        geometric_mean([each["ops_per_cycle"] for each in runs]),
    )
