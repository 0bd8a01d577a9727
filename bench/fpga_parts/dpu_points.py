"""Operations per second, and per LUT, of bfloat16 DPUs by D and B on an ECP5."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from bench.fpga_parts import variants
from bench.fpga_parts.dpu_speed import speed, workloads
from bench.fpga_parts.variants import by_name
from bench.lib.plots import save, subplots
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.tables import Cells

BENCH = "fpga.dpu_points"

CONFIG = "dpu_ecp5_bf16"
DEPTHS = (1, 2, 3)
BANKS = (8, 16)


def run(request: Request) -> tuple[list[Record], bool]:
    """Builds all of them."""
    files = workloads(request, BENCH)
    points = [(1, 8)] if request.quick else product(DEPTHS, BANKS)
    folder = request.output / "fpga" / "dpu_points"
    jobs = [
        variants.Job(
            f"D = {depth}, B = {banks}",
            CONFIG,
            (f"depth={depth}", f"banks={banks}"),
            files,
            request.seed,
            folder,
            speed,
        )
        for depth, banks in points
    ]
    return variants.run(BENCH, jobs, request)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each."""
    return variants.table("DPUs by D and B", records)


def verdict(records: Sequence[Record]) -> str:
    """The points with the most operations per second and the most per LUT."""
    rows = by_name(records)
    fastest = max(rows, key=lambda name: rows[name]["mops"])
    densest = max(rows, key=lambda name: rows[name]["kops_per_lut"])
    return (
        f"most operations per second: {fastest}, {rows[fastest]['mops']:.0f} M\n"
        f"most per LUT: {densest}, {rows[densest]['kops_per_lut']:.1f} k"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Operations per second over LUTs."""
    figure, (axes,) = subplots(1, (5, 4))
    for name, row in by_name(records).items():
        axes.plot(row["luts"], row["mops"], "o", color="C0")
        axes.annotate(name, (row["luts"], row["mops"]), (5, 4), textcoords="offset points")
    axes.set(xlabel="LUTs", ylabel="M operations/s", ylim=(0, None))
    axes.margins(x=0.2)
    save(figure, path)
