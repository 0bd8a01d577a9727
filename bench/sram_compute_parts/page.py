"""What the page of results says besides tables."""

from __future__ import annotations

from bench.lib.pages import Headline, Intro, Page
from bench.sram_compute_parts import (
    bitlines,
    breakdown,
    c_kernels,
    cycles,
    energy,
    lowering,
    operations,
    optimiser,
    placement,
    places,
    pointnet,
    simulation,
    tiles,
)
from bench.sram_compute_parts.workloads import PAPER_CHANGES

INTROS = {
    "operations": Intro(
        "Operations",
        f"Cycles of microprograms on the arrays of a bank of `{operations.CONFIG}` (4,096 "
        f"bitlines), in the model of sequencer and arrays that tests hold against the RTL row by "
        f"row and cycle by cycle; from {operations.SETS} sets of operands, a pair on each bitline, "
        "the fewest and the most. *Normal data*: numbers of 2^-30 to 2^31 of both signs. *Any "
        "bits*: random words, and all pairs of corners. *Published*: Infinity Stream's n and n² + "
        "5n of integers (section 5); of float32 the rows that PIMeval's microcode writes, of which "
        "an array here writes at most one a cycle.",
    ),
    "optimiser": Intro(
        "Optimiser",
        "Each region of each workload, optimised in a process of its own on the host, with sums "
        "in any order; sizes and configurations take no part in that. *CPU s*: of the host. *By "
        "one constant*: the multiplications by that constant by which there are the most; figure "
        f"6 of Infinity Stream has those of `{optimiser.FIGURE_6}`'s corners. *Peak memory*: of "
        "the whole process, interpreter and libraries included.",
    ),
    "cycles": Intro(
        "Cycles of workloads",
        f"On `{cycles.CONFIG}`, just switched on, from start to done, arrays loaded from main "
        "memory and results stored. *Before*: graphs as they are planned, *after*: as the "
        "optimiser leaves them. On `rtl` the simulated Verilog runs, and after it the model: *as "
        "the model* is whether all counters, cycles and results are the same. On `model` only the "
        "model ran. Arrays fill the "
        "bitlines of the machine, an element each, of most workloads; most cycles are those that "
        "wait for main memory.",
    ),
    "placement": Intro(
        "Placement",
        f"Workloads at five sizes each on `{placement.CONFIG}` without stream engines "
        f"(`{'`, `'.join(placement.CHANGES)}`), just switched on, the largest size on the model, "
        "all others on the RTL: as a whole in memory, as a whole on the core, and where `--place "
        "auto` has them, by cycles that the compiler estimates of both. *Estimate over cycles*: "
        "of the compiler. Empty: that place does not run the workload.",
    ),
    "places": Intro(
        "Three places",
        f"Workloads at five sizes each on `{places.CONFIG}`, just switched on: as a whole in "
        "memory, near it, on the core, and where `--place auto` has them. Cycles are "
        "the model's, which are the RTL's; *auto on RTL* is simulated. "
        "*Warm*: without cycles in which main memory alone works. The largest sizes have table "
        "3's ratio of iterations to bitlines. *Bound*: the larger of "
        "what lanes allow, an operation of the source on float32 a cycle in each of four, as many "
        "engines as words of the core's vectors, and of what main memory allows, each word of an "
        "array once. Warm, words come from banks, one a cycle from each. Empty: that place does "
        "not run the workload.",
    ),
    "regimes": Intro(
        "Regimes",
        f"Workloads at their smallest and largest sizes on `{places.CONFIG}`, as a whole in "
        "memory and near it. *Loaded and stored*: from main memory and back. *Loaded, results "
        "stay*, and *resident*, where arrays are in banks, too: runs of their own, of programs in "
        "[phases](../sram_compiler.md#phases), before and behind which other runs load and store; "
        "so results are compared, too. The core's arrays are always in main memory. Cycles of the "
        "model, the smallest sizes also on the RTL where it says so. Empty: that place does not "
        "run the workload, or its transfers cannot be apart from what computes. In the paper Inf-S "
        "begins with arrays that are not transposed, and releases them late; it does not say where "
        "the others begin.",
    ),
    "energy": Intro(
        "Energy and traffic",
        "Figures 12, 15 and 18 of Infinity Stream: workloads at their largest sizes on "
        f"`{energy.CONFIG}`, just switched on, from main memory and back, on the model. *Memory or "
        "core*: what the compiler chooses of these two, the paper's In-L3; *auto*: of all places, "
        "its Inf-S. Bytes on the network are those between banks, of main memory's lines, and of "
        "commands. Energy is what counters count, times: a line of main memory "
        f"{energy.LINE / 1000:g} nJ, an instruction of the core {energy.INSTRUCTION} pJ and "
        f"{energy.FLOAT + energy.CACHED_WORD:g} pJ a lane, an operation of a stream engine on an "
        f"element {energy.FLOAT} pJ and a row of an array (Horowitz, ISSCC 2014, 45 nm); a bitline "
        f"{energy.BITLINE} pJ a cycle in which all of them compute, or one is read or written "
        f"(Wang et al., JSSC 2020, 28 nm, at 0.9 V); {energy.WIRE} pJ a bit and millimetre of "
        f"wire, {energy.IN_BANK} in a bank, {energy.BETWEEN_BANKS} between banks. None is scaled "
        "to another process; the paper's are CACTI's and McPAT's at 22 nm, of 64 out-of-order "
        "cores. No leakage, no clock, no control. Empty: that place does not run the workload.",
    ),
    "bitlines": Intro(
        "Bitlines a lane",
        f"Workloads that fill the bitlines of `{bitlines.CONFIG}` with fewer or more arrays a "
        "bank, an element on each; a bank has one stream engine, of one lane. Cycles of the "
        "model, which are those of the RTL, just switched on. *Warm*: without cycles in which "
        "main memory alone works, as if arrays were in banks.",
    ),
    "tiles": Intro(
        "Tiles",
        f"Workloads of two and three dimensions in each tile that `{tiles.CONFIG}` has room for, "
        "extents in the order of indices; cycles of the model, which are those of the RTL. "
        "*Rule*: what the compiler takes. *Search*: `--tile best`, the tile of the fewest cycles "
        "by the compiler's estimate. *Paper's heuristics*: of Infinity Stream, section 4.1. *No "
        "tiling*: only neighbours in memory are in a tile. In any tile most cycles go to main "
        "memory, from which all arrays come; *warm*: without cycles in which it alone works.",
    ),
    "breakdown": Intro(
        "Cycles and bytes at full size",
        "Figures 13 and 14 of Infinity Stream: workloads at table 3's sizes, in memory, on the "
        f"model of `{breakdown.CONFIG}` with `{'`, `'.join(breakdown.CHANGES)}` (4 M bitlines), "
        "just switched on, arrays from main memory and back. Main memory gives 204.8 bytes a "
        "cycle, as the paper's does, four lines side by side in 1.25 cycles; to stream engines and "
        "for commands a line a cycle at most. "
        "Stencils go there and back five times, as the paper's ten iterations. `lifting` is one "
        "level of a wavelet in one direction, which memory computes as a whole; of "
        f"`{'`, `'.join(breakdown.PLACED)}` it computes a part or none, and they are where the "
        "compiler places them. Of `mm` "
        f"{breakdown.INNER} of 2,048 iterations are run, which fetch and transpose as much as all. "
        "*Other data*: main memory's. "
        + "Not measured: "
        + "; ".join(f"`{name}`, which {why}" for name, why in breakdown.NOT_RUN.items())
        + ".",
    ),
    "tiles_at_size": Intro(
        "Tiles at full size",
        "Figures 16 and 17 of Infinity Stream: workloads of two and three dimensions at table 3's "
        f"sizes on `{breakdown.CONFIG}` with `{'`, `'.join(breakdown.CHANGES)}`, in each tile "
        "that there is room for; cycles are the compiler's estimates, of all iterations, for the "
        "graph that the optimiser likes best, even where another one loads fewer values twice. "
        "*Rule*: what the compiler takes. *Paper's heuristics*: of section 4.1. *No tiling*: only "
        "neighbours in memory are in a tile.",
    ),
    "pointnet": Intro(
        "PointNet++",
        "Figure 19 of Infinity Stream: classifiers of one scale (SSG) and of several (MSG) with "
        "table 4's numbers, random weights and 4,096 random points in [0, 1), on the model of "
        f"`{pointnet.CONFIG}` with `{'`, `'.join(pointnet.CHANGES)}`, just switched on. The core "
        "is one, in order, of as many lanes as there may be; the paper's *Base* are 64 "
        "out-of-order cores. 65,536 bitlines have the paper's ratio to lanes, but table 4 has not "
        "shrunk with them: the first layer of SA1 fills them 16 times, and a quarter of the "
        "paper's 4 M, so that memory has an easier task here.\n\n"
        "Neither classifier is one program: arrays of MSG need more than the 64 MiB of main memory "
        "that there may be, and placing SSG takes the host minutes. Each function of a stage is "
        "compiled and run apart, from main memory and back, on what NumPy found for the stage "
        "before. Nor are all centroids and rows run, of which none needs the others. In memory, "
        "and for *auto*, a part that fills the bitlines is run, and counts as often as there are "
        "parts; a layer of more than 256 inputs or outputs (512 near memory) is split along these, "
        "too, sums going on from one part to the next. On the core and near memory all rows take "
        "as long as a part, and each row more as the difference to a part of twice as many; so "
        "does sampling, by centroids. Functions of the same sizes are run once. *Bit-exact*: what "
        "was run has the bits of NumPy, which adds in the source's order.\n\n"
        "*near*, *memory*: what that place refuses, sampling and the search of ball query above "
        "all, is on the core. *auto*: where the compiler places each part. Stream engines compute "
        "rows of less than 512 outputs one at a time, 32 on an engine, while the others wait.",
    ),
    "lowering": Intro(
        "Lowering",
        "CPU time of the host from optimised graphs to commands, of table 3's sizes on "
        f"`{lowering.CONFIG}` with `{'`, `'.join(PAPER_CHANGES)}` (4 M bitlines). Of others of the "
        "table's workloads memory computes a part at most, or, as of conv3d, the first iterations "
        "need more main memory for values that find no rows than configurations may have. Fresh: "
        "each region is lowered each time that it runs. Of each loop in order "
        f"the first {lowering.ITERATIONS} iterations are lowered, which for the stencils is all (a "
        "step there and back is two of the paper's).",
    ),
    "c_kernels": Intro(
        "Kernels in C",
        f"{len(c_kernels.NAMES)} small kernels of image processing, linear algebra, statistics, "
        "machine learning, cryptography and databases (`bench/sram_compute_parts/c_kernels.c`), "
        f"each as a whole in memory, near it, on the core of `{c_kernels.CONFIG}`, and where "
        "`--place auto` has it, with sums in the source's order; cycles of the model. *Bit-exact*: "
        "what ran has the bits of `gcc -O0 -ffp-contract=off -fsingle-precision-constant`, of "
        "small integers and of any; those with `expf` may differ in units in the last place: "
        f"{', '.join(f'`{name}` in {ulps}' for name, ulps in c_kernels.ULPS.items())}. In memory, "
        "loops run in order where nothing else is right, element by element if need be. Empty: "
        "that place refuses the kernel.",
    ),
    "simulation": Intro(
        "Simulation",
        f"Time to generate the Verilog of `{simulation.CONFIG}` and to build its simulator, with "
        "nothing cached, and cycles that it simulates in a second of the host's CPU time, operands "
        "that are written and results that are read included.",
    ),
}

PAGE = Page(
    "In-SRAM computing",
    "Measured by `make bench ONLY=sram_compute`. `.venv/bin/python -m bench.sram_compute page` "
    "writes what was measured here, and its headline into the README.",
    INTROS,
    Headline(
        "places",
        "auto over core",
        "the vector core alone",
    ),
)
