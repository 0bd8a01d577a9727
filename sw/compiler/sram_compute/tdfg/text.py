"""tDFGs as text and as DOT graphs. Source: Infinity Stream, figures 4 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnarl.sw.compiler.sram_compute.tdfg.affine import Box
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Indirect,
    Move,
    Node,
    Reduce,
    Shrink,
    Stream,
    Tensor,
    operands,
)
from gnarl.sw.compiler.sram_compute.tdfg.plan import Elsewhere, Region, Repeat, Step

_COLOURS = {
    Tensor: "lightblue",
    Const: "lightgrey",
    Compute: "palegreen",
    Move: "moccasin",
    Broadcast: "moccasin",
    Reduce: "salmon",
    Stream: "plum",
    Shrink: "white",
}


def text(steps: Sequence[Step]) -> Iterator[str]:
    """Lines: each region's nodes with types and domains, loops around them, and what is none."""
    yield from _steps(steps, "")


def _steps(steps: Sequence[Step], indent: str) -> Iterator[str]:
    for step in steps:
        match step:
            case Region(graph):
                yield f"{indent}region:"
                for line in graph_text(graph):
                    yield f"{indent}    {line}"
            case Repeat(variable, lower, upper, stride, body):
                yield f"{indent}for {variable} in range({lower}, {upper}, {stride}):"
                yield from _steps(body, indent + "    ")
            case Elsewhere(reason):
                yield f"{indent}no region: {reason}"


def graph_text(graph: Graph) -> Iterator[str]:
    """Lines ``%number = node : type domain``, then one for each output."""
    yield f"lattice {' x '.join(map(str, graph.lattice))}"
    for number, (node, domain) in enumerate(zip(graph.nodes, graph.domains, strict=True)):
        where = "" if isinstance(node, Const) else f" {box_text(domain)}"
        given = "".join(f", %{each}" for each in operands(node))
        yield f"%{number} = {_label(node, given)} : {node.type}{where}"
    for output in graph.outputs:
        yield f"{output.array}{box_text(output.box)} = %{output.node}"


def box_text(box: Box) -> str:
    """``[0, n) x [1, m-1)``, dimension 0 first."""
    return " x ".join(map(str, box))


def dot(steps: Sequence[Step]) -> Iterator[str]:
    """Lines of a DOT graph: a cluster for each region, an edge from each operand."""
    yield "digraph {"
    yield '  node [shape=box, style=filled, fontname="monospace"];'
    graphs: list[Graph] = []
    _collect(steps, graphs)
    for region, graph in enumerate(graphs):
        yield f"  subgraph cluster_{region} {{"
        yield f'    label="lattice {" x ".join(map(str, graph.lattice))}";'
        for number, (node, domain) in enumerate(zip(graph.nodes, graph.domains, strict=True)):
            where = "" if isinstance(node, Const) else f"\\n{box_text(domain)}"
            name, colour = f"r{region}_{number}", _COLOURS[type(node)]
            yield f'    {name} [label="{_label(node, "")}{where}", fillcolor={colour}];'
        for number, output in enumerate(graph.outputs):
            label = f"{output.array}\\n{box_text(output.box)}"
            shown = f'label="{label}", shape=ellipse, fillcolor=lightblue'
            yield f"    r{region}_out{number} [{shown}];"
        yield "  }"
        for number, node in enumerate(graph.nodes):
            for each in operands(node):
                yield f"  r{region}_{each} -> r{region}_{number};"
        for number, output in enumerate(graph.outputs):
            yield f"  r{region}_{output.node} -> r{region}_out{number};"
    yield "}"


def _collect(steps: Sequence[Step], found: list[Graph]) -> None:
    for step in steps:
        if isinstance(step, Region):
            found.append(step.graph)
        elif isinstance(step, Repeat):
            _collect(step.body, found)


def _label(node: Node, given: str) -> str:
    match node:
        case Tensor(array):
            return f"tensor {array}"
        case Const(value):
            return f"const {value}"
        case Move(_, dimension, distance):
            return f"mv{given[1:]} dim={dimension} dist={distance}"
        case Broadcast(_, dimension, distance, count):
            return f"bc{given[1:]} dim={dimension} dist={distance} count={count}"
        case Compute(function):
            return f"cmp {function}{given[1:]}"
        case Reduce(function, _, dimension):
            return f"reduce {function}{given[1:]} dim={dimension}"
        case Shrink(_, dimension, kept):
            return f"shrink{given[1:]} dim={dimension} to {kept}"
        case Stream(array, indices):
            return f"strm {array}[{', '.join(map(_index, indices))}]"


def _index(index: object) -> str:
    if isinstance(index, Indirect):
        inner = f"{index.array}[{', '.join(map(str, index.indices))}]"
        return inner if str(index.offset) == "0" else f"{inner}+{index.offset}"
    return str(index)
