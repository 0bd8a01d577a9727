"""Graphs in the DOT dialect as others write them: with drops missing, or by other streams."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gnarl.hw.sam.graph import Edge, Graph
from gnarl.sw.compiler.sam.dot_write import write_dot
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.workloads.tensor.parser import parse

_PORTS = {
    "crddrop": {"out_outer": "outer", "out_inner": "inner"},
    "valdrop": {"out_crd": "crd", "out_val": "val"},
}


def drops(graph: Graph) -> list[str]:
    """Names of its drops, of coordinates and of zeros."""
    return [block.name for block in graph.blocks if block.type in _PORTS]


def without(graph: Graph, names: frozenset[str]) -> Graph:
    """Without these drops: what reads one reads what it is fed by."""

    def origin(source: str, output: str) -> tuple[str, str]:
        while source in names:
            edge = graph.drivers[source, _PORTS[graph[source].type][output]]
            source, output = edge.source, edge.output
        return source, output

    edges = (
        Edge(*origin(edge.source, edge.output), edge.target, edge.input)
        for edge in graph.edges
        if edge.target not in names
    )
    return Graph(tuple(block for block in graph.blocks if block.name not in names), tuple(edges))


def undropped(text: str) -> Graph:
    """The graph of a statement without any of its drops."""
    graph = lower(parse(text))
    return without(graph, frozenset(drops(graph)))


def unchained(graph: Graph, beside: bool = True) -> Graph:
    """Each drop of coordinates looks at what its inner coordinates were before they were dropped
    themselves, as the first generation of the tools does. Writers read the coordinates that are
    dropped ``beside`` it, or the inner ones of that drop."""
    edges = []
    for edge in graph.edges:
        source, output = edge.source, edge.output
        while beside and graph[source].type == "crddrop" and output == "out_inner":
            inner = graph.drivers[source, "inner"]
            source, output = inner.source, inner.output
        if graph[edge.target].type == "crddrop" and edge.input == "inner":
            while graph[source].type == "crddrop":
                before = graph.drivers[source, _PORTS["crddrop"][output]]
                source, output = before.source, before.output
        edges.append(Edge(source, output, edge.target, edge.input))
    return Graph(graph.blocks, tuple(edges))


def by_operands(graph: Graph) -> Graph:
    """Each drop of coordinates by an intersection looks at the coordinates of its first operand,
    and what read its inner output reads the intersection."""
    edges = []
    for edge in graph.edges:
        source, output = edge.source, edge.output
        while graph[source].type == "crddrop" and output == "out_inner":
            inner = graph.drivers[source, "inner"]
            source, output = inner.source, inner.output
        if (graph[edge.target].type, edge.input) == ("crddrop", "inner"):
            if graph[source].type == "intersect":
                lane = graph.drivers[source, "crd0"]
                source, output = lane.source, lane.output
        edges.append(Edge(source, output, edge.target, edge.input))
    return Graph(graph.blocks, tuple(edges))


def variants(text: str) -> Iterator[tuple[str, str]]:
    """The graph of a statement as files, each with what is particular about it: as it is, without
    any set of its drops, with drops that are not chained, and by other streams."""
    statement = parse(text)
    graph = lower(statement)
    found = drops(graph)
    for count in range(len(found) + 1):
        for names in combinations(found, count):
            name = f"without {', '.join(names) or 'nothing'}"
            yield name, write_dot(without(graph, frozenset(names)), statement)
    if sum(graph[name].type == "crddrop" for name in found) > 1:
        yield "unchained", write_dot(unchained(graph), statement)
        yield "unchained, inner", write_dot(unchained(graph, beside=False), statement)
    if by_operands(graph) != graph:
        yield "by operands", write_dot(by_operands(graph), statement)
