"""Graphs to and from the DOT dialect of the SAM tools."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    "dense lanes": f"{SUITE['mat_sddmm']} -s=parallelize(i,2)",
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
    with noted(f"{seed}: {case.text}"):
        found = read_dot(write_dot(graph, statement), "corner.gv")
        again = parse(found.text)
        assert dict(found.kernel.formats) == statement.formats
        assert write_dot(found.graph, again) == write_dot(graph, statement)


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
    assert plain == write_dot(graph, statement)


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


# Errors.


def test_sums_that_the_notation_cannot_say() -> None:
    lines = files.RESIDUAL.replace("3 add sub=1", "3 mul")
    with refused(
        "x.gv: graph: alu mul_2: the notation has no mul of what is summed already; "
        "it sums each whole term"
    ):
        read_dot(dialect("x=s0,b=s0,C=ss01,d=s0", lines), "x.gv")
    lines = files.VEC_ADD3.replace("2 -> 0 val", "2 -> 20 val\n20 -> 0 val")
    lines = "\n".join(line for line in lines.splitlines() if not re.match("1 |4 -> 1 ", line))
    with refused(
        "x.gv: graph: reduce reduce: the notation has no add of terms over an index; "
        "it sums each term by itself"
    ):
        read_dot(dialect("x=none,b=s0,c=s0,d=s0", f"{lines}\n20 reduce"), "x.gv")


GOOD = dialect("x=s0,b=d0", files.VEC_DS)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "b=d0",
            "b=e0",
            "comment of the digraph: format b=e0 must be none, or levels of d, s, b "
            "and then the mode of each, such as B=ss10",
        ),
        (
            "b=d0",
            "b=d0,b=d0",
            "comment of the digraph: b has two formats: must have one",
        ),
        (
            "b=d0",
            "b=d1",
            "comment of the digraph: format b=d1 must be none, or levels of d, s, b "
            "and then the mode of each, such as B=ss10",
        ),
        (
            '    comment="x=s0,b=d0"',
            "",
            'the digraph must have a comment with formats, such as comment="x=s0,b=s0"',
        ),
        ("x=s0,b=d0", "x=s0", "line 5: fiberlookup 3: mode 0 of b, which is not among the formats"),
        (
            "x=s0,b=d0",
            "x=s0,b=s0",
            "line 5: fiberlookup 3: format dense, but mode 0 of b is compressed in s0",
        ),
        ("x=s0,b=d0", "x=s0,b=dd01", "graph: tensor b has 2 levels, but 1 levels in the graph"),
    ],
)
def test_formats_that_do_not_fit(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    with refused(f"x.gv: {problem}" if not problem.startswith("line") else f"x.gv, {problem}"):
        read_dot(GOOD.replace(old, new), "x.gv")


@pytest.mark.parametrize(
    ("lines", "old", "new", "problem"),
    [
        (files.JI_POINTS, "3 mul", "3 divide", "line 21: node 3: unknown type divide"),
        (files.JI_POINTS, "4 -> 3 val\n", "", "line 21: mul 3: no edge into its input val1"),
        (
            files.JI_POINTS,
            "8 -> 2 crd i\n",
            "",
            "line 23: spaccumulator 2: edges bring the coordinates of j; must be those of i "
            "and of the one index that is summed",
        ),
        (
            files.JI_POINTS,
            "8 -> 2 crd i\n",
            "8 -> 2 crd i\n8 -> 2 crd k\n",
            "line 23: spaccumulator 2: edges bring the coordinates of j, i, k; must be those of i "
            "and of the one index that is summed",
        ),
        (
            files.JI_POINTS,
            "order=1",
            "order=2",
            "line 23: spaccumulator 2: edges bring the coordinates of j, i; must be those of i "
            "and of the one index that is summed",
        ),
        (
            files.JI_POINTS,
            "4 -> 3 val\n",
            "4 -> 3 val\n4 -> 3 val\n",
            "line 43: mul 3 has a second edge into val1; must have one",
        ),
        (files.JI_POINTS, "order=1", "order=3", "line 23: spaccumulator 2: order 3 must be 1 or 2"),
        (
            files.JI_POINTS,
            "10 -> 9 ref out-B",
            "10 -> 9 ref",
            "line 35: comment (none) must say which operand of intersect 10 is meant: out-B, out-c",
        ),
        (
            files.JI_POINTS,
            "11 fiberlookup",
            "11 fiberlookup ref_depth=x",
            "line 3: fiberlookup 11: ref_depth x must be a whole number from 2 to 65536",
        ),
        (
            files.JI_POINTS,
            "9 -> 4 ref",
            "9 -> 4 wire",
            "line 42: edge type wire must be crd, ref, val, repsig or bv",
        ),
        (
            files.JI_POINTS,
            "11 -> 10 ref in-B",
            "11 -> 10 ref in-B\n11 -> 10 ref in-B",
            "line 32: intersect 10 has a second edge into ref0; must have one",
        ),
        (
            files.VEC_DS,
            "3 -> 4 crd in-i",
            "3 -> 4 crd in-j",
            "line 15: comment in-j must name the outer or inner index of crddrop 4: i or vals",
        ),
        (
            files.VEC_DS,
            "2 -> 4 val in-vals\n",
            "",
            "line 3: crddrop 4: no edge into its input inner",
        ),
        (
            files.VEC_DS,
            "3 -> 2 ref",
            "2 -> 2 val",
            "line 11: arrayvals 2 feeds itself",
        ),
        (
            files.JI_POINTS,
            "8 broadcast",
            "8 broadcast\n10 -> 8 crd",
            "line 38: broadcast 8 is fed twice; must be once",
        ),
    ],
)
def test_errors_name_the_line(lines: str, old: str, new: str, problem: str) -> None:
    assert old in lines
    formats = "x=s0,b=d0" if lines is files.VEC_DS else "x=s0,B=ss10,c=s0"
    with refused(f"dir/x.gv, {problem}"):
        read_dot(dialect(formats, lines.replace(old, new)), "dir/x.gv")


@pytest.mark.parametrize("depth", ["1", "65537", "x", "-2", "", "9" * 5000])
def test_depths_that_no_queue_has(depth: str) -> None:
    text = dialect("x=s0,B=ss10,c=s0", files.JI_POINTS)
    wrong = text.replace('comment="out-B"]', f'comment="out-B" depth="{depth}"]')
    with pytest.raises(WorkloadError, match="^x.gv, line 35: edge depth .* from 2 to 65536$"):
        read_dot(wrong, "x.gv")


def test_depths_of_accumulators_that_take_points() -> None:
    text = dialect("x=s0,B=ss10,c=s0", files.JI_POINTS)
    plain = read_dot(text, "x.gv").graph
    entering = re.findall(r'    \S+ ->  2 \[.*type="crd" comment="i"\]', text)
    assert len(entering) == 1
    deep = text.replace(entering[0], entering[0].replace('"i"]', '"i" depth="9"]'))
    assert read_dot(deep, "x.gv").graph == plain.with_depths({("accumulate", "crd0"): 9})


WHOLE = dialect("X=ss01,B=ss01,C=ss01", files.IKJ_POINTS).splitlines()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(0, len(WHOLE) - 1), st.integers(0, 200))
def test_damaged_files_give_one_line_that_names_them(line: int, other: int, cut: int) -> None:
    damaged = [
        WHOLE[other] if number == line and cut % 2 else text[:cut] if number == line else text
        for number, text in enumerate(WHOLE)
    ]
    try:
        read_dot("\n".join(damaged), "x.gv")
    except WorkloadError as error:
        assert re.match(r"x\.gv(, line \d+)?: ", str(error))
        assert "\n" not in str(error)
        assert "cannot be understood" not in str(error)


def test_streams_that_do_not_fit_name_the_file() -> None:
    text = dialect("x=s0,B=ss10,c=s0", files.JI_POINTS.replace("9 -> 4 ref", "10 -> 4 ref out-B"))
    with refused(
        "x.gv: graph: alu mul: val1 lies in loops (j, i) where val0 has (j); "
        "they must be the same, with the same coordinates"
    ):
        read_dot(text, "x.gv")
