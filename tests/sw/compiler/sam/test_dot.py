"""Graphs to and from the DOT dialect of the SAM tools."""

from __future__ import annotations

import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.dot_write import write_dot
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.storage import TensorFormat
from tests.support.errors import noted, refused
from tests.support.sam.corner_statements import corner
from tests.sw.compiler.sam import dialect as files
from tests.sw.compiler.sam.dialect import dialect
from tests.sw.compiler.sam.machine import meaning, on_model

MORE = {
    "squared": "X(i,j)=B(i,k)*B(k,j) -f=X:ss:0,1 -f=B:ss:0,1 -s=reorder(i,k,j)",
    "twice": "x(i)=b(i)*c(i)+b(i) -f=x:s:0 -f=b:s:0 -f=c:s:0 -s=reorder(i)",
    "bitvectors": "x(i)=b(i)*c(i)+d(i) -f=x:b:0 -f=b:b:0 -f=c:b:0 -f=d:b:0 -s=reorder(i)",
    "constants": "x(i)=-2.0*b(i)+3.0 -f=x:d:0 -f=b:s:0 -s=reorder(i)",
    "functions": "x(i)=max(relu(b(i)),c(i))-min(b(i),c(i)) -f=x:s:0 -f=b:s:0 -f=c:s:0",
    "brackets": "x(i)=b(i)*(c(i)-(d(i)-b(i))) -f=x:s:0 -f=b:s:0 -f=c:s:0 -f=d:s:0",
    "behind": "x(i)=B(j,i)*c(j)+d(i) -f=x:s:0 -f=B:ss:0,1 -f=c:s:0 -f=d:s:0 -s=reorder(j,i)",
    "negated": "x(i)=-(b(i)--c(i)*D(i,j)) -f=x:s:0 -f=b:s:0 -f=c:s:0 -f=D:ss:0,1 -s=reorder(i,j)",
    "signs": "x(i)=-(b(i)*c(i))*-b(i)-(-(c(i)+b(i))) -f=x:s:0 -f=b:s:0 -f=c:s:0 -s=reorder(i)",
    "lanes": f"{SUITE['matmul_ikj']} -s=parallelize(i,3)",
    "lanes of sums": f"{SUITE['mat_vecmul_ij']} -s=parallelize(i,2)",
    "lanes of two loops": f"{SUITE['matmul_ijk']} -s=parallelize(i,2) -s=parallelize(j,3)",
    "dense lanes": f"{SUITE['mat_sddmm']} -s=parallelize(i,2)",
    "many lanes": f"{SUITE['mat_sddmm']} -s=parallelize(i,18)",
    "lanes of lanes": f"{SUITE['matmul_ikj']} -s=parallelize(i,2) -s=parallelize(k,3)",
    "values into lanes": "X(k,j)=sum(i,max(b(i),0.5))-sum(i,max(C(k,i,j),0.5)) -f=X:ds -f=b:d "
    "-f=C:ddd:0,2,1 -s=reorder(k,j,i) -s=parallelize(k,3)",
    "two sums": "x(i)=B(j,i)*c(j)+D(k,i) -f=x:d:0 -f=B:ss:0,1 -f=c:s:0 -f=D:sb:1,0 "
    "-s=reorder(j,i,k)",
    "sum of functions": "x(i)=d(i)-sum(j,relu(B(i,j)*c(j))) -f=x:s:0 -f=d:s:0 -f=B:ss:0,1 -f=c:s:0 "
    "-s=reorder(i,j)",
    "sums of functions": "x=sum(i,sum(j,max(B(i,j),c(j))*relu(d(i)))) -f=B:ss:0,1 -f=c:s:0 "
    "-f=d:s:0",
    "accumulated functions": "X(i,j)=sum(k,relu(B(i,k)*C(k,j))) -f=X:ss:0,1 -f=B:ss:1,0 "
    "-f=C:ss:0,1 -s=reorder(k,i,j)",
    "outside of functions": "X(i,j)=relu(B(i,k))*C(k,j) -f=X:ss:0,1 -f=B:ss:0,1 -f=C:ss:0,1 "
    "-s=reorder(i,k,j)",
    "full": "X(i,j)=B(i,k)*C(k,j) -f=X:dd:0,1 -f=B:ss:1,0 -f=C:ss:0,1 -s=reorder(k,i,j)",
}
TEXTS = {**SUITE, **MORE}


