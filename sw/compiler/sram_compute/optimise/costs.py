"""What nodes cost on bitlines, about: cycles, whatever the tensors' sizes.

All bitlines compute at once, so a tensor's size does not matter to a computation; a move is a row a
cycle, within tiles and between them. Source: Infinity Stream, section 3.2 and appendix A.
"""

from __future__ import annotations

from functools import cache

from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation
from gnarl.sw.compiler.sram_compute.lower.select import OPERATION_NAMES
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Move,
    Node,
    Reduce,
)
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType

_MOVE_OVERHEAD = 16
"""Patterns that are expanded."""

_REDUCTION_ROUNDS = 8
"""As many as bitlines of an array of 256 have; the sizes are not known yet."""


def operation_cycles(function: str, type: ScalarType) -> int:
    """Cycles of a function on operands of a type, without the part that no bitline needs."""
    name = OPERATION_NAMES.get(function)
    if name is None:
        return type.bits
    return _cycles(name, type.name, type.bits)


@cache
def _cycles(name: str, type: str, bits: int) -> int:
    operation: Operation
    if type == "float32":
        operation = FLOAT_OPERATIONS[type][name]
        return operation.cycles(skips=True)
    operation = INTEGER_OPERATIONS[name]
    return operation.cycles(bits, skips=True)


def node_cost(kind: type[Node], function: str, type: ScalarType) -> int:
    """Cycles of a node; ``type``: of its operands."""
    move = 2 * (type.bits + _MOVE_OVERHEAD)
    if kind is Compute:
        return operation_cycles(function, type)
    if kind is Move or kind is Broadcast:
        return move
    if kind is Reduce:
        return _REDUCTION_ROUNDS * (move + operation_cycles(function, type))
    return type.bits if kind is Const else 0


def graph_cost(graph: Graph) -> int:
    """Cycles of all nodes, each one once."""
    cycles = 0
    for node in graph.nodes:
        of = node
        if isinstance(node, Compute):
            of = graph.nodes[node.operands[-1]]
        function = node.function if isinstance(node, Compute | Reduce) else ""
        cycles += node_cost(type(node), function, of.type)
    return cycles
