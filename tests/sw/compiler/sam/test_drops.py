"""Drops of coordinates before writers: those that stay, that go, and that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.drops import remove_other_drops
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused
from tests.support.sam.graphs import by_operands, drops, unchained

BESIDE = ("repsig_i", "repeat_c_i", "lookup_c_j")
PRODUCT = "X(i,j,k)=B(i,j,k)*C(i,j,k)"


def test_drops_by_what_is_written_stay() -> None:
    graph = lower(parse(f"{PRODUCT} -f=X:sss -f=B:sss -f=C:sss"))
    assert remove_other_drops(graph) == graph
    verify(graph)


@pytest.mark.parametrize("change", [unchained, by_operands])
def test_drops_by_other_streams_go(change: Callable[[Graph], Graph]) -> None:
    graph = change(lower(parse(f"{PRODUCT} -f=X:sss -f=B:sss -f=C:sss")))
    left = drops(remove_other_drops(graph))
    assert left == {unchained: ["drop_j_k"], by_operands: ["drop_i_j"]}[change]
    verify(remove_other_drops(graph))
    writer, drop, inner = {
        unchained: ("write_X_i", "drop_i_j", "write_X_j"),
        by_operands: ("write_X_j", "drop_j_k", "write_X_k"),
    }[change]
    with refused(
        f"graph: fiberwrite {writer}: crddrop {drop} has removed coordinates from crd by another "
        f"stream; must be by what {inner} writes"
    ):
        verify(graph)


def test_drops_come_after_what_is_computed() -> None:
    graph = lower(parse("X(i,j)=c(j)*d(j) -f=X:ds -f=c:s -f=d:s"))
    verify(graph)
    beside = [Block(f"{name}_2", graph[name].type, graph[name].parameters) for name in BESIDE]
    edges = [
        replace(edge, source="drop", output="out_outer") if edge.target == "repsig_i" else edge
        for edge in graph.edges
    ]
    edges += [
        Edge("all_i", "out_crd", "repsig_i_2", "crd"),
        Edge("root", "out_ref", "repeat_c_i_2", "ref"),
        Edge("repsig_i_2", "out_repsig", "repeat_c_i_2", "repsig"),
        Edge("repeat_c_i_2", "out_ref", "lookup_c_j_2", "ref"),
        Edge("all_i", "out_crd", "drop", "outer"),
        Edge("lookup_c_j_2", "out_crd", "drop", "inner"),
    ]
    blocks = (*graph.blocks, *beside, Block("drop", "crddrop", {}))
    with refused(
        "graph: fiberwrite write_X_j: crd lies in a loop over i from which coordinates were "
        "dropped; drops must come after all that is computed in a loop"
    ):
        verify(Graph(blocks, tuple(edges)))


def test_values_and_coordinates_come_from_one_drop_of_zeros() -> None:
    graph = lower(parse("x(i)=b(i) -f=x:s -f=b:d"))
    assert len(drops(graph)) == 1
    edges = [
        replace(edge, source="vals_b", output="out_val") if edge.target == "write_x_vals" else edge
        for edge in graph.edges
    ]
    with refused(
        "graph: valwrite write_x_vals: val has other coordinates than the crd of write_x_i; both "
        "must come from one valdrop, or none"
    ):
        verify(Graph(graph.blocks, tuple(edges)))
