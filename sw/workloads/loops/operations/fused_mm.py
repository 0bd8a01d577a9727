"""Message passing: a product of a vertex's and a neighbour's vector scales the neighbour's.

The result begins as zeros. Source: Ember, table I, column 4; Rahman, Sujon and Azad, "FusedMM: A
Unified SDDMM-SpMM Kernel for Graph Embedding and Graph Neural Networks" (2021).
"""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

vertices, neighbours, edges, dim = sizes("vertices", "neighbours", "edges", "dim")


@nest
def fused_mm(
    offsets: int32[vertices + 1],
    indices: int32[edges],
    values: float32[edges],
    vertex: float32[vertices, dim],
    neighbour: float32[neighbours, dim],
    out: float32[vertices, dim],
):
    for v in range(vertices):
        for p in range(offsets[v], offsets[v + 1]):
            product = 0.0
            for e in range(dim):
                product += vertex[v, e] * neighbour[indices[p], e]
            scale = values[p] * product
            for e in range(dim):
                out[v, e] += scale * neighbour[indices[p], e]
