"""What the page of results says besides tables."""

from __future__ import annotations

from bench.host_parts import back_door, values
from bench.lib.pages import Headline, Intro, Page

INTROS = {
    "back_door": Intro(
        "Memories of simulators",
        f"Memories of {back_door.MEBIBYTES} MiB behind the host port of a Verilated design, whole: "
        "rows of 32-bit words, each word of a row in a RAM of its own. *Write*, *read*: through "
        "the simulator's back door, without clock cycles, as runs do. *Port*: the rate of writes "
        "through the host port, one word a cycle, measured on this design, which has nothing else "
        "to simulate.",
    ),
    "values": Intro(
        "Values in and out",
        f"{values.VALUES:,} values from a file through a target's model to a file of results: for "
        "SAM the entries of a sparse matrix, copied; for the DPU named leaves, summed up in fours. "
        "What interpreter and compiler themselves take is left out.",
    ),
}

PAGE = Page(
    "Host",
    "What the way to an accelerator and back costs, besides the accelerator itself. Measured by "
    "`make bench ONLY=host`. `.venv/bin/python -m bench.host page` writes what was measured here, "
    "and its headline into the README.",
    INTROS,
    Headline(
        "values",
        "1,000,000 values",
        "the interpreter and the compiler alone",
    ),
)
