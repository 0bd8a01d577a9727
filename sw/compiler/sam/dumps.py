"""Graphs as text, and as plain DOT: what passes have made."""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.passes import text_of


def graph_texts(graph: Graph) -> dict[str, str]:
    """Dumps by file ending. The DOT is for drawing; ``dot_write`` has the dialect of the SAM
    tools."""
    return {"txt": text_of(listing(graph)), "dot": text_of(_drawing(graph))}


def listing(graph: Graph) -> Iterator[str]:
    """The graph's blocks with the streams that they read, a line each."""
    for block in graph.blocks:
        inputs = [
            f"{port}={edge.source}.{edge.output}{_depth(edge)}"
            for port in block.inputs
            if (edge := graph.drivers.get((block.name, port))) is not None
        ]
        yield " ".join([f"{block.name}: {block.type}", *_shown(block), *inputs])


def _drawing(graph: Graph) -> Iterator[str]:
    yield "digraph {"
    for block in graph.blocks:
        label = "\\n".join([block.name, block.type, *_shown(block)])
        yield f'  "{block.name}" [label="{label}"];'
    for edge in graph.edges:
        label = f"{edge.output} → {edge.input}{_depth(edge)}"
        yield f'  "{edge.source}" -> "{edge.target}" [label="{label}"];'
    yield "}"


def _depth(edge: Edge) -> str:
    """What the graph says of the queue in front of an input, if anything."""
    return "" if edge.depth is None else f"[{edge.depth}]"


def _shown(block: Block) -> list[str]:
    return [f"{name}={value}" for name, value in block.parameters.items() if value != ""]
