"""Gathers of block-sparse attention: each block of queries takes some blocks of keys.

Source: Ember, table I, column 2; Zaheer et al., "Big Bird: Transformers for Longer Sequences"
(2020), whose blocks of keys are drawn at random for each block of queries.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

queries, picked, keys, block, dim = sizes("queries", "picked", "keys", "block", "dim")


@nest
def block_gather(
    key: float32[keys, block, dim],
    blocks: int32[queries, picked],
    out: float32[queries, picked, block, dim],
):
    """Each vector once for a block of queries, as the original code has it."""
    for q in range(queries):
        for k in range(picked):
            for t in range(block):
                for e in range(dim):
                    out[q, k, t, e] = key[blocks[q, k], t, e]


@nest
def token_gather(
    key: float32[keys, block, dim],
    blocks: int32[queries, picked],
    out: float32[queries, block, picked, block, dim],
):
    """Each vector once for every query of a block, as table I has it."""
    for q in range(queries):
        for k in range(picked):
            for t in range(block):
                for u in range(block):
                    for e in range(dim):
                        out[q, u, k, t, e] = key[blocks[q, k], t, e]
