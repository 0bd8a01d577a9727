"""Cleaning passes, each alone."""

from __future__ import annotations

from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.builder import GraphBuilder, Stream
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.passes import (
    attach_coordinates,
    mark_empty_fibers,
    mark_skips,
    merge_equal,
    remove_unused,
)
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.parser import parse


def lookup(builder: GraphBuilder, name: str, ref: Stream, tensor: str, index: str, level: int = 0):
    return builder.add("fiberlookup", name, {"ref": ref}, tensor=tensor, level=level, index=index)


def names(graph: Graph) -> list[str]:
    return [block.name for block in graph.blocks]


def edges(graph: Graph) -> set[str]:
    return {str(edge) for edge in graph.edges}


def test_equal_blocks_on_equal_streams_become_one() -> None:
    builder = GraphBuilder()
    root = builder.add("root", "root", {})
    b = lookup(builder, "b", root.out_ref, "b", "i")
    values = []
    for tensor in "cd":
        signal = builder.add("repsiggen", f"signal_{tensor}", {"crd": b.out_crd}, index="i")
        inputs = {"ref": root.out_ref, "repsig": signal.out_repsig}
        repeat = builder.add("repeat", f"repeat_{tensor}", inputs, tensor=tensor, index="i")
        made = builder.add("arrayvals", f"vals_{tensor}", {"ref": repeat.out_ref}, tensor=tensor)
        values.append(made.out_val)
    product = builder.add("alu", "mul", {"val0": values[0], "val1": values[1]}, op="mul")
    builder.add("fiberwrite", "write", {"crd": b.out_crd}, tensor="x", index="i")
    builder.add("valwrite", "write_vals", {"val": product.out_val}, tensor="x")
    graph = merge_equal(builder.graph())
    # Repeats of both scalars do the same; the scalars' arrays do not.
    assert names(graph) == [
        "root",
        "b",
        "signal_c",
        "repeat_c",
        "vals_c",
        "vals_d",
        "mul",
        "write",
        "write_vals",
    ]
    assert {"repeat_c.out_ref -> vals_c.ref", "repeat_c.out_ref -> vals_d.ref"} <= edges(graph)
    assert merge_equal(graph) == graph
    deep = graph.with_depths({("vals_d", "ref"): 9})
    assert merge_equal(deep) == deep


def test_blocks_with_other_parameters_or_streams_stay() -> None:
    builder = GraphBuilder()
    root = builder.add("root", "root", {})
    one = lookup(builder, "one", root.out_ref, "B", "i")
    other = lookup(builder, "other", root.out_ref, "C", "i")
    inner = lookup(builder, "inner", one.out_ref, "B", "j", level=1)
    same = lookup(builder, "same", other.out_ref, "B", "j", level=1)
    for node in (inner, same):
        builder.add("valwrite", "write", {"val": _values(builder, node.out_ref)}, tensor="x")
    graph = builder.graph()
    assert merge_equal(graph) == graph


def _values(builder: GraphBuilder, ref: Stream) -> Stream:
    return builder.add("arrayvals", "vals", {"ref": ref}, tensor="B").out_val


def test_a_tensor_that_is_squared_is_read_once() -> None:
    graph = lower(parse("X(i,j)=B(i,j)*B(i,j) -f=X:ss -f=B:ss"))
    reading = [b.name for b in graph.blocks if b.type in ("fiberlookup", "arrayvals")]
    assert reading == ["lookup_B_i", "lookup_B_j", "vals_B"]


def test_what_no_writer_depends_on_goes() -> None:
    builder = GraphBuilder()
    root = builder.add("root", "root", {})
    b = lookup(builder, "b", root.out_ref, "b", "i")
    c = lookup(builder, "c", root.out_ref, "c", "i")
    inputs = {"crd0": b.out_crd, "ref0": b.out_ref, "crd1": c.out_crd, "ref1": c.out_ref}
    joined = builder.add("intersect", "intersect", inputs, index="i")
    builder.add("arrayvals", "unread", {"ref": joined.out_ref1}, tensor="c")
    lookup(builder, "alone", root.out_ref, "d", "i")
    values = builder.add("arrayvals", "vals", {"ref": joined.out_ref0}, tensor="b")
    builder.add("fiberwrite", "write", {"crd": joined.out_crd}, tensor="x", index="i")
    builder.add("valwrite", "write_vals", {"val": values.out_val}, tensor="x")
    graph = remove_unused(builder.graph())
    assert names(graph) == ["root", "b", "c", "intersect", "vals", "write", "write_vals"]
    assert remove_unused(graph) == graph


def test_reductions_get_the_coordinates_around_them() -> None:
    builder = GraphBuilder()
    root = builder.add("root", "root", {})
    i = lookup(builder, "i", root.out_ref, "B", "i")
    j = lookup(builder, "j", i.out_ref, "B", "j", level=1)
    values = builder.add("arrayvals", "vals", {"ref": j.out_ref}, tensor="B")
    inner = builder.add("reduce", "inner", {"val": values.out_val})
    outer = builder.add("reduce", "outer", {"val": inner.out_val})
    builder.add("valwrite", "write_vals", {"val": outer.out_val}, tensor="x")
    before = builder.graph()
    graph = attach_coordinates(before)
    # Outside of all loops there is one sum, and no coordinates.
    assert edges(graph) - edges(before) == {"i.out_crd -> inner.crd"}
    assert attach_coordinates(graph) == graph


def test_the_coordinates_around_are_the_joined_ones() -> None:
    graph = lower(parse(SUITE["mat_residual"]))
    assert "union_i.out_crd -> reduce_j.crd" in edges(graph)


def test_writers_keep_the_empty_fibers_that_have_a_place() -> None:
    def kept(text: str) -> dict[int, bool]:
        graph = mark_empty_fibers(lower(parse(text)))
        return {b["level"]: b["keep_empty"] for b in graph.blocks if b.type == "fiberwrite"}

    product = "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=B:sss -f=C:sss"
    assert kept(f"{product} -f=X:sss") == {0: True, 1: False, 2: False}
    assert kept(f"{product} -f=X:dss") == {0: True, 1: True, 2: False}
    assert kept(f"{product} -f=X:dds") == {0: True, 1: True, 2: True}
    assert kept("X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss") == {0: True, 1: True}


def test_skips_only_where_one_intersection_reads_all() -> None:
    def skipping(graph: Graph) -> list[str]:
        return [b.name for b in graph.blocks if b.parameters.get("skip")]

    graph = lower(parse("x(i)=b(i)*c(i)+d(i) -f=x:s -f=b:s -f=c:s -f=d:s"))
    assert skipping(graph) == ["lookup_b_i", "lookup_c_i"]
    assert skipping(mark_skips(graph, skip=False)) == []
    assert mark_skips(mark_skips(graph, skip=False)) == graph
    # The third operand meets two intersections, one for each reference of the first two.
    graph = lower(parse("x(i)=b(i)*c(i)*d(i) -f=x:s -f=b:s -f=c:s -f=d:s"))
    assert skipping(graph) == ["lookup_b_i", "lookup_c_i"]
    # Bitvectors and dense levels have nothing to skip.
    graph = lower(parse("x(i)=b(i)*c(i) -f=x:s -f=b:b -f=c:s"))
    assert skipping(graph) == ["lookup_c_i"]
