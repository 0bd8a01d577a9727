"""What the page of results says besides tables."""

from __future__ import annotations

from bench.growth_parts import limits, stages
from bench.lib.pages import Headline, Intro, Page

INTROS = {
    "stages": Intro(
        "Stages",
        "What `gnarl run` does, from files to a file of results, in a process of its own for each "
        "size. Before, the same process has run the smallest size once: imports, machine code of "
        "compilers and models, and the memory of both are left out. Times are of the processor, "
        "child processes included, under a configuration that has room. *Exponent*: of the time "
        f"in the size, between the two largest, of stages over {stages.SHORT_S} s, and of "
        f"{' and '.join(f'*{stage}*' for stage in stages.OF_CYCLES)} in cycles where they are "
        f"counted; at most {stages.MOST} is wanted. Memory is what the process has needed beyond "
        "its first run. "
        "Golden models of loop nests run in Python where little is computed and are compiled, "
        "once, where it is more: that is in *verify* of the size at which they are first. The "
        "cache of kernels is empty, so that *build* is the C++ compiler's work; simulators were "
        "built before.",
    ),
    "limits": Intro(
        "What breaks first",
        "The same workloads on configurations as they are, each size four times the one before, "
        "until one is refused, and with what message: no more than six sizes. *After*: processor "
        f"time until then, imports included. *{limits.NONE}*: all sizes ran.",
    ),
}

PAGE = Page(
    "Growth",
    "Whether what a run costs grows no faster than its workload, and what ends it. Measured by "
    "`make bench ONLY=growth`. `.venv/bin/python -m bench.growth page` writes what was measured "
    "here, and its headline into the README.",
    INTROS,
    Headline("stages", "time grows", "ten times the workload, ten times the time"),
)
