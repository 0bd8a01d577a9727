"""What the page of results says besides tables."""

from __future__ import annotations

from bench.cuda_parts import emulation
from bench.lib.pages import Intro, Page

INTROS = {
    "kernels": Intro(
        "Times on a GPU",
        "Time of the embedding layer's kernels by CUDA events, inputs on the GPU, caches emptied "
        "before each batch; all kernels take turns on the same batches in one run. *Of the bound*: "
        "the time in which each row that a batch touches, once, its indices, offsets and outputs "
        "are moved at the bandwidth of a copy. *Mapping*: time on the host over the kernel's. "
        "*×*: how many times as long the other takes. *Best uniform* is chosen on the first of "
        "these batches, which is to its advantage.",
    ),
    "emulation": Intro(
        "Loads in the emulation",
        f"Without a GPU: the same generated source on the CPU, batches of {emulation.BATCH}. "
        "*Over look-ups*: bytes that kernels load over inputs and rows of all look-ups.",
    ),
}

PAGE = Page(
    "CUDA",
    "`make bench ONLY=cuda` measures on a GPU: kernel times against the uniform schedule of "
    "TorchRec, against PyTorch, against TorchRec's own kernel where fbgemm is installed, and "
    "against the bound that the memory's bandwidth sets. Without a GPU it measures what the "
    "emulation can tell. `.venv/bin/python -m bench.cuda page` writes what was measured here, and "
    "sums it up in the README.",
    INTROS,
)
