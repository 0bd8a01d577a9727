"""Cleaning of graphs. Each pass takes a graph and gives one that computes the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable

from gnarl.hw.sam.block_types import COMPRESSED
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.empty_fibers import recorded
from gnarl.sw.compiler.sam.graph_pass import graph_pass
from gnarl.sw.compiler.sam.streams import Output, trace

# Parameters that say what a block works for, not what it does.
_LABELS = {"repeat": ("tensor", "index"), "repsiggen": ("index",), "locate": ("index",)}


def merge_equal(graph: Graph) -> Graph:
    """One block for all that do the same with the same streams. O(blocks + edges).

    A stream joined with itself is that stream.
    """
    stands_for: dict[Output, Output] = {}
    first: dict[Hashable, str] = {}
    kept = set()
    for block in graph.topological():
        sources = {
            port: stands_for[edge.source, edge.output]
            for port in block.inputs
            if (edge := graph.drivers.get((block.name, port))) is not None
        }
        if block.type in ("intersect", "union") and sources["crd0"] == sources["crd1"]:
            stands_for[block.name, "out_crd"] = sources["crd0"]
            stands_for[block.name, "out_ref0"] = sources["ref0"]
            stands_for[block.name, "out_ref1"] = sources["ref1"]
            continue
        labels = _LABELS.get(block.type, ())
        parameters = tuple(
            (name, value) for name, value in block.parameters.items() if name not in labels
        )
        unique = block.name if not block.outputs else None
        key = block.type, parameters, tuple(sources.items()), unique
        name = first.setdefault(key, block.name)
        stands_for |= {(block.name, output): (name, output) for output in block.outputs}
        kept.add(name)
    return Graph(
        tuple(block for block in graph.blocks if block.name in kept),
        tuple(
            Edge(*stands_for[edge.source, edge.output], edge.target, edge.input, edge.depth)
            for edge in graph.edges
            if edge.target in kept
        ),
    )


def remove_unused(graph: Graph) -> Graph:
    """Removes blocks that no writer depends on. O(blocks + edges)."""
    used = {block.name for block in graph.blocks if not block.outputs}
    for block in reversed(graph.topological()):
        if any(
            edge.target in used
            for output in block.outputs
            for edge in graph.readers.get((block.name, output), ())
        ):
            used.add(block.name)
    return Graph(
        tuple(block for block in graph.blocks if block.name in used),
        tuple(edge for edge in graph.edges if edge.source in used and edge.target in used),
    )


def attach_coordinates(graph: Graph) -> Graph:
    """Reductions learn the coordinates around them, so that they know how many sums they owe.

    Without them an empty fiber cannot be distinguished from one around it. Of several streams that
    carry the same coordinates it is the nearest one that the values come from. O(blocks²).
    """
    table = trace(graph)
    edges = list(graph.edges)
    for block in graph.blocks:
        if block.type != "reduce" or (block.name, "crd") in graph.drivers:
            continue
        around = table.loops[block.name, "out_val"]
        nearest = _nearest(graph, block.name, table.coordinates.get(around, []))
        if nearest is not None:
            edges.append(Edge(*nearest, block.name, "crd"))
    return Graph(graph.blocks, tuple(edges))


def _nearest(graph: Graph, name: str, outputs: Collection[Output]) -> Output | None:
    """The first of ``outputs`` on the way back from a block, inputs in the order of ports."""
    waiting, seen = deque([name]), {name}
    while waiting:
        block = graph[waiting.popleft()]
        for output in block.outputs:
            if (block.name, output) in outputs:
                return block.name, output
        for port in block.inputs:
            edge = graph.drivers.get((block.name, port))
            if edge is not None and edge.source not in seen:
                seen.add(edge.source)
                waiting.append(edge.source)
    return None


def mark_empty_fibers(graph: Graph) -> Graph:
    """Writers record the fibers that say where the result's are empty, see ``recorded``."""
    kept = recorded(graph)
    return _marked(graph, "fiberwrite", "keep_empty", lambda block: kept[block.name])


def mark_skips(graph: Graph, skip: bool = True) -> Graph:
    """Compressed lookups that only feed one lane of one intersection skip what it drops.

    Other readers would miss coordinates. With ``skip`` false no lookup skips. O(blocks + edges).
    """
    return _marked(graph, "fiberlookup", "skip", lambda block: skip and _skips(graph, block))


def _marked(graph: Graph, type: str, parameter: str, value: Callable[[Block], bool]) -> Graph:
    """Sets a parameter of all blocks of a type to ``value`` of the block."""
    blocks = (
        Block(block.name, type, {**block.parameters, parameter: value(block)})
        if block.type == type
        else block
        for block in graph.blocks
    )
    return Graph(tuple(blocks), graph.edges)


def _skips(graph: Graph, block: Block) -> bool:
    if block["format"] != COMPRESSED:
        return False
    crds = graph.readers.get((block.name, "out_crd"), ())
    refs = graph.readers.get((block.name, "out_ref"), ())
    if len(crds) != 1 or len(refs) != 1 or crds[0].target != refs[0].target:
        return False
    lane = crds[0].input.removeprefix("crd"), refs[0].input.removeprefix("ref")
    return graph[crds[0].target].type == "intersect" and lane in (("0", "0"), ("1", "1"))


CLEANING = (
    graph_pass(
        "merge_equal",
        "one block for all that do the same with the same streams",
        lambda graph, options: merge_equal(graph),
        optional=True,
    ),
    graph_pass(
        "remove_unused",
        "drops blocks whose outputs nobody reads",
        lambda graph, options: remove_unused(graph),
        optional=True,
    ),
    graph_pass(
        "attach_coordinates",
        "gives reductions the coordinates one level out",
        lambda graph, options: attach_coordinates(graph),
    ),
    graph_pass(
        "mark_empty_fibers",
        "writers learn which fibers may be empty",
        lambda graph, options: mark_empty_fibers(graph),
    ),
    graph_pass(
        "mark_skips",
        "lookups learn what intersections do not need",
        lambda graph, options: mark_skips(graph, options.skip),
        optional=True,
    ),
)
