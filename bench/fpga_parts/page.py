"""What the page of results says besides tables."""

from __future__ import annotations

from pathlib import Path

from bench.fpga_parts import (
    boards,
    dpu_points,
    dpu_registers,
    dpu_speed,
    sam_attention,
    sam_registers,
    variants,
)
from bench.lib.pages import Headline, Intro, Page

_WORKLOADS = ", ".join(Path(name).stem for name in dpu_speed.WORKLOADS)

INTROS = {
    "boards": Intro(
        "Boards",
        "Machines with their serial link. *Met*: the clock that nextpnr finds after routing, at "
        f"the worst of process, voltage and temperature; the median of {boards.SEEDS} placements, "
        "with the lowest and the highest. Projects for vendors' tools have no clock here, and "
        "their utilisation is Yosys's. *Synthesis*, *build*: processor seconds from Verilog on.",
    ),
    "dpu_registers": Intro(
        "Registers of the DPU",
        f"{dpu_registers.CONFIG} on {variants.BOARD} with one register after the other, from the "
        "fewest on; each row has those of the rows above. *Clock*: of one placement that was asked "
        f"for more. *Cycles*, *operations per second*: geometric means over {_WORKLOADS}, on the "
        "model, whose cycles are the RTL's.",
    ),
    "dpu_points": Intro(
        "DPUs by D and B",
        f"{dpu_points.CONFIG} with other D and B on {variants.BOARD}; otherwise as above.",
    ),
    "sam_registers": Intro(
        "Registers of SAM",
        f"{sam_registers.CONFIG} on {variants.BOARD} with one register after the other. *Cycles*: "
        "geometric mean of three products of random 48 × 48 matrices, 2, 5 and 20 % full, on RTL.",
    ),
    "sam_attention": Intro(
        "Attention on SAM",
        f"The head of examples/attention.py (BigBird, 64 positions, 16 wide, float32), all of it "
        f"one graph, on {variants.BOARD}: {sam_attention.CONFIG} with all registers, arrays of "
        "4,096 rows and as many bits of index. *Clock*: of one placement that was asked for more. "
        "*Cycles*: of the head, on the model.",
    ),
}

PAGE = Page(
    "FPGA",
    "What machines cost on FPGA boards, and how fast they run there. Measured by `make bench "
    "ONLY=fpga`. `.venv/bin/python -m bench.fpga page` writes what was measured here, and its "
    "headline into the README.",
    INTROS,
    Headline(
        "boards",
        "dpu_ecp5 on ulx3s_85f",
        "the clock that is asked for",
    ),
)
