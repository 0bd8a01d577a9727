"""Scores of triples of a knowledge graph: how far head + relation is off tail.

Source: Ember, table I, column 5; Bordes et al., "Translating Embeddings for Modeling
Multi-relational Data" (2013), with either norm.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes, sqrt

samples, entities, relations, dim = sizes("samples", "entities", "relations", "dim")


@nest
def knowledge_graph_l1(
    entity: float32[entities, dim],
    relation: float32[relations, dim],
    heads: int32[samples],
    links: int32[samples],
    tails: int32[samples],
    out: float32[samples],
):
    for s in range(samples):
        total = 0.0
        for e in range(dim):
            total += abs(entity[heads[s], e] + relation[links[s], e] - entity[tails[s], e])
        out[s] = total


@nest
def knowledge_graph_l2(
    entity: float32[entities, dim],
    relation: float32[relations, dim],
    heads: int32[samples],
    links: int32[samples],
    tails: int32[samples],
    out: float32[samples],
):
    for s in range(samples):
        total = 0.0
        for e in range(dim):
            off = entity[heads[s], e] + relation[links[s], e] - entity[tails[s], e]
            total += off * off
        out[s] = sqrt(total)
