"""What the page of results says besides tables."""

from __future__ import annotations

from bench.lib.pages import Headline, Intro, Page
from bench.tmu_parts import graphs, merging
from bench.tmu_parts.runs import CONFIG

INTROS = {
    "bags": Intro(
        "EmbeddingBag",
        f"Cycles on `{CONFIG}` (8 lanes, 16 bytes a cycle from memory, a latency of 100), of "
        "the models of Ember's table IV with tables of 16,384 rows; RM3's needs 16 MiB of memory. "
        "Localities L0, L1 and L2: 90, 50 and 20 % of the look-ups are of distinct rows. *Bound*: "
        "the largest of bytes over bandwidth (lines that a fully associative LRU of L2's size "
        "misses, and results), additions over lanes, and rows of the data queue. *Words*: that "
        "the access unit queues.",
    ),
    "rates": Intro(
        "Rates of both units",
        f"Words a cycle that each unit of `{CONFIG}`, with 16 MiB of memory, moves through the "
        "data queue at locality L0 if the other is ideal, as in Ember's figure 14. The units run "
        "one after the other, each with caches and memory to itself: the access unit, while the "
        "queues always have room and what is put into them is recorded; then the execute unit, "
        "for which the queues are filled with that again, by a row and a token a cycle. A vector "
        "that lies in two rows of the queue takes the execute unit two cycles. Level 0, of "
        "which all models have the same rates, is RM1's.",
    ),
    "coupled": Intro(
        "Decoupled over coupled",
        f"Cycles on `{CONFIG}` of each operation as a decoupled program (level 4) and as a "
        "coupled one: the whole nest on the execute unit alone, compiled "
        "([tmu.md](../tmu.md#coupled-programs)) and by hand "
        "([tmu.md](../tmu.md#programs-by-hand)), of which the faster one is compared. Of RM1 also "
        "with other latencies of memory, and other numbers of loads that the execute unit may have "
        "under way.",
    ),
    "ref": Intro(
        "Compiled over by hand",
        f"Cycles on `{CONFIG}` of each operation as the program for both units that was written "
        "by hand (`--ref`, Ember's ref-dae), and as the compiler's of levels 3 and 4; vectors that "
        f"merge have 16,384 elements, of which 10 % are there, and matrices are {merging.MATRIX}.",
    ),
    "graphs": Intro(
        "Graphs",
        f"Cycles of SpMM on `{CONFIG}` at level 4: citation graphs, and power-law graphs of the "
        f"mean degrees and dimensions of Ember's table III with {graphs.SIZES[0]:,} and "
        f"{graphs.SIZES[1]:,} vertices, products with "
        f"{' and '.join(format(size, ',') for size in graphs.LARGER['products'])}.",
    ),
    "gathers": Intro(
        "BigBird gathers",
        f"Reads of lines on `{CONFIG}` at level 4, with blocks of 1, 2, 4 and 8 tokens: each "
        "vector once for a block of queries (`block_gather`), or once for every query "
        "(`token_gather`). *Kept*: found in L2; neighbouring words of a line are one read. The "
        "model is a cache of L2's sets and ways that is given the reads of the nest in its order, "
        "in which no index is read ahead; it says which reads of embeddings hit.",
    ),
    "merging": Intro(
        "Merging",
        f"Cycles on `{CONFIG}` of products and sums of {merging.MATRIX} (77 x 760, 2,388 "
        "entries) and the same matrix shifted by a column, as the SAM project has them; of the "
        "matrix product, by the transpose of the other, rows against rows. *SAM*: graphs on "
        "`sam_fp32` whose loops are the same, with operands in memories of their own that take a "
        "cycle, and compressed results. The TMU reads through 16 bytes a cycle and writes dense "
        "results. *Cells*: generic gates and flip-flops of Yosys ([area.md](../area.md)) of the "
        "whole hardware with host port and counters, but without memories, whose bits are beside "
        "them: those of operands and results, whose sizes the configurations set, and others "
        "(queues, caches, programs). The TMU is one programmable core for all operations; SAM's "
        "hardware is made for one.",
    ),
}

PAGE = Page(
    "TMU",
    "Measured by `make bench ONLY=tmu`. `.venv/bin/python -m bench.tmu page` writes what was "
    "measured here, and its headline into the README.",
    INTROS,
    Headline(
        "coupled",
        "decoupled over the best coupled",
        "the same core, with programs that load and compute in one unit",
    ),
)
