"""A sparse matrix times a dense one: neighbours' vectors, rescaled and accumulated.

Results begin as zeros. Source: Ember, table I, column 3.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

rows, columns, entries, dim = sizes("rows", "columns", "entries", "dim")


@nest
def spmm_csr(
    offsets: int32[rows + 1],
    indices: int32[entries],
    values: float32[entries],
    dense: float32[columns, dim],
    out: float32[rows, dim],
):
    """Compressed rows: row i has entries ``offsets[i]`` to ``offsets[i + 1]``."""
    for i in range(rows):
        for p in range(offsets[i], offsets[i + 1]):
            for e in range(dim):
                out[i, e] += values[p] * dense[indices[p], e]


@nest
def spmm_coo(
    row: int32[entries],
    column: int32[entries],
    values: float32[entries],
    dense: float32[columns, dim],
    out: float32[rows, dim],
):
    """Coordinates of each entry. The number of rows is the result's, or is given."""
    for p in range(entries):
        for e in range(dim):
            out[row[p], e] += values[p] * dense[column[p], e]
