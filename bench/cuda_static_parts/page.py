"""What the page of results says besides tables."""

from __future__ import annotations

from bench.cuda_static_parts.before import COMMIT
from bench.cuda_static_parts.loads import BATCH
from bench.cuda_static_parts.operator import BATCH as CALL_BATCH
from bench.lib.pages import Headline, Intro, Page

INTROS = {
    "kernels": Intro(
        "Compiling whole models",
        "From a model to machine code, with schedules that the cost model chooses. *Codes*: pairs "
        "of kind and schedule, each a branch. *Compile*: by NVRTC, which uses one core, with "
        "nothing cached. *Occupancy*: warps that run at a time, of those that a multiprocessor has "
        "room for.",
    ),
    "loads": Intro(
        "Reading memory",
        f"The same kernels, at commit `{COMMIT[:12]}` → now, one figure where both are equal; read "
        "from their machine code. *Split*: codes in which a round's loads of rows are not in "
        "flight together, since a value of the first is used before the last is issued. *Rows in "
        "flight* and *instructions before a row*: averages of the codes, the latter from the "
        "kernel's begin to the first load of a row, on the shortest way there. *Waits*: on that "
        "way, loads from global memory of which each needs the one before. *Predicated*: loads of "
        "rows that are executed under a predicate. *Shared*: of a block as launched, with what "
        "is added to bound the occupancy; also of the uniform schedule. *Loaded*: by all threads, "
        f"in the emulation, for a batch of {BATCH}; caches are not emulated.",
    ),
    "growth": Intro(
        "Compiling many codes",
        "Seconds to compile kernels of many codes, with schedules at random",
        folded=True,
    ),
    "operator": Intro(
        "Host time of the operator",
        "A call of `gnarl::fused_embedding_bags_at`, which `FusedEmbeddingBags` makes under "
        "`torch.no_grad()`, from PyTorch's dispatcher on: inputs checked, memory for outputs, "
        "arguments of its two launches packed. *Through cuda-bindings*: with both launches, and "
        "the context entered for each, on a driver whose functions do nothing. **Not in it**: the "
        "CUDA driver's own part of the two `cuLaunchKernel`, and PyTorch's GPU streams, device "
        "guard and caching allocator, in place of which memory of the CPU is kept and reused. "
        f"Batches of {CALL_BATCH}; the best of many. *N_features*: those of the first model, over "
        "and over.",
    ),
}

PAGE = Page(
    "CUDA compiler",
    "Measured by `make bench ONLY=cuda_static`, which needs no GPU: it is about compiling, what "
    "machine code shows (`nvdisasm`), and time of the host. `.venv/bin/python -m bench.cuda_static "
    "page` writes what was measured here, and its headline into the README.",
    INTROS,
    Headline(
        "kernels",
        "source compiled",
        "whole models, by NVRTC",
    ),
)
