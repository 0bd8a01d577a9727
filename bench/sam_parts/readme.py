"""The README's section of results, from results files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.lib.records import Record
from bench.lib.tables import provenance
from bench.sam_parts import speed, suite, table

SECTION = "bench:sam"


def section(found: Mapping[str, Sequence[Record]]) -> str:
    """Markdown from the records of the parts ``table``, ``suite`` and ``speed``, or some."""
    blocks = []
    if records := found.get("table"):
        blocks += [
            f"Cycles on `{table.CONFIG}` (float32), from the first root reference to the last "
            "token written, operands in memory. *Reference*: the SAM project's own cycle "
            "simulator on the same operands, with queues without bounds. *No skip*: without "
            "skipping. *Longest stream*: tokens that some stream of the graph carries without "
            "skipping, one a cycle; *distance*: cycles over that. *4 lanes*: rows dealt to four "
            "copies of the inner loops, with queues of 256 tokens; not in the mean.",
            *(cells.to_markdown() for cells in table.tables(records).values()),
            provenance(records, table.verdict(records)),
        ]
    if records := found.get("speed"):
        blocks += [
            "Seconds from an expression to its result with nothing cached; simulated cycles a "
            "second include loading the operands and reading the result.",
            *(cells.to_markdown() for cells in speed.tables(records).values()),
            provenance(records, speed.verdict(records)),
        ]
    if records := found.get("suite"):
        blocks += [
            "<details><summary>Every kernel of the suite over 20 random cases: four shapes, "
            "densities from 0 to 1</summary>",
            *(cells.to_markdown() for cells in suite.tables(records).values()),
            "</details>",
            provenance(records, suite.verdict(records)),
        ]
    return "\n\n".join(blocks)
