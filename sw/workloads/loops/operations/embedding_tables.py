"""EmbeddingBag over several tables of one dimension, which lie one behind the other.

Feature f has rows from ``first_rows[f]`` on, and in bag b look-ups ``offsets[f, b]`` to
``offsets[f, b + 1]`` of all features'; its indices count from its own first row. Bags without
look-ups give zeros. Results begin as zeros.
Source: the layout of FBGEMM's table batched embeddings.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

features, bags, lookups, rows, dim = sizes("features", "bags", "lookups", "rows", "dim")


@nest
def embedding_tables_sum(
    first_rows: int32[features],
    offsets: int32[features, bags + 1],
    indices: int32[lookups],
    tables: float32[rows, dim],
    out: float32[features, bags, dim],
):
    for f in range(features):
        for b in range(bags):
            for p in range(offsets[f, b], offsets[f, b + 1]):
                for e in range(dim):
                    out[f, b, e] += tables[first_rows[f] + indices[p], e]


@nest
def embedding_tables_weighted(
    first_rows: int32[features],
    offsets: int32[features, bags + 1],
    indices: int32[lookups],
    weights: float32[lookups],
    tables: float32[rows, dim],
    out: float32[features, bags, dim],
):
    for f in range(features):
        for b in range(bags):
            for p in range(offsets[f, b], offsets[f, b + 1]):
                for e in range(dim):
                    out[f, b, e] += weights[p] * tables[first_rows[f] + indices[p], e]


@nest
def embedding_tables_mean(
    first_rows: int32[features],
    offsets: int32[features, bags + 1],
    indices: int32[lookups],
    tables: float32[rows, dim],
    out: float32[features, bags, dim],
):
    for f in range(features):
        for b in range(bags):
            for p in range(offsets[f, b], offsets[f, b + 1]):
                for e in range(dim):
                    out[f, b, e] += tables[first_rows[f] + indices[p], e]
            count = float32(max(offsets[f, b + 1] - offsets[f, b], 1))
            for e in range(dim):
                out[f, b, e] /= count


@nest
def embedding_tables_weighted_mean(
    first_rows: int32[features],
    offsets: int32[features, bags + 1],
    indices: int32[lookups],
    weights: float32[lookups],
    tables: float32[rows, dim],
    out: float32[features, bags, dim],
):
    """A weighted sum divided by the number of look-ups, whatever their weights."""
    for f in range(features):
        for b in range(bags):
            for p in range(offsets[f, b], offsets[f, b + 1]):
                for e in range(dim):
                    out[f, b, e] += weights[p] * tables[first_rows[f] + indices[p], e]
            count = float32(max(offsets[f, b + 1] - offsets[f, b], 1))
            for e in range(dim):
                out[f, b, e] /= count


@nest
def embedding_tables_max(
    first_rows: int32[features],
    offsets: int32[features, bags + 1],
    indices: int32[lookups],
    tables: float32[rows, dim],
    out: float32[features, bags, dim],
):
    for f in range(features):
        for b in range(bags):
            for p in range(offsets[f, b], offsets[f, b + 1]):
                for e in range(dim):
                    element = tables[first_rows[f] + indices[p], e]
                    out[f, b, e] = element if p == offsets[f, b] else max(out[f, b, e], element)
