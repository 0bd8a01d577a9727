"""Depths of queues where a fiber waits for what is made of all of it.

A sum or a maximum of a fiber is there when the fiber has ended. Where it meets the fiber again, as
in ``x - max(x)``, the fiber has to wait in a queue on its way there. So it has where an
intersection drops all of it. For each loop with such blocks right inside, blocks are given numbers
of iterations that they lag behind: these are one late, and no block is ahead of what feeds it. A
queue then holds what passes in the iterations between
its two ends. The lags for which queues have fewest bits are found by linear programming. Source:
Leiserson and Saxe, "Retiming Synchronous Circuitry", Algorithmica 6, 1991, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import DEPTHS, Edge, Graph
from gnarl.sw.compiler.sam.streams import Output, StreamTable, trace

_TOKEN_BITS = 2  # beside the payload
_SLACK = 16

Indices = tuple[str, ...]
"""Those of loops, outermost first."""


# Blocks that give nothing in an iteration before the next one begins, with the inputs that they
# wait at. A reduction always does: nothing comes before all of a fiber has. An intersection may, as
# it may drop all of a fiber. So may a lookup: the level of the stop after a fiber, which may be
# empty, is known from the next reference.
_REDUCING = {"reduce": ("val",), "spaccumulator": ("val",)}
_DROPPING = {"intersect": ("crd0", "crd1"), "bitvectorintersect": ("bv0", "bv1")}
_LOOKING_AHEAD = {"fiberlookup": ("ref",), "bitvectorlookup": ("ref",)}


def size_queues(
    graph: Graph, longest: Mapping[str, int], config: SamConfig, slack: int = _SLACK
) -> Graph:
    """The graph with depths for those queues in which a fiber waits for what is made of it.

    longest
        coordinates in the longest fiber of each index.
    slack
        tokens that these queues hold besides, of what comes while that is on its way; 0
        for the least depths that keep a row from waiting for itself.

    A queue keeps ``config.queue_depth``, and the depth that it has, where that is enough. Raises
    ``WorkloadError`` for an index that ``longest`` lacks, and for what would be deeper than
    ``DEPTHS``. O(loops · edges³).
    """
    (sized,) = size_all_queues([(graph, longest)], config, slack)
    return sized


def size_all_queues(
    graphs: Sequence[tuple[Graph, Mapping[str, int]]], config: SamConfig, slack: int = _SLACK
) -> list[Graph]:
    """Each graph as ``size_queues`` has it, with the longest fibers that come with it: one linear
    program for all of them takes hardly longer than that of one."""
    groups = [list(_groups(graph, trace(graph), longest)) for graph, longest in graphs]
    lags = _lags(config, [case for own in groups for group in own for case in group])
    sized = []
    for (graph, _), own in zip(graphs, groups, strict=True):
        waiting: dict[Edge, int] = {}
        fibers: set[Edge] = set()
        for group in own:
            held = _held(group, lags)
            fibers.update(edge for edge in held if group[0].tokens[edge] > 1)
            for edge, passing in held.items():
                waiting[edge] = waiting.get(edge, 0) + passing
        sized.append(_with_room(graph, waiting, fibers, config, slack))
    return sized


def _with_room(
    graph: Graph, waiting: Mapping[Edge, int], fibers: Set[Edge], config: SamConfig, slack: int
) -> Graph:
    """The graph with queues in which so many tokens wait, and ``slack`` more where these are
    ``fibers``."""
    depths = {}
    for edge, passing in waiting.items():
        depth = passing + (slack if edge in fibers else 0)
        if depth > DEPTHS[-1]:
            raise WorkloadError(
                f"graph: edge {edge}: {depth:,} tokens wait: a queue has at most {DEPTHS[-1]:,}"
            )
        if depth > (edge.depth or config.queue_depth):
            depths[edge.target, edge.input] = depth
    return graph.with_depths(depths)


def waiting_indices(graph: Graph, longest: Mapping[str, int], config: SamConfig) -> set[str]:
    """Indices whose fibers wait in queues, for ``longest`` as ``size_queues`` takes it: of others
    they may be longer."""
    table = trace(graph)
    groups = list(_groups(graph, table, longest))
    lags = _lags(config, [case for group in groups for case in group])
    return {
        index
        for group in groups
        for edge in _held(group, lags)
        if group[0].tokens[edge] > 1
        for index in _indices(edge, table)[len(group[0].around) :]
    }


@dataclass(frozen=True, eq=False)
class _Case:
    """Blocks of a graph that are late together in the loops ``around``, and how many tokens pass
    each edge in an iteration of these."""

    graph: Graph
    around: Indices
    late: Set[str]
    tokens: Mapping[Edge, int]


def _groups(
    graph: Graph, table: StreamTable, longest: Mapping[str, int]
) -> Iterator[Sequence[_Case]]:
    """For loops around blocks that are late the cases in which something waits."""
    for around, cases in _late_blocks(graph, table):
        waiting = [late for late in cases if not _all_in_step(graph, late)]
        if waiting:
            tokens = {edge: _tokens(edge, table, around, longest) for edge in graph.edges}
            yield [_Case(graph, around, late, tokens) for late in waiting]


def _held(group: Sequence[_Case], lags: Mapping[_Case, Mapping[Edge, int]]) -> dict[Edge, int]:
    """Tokens that wait at those edges where some do, in one case or another."""
    held: dict[Edge, int] = {}
    for case in group:
        for edge, lag in lags[case].items():
            passing = lag * case.tokens[edge]
            if case.tokens[edge] > 1:
                passing -= 1  # the last stop, which nothing waits for
            held[edge] = max(held.get(edge, 0), passing)
    return held


def _late_blocks(graph: Graph, table: StreamTable) -> Iterator[tuple[Indices, list[set[str]]]]:
    """Blocks that are late together, by the indices of the loops whose iterations they are late in.

    All reductions are late, whatever else is. What only may be late is a case of its own each,
    beside all that is not; blocks that wait at the same streams are in one case.
    """
    for types, inside in ((_REDUCING, 1), (_DROPPING, 1), (_LOOKING_AHEAD, 0)):
        found: dict[Indices, dict[tuple[Output, ...], set[str]]] = {}
        for block in graph.blocks:
            if block.type not in types:
                continue
            edges = [graph.drivers[block.name, name] for name in types[block.type]]
            indices = _indices(edges[0], table)
            loops = inside + (block["order"] if block.type == "spaccumulator" else 0)
            around = indices[: len(indices) - loops]
            same = () if types is _REDUCING else tuple((e.source, e.output) for e in edges)
            found.setdefault(around, {}).setdefault(same, set()).add(block.name)
        for around, cases in found.items():
            yield around, list(cases.values())


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


def _lags(config: SamConfig, cases: Sequence[_Case]) -> dict[_Case, dict[Edge, int]]:
    """For each case the iterations by which an edge's end lags behind what its begin gives, where
    it does: blocks that are late give theirs one later."""
    if not cases:
        return {}
    # Imported here, as it takes as long as all else together.
    from scipy.optimize import linprog
    from scipy.sparse import block_diag

    programs = [_linear_program(case, config) for case in cases]
    found = linprog(
        np.concatenate([bits for bits, _, _ in programs]),
        block_diag([ahead for _, ahead, _ in programs], format="csr"),
        -np.concatenate([own for _, _, own in programs]),
        bounds=[
            (0, len(case.late))
            for case, (bits, *_) in zip(cases, programs, strict=True)
            for _ in bits
        ],
        method="highs-ds",
    )
    sizes = np.cumsum([len(bits) for bits, _, _ in programs])
    lags = {}
    for case, (_, ahead, own), numbers in zip(
        cases, programs, np.split(found.x, sizes[:-1]), strict=True
    ):
        behind = np.rint(-ahead @ numbers).astype(int) - own.astype(int)
        lags[case] = {
            edge: int(lag)
            for edge, lag in zip(case.graph.edges, behind, strict=True)
            if lag and case.graph[edge.source].type != "root"
        }
    return lags


def _linear_program(
    case: _Case, config: SamConfig
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Bits that wait by each block's number of iterations; for each edge by how many its begin is
    ahead of its end, as a row of factors; and how many it must be at least."""
    graph = case.graph
    place = {block.name: number for number, block in enumerate(graph.blocks)}
    ahead = np.zeros((len(graph.edges), len(place)))
    bits = np.zeros(len(place))
    for row, edge in zip(ahead, graph.edges, strict=True):
        row[place[edge.source]] += 1
        row[place[edge.target]] -= 1
        if graph[edge.source].type != "root":  # two tokens in all
            kind = graph.kind_of_stream(edge.source, edge.output)
            width = config.stream_width(kind)
            width *= graph.shape_of_stream(edge.source, edge.output).words
            bits -= row * case.tokens[edge] * (width + _TOKEN_BITS)
    return bits, ahead, np.array([edge.source in case.late for edge in graph.edges], float)


def _all_in_step(graph: Graph, late: Set[str]) -> bool:
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
