"""EmbeddingBag: rows of a table, looked up and pooled bag by bag.

Bag b has look-ups ``offsets[b]`` to ``offsets[b + 1]``, or ``lengths[b]`` of them after those of
the bags before it. Bags without look-ups give zeros. Results begin as zeros.
Source: Ember, table I, column 1; PyTorch's ``nn.EmbeddingBag``.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

bags, lookups, rows, dim = sizes("bags", "lookups", "rows", "dim")


@nest
def embedding_bag_sum(
    table: float32[rows, dim],
    indices: int32[lookups],
    offsets: int32[bags + 1],
    out: float32[bags, dim],
):
    for b in range(bags):
        for p in range(offsets[b], offsets[b + 1]):
            for e in range(dim):
                out[b, e] += table[indices[p], e]


@nest
def embedding_bag_weighted(
    table: float32[rows, dim],
    indices: int32[lookups],
    weights: float32[lookups],
    offsets: int32[bags + 1],
    out: float32[bags, dim],
):
    for b in range(bags):
        for p in range(offsets[b], offsets[b + 1]):
            for e in range(dim):
                out[b, e] += weights[p] * table[indices[p], e]


@nest
def embedding_bag_mean(
    table: float32[rows, dim],
    indices: int32[lookups],
    offsets: int32[bags + 1],
    out: float32[bags, dim],
):
    for b in range(bags):
        for p in range(offsets[b], offsets[b + 1]):
            for e in range(dim):
                out[b, e] += table[indices[p], e]
        count = float32(max(offsets[b + 1] - offsets[b], 1))
        for e in range(dim):
            out[b, e] /= count


@nest
def embedding_bag_weighted_mean(
    table: float32[rows, dim],
    indices: int32[lookups],
    weights: float32[lookups],
    offsets: int32[bags + 1],
    out: float32[bags, dim],
):
    """A weighted sum divided by the number of look-ups, whatever their weights."""
    for b in range(bags):
        for p in range(offsets[b], offsets[b + 1]):
            for e in range(dim):
                out[b, e] += weights[p] * table[indices[p], e]
        count = float32(max(offsets[b + 1] - offsets[b], 1))
        for e in range(dim):
            out[b, e] /= count


@nest
def embedding_bag_max(
    table: float32[rows, dim],
    indices: int32[lookups],
    offsets: int32[bags + 1],
    out: float32[bags, dim],
):
    for b in range(bags):
        for p in range(offsets[b], offsets[b + 1]):
            for e in range(dim):
                element = table[indices[p], e]
                out[b, e] = element if p == offsets[b] else max(out[b, e], element)


@nest
def embedding_bag_lengths(
    table: float32[rows, dim],
    indices: int32[lookups],
    lengths: int32[bags],
    out: float32[bags, dim],
):
    begin = 0
    for b in range(bags):
        end = begin + lengths[b]
        for p in range(begin, end):
            for e in range(dim):
                out[b, e] += table[indices[p], e]
        begin = end
