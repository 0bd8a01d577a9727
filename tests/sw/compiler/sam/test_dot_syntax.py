"""The DOT language as far as it is read."""

from __future__ import annotations

import pytest

from gnarl.sw.compiler.sam.dot_syntax import DotEdge, DotNode, parse_dot
from tests.support.errors import refused


def test_nodes_edges_and_attributes_with_their_lines() -> None:
    text = """digraph SAM {
    comment="x=s0"
    0 [a="1" b=2, c = three; d="with \\"quotes\\" and \\n"]

    1 [label="two
lines"]
    0 ->  1 [type="crd" comment=""] ; 1 -> 0
}
"""
    graph = parse_dot(text, "x.gv")
    assert graph.attributes == {"comment": "x=s0"}
    assert graph.nodes == {
        "0": DotNode("0", {"a": "1", "b": "2", "c": "three", "d": 'with "quotes" and \\n'}, 3),
        "1": DotNode("1", {"label": "two\nlines"}, 5),
    }
    assert graph.edges == (
        DotEdge("0", "1", {"type": "crd", "comment": ""}, 7),
        DotEdge("1", "0", {}, 7),
    )


def test_parallel_edges_stay_apart_and_nodes_that_stand_twice_are_one() -> None:
    graph = parse_dot("digraph { a [x=1] a [y=2] a -> b [z=1] a -> b [z=2] }", "x.gv")
    assert graph.nodes["a"].attributes == {"x": "1", "y": "2"}
    assert graph.nodes["b"] == DotNode("b", {}, 1)
    assert [edge.attributes for edge in graph.edges] == [{"z": "1"}, {"z": "2"}]


def test_chains_defaults_comments_and_sums_of_quotes() -> None:
    text = """strict digraph "a name" {  // rest of the line
    # a line of its own
    graph [comment="x" + "=s0"]; node [shape=box] edge [style=bold]
    /* over
       lines */ a -> b -> c [z=1]
    # 1 -> 2
}"""
    graph = parse_dot(text, "x.gv")
    assert graph.attributes == {"comment": "x=s0"}
    assert graph.edges == (
        DotEdge("a", "b", {"style": "bold", "z": "1"}, 5),
        DotEdge("b", "c", {"style": "bold", "z": "1"}, 5),
    )
    assert graph.nodes["c"] == DotNode("c", {"shape": "box"}, 5)


def test_defaults_are_those_of_a_nodes_first_statement() -> None:
    graph = parse_dot("digraph { node [x=1] a [x=2] a [y=3] node [x=4] a [z=5] }", "x.gv")
    assert graph.nodes["a"].attributes == {"x": "2", "y": "3", "z": "5"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: the file ends inside the digraph"),
        ("graph {}", "line 1: expected digraph, found graph"),
        ("digraph {\n a -> }", "line 2: expected a name, found }"),
        ("digraph {\n a\n", "line 3: the file ends inside the digraph"),
        ("digraph {\n a [b]\n}", "line 2: expected =, found ]"),
        ('digraph {\n a [b="c]\n}', "line 2: a quote is opened and never closed"),
        ("digraph {\n a -- b\n}", "line 2: expected a name, found --"),
        ("digraph {\n a ! b\n}", "line 2: unexpected character '!'"),
        (
            "digraph {\n subgraph b {}\n}",
            "line 2: subgraphs are not supported; write the nodes into the digraph",
        ),
        ("digraph {\n}\nmore", "line 3: unexpected more after the digraph"),
        ("digraph {\n a [b=c\n b=d]\n}", "line 3: b = 'd', but earlier 'c': must agree"),
        ("digraph {\n a [b=c]\n a [b=d]\n}", "line 3: b = 'd', but earlier 'c': must agree"),
        ("digraph {\n b=c\n b=d\n}", "line 3: b = 'd', but earlier 'c': must agree"),
        ("digraph {\n b=c;\n graph [b=d]\n}", "line 3: b = 'd', but earlier 'c': must agree"),
        ("digraph {\n graph [b=c]\n\n b=d\n}", "line 4: b = 'd', but earlier 'c': must agree"),
        (f"digraph {{\n a -- {'b' * 40_000}\n}}", "line 2: expected a name, found --"),
        (f"digraph x {'b' * 40_000}", f"line 1: expected {{, found {'b' * 40}…"),
        ('digraph { a [b="c" + d] }', "line 1: expected a quoted text after +, found d"),
    ],
)
def test_errors_name_the_line(text: str, problem: str) -> None:
    with refused(f"x.gv, {problem}"):
        parse_dot(text, "x.gv")
