"""What the page of results says besides tables."""

from __future__ import annotations

from bench.cuda_schedule_parts.recorded import COMMIT, FITTED
from bench.cuda_schedule_parts.times import BATCHES
from bench.cuda_schedule_parts.untuned import PLANS, SAMPLES
from bench.lib.pages import Headline, Intro, Page

INTROS = {
    "calibration": Intro(
        "The model against recorded times",
        "Time of the design with blocks of templates' schedules, as the cost model chooses them: "
        f"recorded on an H200 with cold caches at commit `{COMMIT[:12]}` "
        "([cuda.md](cuda.md#what-a-launch-costs)), and modelled. The model runs a batch's blocks "
        "on 132 multiprocessors in steps of time: each takes its rounds of loads and instructions, "
        "and where all together ask for more instructions, bytes of a multiprocessor's port, of "
        "the L2 cache or of memory than there are, all slow down. Its constants, in "
        f"`bench/cuda_schedule_parts/constants.py`, are fitted to the rows of models "
        f"{', '.join(FITTED)}, and were not changed for what is modelled below; its terms were "
        "chosen with all rows in sight.",
    ),
    "balance": Intro(
        "Balance of multiprocessors",
        "Bytes of rows, indices and outputs of the multiprocessor that has most, over the mean of "
        "all. *Before*: blocks with queues and stealing. *After*: warps take tasks that are a run "
        "of samples or a part of a bag.",
    ),
    "times": Intro(
        "Time over the paper's batches",
        f"Of {BATCHES} batches of 1 to 512 samples, in the model, before → after; two of a size "
        "stand for all of that size. Bounds as in "
        "[cuda.md](cuda.md#times-on-a-gpu), with 4,260 GB/s, 8,300 GB/s and 2.7 µs; *of memory "
        "alone*: without the part that the L2 cache sets.",
    ),
    "untuned": Intro(
        "Schedules as chosen against schedules at random",
        f"A batch of {SAMPLES} samples, in the model: the cost model's schedules, without tuning, "
        f"and {PLANS} sets of which each kind of feature has one at random of its candidates.",
    ),
}

PAGE = Page(
    "CUDA scheduling model",
    "Modelled by `make bench ONLY=cuda_schedule`, which needs no GPU: how multiprocessors share "
    "the work of fused embedding kernels. `.venv/bin/python -m bench.cuda_schedule page` writes "
    "what was modelled here, and its headline into the README.",
    INTROS,
    Headline("times", "of the bound, least", "paper 65.6 %, measured"),
)
