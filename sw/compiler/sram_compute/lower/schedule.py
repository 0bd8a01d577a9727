"""The order of a graph's nodes. Source: Infinity Stream, section 3.4; Sethi and Ullman, *The
Generation of Optimal Code for Arithmetic Expressions*, Journal of the ACM 17 (4), 1970.

Rows are few, and bringing a value back from main memory takes far longer than any move: so values
are made shortly before they are needed, and moved ones rather once more for each use than kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Const,
    Graph,
    Move,
    Node,
    Tensor,
    operands,
    with_operands,
)

Schedule = Callable[[Graph], Graph]


def as_given(graph: Graph) -> Graph:
    """Nodes in the graph's order."""
    return graph


def late(graph: Graph) -> Graph:
    """Each node before the first that reads it, of two operands first that which needs more rows.
    O(nodes)."""
    return _scheduled(graph, remakes=False)


def remade(graph: Graph) -> Graph:
    """Schedules as ``late`` does, but makes moves and broadcasts for each use. O(uses)."""
    return _scheduled(graph, remakes=True)


SCHEDULES: tuple[Schedule, ...] = (late, as_given, remade)
"""In the order in which they are tried."""


def _scheduled(graph: Graph, *, remakes: bool) -> Graph:
    needs = _needs(graph)
    scheduled: list[Node] = []
    numbers: dict[int, int] = {}

    def make(number: int) -> int:
        node = graph.nodes[number]
        if number in numbers and not (remakes and isinstance(node, Move | Broadcast)):
            return numbers[number]
        given = operands(node)
        operands_made = {each: make(each) for each in sorted(given, key=lambda each: -needs[each])}
        scheduled.append(with_operands(node, [operands_made[each] for each in given]))
        numbers[number] = len(scheduled) - 1
        return numbers[number]

    outputs = tuple(replace(each, node=make(each.node)) for each in graph.outputs)
    return replace(graph, nodes=tuple(scheduled), outputs=outputs)


def _needs(graph: Graph) -> list[int]:
    """Values in rows at once, to make each node from what is in memory."""
    needs: list[int] = []
    for node in graph.nodes:
        needed = sorted((needs[each] for each in operands(node)), reverse=True)
        own = 0 if isinstance(node, Tensor | Const) else 1
        needs.append(max([own, *(each + at for at, each in enumerate(needed))]))
    return needs
