"""What the page of results says besides tables."""

from __future__ import annotations

from bench.lib.pages import Intro, Page
from bench.tmu_parts import bags, coupled

INTROS = {
    "bags": Intro(
        "EmbeddingBag",
        f"Cycles on `{bags.CONFIG}` (8 lanes, 16 bytes a cycle from memory, a latency of 100), of "
        "the models of Ember's table IV with tables of 16,384 rows; RM3's needs 16 MiB of memory. "
        "Localities L0, L1 and L2: 90, 50 and 20 % of the look-ups are of distinct rows. *Bound*: "
        "the largest of bytes over bandwidth (lines that a fully associative LRU of L2's size "
        "misses, and results), additions over lanes, and rows of the data queue. *Words*: that "
        "the access unit queues.",
    ),
    "coupled": Intro(
        "Decoupled over coupled",
        f"Cycles on `{coupled.CONFIG}` of each operation as a decoupled program (level 4) and as a "
        "coupled one: the whole nest on the execute unit alone, vectorised, unrolled, prefetching, "
        "with results in registers ([tmu.md](../tmu.md#coupled-programs)). Of RM1 also with other "
        "latencies of memory, and other numbers of loads that the execute unit may have under way.",
    ),
}

PAGE = Page(
    "TMU",
    "Measured by `make bench ONLY=tmu`. `.venv/bin/python -m bench.tmu page` writes what was "
    "measured here, and sums it up in the README.",
    INTROS,
)
