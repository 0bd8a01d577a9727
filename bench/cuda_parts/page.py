"""What the page of results says besides tables."""

from __future__ import annotations

from bench.cuda_parts import bits, emulation, end_to_end, kernels, outputs, scale
from bench.lib.pages import Headline, Intro, Page

_ALIKE = (
    "Every kernel finds its inputs on the GPU and the caches emptied after they arrived; a delay "
    "before it lets the host launch everything first, and what launches a kernel a feature is "
    "replayed from a CUDA graph. Indices and offsets are int32 for all that take them."
)

INTROS = {
    "card": Intro(
        "The GPU",
        "Clocks, and what it does at best: bytes read and written by a copy of random data, bytes "
        "read from the L2 cache, an empty kernel. The clock is that of a multiprocessor, as cycles "
        "over a time; tables below have it behind the measurements of a row.",
    ),
    "outputs": Intro(
        "Outputs of whole models",
        f"Batches of {', '.join(map(str, outputs.SAMPLES))} samples against the golden model, bit "
        "by bit; and the first bits of the outputs' SHA-256, by which GPUs and kernels compare.",
    ),
    "launches": Intro(
        "What a launch costs",
        "Microseconds of one kernel by CUDA events, medians of batches of so many samples. "
        "*Cold*: caches emptied after inputs arrived; *code warm*: emptied, then the kernel pools "
        "one other sample first; *all warm*: after the same batch. *Bound* as below; *of memory "
        "alone*: without the part that the L2 cache sets. The second table has the line through "
        "each model's times with the least relative errors.",
    ),
    "kernels": Intro(
        "Times on a GPU",
        f"Time of the embedding layer's kernels by CUDA events. {_ALIKE} Each contender takes "
        "turns with this project on the same batches; *×*: how many times as long it takes. *Of "
        "the bound*: over the kernel's time, the larger of the time in which each row that a batch "
        "touches, once, its indices, offsets and outputs move at the bandwidth of a copy of random "
        "data, and that in which all rows looked up move at the bandwidth of reads from the L2 "
        "cache; and an empty kernel's time besides. *Mapping*: time on the host over the kernel's. "
        "*Best uniform* is chosen on the first of these batches, which is to its advantage. "
        "*Varying* batches are the paper's, of 1 to 512 samples.",
    ),
    "counters": Intro(
        "Counters",
        "The profiler's counters of one launch with empty caches, at the GPU's own clock; medians "
        "of four. *Lanes* of an instruction are those that are not idle; waits are cycles of a "
        "warp between two instructions.",
    ),
    "variants": Intro(
        "Parts of the design",
        "Each with one part of the design off, or on that is off, and all else the same: how many "
        "times as long it takes.",
    ),
    "scale": Intro(
        "Many features, large tables",
        f"As above. {scale.FEATURES:,} features are those of the first model over and over, each "
        "with a table of its own. Of MLPerf's 26 tables the largest are cut off, so that all have "
        f"at most {scale.MLPERF_BYTES >> 30} GiB; rows are drawn by a power law, as in the other "
        "models.",
    ),
    "end_to_end": Intro(
        "End to end",
        "Time of an embedding layer with dense layers of "
        f"{', '.join(map(str, end_to_end.LAYERS))} behind it, in PyTorch, float32, each contender "
        f"in a CUDA graph. {_ALIKE}",
    ),
    "tuning": Intro(
        "Time to tune",
        "Seconds of `gnarl tune` for a model, compilation included, on the GPUs of one machine.",
    ),
    "bits": Intro(
        "The emulation against a GPU",
        f"Tables of any numbers, batches of {', '.join(map(str, bits.SIZES))}: each template with "
        "every pooling, table type and output type that it takes, weighted and not. Results must "
        "be equal bit by bit, so the emulation adds in the GPU's order.",
    ),
    "emulation": Intro(
        "Loads in the emulation",
        f"Without a GPU: the same generated source on the CPU, batches of {emulation.BATCH}. "
        "*Over look-ups*: bytes that kernels load over inputs and rows of all look-ups.",
    ),
}

PAGE = Page(
    "CUDA",
    "`make bench ONLY=cuda` measures on a GPU: kernel times against uniform schedules, the first "
    "of them TorchRec's, against PyTorch, against TorchRec's own kernel where fbgemm is installed, "
    "and against the bound that memory and L2 cache set "
    f"(batches of varying sizes, and of {', '.join(kernels.SIZES[1:])}). Without a GPU it measures "
    "what the emulation can tell. `.venv/bin/python -m bench.cuda page` writes what was measured "
    "here, and its headline into the README.",
    INTROS,
    Headline(
        "kernels",
        "over uniform",
        "one schedule for all features, on an H200",
    ),
)
