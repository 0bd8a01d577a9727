"""What the page of results says besides tables."""

from __future__ import annotations

from bench.cuda_static_parts.before import COMMIT, INSTRUCTIONS_COMMIT
from bench.cuda_static_parts.distinct import LIMIT_S
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
    "instructions": Intro(
        "Instructions",
        f"The same kernels for sm_90, at commit `{INSTRUCTIONS_COMMIT[:12]}` → now. Their machine "
        "code runs on the CPU, every instruction of every warp, with as many blocks as the "
        "schedules ask of 132 multiprocessors; lanes that go different ways meet again where the "
        "code says (`BSSY`, `BSYNC`, `WARPSYNC`), and outputs have the emulation's bits. Counts "
        "are exact where no block takes a task that another might have taken; else they vary by "
        "1 % with the order of blocks. With NVRTC 13.0, as on the GPU that was measured, one "
        "sample takes 673,380, 666,324 and 1,099,321 warp instructions on D, E and A at the "
        "former commit: to the last one what the profiler counted there, as are 27.6, 28.4 and "
        "30.0 threads of an instruction. *In rounds*: instructions of the innermost loops that "
        "load rows. *Round*: instructions for eight loads of rows, of the codes with least and "
        "most. *Useful lanes*: those of loads of rows that load. *Waits*: for global memory "
        "before a task's first row, on the shortest way there, of the code with most. *In "
        "flight*: rows on their way to a multiprocessor if all warps that run wait for those that "
        "they have asked for, on average of a batch in which other features' bags are empty; as "
        "whole loads, and what lanes load. *A task's*: instructions that a task executes, of the "
        "code with most. *Compile*: as above.",
    ),
    "growth": Intro(
        "Compiling many codes",
        "Seconds to compile kernels of many codes, with schedules at random",
        folded=True,
    ),
    "distinct": Intro(
        "Compiling features that are all different",
        "Each feature has a kind of its own: dimension, pooling, types of table and output, "
        "weights; and other rows and pooling factors. Seconds of one core, with nothing cached, "
        f"to choose schedules and write the source, to compile it by NVRTC for sm_90, and to build "
        f"the emulation; a compiler is ended after {LIMIT_S:g} s.",
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
