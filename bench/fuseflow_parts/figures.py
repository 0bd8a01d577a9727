"""What benchmarks of fused runs measure alike."""

from __future__ import annotations

from typing import Any

from bench.lib.records import Metric
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.estimate.estimate import Estimate
from gnarl.sw.runtime.sam.figures import longest_stream

METRICS = {
    "launches": Metric("", "none"),
    "cycles": Metric("cycles", "lower"),
    "operations": Metric("", "none"),
    "bytes": Metric("bytes", "lower"),
    "intensity": Metric("operations/byte", "none"),
    "longest": Metric("tokens", "none"),
    "distance": Metric("cycles/token", "lower"),
}
"""``bytes``: read and written in memories; ``intensity``: operations over them; ``longest``: tokens
of the longest streams, the sum of all launches; ``distance``: cycles over them."""

HEADER = {
    "launches": "launches",
    "cycles": "cycles",
    "over_none": "× none",
    "operations": "operations",
    "bytes": "bytes",
    "intensity": "operations a byte",
    "longest": "longest streams",
    "distance": "distance",
}
"""Columns of tables, with cycles over those without fusion."""

SHOWN = {"intensity": ".3f", "error": ".1e"}
"""How figures are shown that two places are too few for."""


def estimated_streams(found: Estimate) -> dict[str, float | int]:
    """``longest`` and ``distance`` of an estimate."""
    longest = sum(each.longest_stream for each in found.launches)
    return {"longest": longest, "distance": found.cycles / longest}


def run_figures(device: Device, program: Program, result: Result[Any]) -> dict[str, float | int]:
    """Values of ``METRICS`` of a run."""
    figures = device.target.presenter.figures(program, result)
    longest = sum(longest_stream(run.launch, run.finished.counters) for run in result.launches)
    assert result.cycles is not None
    assert figures.operations is not None and figures.bytes is not None
    return {
        "launches": len(result.launches),
        "cycles": result.cycles,
        "operations": figures.operations,
        "bytes": figures.bytes,
        "intensity": figures.operations / figures.bytes,
        "longest": longest,
        "distance": result.cycles / longest,
    }
