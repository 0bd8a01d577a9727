"""Random inputs of the operations, by seed, with the shapes that the paper measures.

Values are float32 from a standard normal distribution: sums of them tell orders of addition apart.
Source: Ember, appendix A, tables III and IV.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TABLE_ROWS = 16_384

LOCALITIES = {"L0": 0.9, "L1": 0.5, "L2": 0.2}
"""How many of the look-ups are of distinct rows."""

BLOCKS = (1, 2, 4, 8)
"""Tokens of a block in block-sparse attention."""


@dataclass(frozen=True)
class BagShape:
    """``segments`` bags of ``lookups`` rows of ``dim`` elements each."""

    segments: int
    dim: int
    lookups: int


RECOMMENDATION_MODELS = {
    "rm1": BagShape(64, 32, 64),
    "rm2": BagShape(32, 64, 128),
    "rm3": BagShape(16, 128, 256),
}
"""Table IV: a batch of one core."""


@dataclass(frozen=True)
class GraphShape:
    """``dim`` elements in a vertex's vector, the first layer's where there are several."""

    vertices: int
    edges: int
    dim: int


GRAPHS = {
    "arxiv": GraphShape(200_000, 1_200_000, 128),
    "mag": GraphShape(1_900_000, 21_100_000, 128),
    "products": GraphShape(2_400_000, 61_900_000, 100),
    "proteins": GraphShape(100_000, 39_600_000, 8),
    "com-Youtube": GraphShape(1_100_000, 6_000_000, 128),
    "roadNet-CA": GraphShape(2_000_000, 5_500_000, 128),
    "web-Google": GraphShape(900_000, 5_100_000, 128),
    "wiki-Talk": GraphShape(2_400_000, 5_000_000, 128),
    "biokg": GraphShape(100_000, 5_100_000, 512),
    "wikikg2": GraphShape(2_500_000, 17_100_000, 512),
}
"""Table III, as rounded there."""

RELATIONS = {"biokg": 51, "wikikg2": 535}
"""Kinds of edges of the knowledge graphs. Source: Open Graph Benchmark, ogbl-biokg and
ogbl-wikikg2."""


def embedding_bag_inputs(
    shape: BagShape, locality: str, seed: int = 0, rows: int = TABLE_ROWS
) -> dict[str, np.ndarray]:
    """``table``, ``indices``, ``offsets``, ``lengths`` and ``weights``.

    ``locality`` is of ``LOCALITIES``: look-ups go to so many distinct rows, each at least once.
    """
    random = np.random.default_rng(seed)
    lookups = shape.segments * shape.lookups
    distinct = min(round(LOCALITIES[locality] * lookups), rows)
    used = random.choice(rows, distinct, replace=False)
    indices = np.concatenate([used, random.choice(used, lookups - distinct)])
    random.shuffle(indices)
    return {
        "table": normal(random, rows, shape.dim),
        "indices": indices.astype(np.int32),
        "offsets": np.arange(shape.segments + 1, dtype=np.int32) * np.int32(shape.lookups),
        "lengths": np.full(shape.segments, shape.lookups, np.int32),
        "weights": normal(random, lookups),
    }


def block_gather_inputs(
    block: int, tokens: int = 4096, picked: int = 3, dim: int = 64, seed: int = 0
) -> dict[str, np.ndarray]:
    """``key`` and ``blocks``: every block of queries takes ``picked`` distinct blocks of keys."""
    random = np.random.default_rng(seed)
    count = tokens // block
    blocks = [random.choice(count, picked, replace=False) for _ in range(count)]
    return {
        "key": normal(random, count, block, dim),
        "blocks": np.array(blocks, np.int32).reshape(count, picked),
    }


def graph_inputs(vertices: int, mean_degree: float, seed: int = 0) -> dict[str, np.ndarray]:
    """``offsets``, ``indices`` and ``values`` of an adjacency matrix in compressed rows.

    Degrees follow a power law, their density falling as the degree's 2.5th power, and add up to
    ``vertices`` · ``mean_degree``, but for rounding and as far as vertices are that many.
    """
    random = np.random.default_rng(seed)
    weights = 1 + random.pareto(1.5, vertices)
    degrees = np.rint(weights * (vertices * mean_degree / max(weights.sum(), 1)))
    degrees = np.minimum(degrees, vertices).astype(np.int64)
    offsets = np.zeros(vertices + 1, np.int32)
    np.cumsum(degrees, out=offsets[1:])
    rows = [np.sort(random.choice(vertices, degree, replace=False)) for degree in degrees]
    indices = np.concatenate([np.zeros(0), *rows]).astype(np.int32)
    return {"offsets": offsets, "indices": indices, "values": normal(random, len(indices))}


def knowledge_graph_inputs(
    samples: int, entities: int, relations: int, dim: int = 512, seed: int = 0
) -> dict[str, np.ndarray]:
    """``entity``, ``relation``, ``heads``, ``links`` and ``tails``."""
    random = np.random.default_rng(seed)
    inputs = {"entity": normal(random, entities, dim), "relation": normal(random, relations, dim)}
    for name, count in (("heads", entities), ("links", relations), ("tails", entities)):
        inputs[name] = random.integers(0, count, samples, np.int32)
    return inputs


def fiber(random: np.random.Generator, length: int, entries: int) -> tuple[np.ndarray, np.ndarray]:
    """Ascending coordinates below ``length``, int32 [entries], and values."""
    coordinates = np.sort(random.choice(length, entries, replace=False)).astype(np.int32)
    return coordinates, normal(random, entries)


def normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape, np.float32)
