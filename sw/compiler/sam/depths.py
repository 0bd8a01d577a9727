"""Depths of queues where a fiber waits for what is made of all of it.

A sum or a maximum of a fiber is there when the fiber has ended. Where it meets the fiber again, as
in ``x - max(x)``, the fiber has to wait in a queue on its way there. For each loop with reductions
right inside, blocks are given numbers of iterations that they lag behind: a reduction is one late,
and no block is ahead of what feeds it. A queue then holds what passes in the iterations between
its two ends. The lags for which queues have fewest bits are found by linear programming. Source:
Leiserson and Saxe, "Retiming Synchronous Circuitry", Algorithmica 6, 1991, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import networkx as nx
import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import DEPTHS, Edge, Graph
from gnarl.sw.compiler.sam.streams import StreamTable, trace

_TOKEN_BITS = 2  # beside the payload

Indices = tuple[str, ...]
"""Those of loops, outermost first."""


def size_queues(
    graph: Graph, longest: Mapping[str, int], config: SamConfig, slack: int = 16
) -> Graph:
    """The graph with depths for those queues in which a fiber waits for its own reduction.

    longest
        coordinates in the longest fiber of each index.
    slack
        tokens that these queues hold besides, of what comes while the reduction is on its way; 0
        for the least depths that keep a row from waiting for itself.

    A queue keeps ``config.queue_depth``, and the depth that it has, where that is enough. Raises
    ``WorkloadError`` for an index that ``longest`` lacks, and for what would be deeper than
    ``DEPTHS``. O(loops · edges³).
    """
    table = trace(graph)
    waiting: dict[Edge, int] = {}
    fibers: set[Edge] = set()
    for around, late in _reductions(graph, table).items():
        tokens = {edge: _tokens(edge, table, around, longest) for edge in graph.edges}
        for edge, lag in _lags(graph, config, tokens, late).items():
            passing = lag * tokens[edge]
            if tokens[edge] > 1:
                passing -= 1  # the last stop, which nothing waits for
                fibers.add(edge)
            waiting[edge] = waiting.get(edge, 0) + passing
    for edge, held in _beside_intersections(graph, table, longest):
        waiting[edge] = waiting.get(edge, 0) + held
        fibers.add(edge)
    depths = {}
    for edge, held in waiting.items():
        depth = held + (slack if edge in fibers else 0)
        if depth > DEPTHS[-1]:
            raise WorkloadError(
                f"graph: edge {edge}: {depth:,} tokens wait: a queue has at most {DEPTHS[-1]:,}"
            )
        if depth > (edge.depth or config.queue_depth):
            depths[edge.target, edge.input] = depth
    return graph.with_depths(depths)


def _beside_intersections(
    graph: Graph, table: StreamTable, longest: Mapping[str, int]
) -> Iterator[tuple[Edge, int]]:
    """Edges beside an intersection over their own loop, and the tokens of a fiber.

    Where a stream goes to an intersection, and past it to what is made of the coordinates that it
    leaves, all that the intersection drops has to wait there, a fiber at most.
    """
    order = nx.DiGraph(graph.networkx())
    for output, edges in graph.readers.items():
        around = table.loops.get(output, ())
        if len(edges) < 2 or not around:
            continue
        index = around[-1].index
        drops = {
            block.name
            for block in graph.blocks
            if block.type in _DROPPING and block["index"] == index
        }
        behind, past = [], []
        for edge in edges:
            reached = {edge.target, *nx.descendants(order, edge.target)}
            dropped = reached & drops
            behind.append(set().union(*({*nx.descendants(order, each)} for each in dropped)))
            open_way = order.subgraph(set(order) - drops)
            there = edge.target not in drops
            past.append({edge.target, *nx.descendants(open_way, edge.target)} if there else set())
        for number, edge in enumerate(edges):
            others = [each for place, each in enumerate(behind) if place != number]
            if past[number] & set().union(*others):
                if index not in longest:
                    raise WorkloadError(
                        f"graph: edge {edge}: fibers of index {index or '?'} wait beside an "
                        "intersection: must have a length of the longest"
                    )
                yield edge, longest[index] + 1


_DROPPING = ("intersect", "bitvectorintersect")


def _reductions(graph: Graph, table: StreamTable) -> dict[Indices, set[str]]:
    """Blocks that reduce, by the indices of the loops around the one that they reduce over."""
    found: dict[Indices, set[str]] = {}
    for block in graph.blocks:
        if block.type in ("reduce", "spaccumulator"):
            edge = graph.drivers[block.name, "val"]
            inside = 1 + (block["order"] if block.type == "spaccumulator" else 0)
            indices = _indices(edge, table)
            found.setdefault(indices[: len(indices) - inside], set()).add(block.name)
    return found


def _indices(edge: Edge, table: StreamTable) -> Indices:
    return tuple(fibers.index for fibers in table.loops[edge.source, edge.output])


def _tokens(edge: Edge, table: StreamTable, around: Indices, longest: Mapping[str, int]) -> int:
    """Tokens that pass in an iteration of the loops ``around`` at most, stops among them."""
    indices = _indices(edge, table)
    within = indices[len(around) :]
    if indices[: len(around)] != around or not within:
        return 1
    for index in within:
        if index not in longest:
            raise WorkloadError(
                f"graph: edge {edge}: fibers of index {index or '?'} pass while others wait: must "
                "have a length of the longest"
            )
    *outer, inner = (longest[index] for index in within)
    return prod(outer) * (inner + 1)


def _lags(
    graph: Graph, config: SamConfig, tokens: Mapping[Edge, int], late: set[str]
) -> dict[Edge, int]:
    """Iterations by which an edge's end lags behind what its begin gives, where it does.

    ``tokens`` pass an edge in an iteration; blocks that are ``late`` give theirs one later.
    """
    if _all_in_step(graph, late):
        return {}
    # Imported here, as it takes as long as all else together.
    from scipy.optimize import linprog

    place = {block.name: number for number, block in enumerate(graph.blocks)}
    ahead = np.zeros((len(graph.edges), len(place)))
    bits = np.zeros(len(place))
    for row, edge in zip(ahead, graph.edges, strict=True):
        row[place[edge.source]] += 1
        row[place[edge.target]] -= 1
        if graph[edge.source].type != "root":  # two tokens in all
            kind = graph.kind_of_stream(edge.source, edge.output)
            bits -= row * tokens[edge] * (config.stream_width(kind) + _TOKEN_BITS)
    own = [edge.source in late for edge in graph.edges]
    found = linprog(bits, ahead, -np.array(own, float), bounds=(0, len(late)), method="highs-ds")
    lags = np.rint(-ahead @ found.x).astype(int) - own
    return {
        edge: int(lag)
        for edge, lag in zip(graph.edges, lags, strict=True)
        if lag and graph[edge.source].type != "root"
    }


def _all_in_step(graph: Graph, late: set[str]) -> bool:
    """Whether no edge's end need lag behind its begin: all ways from one block to another, in
    either direction of the edges, have as many late blocks."""
    ways: dict[str, list[tuple[str, int]]] = {block.name: [] for block in graph.blocks}
    for edge in graph.edges:
        if graph[edge.source].type != "root":
            by = int(edge.source in late)
            ways[edge.source].append((edge.target, by))
            ways[edge.target].append((edge.source, -by))
    lags: dict[str, int] = {}
    for first in ways:
        waiting = [] if first in lags else [first]
        lags.setdefault(first, 0)
        while waiting:
            name = waiting.pop()
            for other, by in ways[name]:
                if other not in lags:
                    lags[other] = lags[name] + by
                    waiting.append(other)
                elif lags[other] != lags[name] + by:
                    return False
    return True
