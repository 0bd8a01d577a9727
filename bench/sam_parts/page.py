"""What the page of results says besides tables."""

from __future__ import annotations

from bench.lib.pages import Headline, Intro, Page
from bench.sam_parts import table

INTROS = {
    "table": Intro(
        "Cycles on real matrices",
        f"Cycles on `{table.CONFIG}` (float32), from the first root reference to the last "
        "token written, operands in memory. *Reference*: the SAM project's own cycle "
        "simulator on the same operands, with queues without bounds. *No skip*: without "
        "skipping. *Longest stream*: tokens that some stream of the graph carries without "
        "skipping, one a cycle; *distance*: cycles over that. *4 lanes*: rows dealt to four "
        "copies of the inner loops, with queues of 256 tokens; not in the mean.",
    ),
    "speed": Intro(
        "Time to the first result",
        "Seconds from an expression to its result with nothing cached; simulated cycles a "
        "second include loading the operands and reading the result; *machine's* only the "
        "Verilated machine, or the cycle simulator without the values of results.",
    ),
    "levels": Intro(
        "Levels of logic",
        "Look-up tables of four inputs on the longest path between registers, memories and ports "
        "of each type of block (`synth -flatten -lut 4` of Yosys), with 32 bits of index, float32, "
        "`alu_stages = 5` and `local_latency = 2`. *Levels*: where ABC maps for depth (`&synch2`), "
        "of the block alone, and *with queues* in front of its inputs and behind its outputs, as "
        "they lie between blocks. *Default script*: ABC's, which saves look-up tables and adds "
        "levels, many or few from one version of a block to the next. `stream_latency` changes "
        "nothing inside of a block. Memories are none of it; adders and multipliers are look-up "
        "tables, which FPGAs have better cells for.",
        folded=True,
    ),
    "suite": Intro(
        "Every kernel on random tensors",
        "Every kernel of the suite over 20 random cases: four shapes, densities from 0 to 1",
        folded=True,
    ),
}

PAGE = Page(
    "SAM",
    "Measured by `make bench ONLY=sam`; the comparison with the SAM project's own simulator needs "
    "its operands (`GNARL_WORKLOADS` in [development.md](../development.md#commands)). "
    "`.venv/bin/python -m bench.sam page` writes what was measured here, and its headline into "
    "the README.",
    INTROS,
    Headline(
        "table",
        "cycles over reference, geometric mean",
        "the SAM project's own cycle simulator, on the same operands",
    ),
)
