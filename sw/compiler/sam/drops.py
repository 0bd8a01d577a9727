"""Writers of results, and the drops that remove coordinates from what they write.

A drop removes the coordinates whose fibers, in a stream of the next level further in, are empty.
What is written must lack no others, so that stream must be what is written there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.streams import StreamTable, trace


def writers_of(graph: Graph) -> dict[str, list[Block]]:
    """The writers of each tensor's levels, outermost first; those of lane 0 where each lane has
    its own."""
    writers: dict[str, list[Block]] = {}
    for block in graph.blocks:
        if block.type == "fiberwrite" and not block["lane"]:
            writers.setdefault(block["tensor"], []).append(block)
    return {tensor: sorted(each, key=lambda b: b["level"]) for tensor, each in writers.items()}


def value_writers(graph: Graph, tensor: str) -> list[Block]:
    """The writers of a tensor's values, by lane; one where there are none."""
    found = [each for each in graph.blocks if each.type == "valwrite" and each["tensor"] == tensor]
    return sorted(found, key=lambda block: block["lane"])


def in_lanes(graph: Graph, writer: Block) -> list[Block]:
    """The writers of the same level of a tensor, by lane."""
    level = writer["tensor"], writer["level"]
    found = [
        block
        for block in graph.blocks
        if block.type == "fiberwrite" and (block["tensor"], block["level"]) == level
    ]
    return sorted(found, key=lambda block: block["lane"])


def with_inner(levels: list[Block]) -> Iterator[tuple[Block, Block | None]]:
    """Each writer of a tensor's levels, and that of the next level further in, if there is one."""
    yield from zip_longest(levels, levels[1:])


def drops_of(graph: Graph, writer: Block) -> Iterator[Block]:
    """The drops that have removed coordinates from what ``writer`` writes, the last one first."""
    edge = graph.drivers[writer.name, "crd"]
    while graph[edge.source].type == "crddrop":
        if edge.output == "out_outer":
            yield graph[edge.source]
        edge = graph.drivers[edge.source, edge.output.removeprefix("out_")]


def drops_by(graph: Graph, table: StreamTable, drop: Block, inner: Block | None) -> bool:
    """Whether a drop removes the coordinates of the fibers that are empty in what ``inner``
    writes."""
    if inner is None:
        return False
    written, seen = graph.drivers[inner.name, "crd"], graph.drivers[drop.name, "inner"]
    one, other = (table.loops[edge.source, edge.output][-1] for edge in (written, seen))
    return one.origin == other.origin


def is_dropped(graph: Graph, writer: Block) -> bool:
    """Whether the coordinates of empty fibers are gone from what ``writer`` writes. That no others
    are, ``verify`` has checked."""
    return next(drops_of(graph, writer), None) is not None


def remove_other_drops(graph: Graph) -> Graph:
    """Removes drops by another stream than what is written a level further in.

    Tools drop the coordinates of a level by those of the next one before these have been dropped
    themselves, or not at all; what is recorded tells empty fibers then. O(drops · blocks).
    """
    while True:
        table = trace(graph)
        drop = next(_other_drops(graph, table), None)
        if drop is None:
            return graph
        graph = _without(graph, drop)


def _other_drops(graph: Graph, table: StreamTable) -> Iterator[Block]:
    for levels in writers_of(graph).values():
        for outer, inner in with_inner(levels):
            for drop in drops_of(graph, outer):
                if not drops_by(graph, table, drop, inner):
                    yield drop


def _without(graph: Graph, drop: Block) -> Graph:
    before = {f"out_{port}": graph.drivers[drop.name, port] for port in ("outer", "inner")}
    edges = []
    for edge in graph.edges:
        if edge.target == drop.name:
            continue
        if edge.source == drop.name:
            source = before[edge.output]
            edge = replace(edge, source=source.source, output=source.output)
        edges.append(edge)
    blocks = tuple(block for block in graph.blocks if block.name != drop.name)
    return Graph(blocks, tuple(edges))
