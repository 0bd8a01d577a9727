"""What the page of results says besides tables."""

from __future__ import annotations

from bench.fuseflow_parts import (
    attention_queues,
    blocks,
    fusion,
    heuristic,
    kernels,
    lanes,
    memory,
    models,
    search,
    structure,
    sweep,
)
from bench.lib.pages import Headline, Intro, Page

INTROS = {
    "models": Intro(
        "Two-layer networks",
        "GCN of two layers with bias, relu and softmax, 16 hidden features, on "
        f"`{models.CONFIG}` (float32, arrays of 2^19 words): cycles of all launches, operands in "
        "memory. *None*: a graph for each statement; *layer*: one for each layer, (A·X)·W, as the "
        "paper's partial fusion; "
        "*global*: as Custard and Stardust iterate; *associated*: A·(X·W). *Longest streams*: "
        "tokens, one a cycle, of each launch's longest stream; *distance*: cycles over that. "
        "*Bytes*: read and written in the machine's memories, as the paper's figures 12 and 14 "
        "have them; what passes inside of a launch is not in memory. "
        "Compile times are without `torch.export`.",
        full="Citeseer, and RTL",
    ),
    "layer": Intro(
        "One layer",
        "relu((A·F)·W), 16 outputs, A and F in CSR, as the paper's figure 4b compares factored "
        "with global iteration. *Machine's cycles/s*: of the Verilated machine with its loads, or "
        "of the cycle simulator without the values of results.",
        full="Citeseer",
    ),
    "orders": Intro(
        "Orders of loops of whole networks",
        "Networks of two layers on the karate club in one region (`--fuse full`): orders of its "
        "loops, counted exactly, as the paper's table 4 has them, which renames the indices of "
        "each operator, where equal views are one here. *As stored*: sparse tensors are walked "
        "from the outside in; *products' orders*: i, k, j of each matrix product. GCN has six "
        "indices: nodes, their neighbours, neighbours of these, features, hidden features and "
        "classes. GraphSAGE computes its first layer at nodes and at their neighbours, each with "
        "neighbours, two indices of features and hidden features of its own: with classes eleven.",
    ),
    "sweep": Intro(
        "A nested product in all orders",
        "N = (A·X)·W, A and X the karate club's matrix, W dense with "
        f"{sweep.COLUMNS} columns, in one region, in all 24 orders of its loops, as the paper's "
        "figure 18 has them; operands are stored to suit the order, the result, too.",
    ),
    "kernels": Intro(
        "Kernels on one fabric",
        f"One build of `{kernels.CONFIG}` runs every statement of three unfused models, each a "
        "configuration of its own, as the paper validates its simulator on an FPGA (11 kernels of "
        "GCN, 13 of GraphSAGE, 17 of GPT-3; R² 0.991): GCN and GraphSAGE of two layers with "
        "softmax on Zachary's karate club, and a decoder's block of 64 tokens, 16 wide, whose "
        "attention has BigBird's mask in blocks of 8, without layer norms. A bias is part of its "
        "product, and softmax is five kernels. *Distance*: cycles over the tokens of the longest "
        "stream, one a cycle. *Error*: the largest one of an element against "
        "float64, from the same operands.",
    ),
    "attention": Intro(
        "Rows that wait for their own sums",
        f"A head of BigBird attention of 36 blocks, {attention_queues.WIDTH} wide, mask of 8 × 8 "
        "blocks, whose first rows have every column. *As a row*: every queue holds as many tokens "
        f"as the longest row has; *as found*: each holds {attention_queues.QUEUE_DEPTH}, but for "
        "six, whose depths `size_queues` "
        "([sam_compiler.md](../sam_compiler.md#depths-of-queues)) finds. *Bound*: multiplications "
        "of a product, one a cycle. *Error*: the largest one against float64.",
        full="RTL of rows of 128, and of queues as a row",
    ),
    "decoder": Intro(
        "Attention from PyTorch",
        "A head of attention with BigBird's mask in blocks of 8, 16 wide "
        "([examples/attention.py](../../examples/attention.py)): each statement alone, and all in "
        "one region, on `sam_fp32`. *Error*: the largest one against float64.",
    ),
    "lanes": Intro(
        "Lanes",
        "The coordinates of one loop, or of two (*ij*, as many of each), dealt to several copies "
        "of what lies inside (`-s=parallelize(j,4)`), on `sam_fp32`: SDDMM, SpMV and SpMSpM of "
        f"random matrices of {lanes.SIZE} × {lanes.SIZE}, 3 % full (SpMV 5 %), dense operands of "
        f"SDDMM {lanes.INNER} wide; a product iterated over i, k, j, of matrices of twice that "
        "size, 2 % full, and of Cora's adjacency and features; and the example's head of BigBird "
        "attention, 16 wide, fused (`lanes = { i = 4 }` in its schedule), as the paper's figure "
        "16 has it: of 64 positions in blocks of 8, the first of which sees all, and of 1,024 in "
        "blocks of 64, two of which do. *Times as fast*: cycles of one lane over those here. Rows "
        "with the most products come first, as hosts deal them, for one lane, too; *imbalance* has "
        "the tokens of the fullest lane over the mean.",
        full="of 1,024 positions 2, 8 and 16 lanes over *k* and 2 × 2 over *ik*; RTL of four "
        "more graphs",
    ),
    "blocks": Intro(
        "Blocks of values",
        "The example's head of BigBird attention, fused, with blocks of values along the keys "
        "(`blocks = { k = 16 }` in its schedule), as the paper's figure 17 has it: "
        f"{blocks.LONG[0].length:,} positions, {blocks.LONG[0].width} wide, two blocks of which "
        f"see all, and {blocks.SHORT.length} positions, {blocks.SHORT.width} wide, in blocks of "
        f"{blocks.SHORT.block}. *Times as fast*: cycles with values of one word over those here. "
        "*Bound*: multiplications of a product over the words of a value, as each of the two "
        "products has one a cycle; *multiply-adds* are those of both. *8 × 8 words*: blocks along "
        "queries, too, so that a multiplication is an outer product.",
        full="1,024 positions in blocks of 32",
    ),
    "fusion": Intro(
        "Dense features and intermediates",
        "GCN and GraphSAGE of two layers on Cora with dense features, 16 hidden, half of the "
        "weights pruned, and an autoencoder of three layers, 50,176–256–256–50,176, half pruned, "
        "on five images ([examples/autoencoder.py](../../examples/autoencoder.py)), as the paper's "
        "figures 12 and 14 have them; and two decoders "
        "([examples/decoder.py](../../examples/decoder.py)) of "
        "256 positions, 192 wide, with 3 heads, a quarter of GPT-3 Small's, and BigBird's mask "
        f"in blocks of {fusion.BLOCK}, element by element, "
        f"and *in blocks*, with values of {fusion.BLOCK} words, as the paper has them. Cycles, "
        "operations and bytes are estimated (below), two models are run besides. *× none*: over "
        "those without fusion.",
        full="GCN and GraphSAGE on Citeseer; an autoencoder of 262,144–512–512–262,144, whose "
        "first layer is simulated whole, and fused all of it (1,048,576 pixels would need four "
        "times its 16 GB of the host's memory); and two decoders of GPT-3 Small, 1,024 positions, "
        "768 wide, with 12 heads",
    ),
    "memory": Intro(
        "Memory of lines",
        "GCN and GraphSAGE of the last section, and with `--full` its autoencoder and decoders in "
        "blocks, with arrays in memories of their own, and in "
        'memory off the chip (`memory = "lines"`, '
        "[sam.md](../sam.md#memory)), as the paper's figures 12 and 14 have HBM2: "
        f"{memory.CHANNELS} channels, each of which has a line of {memory.LINE_BYTES} bytes in "
        f"{memory.LINE_CYCLES} cycles, 256 bytes a cycle together; {memory.LATENCY} cycles to an "
        f"answer; ports that keep {memory.PORT_LINES} lines, ask for {memory.PREFETCH} ahead, and "
        f"have {memory.IN_FLIGHT} rows under way. Estimated as above, one is run besides. *Bytes "
        "of rows*: read and written by blocks, whatever lies between; *of lines*: what channels "
        "move. *× as fast*: as without fusion in the same memory.",
    ),
    "structure": Intro(
        "Sparsity and structure",
        f"GCN of two layers on graphs of {structure.NODES} nodes with {structure.FEATURES} dense "
        "features, as the paper's figure 15 has them: edges anywhere alike, by a power law of "
        f"degrees, or in {structure.BLOCKS} blocks on the diagonal before anywhere else. Cycles "
        f"are estimated from {structure.ROWS} rows of each launch. *Distances*: cycles over the "
        "tokens of each launch's longest stream, unfused, by layer and in full.",
    ),
    "heuristic": Intro(
        "Estimates",
        "What `gnarl explore --search` takes a schedule to do "
        "([explore.md](../explore.md#schedules)): of each launch 256 rows are simulated, and what "
        "they count grows as products, which are counted exactly, as the paper's table 3 compares "
        "its heuristic. The networks above, and the example's head of BigBird attention of "
        f"{heuristic.LENGTH:,} positions in blocks of {heuristic.BLOCK}. *× as fast*: seconds of "
        "the run on the model over those of the estimate. *Cycles by sparsities*: estimated with "
        "inputs of which only the shares of zeros are known, as the paper's takes them "
        "(`--estimate adj=0.998`): real graphs have rows that are far from even.",
        full="Citeseer",
    ),
    "search": Intro(
        "Schedules found",
        "All schedules that `gnarl explore --search` finds of networks of two layers: none, layer "
        "and full fusion, and the regions with the fewest cycles by estimates, for each "
        f"association, with {' and '.join(map(str, search.LANES))} lanes and values of "
        f"{' and '.join(map(str, search.WORDS))} words. All were run, to see "
        f"whether one that estimates leave out (another has no more blocks and takes less than "
        f"one in {search.KEEP} of its cycles) belongs to the best. The table has these: no other "
        "has as few cycles and blocks. A block of values of several words counts as so many.",
        full="Cora",
    ),
}

PAGE = Page(
    "FuseFlow",
    "Measured by `make bench ONLY=fuseflow`, in 18 and a half minutes on two cores from empty "
    "caches, and by `.venv/bin/python -m bench.fuseflow --full`, which has the rows besides that "
    "parts name, in hours; Cora and Citeseer need their files (`GNARL_WORKLOADS` in "
    "[development.md](../development.md#commands)). `.venv/bin/python -m bench.fuseflow page` "
    "writes what was measured here, with `--full` where a part was, and its headline into the "
    "README.",
    INTROS,
    Headline(
        "layer",
        "cora, rtl: cycles of global over factored iteration",
        "the same layer iterated as Custard and Stardust do; the paper 1.33",
    ),
)
