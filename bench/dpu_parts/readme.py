"""The README's section of results, from results files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.dpu_parts import points, scaling, table
from bench.lib.records import Record
from bench.lib.tables import provenance

SECTION = "bench:dpu"


def section(found: Mapping[str, Sequence[Record]]) -> str:
    """Markdown from the records of the parts ``table``, ``scaling`` and ``points``, or some."""
    blocks = []
    if records := found.get("table"):
        blocks += [
            f"Cycles from start to done on `{table.CONFIG}` (float32), loads of the inputs and "
            "stores of the results included. *Reference*: instructions that the compiler of the "
            "paper's authors needs for the same file and machine. *No overlap*: this compiler "
            "with the paper's own instruction set, which lacks loads and stores beside `exec`. "
            "*Bound*: cycles that no schedule can beat; *distance*: cycles over that.",
            *(cells.to_markdown() for cells in table.tables(records).values()),
            provenance(records, table.verdict(records)),
        ]
    if records := found.get("scaling"):
        blocks += [
            "Time and peak memory to compile generated DAGs, with the compiler's own code already "
            "translated by numba. It keeps the best of several schedules; of a large DAG, it tries "
            "fewer.",
            *(cells.to_markdown() for cells in scaling.tables(records).values()),
            provenance(records, scaling.verdict(records)),
        ]
    if records := found.get("points"):
        blocks += [
            "<details><summary>Cycles at the paper's 48 points of the design space; *: on RTL as "
            "well as the model</summary>",
            *(cells.to_markdown() for cells in points.tables(records).values()),
            "</details>",
            provenance(records, points.verdict(records)),
        ]
    return "\n\n".join(blocks)
