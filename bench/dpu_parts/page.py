"""What the page of results says besides tables."""

from __future__ import annotations

from bench.dpu_parts import ladder, table
from bench.lib.pages import Headline, Intro, Page

INTROS = {
    "table": Intro(
        "Cycles on real workloads",
        f"Cycles from start to done on `{table.CONFIG}` (float32), loads of the inputs and "
        "stores of the results included. *Reference*: instructions that the compiler of the "
        "paper's authors needs for the same file and machine. *No overlap*: this compiler "
        "with the paper's own instruction set, which lacks loads and stores beside `exec`. "
        "*Bound*: cycles that no schedule can beat; *distance*: cycles over that.",
    ),
    "ladder": Intro(
        "Steps from the reference to this project",
        "What the distance to the reference consists of: the machine, and a smaller DAG. From the "
        "same files, the paper's authors compile larger ones: a leaf `T` is two multiplications "
        "and an addition, weights of 1 are multiplied, and so is every row of a triangular solve "
        "by its reciprocal. This compiler compiles those too, and each column adds one thing. "
        f"*{ladder.RUNGS[0].name}*: nodes as they are, no loads and stores beside `exec` "
        "(`overlap = false`); this machine still writes back early. "
        f"*{ladder.RUNGS[1].name}*: the same on the machine as it is. "
        f"*{ladder.RUNGS[2].name}*: equal nodes become one, nested sums and products wide ones. "
        f"*{ladder.RUNGS[3].name}*: leaves `T` are inputs, and neither weights of 1 nor "
        "reciprocals of a diagonal of ones are multiplied; the cycles of the table above. Its "
        "weights are inputs, which may change without compiling again; those of the paper's are "
        "constants, shared by value, so that more nodes are equal: msnbc and msweb take "
        "fewer cycles so.",
    ),
    "scaling": Intro(
        "Time and memory of the compiler",
        "Time and peak memory to compile generated DAGs, with the compiler's own code already "
        "translated by numba. It keeps the best of several schedules; of a large DAG, it tries "
        "fewer.",
    ),
    "points": Intro(
        "Points of the design space",
        "Cycles at the paper's 48 points of the design space; *: on RTL as well as the model",
        folded=True,
    ),
}

PAGE = Page(
    "DPU",
    "Measured by `make bench ONLY=dpu`, which needs the real workloads (see `GNARL_WORKLOADS` in "
    "[development.md](../development.md#commands)). `.venv/bin/python -m bench.dpu page` writes "
    "what was measured here, and its headline into the README.",
    INTROS,
    Headline(
        "table",
        "cycles over reference, geometric mean",
        "the compiler of the paper's authors, on the same files",
    ),
)
