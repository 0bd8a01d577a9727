"""The README's section of results, from results files."""

from __future__ import annotations

from bench.lib.tables import Intro

SECTION = "bench:cuda_static"

INTROS = {
    "kernels": Intro(
        "From a model to machine code, with schedules that the cost model chooses. *Codes*: pairs "
        "of kind and schedule, each a branch. *Compile*: by NVRTC, which uses one core, with "
        "nothing cached. *Occupancy*: warps that run at a time, of those that a multiprocessor has "
        "room for."
    ),
    "growth": Intro(
        "Seconds to compile kernels of many codes, with schedules at random", folded=True
    ),
}
