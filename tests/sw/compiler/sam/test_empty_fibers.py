"""Where fibers of results may be empty, which writers record that, and which drops stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hw.sam.graph import Block, Edge, Graph
from sw.compiler.sam.empty_fibers import recorded, remove_other_drops
from sw.compiler.sam.lower import lower
from sw.compiler.sam.verify import verify
from sw.workloads.tensor.parser import parse
from tests.support.errors import refused
from tests.support.sam_graphs import by_operands, drops, unchained, undropped, without

BESIDE = ("repsig_i", "repeat_c_i", "lookup_c_j")
PRODUCT = "X(i,j,k)=B(i,j,k)*C(i,j,k)"
SUM = "X(i,j,k)=B(i,j,k)+C(i,j,k)"


def kept(graph: Graph) -> str:
    """Levels, outermost first, whose writers record every fiber: + or -."""
    flags = recorded(graph)
    writers = sorted(
        (block for block in graph.blocks if block.type == "fiberwrite"), key=lambda b: b["level"]
    )
    return "".join("-+"[flags[writer.name]] for writer in writers)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        (f"{PRODUCT} -f=X:sss -f=B:sss -f=C:sss", "+++"),
        (f"{PRODUCT} -f=X:bsb -f=B:bss -f=C:sbb", "+++"),
        # What is stored has no empty fiber below a compressed level; below a dense one it may.
        ("X(i,j,k)=B(i,j,k) -f=X:sss -f=B:sss", "++-"),
        ("X(i,j,k)=B(i,j,k) -f=X:sbs -f=B:bbs", "++-"),
        ("X(i,j,k)=B(i,j,k) -f=X:sss -f=B:sds", "+++"),
        ("X(i,j,k)=B(i,j,k)*c(j) -f=X:sss -f=B:sss -f=c:d", "++-"),
        ("X(i,j,k)=B(i,j)*C(i,k) -f=X:sss -f=B:ss -f=C:ss", "++-"),
        # One part of a sum is there.
        (f"{SUM} -f=X:sss -f=B:sss -f=C:sss", "++-"),
        (f"{SUM} -f=X:sss -f=B:sss -f=C:sds", "+++"),
        (f"{SUM}+D(i,j,k) -f=X:sss -f=B:sss -f=C:sbb -f=D:bss", "++-"),
        ("X(i,j,k)=B(i,j,k)+C(i,j)*d(k) -f=X:sss -f=B:sss -f=C:ss -f=d:s", "+++"),
        ("X(i,j,k)=B(i,j,k)+C(i,j)*d(k) -f=X:sss -f=B:sss -f=C:ss -f=d:d", "++-"),
        # Accumulators give no coordinate without one inside.
        (
            "X(i,j,k)=B(l,j)*C(l,k)*D(i,l) -f=X:sss -f=B:ss -f=C:ss -f=D:ss -s=reorder(i,l,j,k)",
            "++-",
        ),
        ("X(i,j,k)=B(i,j,l)*C(l,k) -f=X:sss -f=B:sss -f=C:ss -s=reorder(i,j,l,k)", "+++"),
        # Levels below dense ones record all, and need to know which are none.
        ("X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sds -f=B:sds -f=C:sds", "+++"),
        ("X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:dss -f=B:dss -f=C:dss", "+++"),
    ],
)
def test_writers_record_what_may_be_empty(text: str, levels: str) -> None:
    assert kept(undropped(text)) == levels


def test_what_is_dropped_is_not_recorded() -> None:
    graph = lower(parse(f"{PRODUCT} -f=X:sss -f=B:sss -f=C:sss"))
    assert drops(graph) == ["drop_j_k", "drop_i_j"]
    assert kept(graph) == "+--"
    assert kept(without(graph, frozenset({"drop_i_j"}))) == "++-"
    assert kept(without(graph, frozenset({"drop_j_k"}))) == "+++"


def test_levels_outside_of_recorded_ones_are_recorded_though_dropped() -> None:
    statement = "X(i,j,k,l)=B(i,j,k,l)*C(i,j,k,l) -f=X:ssss -f=B:ssss -f=C:ssss"
    graph = lower(parse(statement))
    assert drops(graph) == ["drop_k_l", "drop_j_k", "drop_i_j"]
    assert kept(graph) == "+---"
    # The stops of l tell empty fibers of k from empty ones around them by what k recorded.
    assert kept(without(graph, frozenset({"drop_k_l", "drop_i_j"}))) == "++++"


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