def shape(graph: Graph) -> nx.DiGraph:
    """Blocks and edges as nodes; what they are without their names as ``key``."""
    found: nx.DiGraph = nx.DiGraph()
    for block in graph.blocks:
        values = sorted((key, repr(value)) for key, value in block.parameters.items())
        found.add_node(block.name, key=(block.type, tuple(values)))
    for edge in graph.edges:
        found.add_node(edge, key=(edge.output, edge.input, edge.depth))
        found.add_edges_from([(edge.source, edge), (edge, edge.target)])
    return found


def is_isomorphic(one: Graph, other: Graph) -> bool:
    return nx.is_isomorphic(
        shape(one), shape(other), node_match=lambda left, right: left["key"] == right["key"]
    )


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_written_is_read_back(name: str) -> None:
    statement = parse(TEXTS[name])
    graph = lower(statement)
    found = read_dot(write_dot(graph, statement), f"{name}.gv")
    assert is_isomorphic(found.graph, graph)
    assert parse(found.text) == statement
    assert dict(found.kernel.formats) == statement.formats


def test_what_is_read_and_written_again_is_the_same_text() -> None:
    for name, text in TEXTS.items():
        statement = parse(text)
        written = write_dot(lower(statement), statement)
        found = read_dot(written, name)
        assert write_dot(found.graph, parse(found.text)) == written


def round_trip(seed: int) -> None:
    """A statement with corners, as a file and back, if it has a graph."""
    case = corner(seed)
    try:
        statement = parse(case.text)
        graph = lower(statement, skip=case.skip)
    except WorkloadError:
        return
    written = write_dot(graph, statement)
    with noted(f"{seed}: {case.text}"):
        if any(block.type == "crdparallelizer" for block in graph.blocks):
            with pytest.raises(WorkloadError, match="only a file with its Einsum text can say"):
                read_dot(written, "corner.gv")
            return
        found = read_dot(written, "corner.gv")
        again = parse(found.text)
        assert dict(found.kernel.formats) == statement.formats
        assert write_dot(found.graph, again) == written


@pytest.mark.parametrize("seed", [682, 902, 999])
def test_terms_that_lack_an_index_of_the_result(seed: int) -> None:
    """They are computed inside of its loop, wherever that is in other terms."""
    round_trip(seed)


def test_random_statements() -> None:
    for seed in range(30):
        round_trip(seed)


@pytest.mark.slow
def test_many_random_statements() -> None:
    for seed in range(30, 10_000):
        round_trip(seed)


def test_blocks_without_edges_are_left_out_wherever_they_are() -> None:
    lines = files.JI_POINTS.strip()
    unlinked = "99 repsiggen index=i"
    expected = read_dot(dialect("x=s0,B=ss10,c=s0", lines), "x.gv").graph
    for place in (f"{unlinked}\n{lines}", f"{lines}\n{unlinked}"):
        assert read_dot(dialect("x=s0,B=ss10,c=s0", place), "x.gv").graph == expected


def test_without_skips() -> None:
    statement = parse(SUITE["vec_elemmul"])
    graph = lower(statement, skip=False)
    assert is_isomorphic(read_dot(write_dot(graph, statement), "x.gv").graph, graph)


