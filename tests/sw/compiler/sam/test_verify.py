"""Graphs whose streams do not fit, each kind by its own text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.streams import trace
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.workloads.tensor.parser import parse
from tests.hw.sam.graphs import graph as drawn
from tests.support.errors import refused


@pytest.mark.parametrize("name", SUITE)
def test_the_suite_is_right(name: str) -> None:
    graph = lower(parse(SUITE[name]))
    table = verify(graph)
    written = next(edge for edge in graph.edges if edge.target.endswith("_vals"))
    loops = table.loops[written.source, written.output]
    statement = parse(SUITE[name])
    modes = statement.formats[statement.result.tensor].modes
    assert [fibers.index for fibers in loops] == [statement.result.indices[m] for m in modes]


def rewired(graph: Graph, target: str, input: str, source: str, output: str) -> Graph:
    """With another stream into an input."""
    found = [edge for edge in graph.edges if (edge.target, edge.input) == (target, input)]
    assert len(found) == 1
    edges = (
        replace(edge, source=source, output=output) if edge == found[0] else edge
        for edge in graph.edges
    )
    return Graph(graph.blocks, tuple(edges))


def changed(graph: Graph, name: str, **parameters: object) -> Graph:
    blocks = (
        Block(name, block.type, {**block.parameters, **parameters}) if block.name == name else block
        for block in graph.blocks
    )
    return Graph(tuple(blocks), graph.edges)


def without(graph: Graph, name: str) -> Graph:
    return Graph(
        tuple(block for block in graph.blocks if block.name != name),
        tuple(edge for edge in graph.edges if name not in (edge.source, edge.target)),
    )


MATMUL = lower(parse(SUITE["matmul_ijk"]))
KIJ = lower(parse(SUITE["matmul_kij"]))
ELEMMUL = lower(parse(SUITE["mat_elemmul"]))
LANES = lower(parse("X(i,j)=B(i,j) -f=X:ss -f=B:ss -s=parallelize(i,2)"))
DENSE_LANES = lower(parse("X(i,j)=B(i,j) -s=parallelize(i,2)"))

FAULTS: list[tuple[Graph, str]] = [
    (
        rewired(ELEMMUL, "vals_B", "ref", "intersect_j", "out_crd"),
        "graph: arrayvals vals_B: ref is fed by intersect_j.out_crd, a stream of kind crd; "
        "must be ref",
    ),
    (
        rewired(ELEMMUL, "mul", "val1", "intersect_j", "out_ref1"),
        "graph: alu mul: val1 is fed by intersect_j.out_ref1, a stream of kind ref; must be val",
    ),
    (
        rewired(ELEMMUL, "vals_B", "ref", "lookup_B_j", "out_ref"),
        "graph: alu mul: val1 lies in loops (i, j) where val0 has (i, j); "
        "they must be the same, with the same coordinates",
    ),
    (
        rewired(ELEMMUL, "vals_C", "ref", "intersect_i", "out_ref1"),
        "graph: alu mul: val1 lies in loops (i) where val0 has (i, j); "
        "they must be the same, with the same coordinates",
    ),
    (
        rewired(ELEMMUL, "intersect_j", "crd1", "lookup_C_i", "out_crd"),
        "graph: intersect intersect_j: ref1 lies in loops (i, j) where crd1 has (i); "
        "they must be the same, with the same coordinates",
    ),
    (
        changed(ELEMMUL, "lookup_C_j", index="k"),
        "graph: intersect intersect_j: crd1 has index k; must have index j, as the block",
    ),
    (
        changed(ELEMMUL, "write_X_j", index="k"),
        "graph: fiberwrite write_X_j: crd has index j; must have index k, as the block",
    ),
    (
        rewired(MATMUL, "repeat_B_j", "repsig", "repsig_i", "out_repsig"),
        "graph: repeat repeat_B_j: ref lies in loops (i) where repsig has (); "
        "they must be the same, with the same coordinates",
    ),
    (
        rewired(MATMUL, "reduce_k", "crd", "lookup_B_i", "out_crd"),
        "graph: reduce reduce_k: crd lies in loops (i) where val has (i, j); "
        "they must be the same, with the same coordinates",
    ),
    (
        rewired(MATMUL, "write_X_vals", "val", "mul", "out_val"),
        "graph: valwrite write_X_vals: val lies in 3 loops; must lie in 2, as many as tensor X "
        "has levels",
    ),
    (
        rewired(MATMUL, "write_X_i", "crd", "lookup_C_j", "out_crd"),
        "graph: fiberwrite write_X_i: crd lies in loops (i, j); must lie in the first 1 loops of "
        "the values, (i), with the same coordinates",
    ),
    (
        rewired(KIJ, "accumulate_k", "crd2", "lookup_B_i", "out_crd"),
        "graph: spaccumulator accumulate_k: crd2 lies in loops (k, i) where crd0 has (k); "
        "they must be the same, with the same coordinates",
    ),
    (
        rewired(KIJ, "accumulate_k", "crd0", "intersect_k", "out_crd"),
        "graph: spaccumulator accumulate_k: crd0 is fed by intersect_k.out_crd, which lies in "
        "1 loop; must lie in at least 3",
    ),
    (
        without(ELEMMUL, "write_X_i"),
        "graph: tensor X has writers for levels 1; must have one for each level, from 0",
    ),
    (without(ELEMMUL, "write_X_vals"), "graph: tensor X has 0 valwrite; must have one"),
    (
        without(LANES, "write_X_vals_lane0"),
        "graph: tensor X has 1 valwrite; must have one, or one of each lane, from 0",
    ),
    (
        without(LANES, "write_X_vals_lane1"),
        "graph: fiberwrite write_X_i: crd lies in loops (i); must lie in the first 1 loops of the "
        "values, (i), with the same coordinates",
    ),
    (
        without(LANES, "write_X_j_lane1"),
        "graph: valwrite write_X_vals_lane1: val lies in 2 loops; must lie in 1, as many as tensor "
        "X has levels",
    ),
    (
        changed(LANES, "write_X_i", lane=1),
        "graph: tensor X has writers for levels 1; must have one for each level, from 0",
    ),
    (
        changed(LANES, "write_X_j_lane1", lane=2),
        "graph: valwrite write_X_vals_lane1: val lies in 2 loops; must lie in 1, as many as tensor "
        "X has levels",
    ),
    (
        changed(DENSE_LANES, "write_X_vals_lane1", lane=2),
        "graph: tensor X has 2 valwrite; must have one, or one of each lane, from 0",
    ),
    (
        rewired(LANES, "write_X_j_lane1", "crd", "lookup_B_j_lane0", "out_crd"),
        "graph: valwrite write_X_vals_lane1: val has other coordinates than the crd of "
        "write_X_j_lane1; both must come from one valdrop, or none",
    ),
    (
        rewired(DENSE_LANES, "write_X_j_lane1", "crd", "lookup_B_j_lane0", "out_crd"),
        "graph: fiberwrite write_X_j_lane1: crd lies in loops (i, j); must lie in the first 2 "
        "loops of the values, (i, j), with the same coordinates",
    ),
    (
        rewired(LANES, "write_X_vals_lane1", "val", "vals_B_lane0", "out_val"),
        "graph: valwrite write_X_vals_lane1: val must lie in one loop that is dealt, in lane 1 of "
        "2",
    ),
    (
        rewired(LANES, "write_X_i", "crd", "lookup_B_j_lane0", "out_crd"),
        "graph: fiberwrite write_X_i: crd lies in loops (i, j); must lie in the first 1 loops of "
        "the values, (i), with the same coordinates",
    ),
    (
        Graph((Block("root", "root"),), ()),
        "graph: nothing is written: must have a valwrite",
    ),
]


@pytest.mark.parametrize(("graph", "problem"), FAULTS)
def test_faults_name_the_block_and_port(graph: Graph, problem: str) -> None:
    with refused(problem):
        verify(graph)


def points(inner: str) -> Graph:
    """Coordinates of a matrix as points and back, the inner ones from ``inner``."""
    return drawn(
        {
            "root": "root",
            "i": ("fiberlookup", {"index": "i"}),
            "j": ("fiberlookup", {"index": "j"}),
            "to": "crdtopoint",
            "back": "pointtocrd",
            "vals": "arrayvals",
            "write": "valwrite",
        },
        [
            "root.out_ref -> i.ref",
            "i.out_ref -> j.ref",
            "j.out_ref -> vals.ref",
            "i.out_crd -> to.outer",
            "j.out_crd -> to.inner",
            "to.out_outer -> back.outer",
            f"{inner} -> back.inner",
            "vals.out_val -> write.val",
        ],
    )


def test_points_have_as_many_outer_as_inner_coordinates() -> None:
    assert trace(points("to.out_inner")).loops["back", "out_inner"][-1].index == "j"
    with refused(
        "graph: pointtocrd back: inner lies in loops (i, j) where outer has (j); "
        "they must be the same, with the same coordinates"
    ):
        trace(points("j.out_crd"))


def test_dense_writers_need_every_coordinate() -> None:
    graph = changed(lower(parse(SUITE["vec_identity"])), "write_x_i", format="dense")
    with refused(
        "graph: fiberwrite write_x_i: crd may lack coordinates of i; a dense level needs them all"
    ):
        verify(graph)


def test_blocks_that_feed_themselves() -> None:
    edges = (Edge("a", "out_val", "b", "val"), Edge("b", "out_val", "a", "val"))
    graph = Graph((Block("a", "function"), Block("b", "function")), edges)
    with pytest.raises(ConfigError, match="^graph: blocks feed themselves: a -> b$"):
        verify(graph)


RIGHT: list[Callable[[], Graph]] = [
    lambda: rewired(ELEMMUL, "vals_C", "ref", "intersect_j", "out_ref1"),
    # Unions of the same sets in another order have the same coordinates.
    lambda: lower(parse("x(i)=(b(i)+c(i))*(c(i)+b(i)) -f=x:s -f=b:s -f=c:s")),
]


@pytest.mark.parametrize("graph", RIGHT)
def test_what_is_right_is_not_refused(graph: Callable[[], Graph]) -> None:
    verify(graph())
