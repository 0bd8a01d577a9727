"""What the page of results says besides tables."""

from __future__ import annotations

from bench.lib.pages import Headline, Intro, Page
from bench.silicon_parts import pe

INTROS = {
    "pe": Intro(
        "A PE in silicon",
        f"A {pe.FORMAT} PE (`hw/dpu/pe.py`) by its pipeline registers, before layout. "
        "*Technology*: what they are placed for. *Gates*: "
        "area over that of the library's smallest two-input NAND. *Longest path*: "
        "between registers and ports, by OpenSTA.",
    ),
    "components": Intro(
        "DPUs by component",
        "Gates of DPUs by component, before layout and without memories, beside the shares that "
        "the paper gives for its own at 28 nm (table II, memories left out). Nets between "
        "components have no buffers, so paths grow with the banks that one register drives.",
    ),
}

PAGE = Page(
    "Silicon",
    "What the RTL costs in standard cells. All figures are before layout: wires have neither "
    "resistance nor capacitance, there is no clock tree, no scan chain and no filler; "
    "[area.md](../area.md) says what that means. Measured by `make bench ONLY=silicon` with the "
    "library that Debian ships (package `qflow-tech-osu018`; `--liberty` names others), and "
    "OpenSTA (package `opensta`). `.venv/bin/python -m bench.silicon page` writes what was "
    "measured here, and its headline into the README.",
    INTROS,
    Headline(
        "components",
        "dpu_d1_b8",
        "gates of the library's smallest NAND",
    ),
)
