"""The partial order of a region's loops, and the orders that respect it.

An edge says that one loop runs outside of another: since a tensor is stored so, since a statement
or the user says so, or since what is computed would otherwise be computed again in each turn of a
loop that it does not depend on. Source: FuseFlow, section 5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import MAX_ACCUMULATOR_ORDER
from gnarl.sw.compiler.sam.fuse.views import Views
from gnarl.sw.workloads.einsum.program import accesses, free_indices, reductions
from gnarl.sw.workloads.tensor.expression import Access, stored_indices
from gnarl.sw.workloads.tensor.storage import TensorFormat

WHY = "why"
"""The attribute of an edge that says where it comes from, as errors name it."""


@dataclass(frozen=True)
class Constraint:
    """Indices each of which is outside of the next, and why; ``access``: of the tensor that is
    stored so, if that is the reason."""

    order: tuple[str, ...]
    why: str
    access: Access | None = None

    @property
    def edges(self) -> list[tuple[str, str]]:
        return list(pairwise(self.order))


def constraints(
    views: Views, formats: Mapping[str, TensorFormat], before: Iterable[Sequence[str]] = ()
) -> Iterator[Constraint]:
    """What an order of a region's loops must respect; see ``partial_order``."""
    for access in (*views.inputs(), *views.results):
        format = formats.get(access.tensor)
        if format is not None:
            stored = stored_indices(access, format)
            yield Constraint(stored, f"{access} is stored {format}", access)
    for view in views.views:
        yield Constraint(view.order, f"{view.result.tensor} is computed in this order")
        for reduction in reductions(view.expression):
            if reduction.op != "sum":
                for index in free_indices(reduction):
                    for inner in reduction.indices:
                        yield Constraint((index, inner), "an accumulator only adds")
    for order in before:
        yield Constraint(tuple(order), "the schedule says so")


def partial_order(
    views: Views,
    formats: Mapping[str, TensorFormat],
    before: Iterable[Sequence[str]] = (),
    copied: Collection[Access] = (),
) -> nx.DiGraph:
    """The graph of a region's indices, in order of appearance, with an edge from outer to inner.

    formats
        of tensors whose levels must be walked, or written, from the outside in.
    before
        sequences of indices, each outside of the next.
    copied
        accesses whose tensors are stored once more, to suit the order.

    Raises ``WorkloadError`` naming the edges of a cycle.
    """
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(indices_of(views))
    for each in constraints(views, formats, before):
        if each.access not in copied:
            _add(graph, each)
    _check_cycles(graph)
    _prefer(graph, _reuse(views))
    _prefer(graph, _within_accumulators(views))
    return graph


def indices_of(views: Views) -> list[str]:
    """The region's indices in order of appearance, from results to what they are computed of, those
    of operands first."""
    found: dict[str, None] = {}
    for view in reversed(views.views):
        for access in (*accesses(view.expression), view.result):
            found |= dict.fromkeys(access.indices)
    return list(found)


def first_order(graph: nx.DiGraph) -> tuple[str, ...]:
    """The first order of loops that respects the graph, by appearance of indices."""
    place = {index: number for number, index in enumerate(graph)}
    return tuple(nx.lexicographical_topological_sort(graph, key=place.__getitem__))


def demanded(graph: nx.DiGraph) -> nx.DiGraph:
    """The graph without edges that an order need not keep to."""
    found: nx.DiGraph = nx.DiGraph()
    found.add_nodes_from(graph)
    edges = graph.edges(data=WHY)
    found.add_edges_from((outer, inner) for outer, inner, why in edges if why != _PREFERRED)
    return found


def check_indices(views: Views, order: Sequence[str]) -> None:
    """Raises ``WorkloadError`` unless ``order`` has every index of a region once."""
    known = indices_of(views)
    if sorted(order) != sorted(known):
        raise WorkloadError(f"order {','.join(order)}: must have each of {', '.join(known)} once")


def check_order(graph: nx.DiGraph, order: Sequence[str]) -> None:
    """Raises ``WorkloadError`` unless ``order``, of all indices, keeps to the edges that storage
    demands."""
    place = {index: number for number, index in enumerate(order)}
    for outer, inner, why in graph.edges(data=WHY):
        if why != _PREFERRED and place[outer] > place[inner]:
            raise WorkloadError(
                f"order {','.join(order)}: {outer} must be outside of {inner}: {why}"
            )


_PREFERRED = "preferred"
"""Why of edges that an order need not keep to."""


def _add(graph: nx.DiGraph, constraint: Constraint) -> None:
    for outer, inner in constraint.edges:
        if outer not in graph or inner not in graph:
            unknown = outer if outer not in graph else inner
            raise WorkloadError(f"index {unknown} is not in the region; it has {', '.join(graph)}")
        if not graph.has_edge(outer, inner):
            graph.add_edge(outer, inner, **{WHY: constraint.why})


def _check_cycles(graph: nx.DiGraph) -> None:
    if nx.is_directed_acyclic_graph(graph):
        return
    cycle = nx.find_cycle(graph)
    edges = [f"{outer} outside of {inner}, as {graph[outer][inner][WHY]}" for outer, inner in cycle]
    raise WorkloadError(f"no order of loops fits: {'; '.join(edges)}; cut the region")


def _prefer(graph: nx.DiGraph, groups: Iterable[list[tuple[str, str]]]) -> None:
    """Adds groups of edges, each unless one of them closes a cycle."""
    for edges in groups:
        add_unless_cyclic(graph, edges, _PREFERRED)


def add_unless_cyclic(graph: nx.DiGraph, edges: Iterable[tuple[str, str]], why: str) -> bool:
    """Adds all of the edges, or none where one closes a cycle; whether it did."""
    new = [edge for edge in edges if not graph.has_edge(*edge)]
    graph.add_edges_from(new, **{WHY: why})
    if nx.is_directed_acyclic_graph(graph):
        return True
    graph.remove_edges_from(new)
    return False


def _within_accumulators(views: Views) -> Iterator[list[tuple[str, str]]]:
    """Edges that leave at most as many loops inside a sum as accumulators hold."""
    for view in views.views:
        for reduction in reductions(view.expression):
            for outer in free_indices(reduction)[:-MAX_ACCUMULATOR_ORDER]:
                yield [(outer, inner) for inner in reduction.indices]


def _reuse(views: Views) -> Iterator[list[tuple[str, str]]]:
    """Edges to loops that what is computed does not depend on, so that it is computed once."""
    computed = {view.result for view in views.views}
    for view in views.views:
        own = dict.fromkeys(i for each in accesses(view.expression) for i in each.indices)
        for taken in accesses(view.expression):
            if taken in computed:
                others = [index for index in own if index not in taken.indices]
                yield [(outer, inner) for outer in taken.indices for inner in others]


def dot(graph: nx.DiGraph) -> Iterator[str]:
    """The graph as DOT, a line each."""
    yield "digraph {"
    for index in graph:
        yield f'  "{index}";'
    for outer, inner, why in graph.edges(data=WHY):
        yield f'  "{outer}" -> "{inner}" [label="{why}"];'
    yield "}"


def modes_in(order: Sequence[str], access: Access) -> tuple[int, ...]:
    """The modes of an access in an order of loops, outermost first."""
    place = {index: number for number, index in enumerate(order)}
    modes = range(len(access.indices))
    return tuple(sorted(modes, key=lambda mode: place[access.indices[mode]]))
