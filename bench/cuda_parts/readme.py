"""The README's section of results, from results files."""

from __future__ import annotations

from bench.cuda_parts import emulation
from bench.lib.tables import Intro

SECTION = "bench:cuda"

INTROS = {
    "kernels": Intro(
        "Time of the embedding layer's kernels by CUDA events, inputs on the GPU, caches emptied "
        "before each batch; all kernels take turns on the same batches in one run. *Of the bound*: "
        "the time in which each row that a batch touches, once, its indices, offsets and outputs "
        "are moved at the bandwidth of a copy. *Mapping*: time on the host over the kernel's. "
        "*×*: how many times as long the other takes. *Best uniform* is chosen on the first of "
        "these batches, which is to its advantage."
    ),
    "emulation": Intro(
        f"Without a GPU: the same generated source on the CPU, batches of {emulation.BATCH}. "
        "*Over look-ups*: bytes that kernels load over inputs and rows of all look-ups."
    ),
}
