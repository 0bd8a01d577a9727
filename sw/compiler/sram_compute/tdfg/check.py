"""Whether a plan is one of its nest: for plans that come from files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from sw.compiler.sram_compute.tdfg.affine import Affine, Box
from sw.compiler.sram_compute.tdfg.graph import (
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
    lattice_name,
    operands,
)
from sw.compiler.sram_compute.tdfg.plan import Region, Repeat, Step
from sw.workloads.loops.nest import Nest

_OPERANDS = {"neg": 1, "abs": 1, "sqrt": 1, "not": 1, "cast": 1, "select": 3}
"""Of functions; all others have two."""

_REDUCTIONS = ("+", "min", "max")


def check_plan(nest: Nest, steps: tuple[Step, ...]) -> None:
    """Raises ``ValueError`` for nodes, arrays and names that there are not. O(nodes)."""
    sizes = frozenset(size.name for size in nest.sizes)
    _check_steps(nest, steps, sizes)


def _check_steps(nest: Nest, steps: tuple[Step, ...], names: frozenset[str]) -> None:
    for step in steps:
        match step:
            case Region(graph):
                _check_graph(nest, graph, names)
            case Repeat(variable, lower, upper, stride, body):
                _check_names((lower, upper), names | {*nest.scalars})
                _require(stride > 0, f"loop over {variable}: its step is {stride}")
                _check_steps(nest, body, names | {variable})


def _check_graph(nest: Nest, graph: Graph, names: frozenset[str]) -> None:
    rank = len(graph.lattice)
    _require(rank > 0 and len(graph.shapes) > 0, "a lattice without dimensions or arrays")
    _check_names(graph, names | {lattice_name(each) for each in range(rank)})
    for array, shape in graph.shapes:
        _require(array in nest.arrays and len(shape) == rank, f"shape of {array}")
    for number, node in enumerate(graph.nodes):
        _check_node(nest, node, number, rank)
    for output in graph.outputs:
        known = output.array in nest.results and 0 <= output.node < len(graph.nodes)
        _require(known and len(output.box) == rank, f"output to {output.array}")
    for access in graph.accesses:
        known = access.array in nest.arrays
        fits = len(access.box) == len(access.cells) == rank
        _require(known and fits, f"access to {access.array}")
    assert all(len(domain) == rank for domain in graph.domains)


def _check_node(nest: Nest, node: Node, number: int, rank: int) -> None:
    known = all(0 <= each < number for each in operands(node))
    match node:
        case Tensor(array, box, type):
            known = _is_array(nest, array, type) and len(box) == rank
        case Stream(array, indices, box, type):
            arrays = [each.array for each in indices if isinstance(each, Indirect)]
            known = _is_array(nest, array, type) and len(box) == rank and _ends(box)
            known = known and {*arrays} <= {*nest.arrays}
        case Const(value, type) if isinstance(value, str):
            known = value in nest.scalars and nest.scalars[value].type == type
        case Compute(function, given):
            known = known and len(given) == _OPERANDS.get(function, 2)
        case Move() | Broadcast() | Shrink():
            known = known and 0 <= node.dimension < rank
        case Reduce():
            known = known and 0 <= node.dimension < rank and node.function in _REDUCTIONS
    _require(known, f"node {number}")


def _is_array(nest: Nest, name: str, type: Any) -> bool:
    return name in nest.arrays and nest.arrays[name].type == type


def _ends(box: Box) -> bool:
    return all(each.lower and each.upper for each in box)


def _check_names(value: Any, names: frozenset[str]) -> None:
    for affine in _affines(value):
        _require(affine.names <= names, f"{affine}: names what is not known there")


def _affines(value: Any) -> Iterator[Affine]:
    if isinstance(value, Affine):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _affines(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _affines(getattr(value, field.name))


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what}: is not as the nest has it")
