"""Graphs that differ in nothing but the names of arrays and the values of constants, as those of a
stencil there and back, or of statements one like the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Const,
    Graph,
    Indirect,
    Node,
    Stream,
    Tensor,
    arrays_of,
)


def array_names(graph: Graph) -> tuple[str, ...]:
    """Names of all arrays, in the order in which the graph uses them."""
    written = (output.array for output in graph.outputs)
    return tuple(dict.fromkeys((*arrays_of(graph), *written, *dict(graph.shapes))))


def constant_key(constant: Const) -> str:
    """What constants have in common that are one for the optimiser, which knows no values."""
    return f"{constant.value}|{constant.type}"


def constants(graph: Graph) -> tuple[Const, ...]:
    """All that are different, in the order of nodes."""
    found = (node for node in graph.nodes if isinstance(node, Const))
    return tuple({constant_key(each): each for each in found}.values())


def form(graph: Graph) -> Any:
    """What graphs have in common that are alike; hashable."""
    names = array_names(graph)
    numbers = {name: str(number) for number, name in enumerate(names)}
    values = {
        constant_key(each): replace(each, value=number)
        for number, each in enumerate(constants(graph))
    }
    return (
        tuple(_renamed(node, numbers, values) for node in graph.nodes),
        tuple((numbers[each.array], each.node, each.box) for each in graph.outputs),
        tuple(dict(graph.shapes)[name] for name in names),
        graph.lattice,
    )


def as_optimised(graph: Graph, other: Graph, better: Graph) -> Graph:
    """``graph`` with the nodes of ``better``, which computes what ``other`` does, one alike."""
    names = dict(zip(array_names(other), array_names(graph), strict=True))
    both = zip(constants(other), constants(graph), strict=True)
    values = {constant_key(one): own for one, own in both}
    pairs = zip(graph.outputs, better.outputs, strict=True)
    return replace(
        graph,
        nodes=tuple(_renamed(node, names, values) for node in better.nodes),
        outputs=tuple(replace(own, node=found.node) for own, found in pairs),
    )


def _renamed(node: Node, names: Mapping[str, str], values: Mapping[str, Const]) -> Node:
    match node:
        case Const():
            return values[constant_key(node)]
        case Tensor(array):
            return replace(node, array=names[array])
        case Stream(array, indices):
            renamed = tuple(
                replace(each, array=names[each.array]) if isinstance(each, Indirect) else each
                for each in indices
            )
            return replace(node, array=names[array], indices=renamed)
    return node
