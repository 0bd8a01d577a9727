"""What the page of results says besides tables."""

from __future__ import annotations

from bench.lib.pages import Intro, Page

INTROS = {
    "kernels": Intro(
        "Compiling whole models",
        "From a model to machine code, with schedules that the cost model chooses. *Codes*: pairs "
        "of kind and schedule, each a branch. *Compile*: by NVRTC, which uses one core, with "
        "nothing cached. *Occupancy*: warps that run at a time, of those that a multiprocessor has "
        "room for.",
    ),
    "growth": Intro(
        "Compiling many codes",
        "Seconds to compile kernels of many codes, with schedules at random",
        folded=True,
    ),
}

PAGE = Page(
    "CUDA compiler",
    "Measured by `make bench ONLY=cuda_static`, which needs no GPU: it is about compiling. "
    "`.venv/bin/python -m bench.cuda_static page` writes what was measured here, and sums it up in "
    "the README.",
    INTROS,
)
