"""What the page of results says besides tables."""

from __future__ import annotations

from bench.fpga_parts import boards
from bench.lib.pages import Intro, Page

INTROS = {
    "boards": Intro(
        "Boards",
        "Machines with their serial link. *Met*: the clock that nextpnr finds after routing, at "
        f"the worst of process, voltage and temperature; the median of {boards.SEEDS} placements, "
        "with the lowest and the highest. Projects for vendors' tools have no clock here, and "
        "their utilisation is Yosys's. *Synthesis*, *build*: processor seconds from Verilog on.",
    ),
}

PAGE = Page(
    "FPGA",
    "What machines cost on FPGA boards, and how fast they run there. Measured by `make bench "
    "ONLY=fpga`. `.venv/bin/python -m bench.fpga page` writes what was measured here, and sums it "
    "up in the README.",
    INTROS,
)
