"""Whether a plan is one of its nest: for plans that come from files."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from gnarl.sw.compiler.sram_compute.tdfg.affine import Box, affines_in
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Indirect,
    Move,
    Reduce,
    Shrink,
    Stream,
    Tensor,
    lattice_name,
    operands,
)
from gnarl.sw.compiler.sram_compute.tdfg.plan import Region, Repeat, Step
from gnarl.sw.workloads.loops.ir.nest import COMPARISONS, BinaryOperator, Nest
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, INT32, ScalarType

_LARGEST = 1 << 31
"""The bound of affine numbers, below which any of them times a size is in 64 bits."""

_REDUCTIONS = ("+", "min", "max")

_BINARY = frozenset(map(str, BinaryOperator))


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
    for number in range(len(graph.nodes)):
        _check_node(nest, graph, number)
    for output in graph.outputs:
        known = output.array in nest.results and 0 <= output.node < len(graph.nodes)
        known = known and _is_array(nest, output.array, graph.nodes[output.node].type)
        _require(known and _is_box(output.box, rank), f"output to {output.array}")
    for access in graph.accesses:
        known = access.array in nest.arrays
        fits = _is_box(access.box, rank) and _is_box(access.cells, rank)
        _require(known and fits, f"access to {access.array}")
    for number, node in enumerate(graph.nodes):
        if isinstance(node, Move | Broadcast | Reduce):
            _require(_is_box(graph.domains[node.operand], rank), f"node {number}")


def _check_node(nest: Nest, graph: Graph, number: int) -> None:
    node = graph.nodes[number]
    known = all(0 <= each < number for each in operands(node))
    operand_types = [graph.nodes[each].type for each in operands(node)] if known else []
    match node:
        case Tensor() | Stream():
            known = _reads_array(nest, node, len(graph.lattice))
        case Const(value, type) if isinstance(value, str):
            is_size = type == INT32 and value in {size.name for size in nest.sizes}
            is_scalar = value in nest.scalars and nest.scalars[value].type == type
            known = is_size or is_scalar
        case Const(value, type) if not isinstance(value, str):
            known = _is_held(value, type)
        case Compute(function, type=type):
            known = known and _has_types(function, operand_types, type)
        case Move() | Broadcast() | Shrink() | Reduce():
            is_dimension = 0 <= node.dimension < len(graph.lattice)
            known = known and is_dimension and operand_types == [node.type]
            if isinstance(node, Reduce):
                known = known and node.function in _REDUCTIONS
    _require(known, f"node {number}")


def _reads_array(nest: Nest, node: Tensor | Stream, rank: int) -> bool:
    """Whether a node reads a box of an array that there is, at indices from arrays that are."""
    if not _is_array(nest, node.array, node.type) or not _is_box(node.box, rank):
        return False
    indices = node.indices if isinstance(node, Stream) else ()
    return all(each.array in nest.arrays for each in indices if isinstance(each, Indirect))


def _has_types(function: str, given: list[ScalarType], type: ScalarType) -> bool:
    """Whether a function of such operands gives such a result."""
    match function:
        case "cast":
            return len(given) == 1
        case "select":
            return given == [BOOL, type, type]
        case "neg" | "abs" | "sqrt" | "not":
            return given == [type]
        case "<<" | ">>":
            return len(given) == 2 and given[0] == type and given[1].is_integer
    if function in COMPARISONS:
        return len(given) == 2 and given[0] == given[1] and type == BOOL
    return function in _BINARY and given == [type, type]


def _is_held(value: float, type: ScalarType) -> bool:
    if type == FLOAT32:
        return not isfinite(value) or abs(value) <= float(np.finfo(np.float32).max)
    return value in ((0, 1) if type == BOOL else range(type.least, type.most + 1))


def _is_array(nest: Nest, name: str, type: Any) -> bool:
    return name in nest.arrays and nest.arrays[name].type == type


def _is_box(box: Box, rank: int) -> bool:
    return len(box) == rank and all(each.lower and each.upper for each in box)


def _check_names(value: Any, names: frozenset[str]) -> None:
    for affine in affines_in(value):
        _require(affine.names <= names, f"{affine}: names what is not known there")
        _require(affine.largest < _LARGEST, f"{affine}: is large")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what}: is not as the nest has it")
