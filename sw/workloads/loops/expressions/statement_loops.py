"""The loops of a pure statement: over dimensions, over fibers of its matrices, over entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from gnarl.sw.workloads.einsum.program import Einsum
from gnarl.sw.workloads.einsum.pure import factors, is_over_one
from gnarl.sw.workloads.loops.expressions.program_arrays import Layout
from gnarl.sw.workloads.tensor.expression import Access, Reduction

Sizes = Mapping[str, int]
"""Of the indices of a statement."""


@dataclass(frozen=True)
class Walk:
    """A loop: over the dimension of an ``index``, or, where there is an ``access``, over what is
    stored of it there."""

    index: str
    access: Access | None = None


def walked(statement: Einsum, layouts: Mapping[str, Layout]) -> list[Access]:
    """Compressed operands that loops walk: factors of which no two give the same index."""
    chosen: list[Access] = []
    if isinstance(statement.expression, Reduction) and statement.expression.op != "sum":
        return chosen
    for each in factors(statement.expression):
        if not isinstance(each, Access) or layouts[each.tensor].is_dense:
            continue
        known = {index for other in chosen for index in _compressed(other, layouts)}
        own = _compressed(each, layouts)
        is_plain = len({*each.indices}) == len(each.indices)
        if is_plain and known.isdisjoint(own) and _is_ordered([*chosen, each], layouts):
            chosen.append(each)
    return chosen


def loops(statement: Einsum, layouts: Mapping[str, Layout], sizes: Sizes) -> list[Walk]:
    """All loops, the outermost first; a dimension of size 1 has none.

    What is element-wise goes through its result; a reduction through its operands as they are
    stored, but for an innermost index whose neighbours are neighbours in most tensors.
    """
    compressed = walked(statement, layouts)
    order = _order(statement, compressed, layouts, sizes)
    givers = {index: each for each in compressed for index in _compressed(each, layouts)}
    found: list[Walk] = []
    entered: list[Access] = []
    for index in order:
        giver = givers.get(index)
        if giver is None and sizes[index] != 1:
            found.append(Walk(index))
        elif giver is not None and not any(giver is each for each in entered):
            entered.append(giver)
            found.append(Walk(index, giver))
    return found


def _compressed(access: Access, layouts: Mapping[str, Layout]) -> list[str]:
    return [access.indices[mode] for mode in layouts[access.tensor].coordinates]


def _edges(compressed: Sequence[Access], layouts: Mapping[str, Layout]) -> nx.DiGraph:
    """Edges from rows of matrices to what their fibers give."""
    graph: nx.DiGraph = nx.DiGraph()
    for each in compressed:
        own = _compressed(each, layouts)
        graph.add_edges_from((row, own[0]) for row in each.indices if row not in own)
    return graph


def _is_ordered(compressed: Sequence[Access], layouts: Mapping[str, Layout]) -> bool:
    return nx.is_directed_acyclic_graph(_edges(compressed, layouts))


def _order(
    statement: Einsum, compressed: Sequence[Access], layouts: Mapping[str, Layout], sizes: Sizes
) -> list[str]:
    expression = statement.expression
    is_reduction = isinstance(expression, Reduction) and not is_over_one(expression, sizes)
    used = [index for each in statement.operands for index in each.indices]
    first = [*used, *statement.result.indices] if is_reduction or compressed else statement.indices
    order = [*dict.fromkeys(first)]
    graph = _edges(compressed, layouts)
    graph.add_nodes_from(order)
    place = {index: number for number, index in enumerate(order)}
    order = [*nx.lexicographical_topological_sort(graph, key=place.__getitem__)]
    return _with_innermost(order, statement, compressed, graph, sizes) if is_reduction else order


def _with_innermost(
    order: list[str],
    statement: Einsum,
    compressed: Sequence[Access],
    graph: nx.DiGraph,
    sizes: Sizes,
) -> list[str]:
    dense = [each for each in statement.operands if not any(each is one for one in compressed)]
    last = [
        [index for index in each.indices if sizes[index] != 1][-1:]
        for each in (*dense, statement.result)
    ]
    given = {index for each in compressed for index in each.indices}
    scores = {
        index: sum(index in each for each in last)
        for index in order
        if index not in given and not graph[index]
    }
    most = max(scores.values(), default=0)
    if not most:
        return order
    best = next(index for index in reversed(order) if scores.get(index) == most)
    return [*(index for index in order if index != best), best]
