"""Sums over a loop whose coordinates are dealt to lanes: where a graph may have them, and has them.

Each lane sums the coordinates that are its own modulo the number of lanes; what it gives for a
fiber is added to what the others do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.streams import Loops, Output, residue_of


@dataclass(frozen=True)
class LaneSums:
    """What lanes have that sum a loop.

    accumulators, blocks
        names: of what sums, and of all that lies inside the loop and leads to it alone.
    coordinates
        the edge of an accumulator that brings the coordinates of the loop, by their loops: as deep
        as any into the lanes from there, since what is dealt by them may come late.
    """

    accumulators: Set[str] = frozenset()
    blocks: Set[str] = frozenset()
    coordinates: Mapping[Loops, Edge] = field(default_factory=dict)


def lane_sums(
    graph: Graph,
    loops: Mapping[Output, Loops],
    index: str,
    lanes: int,
    inside: Set[str],
) -> LaneSums:
    """The sums over ``index`` that lanes may have; all of them, or none.

    ``inside``: names of the blocks inside the loop, and of the reductions of that. None where lanes
    have no bits of a coordinate to themselves; where a sum has two indices of which one may lack
    coordinates, as its fibers cannot be put together by unions; where what leads to it leads
    elsewhere, too, or the sum itself inside again.
    """
    sums = [block for block in graph.blocks if index == _summed_index(graph, loops, block)]
    blocks = set(_leading_to(graph, {block.name for block in sums}, inside))
    accumulators = {block.name for block in sums}
    around = dict[Loops, Edge]()
    for block in sums:
        edge = graph.drivers[block.name, _summed_port(block)]
        around[loops[edge.source, edge.output]] = edge
        inner = [f"crd{place}" for place in range(block["order"])]
        if (
            edge.source in inside
            or any(graph.drivers[block.name, port].source not in inside for port in (*inner, "val"))
            or not (block["order"] == 1 or is_full(block))
        ):
            return LaneSums()
    for edge in graph.edges:
        if edge.source in blocks and edge.target not in blocks | accumulators:
            return LaneSums()
        if edge.source in accumulators and edge.target in inside | accumulators:
            return LaneSums()
        if edge.target in blocks | accumulators and edge.source not in blocks:
            crd = around.get(loops[edge.source, edge.output])
            if crd is None:
                return LaneSums()
            if edge.depth is not None and edge.depth > (crd.depth or 0):
                around[loops[edge.source, edge.output]] = replace(crd, depth=edge.depth)
    return LaneSums(accumulators, blocks, around) if lanes & (lanes - 1) == 0 else LaneSums()


def summed_lanes(graph: Graph, loops: Mapping[Output, Loops]) -> dict[str, int]:
    """By how many lanes each index is summed that is, where others lie inside its loop.

    Raises ``WorkloadError`` where other sums over it are not: what a graph computes says it of all.
    """
    found: dict[str, int] = {}
    for block in graph.blocks:
        index = _summed_index(graph, loops, block)
        if index is None:
            continue
        edge = graph.drivers[block.name, _summed_port(block)]
        residue = residue_of(loops[edge.source, edge.output][-1])
        lanes = residue[1] if residue else 1
        if found.setdefault(index, lanes) != lanes:
            raise WorkloadError(
                f"graph: spaccumulator {block.name}: sums {index} by {lanes} lanes, where another "
                f"sums it by {found[index]}: must be the same"
            )
    return {index: lanes for index, lanes in found.items() if lanes > 1}


def _summed_index(graph: Graph, loops: Mapping[Output, Loops], block: Block) -> str | None:
    """The index that an accumulator sums over."""
    if block.type != "spaccumulator":
        return None
    edge = graph.drivers[block.name, _summed_port(block)]
    return loops[edge.source, edge.output][-1].index


def _summed_port(accumulator: Block) -> str:
    return f"crd{accumulator['order']}"


def is_full(accumulator: Block) -> bool:
    """Whether an accumulator gives every coordinate of its indices."""
    return all(accumulator[f"full{place}"] for place in range(accumulator["order"]))


def _leading_to(graph: Graph, sums: Iterable[str], inside: Set[str]) -> Iterator[str]:
    """The blocks inside that streams connect to those that feed ``sums``."""
    connected: nx.Graph = nx.Graph()
    connected.add_nodes_from(inside)
    connected.add_edges_from(
        (edge.source, edge.target)
        for edge in graph.edges
        if edge.source in inside and edge.target in inside
    )
    for name in sums:
        for port in graph[name].inputs:
            if (source := graph.drivers[name, port].source) in inside:
                yield from nx.node_connected_component(connected, source)
