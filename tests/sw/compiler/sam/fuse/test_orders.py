"""Orders of loops: those of small partial orders, one by one and by their number."""

from __future__ import annotations

from itertools import islice, permutations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.compiler.sam.fuse.orders import count_orders, valid_orders
from gnarl.sw.compiler.sam.fuse.partial_order import (
    WHY,
    check_order,
    first_order,
    partial_order,
)
from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions
from gnarl.sw.compiler.sam.fuse.views import views_of
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.errors import refused


def graph_of(names: str, edges: list[str]) -> nx.DiGraph:
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(((outer, inner) for outer, inner in edges), **{WHY: "stored"})
    return graph


@given(st.integers(0, 6), st.data())
def test_equals_all_permutations_that_respect_the_edges(count: int, data: st.DataObject) -> None:
    names = "".join(data.draw(st.permutations("abcdef"[:count])))
    pairs = [a + b for a, b in product(sorted(names), repeat=2) if a < b]
    edges = [each for each in pairs if data.draw(st.booleans())]
    found = list(valid_orders(graph_of(names, edges)))
    expected = [
        order
        for order in permutations(names)
        if all(order.index(outer) < order.index(inner) for outer, inner in edges)
    ]
    assert found == expected  # lexicographic by the graph's order, too
    assert count_orders(graph_of(names, edges)) == len(expected)


@pytest.mark.parametrize("chains", [[30], [1] * 30, [5, 5, 5], [9, 1, 7]])
def test_counts_interleaved_chains(chains: list[int]) -> None:
    """A multinomial coefficient, however large."""
    graph: nx.DiGraph = nx.DiGraph()
    for number, length in enumerate(chains):
        nodes = [f"{number}_{place}" for place in range(length)]
        nx.add_path(graph, nodes)
        nx.set_edge_attributes(graph, "stored", WHY)
    expected, placed = 1, 0
    for length in chains:
        for place in range(1, length + 1):
            expected = expected * (placed + place) // place
        placed += length
    assert count_orders(graph) == expected


def test_yields_the_first_orders_of_many_at_once() -> None:
    assert len([*islice(valid_orders(graph_of("abcdefghijklmnopqrst", [])), 5)]) == 5


@pytest.mark.parametrize("before", [["i", "q"], ["q", "i"]])
def test_indices_of_demands_are_those_of_the_region(before: list[str]) -> None:
    views = views_of(parse_program("y(i)=sum[k](A(i,k))"), ("y",), ("y",))
    with refused("index q is not in the region; it has i, k"):
        partial_order(views, {}, [before])


@pytest.mark.parametrize("order", ["i", "ii", "iki", "ikq", "iq"])
def test_an_order_has_each_index_once(order: str) -> None:
    region = Region(("y",), tuple(order))
    with refused(f"order {','.join(order)}: must have each of i, k once"):
        lower_regions(Fusion(parse_program("y(i)=sum[k](A(i,k))"), (region,)))


def test_preferences_are_no_demands() -> None:
    """A tensor that is computed once in the preferred order may be computed again and again."""
    program = parse_program("t(i,m)=sum[l](A(i,l)*X(l,m)); y(i,j)=sum[m](t(i,m)*W(m,j)) -f=A:ds")
    views = views_of(program, ("t", "y"), ("y",))
    graph = partial_order(views, {"A": program.formats["A"]})
    orders = list(valid_orders(graph))
    assert count_orders(graph) == len(orders) == 12  # 24, half of which have i outside of l
    assert first_order(graph) in orders
    for order in orders:
        check_order(graph, order)