@pytest.mark.parametrize("name", TEXTS)
def test_depths_of_queues_are_written_and_read_back(name: str) -> None:
    statement = parse(TEXTS[name])
    graph = lower(statement)
    inputs = [(edge.target, edge.input) for edge in graph.edges]
    deep = graph.with_depths({each: 2 + place for place, each in enumerate(inputs[::2])})
    written = write_dot(deep, statement)
    found = read_dot(written, "x.gv").graph
    assert is_isomorphic(found, deep)
    assert not is_isomorphic(found, graph)
    assert write_dot(found, statement) == written
    plain = re.sub(r',(ref|crd)_depth=[0-9]+| (ref_|crd_)?depth="[0-9]+"', "", written)
    bare = Graph(graph.blocks, tuple(replace(edge, depth=None) for edge in graph.edges))
    assert plain == write_dot(bare, statement)


def test_where_depths_are_written() -> None:
    statement = parse("x(i)=B(i,j) -f=x:d:0 -f=B:ss:0,1")
    graph = lower(statement)
    inputs = {("reduce_j", "val"): 7, ("reduce_j", "crd"): 8, ("lookup_B_i", "ref"): 9}
    lines = write_dot(graph.with_depths(inputs), statement).splitlines()
    before = write_dot(graph, statement).splitlines()
    changed = [line for line in lines if line not in before]
    assert len(lines) == len(before)
    assert [re.findall(r'\w*depth="?[0-9]+"?', line) for line in changed] == [
        ['crd_depth=8"', 'crd_depth="8"'],
        ['ref_depth=9"', 'ref_depth="9"'],
        ['depth="7"'],
    ]


def test_a_written_file_line_by_line() -> None:
    statement = parse("x(i)=b*c(i) -f=x:s -f=c:s")
    box = "shape=box style=filled"
    assert write_dot(lower(statement), statement).splitlines() == [
        "digraph SAM {",
        '    comment="x=s0,b=none,c=s0"',
        '    0 [comment="type=fiberwrite,mode=vals,tensor=x,size=1*c0_dim,sink=true" '
        f'label="FiberWrite Vals: x" color=green3 {box} type="fiberwrite" mode="vals" '
        'tensor="x" size="1*c0_dim" sink="true"]',
        '    1 [comment="type=fiberwrite,index=i,tensor=x,mode=0,format=compressed,segsize=2,'
        f'crdsize=c0_dim,sink=true" label="FiberWrite i: x0\\ncompressed" color=green3 {box} '
        'type="fiberwrite" index="i" tensor="x" mode="0" format="compressed" segsize="2" '
        'crdsize="c0_dim" sink="true"]',
        f'    2 [comment="type=mul" label="Mul" color=brown {box} type="mul"]',
        '    3 [comment="type=arrayvals,tensor=b" label="Array Vals: b" color=green2 '
        f'{box} type="arrayvals" tensor="b"]',
        '    4 [comment="type=repeat,index=i,tensor=b,root=true" label="Repeat i: b" color=cyan2 '
        f'{box} type="repeat" index="i" tensor="b" root="true"]',
        '    5 [comment="type=repsiggen,index=i" label="RepeatSignalGenerator i" color=cyan3 '
        f'{box} type="repsiggen" index="i"]',
        '    6 [comment="type=fiberlookup,index=i,tensor=c,mode=0,format=compressed,src=true,'
        'root=true,skip=false" label="FiberLookup i: c0\\ncompressed" color=green4 '
        f'{box} type="fiberlookup" index="i" tensor="c" mode="0" format="compressed" src="true" '
        'root="true" skip="false"]',
        '    7 [comment="type=arrayvals,tensor=c" label="Array Vals: c" color=green2 '
        f'{box} type="arrayvals" tensor="c"]',
        '    8 [comment="type=broadcast" shape=point style=invis type="broadcast"]',
        '    2 -> 0 [label="val" type="val" comment=""]',
        '    6 -> 8 [label="crd" style=dashed type="crd" comment=""]',
        '    8 -> 1 [label="crd" style=dashed type="crd" comment=""]',
        '    3 -> 2 [label="val" type="val" comment="in-0"]',
        '    7 -> 2 [label="val" type="val" comment="in-1"]',
        '    4 -> 3 [label="ref" style=bold type="ref" comment=""]',
        '    5 -> 4 [label="repsig" style=dotted type="repsig" comment=""]',
        '    8 -> 5 [label="crd" style=dashed type="crd" comment=""]',
        '    6 -> 7 [label="ref" style=bold type="ref" comment=""]',
        "}",
    ]


def test_drops_by_value_and_by_coordinate_are_told_apart() -> None:
    def drops(name: str) -> list[str]:
        statement = parse(SUITE[name])
        text = write_dot(lower(statement), statement)
        return re.findall(r'comment="(type=crddrop.*?)"', text)

    assert drops("vec_ds_compression") == ["type=crddrop,outer=i,inner=vals,vals=true"]
    assert drops("mat_elemmul") == ["type=crddrop,outer=i,inner=j"]


def test_sizes_are_those_of_the_operands() -> None:
    statement = parse(SUITE["matmul_kij"])
    text = write_dot(lower(statement), statement)
    assert 'segsize="B0_dim+1" crdsize="B0_dim*C1_dim"' in text
    assert 'size="1*B0_dim*C1_dim"' in text


# Files of the tools, by what they compute.


def random_matrix(rng: np.random.Generator, *sizes: int) -> np.ndarray:
    return np.where(rng.random(sizes) < 0.3, rng.integers(-4, 5, sizes), 0).astype(float)


FILES = {
    "kij points": ("X=ss01,B=ss10,C=ss01", files.KIJ_POINTS, SUITE["matmul_kij"]),
    "ikj points": ("X=ss01,B=ss01,C=ss01", files.IKJ_POINTS, SUITE["matmul_ikj"]),
    "ji points": ("x=s0,B=ss10,c=s0", files.JI_POINTS, SUITE["mat_vecmul_ji"]),
    "ji streams": ("x=s0,B=ss10,c=s0", files.JI_STREAMS, SUITE["mat_vecmul_ji"]),
    "ji stray": ("x=s0,B=ss10,c=s0", files.JI_STRAY, SUITE["mat_vecmul_ji"]),
    "residual": ("x=s0,b=s0,C=ss01,d=s0", files.RESIDUAL, SUITE["mat_residual"]),
    "add3": (
        "x=s0,b=s0,c=s0,d=s0",
        files.VEC_ADD3,
        "x(i)=b(i)+c(i)-d(i) -f=x:s -f=b:s -f=c:s -f=d:s",
    ),
    "ds hand": ("x=s0,b=d0", files.VEC_DS, SUITE["vec_ds_compression"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_the_tools_compute_what_they_should(name: str) -> None:
    formats, lines, text = FILES[name]
    found = read_dot(ordered(dialect(formats, lines), "id"), f"{name}.gv")
    statement, expected = parse(found.text), parse(text)
    assert (statement.result, statement.formats) == (expected.result, expected.formats)
    assert statement.order == expected.order
    rng = np.random.default_rng(5)
    for sizes in ({"i": 6, "j": 7, "k": 5}, {"i": 1, "j": 1, "k": 1}, {"i": 9, "j": 2, "k": 3}):
        operands = {
            access.tensor: random_matrix(rng, *(sizes[index] for index in access.indices))
            for access in expected.operands
        }
        got, _ = on_model(statement, operands, sizes, found.graph)
        np.testing.assert_array_equal(got, meaning(expected, operands, sizes))


def test_what_the_generations_have_in_common() -> None:
    one, other, third = (
        read_dot(dialect("x=s0,B=ss10,c=s0", lines), "x.gv").graph
        for lines in (files.JI_POINTS, files.JI_STREAMS, files.JI_STRAY)
    )
    assert is_isomorphic(one, other) and is_isomorphic(one, third)


def test_held_points_become_streams() -> None:
    graph = read_dot(dialect("X=ss01,B=ss10,C=ss01", files.KIJ_POINTS), "kij.gv").graph
    types = [block.type for block in graph.blocks]
    assert "crdhold" not in types
    # Operands of products stand from left to right, as the ids do; ours stand in that order, too.
    assert is_isomorphic(graph, lower(parse(SUITE["matmul_kij"])))


def test_formats_come_with_the_result_first() -> None:
    found = read_dot(dialect("x=s0,B=ss10,c=s0", files.JI_POINTS), "ji.gv")
    assert list(found.kernel.formats.items()) == [
        ("x", TensorFormat(("compressed",), (0,))),
        ("B", TensorFormat(("compressed", "compressed"), (1, 0))),
        ("c", TensorFormat(("compressed",), (0,))),
    ]


RESIDUAL = dialect("x=s0,b=s0,C=ss01,d=s0", files.RESIDUAL)
BY_ID, BY_EDGE = "x(i)=b(i)-C(i,j)*d(j)", "x(i)=C(i,j)*d(j)-b(i)"


@pytest.mark.parametrize("name", ["residual.gv", "chandra/residual.gv", "residual_HAND.gv"])
def test_the_order_of_operands_does_not_depend_on_the_path(name: str) -> None:
    statement = parse("x(i)=b(i)-c(i) -f=x:s -f=b:s -f=c:s")
    found = read_dot(write_dot(lower(statement), statement), name)
    assert parse(found.text) == statement
    assert BY_ID in read_dot(ordered(RESIDUAL, "id"), name).text
    assert BY_EDGE in read_dot(ordered(RESIDUAL, "edge"), name).text


def test_edges_give_the_order_of_operands() -> None:
    for first, expression in ((1, BY_ID), (0, BY_EDGE)):
        text = commented(RESIDUAL, ["in-0", "in-1"] if first == 0 else ["in-1", "in-0"])
        assert expression in read_dot(ordered(text, "edge"), "x.gv").text
        assert expression in read_dot(ordered(text, "id"), "x.gv").text


def test_one_edge_gives_the_order_of_both_operands() -> None:
    for comments, expression in ((["", "in-0"], BY_ID), (["in-0", ""], BY_EDGE)):
        text = commented(RESIDUAL, comments)
        assert expression in read_dot(ordered(text, "edge"), "x.gv").text
        assert expression in read_dot(ordered(text, "id"), "x.gv").text


def test_names_that_are_no_ids_leave_the_order_of_edges() -> None:
    text = re.sub(
        r"(?m)^    3 |\b3 ->|->  3 ", lambda match: match[0].replace("3", "minus"), RESIDUAL
    )
    assert BY_EDGE in read_dot(text, "x.gv").text
    with refused(
        "x.gv, line 33: operand_order = id: node minus: names must be numbers from left to right"
    ):
        read_dot(ordered(text, "id"), "x.gv")


def test_an_ambiguous_order_of_operands_is_refused() -> None:
    with refused(
        'x.gv, line 33: add 3 subtracts: the order of its operands is ambiguous: comment="in-0" on '
        'the edge of the first one gives it, or operand_order="id" or "edge" in the digraph'
    ):
        read_dot(RESIDUAL, "x.gv")
    with refused("x.gv: operand_order = name: must be id or edge"):
        read_dot(ordered(RESIDUAL, "name"), "x.gv")


def ordered(text: str, order: str) -> str:
    """The text with the digraph's order of operands."""
    return text.replace("{", f"{{ operand_order={order}", 1)


def commented(text: str, comments: list[str]) -> str:
    """The file with these comments on the edges into its subtraction, in their order."""
    found = iter(comments)
    return re.sub(
        r'(->  3 \[label="val" type="val" comment=)""',
        lambda match: f'{match[1]}"{next(found)}"',
        text,
    )
