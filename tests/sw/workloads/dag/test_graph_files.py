"""What all files of graphs have in common; GraphML, GML and node-link JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from sw.workloads.dag.edge_list_file import read_edge_list
from sw.workloads.dag.gml_file import read_gml
from sw.workloads.dag.graph import from_networkx
from sw.workloads.dag.graphml_file import read_graphml
from sw.workloads.dag.node_link_file import read_node_link
from sw.workloads.dag.workload import DagWorkload
from sw.workloads.text_file import parse_json
from tests.support.dags import results
from tests.support.errors import refused


def example(multigraph: bool) -> nx.DiGraph:
    """r = a - (b + 0.5) with b twice in a multigraph; s = max(a, b + 0.5), r and b are outputs."""
    graph = nx.MultiDiGraph() if multigraph else nx.DiGraph()
    graph.add_node("a", op="input", value=5.0)
    graph.add_node("b", op="input", value=3.0, output=True)
    graph.add_node("half", op="const", value=0.5)
    graph.add_node("t", op="add")
    graph.add_node("r", op="sub")
    graph.add_node("s", op="max")
    graph.add_edge("t", "r", operand=1)
    graph.add_edge("a", "r", operand=0)
    for rank, name in enumerate(["half", "b", "b"][: 3 if multigraph else 2]):
        graph.add_edge(name, "t", operand=rank)
    graph.add_edge("a", "s", operand=0)
    graph.add_edge("t", "s", operand=1)
    return graph


def write_edge_list(graph: nx.DiGraph, path: Path) -> None:
    nodes = [
        f"{node} { ({k: v for k, v in data.items()})!r}" for node, data in graph.nodes(data=True)
    ]
    path.write_text("\n".join(nodes) + "\n")
    with path.open("ab") as file:
        nx.write_edgelist(graph, file, data=True)


def write_node_link(graph: nx.DiGraph, path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))


FORMATS = [
    pytest.param(nx.write_graphml, read_graphml, id="graphml"),
    pytest.param(nx.write_gml, read_gml, id="gml"),
    pytest.param(write_node_link, read_node_link, id="json"),
    pytest.param(write_edge_list, read_edge_list, id="edgelist"),
]


@pytest.mark.parametrize(("write", "read"), FORMATS)
@pytest.mark.parametrize("multigraph", [False, True], ids=["simple", "multi"])
def test_what_networkx_writes_is_read(
    tmp_path: Path,
    multigraph: bool,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    path = tmp_path / "example.file"
    write(example(multigraph), path)
    workload = read(path)
    assert workload.name == "example"
    assert workload.source == str(path)
    total = 6.5 if multigraph else 3.5
    assert results(workload) == {"b": 3.0, "r": 5.0 - total, "s": max(5.0, total)}


@pytest.mark.parametrize(("write", "read"), FORMATS)
@pytest.mark.parametrize("multigraph", [False, True], ids=["simple", "multi"])
@pytest.mark.parametrize("op", ["sub", "Subtract", "-"])
def test_a_difference_whose_first_operand_no_file_names_is_refused(
    tmp_path: Path,
    op: str,
    multigraph: bool,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    """In memory it is c - m, by the order of edges; networkx writes them by their first node."""
    graph = nx.MultiDiGraph() if multigraph else nx.DiGraph()
    graph.add_node("m", op="input", value=6.0)
    graph.add_node("c", op="input", value=4.0)
    graph.add_node("s", op=op)
    graph.add_edges_from([("c", "s"), ("m", "s")])
    assert results(from_networkx(graph)) == {"s": -2.0}
    path = tmp_path / "d.file"
    write(graph, path)
    line = ":3" if read is read_edge_list else ""
    with refused(
        f"{path}{line}: node s: nothing says which operand sub takes first, m or c: the edges into "
        "it must have the attribute operand, whole numbers in their order"
    ):
        read(path)


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_differences_that_no_order_changes_are_read(
    tmp_path: Path,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("a", op="input", value=6.0)
    graph.add_node("one", op="sub")
    graph.add_node("none", op="sub")
    graph.add_edges_from([("a", "one"), ("a", "none"), ("a", "none")])
    path = tmp_path / "d.file"
    write(graph, path)
    assert results(read(path)) == {"one": 6.0, "none": 0.0}


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_a_file_without_nodes_is_refused(
    tmp_path: Path,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    path = tmp_path / "empty.file"
    write(nx.DiGraph(), path)
    with refused(f"{path}: the DAG has no nodes: it must have at least one"):
        read(path)


@pytest.mark.parametrize("read", [read_graphml, read_gml, read_node_link, read_edge_list])
def test_a_missing_file_is_refused(tmp_path: Path, read: Callable[[Path], DagWorkload]) -> None:
    with refused(f"{tmp_path / 'no'}: No such file or directory"):
        read(tmp_path / "no")


@pytest.mark.parametrize(("write", "read"), FORMATS)
@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (
            {"operand": 0},
            {"index": 1},
            "edge from b: has index alone, others do not: edges into a node must be numbered by "
            "one attribute",
        ),
        (
            {"operand": 0, "index": 1},
            {"operand": 1, "index": 0},
            "edge from a: operand = 0 and index = 1: must agree",
        ),
        (
            {"index": 0},
            {"operand": 1, "index": 2},
            "edge from b: operand = 1 and index = 2: must agree",
        ),
        ({"operand": 1, "index": 1}, {"operand": 0, "index": 0}, ""),
        ({"operand": 1, "index": 1}, {"index": 0}, ""),
    ],
)
def test_operand_and_index_must_agree(
    tmp_path: Path,
    first: dict[str, int],
    second: dict[str, int],
    text: str,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=5.0)
    graph.add_node("b", op="input", value=3.0)
    graph.add_node("d", op="sub")
    graph.add_edge("a", "d", **first)
    graph.add_edge("b", "d", **second)
    path = tmp_path / "d.file"
    write(graph, path)
    if not text:
        assert results(read(path)) == {"d": -2.0}
        return
    line = ":3" if read is read_edge_list else ""
    with refused(f"{path}{line}: node d: {text}"):
        read(path)


# GraphML

GRAPHML = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="k0" for="node" attr.name="op" attr.type="string"><default>add</default></key>
  <key id="k1" for="node" attr.name="value" attr.type="double"/>
  <key id="k2" for="edge" attr.name="operand" attr.type="int"/>
  <graph edgedefault="directed">
    <node id="a"><data key="k0">input</data><data key="k1">5</data></node>
    <node id="b"><data key="k0">input</data><data key="k1">3</data></node>
    <node id="r"/>
    <node id="d"><data key="k0">sub</data></node>
    <edge source="b" target="r"/><edge source="a" target="r"/><edge source="b" target="r"/>
    <edge source="a" target="d"><data key="k2">1</data></edge>
    <edge source="b" target="d"><data key="k2">0</data></edge>
  </graph>
</graphml>
"""


def graphml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "g.graphml"
    path.write_text(text)
    return path


def test_graphml_with_defaults_parallel_edges_and_numbered_operands(tmp_path: Path) -> None:
    workload = read_graphml(graphml(tmp_path, GRAPHML))
    assert results(workload) == {"r": 11.0, "d": -2.0}


def test_graphml_without_parallel_edges(tmp_path: Path) -> None:
    text = GRAPHML.replace('<edge source="b" target="r"/><edge source="a"', '<edge source="a"')
    assert results(read_graphml(graphml(tmp_path, text))) == {"r": 8.0, "d": -2.0}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("</graph>\n</graphml>\n", "", "14: not well-formed XML at column 3"),
        ('<node id="r"/>', '<node id="r">', "14: not well-formed XML at column 5"),
        (
            '"directed"',
            '"undirected"',
            " the graph is undirected: edges must lead from operand to user",
        ),
        ('key="k1">5', 'key="k7">5', " node a: key k7: is not declared: must be a key's id"),
        (
            ">5</data>",
            ">five</data>",
            " node a: value = 'five': must be a number",
        ),
        (
            '<edge source="b" target="d">',
            '<edge source="c" target="d">',
            " edge: source c is not the id of a node",
        ),
        (
            '<edge source="b" target="d">',
            '<edge source="d" target="a">',
            " node a: input has 1 operands: must have none",
        ),
    ],
)
def test_damaged_graphml_is_refused(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in GRAPHML
    path = graphml(tmp_path, GRAPHML.replace(old, new))
    with refused(f"{path}:{text}"):
        read_graphml(path)


def test_xml_that_is_no_graphml_is_refused(tmp_path: Path) -> None:
    path = graphml(tmp_path, "<html/>")
    with refused(f"{path}: not GraphML: must be an element graphml with a graph"):
        read_graphml(path)


TWO_KEYS = GRAPHML.replace(
    "  <graph ",
    """\
  <key id="k3" for="node" attr.name="value" attr.type="long"/>
  <key id="k4" for="edge" attr.name="operand" attr.type="int"/>
  <graph """,
)


def test_keys_of_graphml_may_share_a_name(tmp_path: Path) -> None:
    """networkx writes one for each type that the values of an attribute have."""
    text = TWO_KEYS.replace('key="k1">5', 'key="k3">5').replace('key="k2">0', 'key="k4"> 0 ')
    assert results(read_graphml(graphml(tmp_path, text))) == {"r": 11.0, "d": -2.0}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            '<data key="k1">5</data>',
            '<data key="k1">3</data><data key="k3">50</data>',
            "node a: value is given twice, by two keys: must be given once",
        ),
        (
            '<data key="k2">1</data>',
            '<data key="k4">0</data><data key="k2">1</data>',
            "edge a to d: operand is given twice, by two keys: must be given once",
        ),
        (
            'attr.type="long"/>',
            'attr.type="long"><default>4</default></key><key id="k5" for="all" attr.name="value" '
            'attr.type="double"><default>5</default></key>',
            "keys: value has two defaults for each node: must have one",
        ),
        (
            'id="k3"',
            'id="k1"',
            "key k1: is given twice: must be given once",
        ),
        (
            'attr.type="long"',
            'attr.type="complex"',
            "key k3: attr.type = 'complex': must be one of string, float, double, int, integer, "
            "long, boolean",
        ),
        (
            'attr.type="long"/>',
            'attr.type="long"><default>four</default></key>',
            "key k3: default: value = 'four': must be a whole number",
        ),
        ('key="k2">1<', 'key="k2">1_0<', "edge a to d: operand = '1_0': must be a whole number"),
        ('key="k2">1<', 'key="k2"><', "edge a to d: operand = '': must be a whole number"),
        ('key="k1">5<', 'key="k1"><x/><', "node a: value has elements in it: must be a text"),
        (
            'key="k1">5<',
            'key="k1">-1e-400<',
            "node a: value: -1e-400: must be 0, or at least 5e-324, the smallest number of float64",
        ),
        ('key="k1">5<', 'key="k1">1e400<', "node a: value = inf: must be finite in float64"),
        (
            '<edge source="b" target="r"/>',
            '<edge id="e" source="b" target="r"/><edge id="e" source="b" target="r"/>',
            "edge e to b to r: is given twice: must be given once",
        ),
        (
            '<edge source="b" target="r"/>',
            '<edge directed="false" source="b" target="r"/>',
            "edge b to r: is undirected: must lead from operand to user",
        ),
        (
            '<node id="r"/>',
            '<node id="r"><port name="p"/></node>',
            "element port: not supported: must have nodes and edges alone",
        ),
    ],
)
def test_contradictions_in_graphml_are_refused(
    tmp_path: Path, old: str, new: str, text: str
) -> None:
    assert old in TWO_KEYS
    path = graphml(tmp_path, TWO_KEYS.replace(old, new, 1))
    with refused(f"{path}: {text}"):
        read_graphml(path)


def test_each_edge_of_graphml_is_one(tmp_path: Path) -> None:
    """Whatever numbers their ids are: networkx takes an edge with the id that it would give to
    another for that one."""
    text = GRAPHML.replace(
        '<edge source="b" target="r"/>',
        '<edge source="b" target="r"/><edge id="0" source="b" target="r"/>',
        1,
    )
    assert results(read_graphml(graphml(tmp_path, text))) == {"r": 14.0, "d": -2.0}


def test_defaults_of_edges_hold_for_those_without(tmp_path: Path) -> None:
    text = GRAPHML.replace(
        'attr.name="operand" attr.type="int"/>',
        'attr.name="operand" attr.type="int"><default>0</default></key>',
    )
    text = text.replace('<data key="k2">0</data>', "")
    text = text.replace('<edge source="b" target="r"/><edge source="a" target="r"/>', "")
    assert results(read_graphml(graphml(tmp_path, text))) == {"r": 3.0, "d": -2.0}


# GML

GML = """\
graph [
  directed 1
  node [ id 0 label "a" op "input" value 5.0 ]
  node [ id 1 label "b" op "input" value 3 ]
  node [ id 2 label "r" op "sub" ]
  edge [ source 0 target 2 operand 1 ]
  edge [ source 1 target 2 operand 0 ]
]
"""


NO_LIST = "5: node = 5: must be a list in [ ]"


def gml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "g.gml"
    path.write_text(text)
    return path


def test_gml_with_numbered_operands(tmp_path: Path) -> None:
    assert results(read_gml(gml(tmp_path, GML))) == {"r": -2.0}


def test_a_quote_in_a_comment_of_gml_begins_no_text(tmp_path: Path) -> None:
    text = GML.replace("directed 1", 'directed 1 # 5" wide')
    assert results(read_gml(gml(tmp_path, text))) == {"r": -2.0}
    text = GML.replace('"a"', '"a#5"')
    assert read_gml(gml(tmp_path, text)).input_names.tolist() == ["a#5", "b"]


def test_other_spaces_between_words_of_gml_are_refused(tmp_path: Path) -> None:
    path = gml(tmp_path, GML.replace("id 1", "id\x0b1"))
    with refused(f"{path}:4: '\\x0b' between words: must be a space or a tab"):
        read_gml(path)


def test_gml_without_labels_calls_nodes_by_id(tmp_path: Path) -> None:
    text = GML.replace('label "a"', "")
    assert read_gml(gml(tmp_path, text)).input_names.tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("directed 1", "", " the graph is undirected: must have directed 1"),
        (
            "edge [ source 1 target 2",
            "edge [ source 9 target 2",
            "7: edge: source 9 is not the id of a node",
        ),
        (
            "edge [ source 1 target 2",
            "edge [ source 0 target 2",
            "7: edge from 0 to 2: is given twice: must have multigraph 1",
        ),
        ('label "b"', 'label "a"', " 'a' names two nodes: names must differ"),
        (
            'op "sub"',
            'op "pow"',
            " node r: op = 'pow': must be one of input, const, add, mul, max, min, sub, neg",
        ),
    ],
)
def test_damaged_gml_is_refused(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in GML
    path = gml(tmp_path, GML.replace(old, new))
    with refused(f"{path}:{text}"):
        read_gml(path)


GML_THAT_IS_WRONG = {
    "graph is a number": ("graph 5\n", "1: graph = 5: must be a list in [ ]"),
    "no graph": ('Creator "me"\n', " 0 graphs: must be one, as graph [ … ]"),
    "two graphs": (GML + GML, " 2 graphs: must be one, as graph [ … ]"),
    "a node is a number": (GML.replace('node [ id 2 label "r" op "sub" ]', "node 5"), NO_LIST),
    "a node is a text": (
        GML.replace('node [ id 2 label "r" op "sub" ]', 'node "5"'),
        NO_LIST.replace("5: must", "'5': must"),
    ),
    "an edge is a number": (
        GML.replace("edge [ source 1 target 2 operand 0 ]", "edge 7"),
        "7: edge = 7: must be a list in [ ]",
    ),
    "directed is a text": (
        GML.replace("directed 1", 'directed "0"'),
        " directed = '0': must be 0 or 1",
    ),
    "directed is 2": (GML.replace("directed 1", "directed 2"), " directed = 2: must be 0 or 1"),
    "multigraph is a text": (
        GML.replace("directed 1", 'directed 1 multigraph "no"'),
        " multigraph = 'no': must be 0 or 1",
    ),
    "directed twice": (
        GML.replace("directed 1", "directed 1 directed 0"),
        "2: directed is given twice: graph must have one",
    ),
    "node without an id": (GML.replace("id 1", "nr 1"), "4: a node without an id: must have one"),
    "edge without a target": (
        GML.replace("source 1 target 2", "source 1"),
        "7: an edge without a target: must have one",
    ),
    **{
        f"{key} of a {kind} twice": (
            GML.replace(f" {old} ", f" {old} {key} {value} {key} {value} ", 1),
            f"{line}: {key} is given twice: {kind} must have one",
        )
        for kind, line, old, key, value in (
            ("node", 4, 'node [ id 1 label "b"', "output", "1"),
            ("node", 3, "value 5.0", "value", "5.0"),
            ("node", 3, 'label "a"', "id", "0"),
            ("node", 3, 'label "a"', "label", '"a"'),
            ("node", 3, 'label "a"', "op", '"input"'),
            ("edge", 6, "source 0", "source", "0"),
            ("edge", 6, "source 0", "target", "2"),
            ("edge", 6, "source 0", "operand", "1"),
            ("edge", 6, "source 0", "index", "1"),
        )
    },
    "id is a list": (
        GML.replace("id 1", "id [ a 1 ]"),
        "4: id is a list: must be a number or a text",
    ),
    "a value of no kind": (
        GML.replace("value 5.0", "value five"),
        "3: value: 'five': must be a number, a text in quotes, or a list in [ ]",
    ),
    "a value is missing": (
        GML.replace("value 5.0 ]", "value ]"),
        "3: value: ']': must be a number, a text in quotes, or a list in [ ]",
    ),
    "a text without an end": (
        GML.replace('"r"', '"r').replace('"sub"', "sub"),
        '5: a text without an end: must end with "',
    ),
    "a key is a number": (
        GML.replace("directed 1", "directed 1 1"),
        "2: '1': must be a key, of letters, digits and _",
    ),
    "more ends than lists": (GML + "]\n", "9: ']': must be a key, of letters, digits and _"),
    "the end is missing": (GML[:-3], "7: the list of line 1 has no end: must have ]"),
    "a value is missing at the end": (
        "graph [ directed",
        "1: directed: the end of the file: must be a number, a text in quotes, or a list in [ ]",
    ),
    "below float64": (
        GML.replace("5.0", "-1.0e-400"),
        "3: -1.0e-400: must be 0, or at least 5e-324, the smallest number of float64",
    ),
    "below float64, as a text": (
        GML.replace("5.0", '"1e-400"'),
        " node a: value = '1e-400': must be 0, or at least 5e-324, the smallest number of float64",
    ),
    "5,000 digits": (
        GML.replace("5.0", "5" * 5000),
        " node a: value = inf: must be finite in float64",
    ),
}


@pytest.mark.parametrize("name", GML_THAT_IS_WRONG)
def test_gml_that_is_wrong_is_refused(tmp_path: Path, name: str) -> None:
    content, text = GML_THAT_IS_WRONG[name]
    path = gml(tmp_path, content)
    with refused(f"{path}:{text}"):
        read_gml(path)


@pytest.mark.parametrize("text", ["one\n\n two", "\n", "\n\none\n", " a\n\n\n[ # ]\n"])
def test_texts_of_gml_may_have_several_lines(tmp_path: Path, text: str) -> None:
    """Blank ones, too; those behind them keep their numbers."""
    given = GML.replace("  directed", f'  comment "{text}" directed')
    assert results(read_gml(gml(tmp_path, given))) == {"r": -2.0}
    path = gml(tmp_path, given.replace("target 2 operand 0", "target 9 operand 0"))
    with refused(f"{path}:{7 + text.count(chr(10))}: edge: target 9 is not the id of a node"):
        read_gml(path)


def test_a_text_of_gml_is_one_line_with_the_characters_it_names(tmp_path: Path) -> None:
    label = "a &lt;&amp;&#65;&#x42;&amp;lt;&nosuch;&amp &#99999999;\n \n  b"
    found = read_gml(gml(tmp_path, GML.replace('label "a"', f'label "{label}"')))
    assert found.input_names.tolist() == ["a <&AB&lt;&nosuch;&amp &#99999999; b", "b"]


def test_what_means_nothing_in_gml_is_skipped(tmp_path: Path) -> None:
    """Names of Python's own methods, and keys given again, which then are lists."""
    text = GML.replace("id 0 label", "id 0 self 1 pop [ a [ b 1.5E3 b +INF ] ] self 2 label")
    text = 'Version 2 Creator "x" self [ ]\n' + text.replace("directed", "self 1 self 2 directed")
    assert results(read_gml(gml(tmp_path, text))) == {"r": -2.0}


def test_ids_and_labels_of_gml_may_be_words(tmp_path: Path) -> None:
    text = GML.replace('"a"', "a").replace("id 0", "id x").replace("source 0", "source x")
    assert read_gml(gml(tmp_path, text)).input_names.tolist() == ["a", "b"]


def test_parallel_edges_of_gml_differ_in_their_keys_if_they_have_any(tmp_path: Path) -> None:
    edge = "edge [ source 0 target 2 operand 1 ]"
    multi = GML.replace("directed 1", "directed 1 multigraph 1")
    for keys in (("", ""), ("key 0", "key 1"), ("", "key 0")):
        both = " ".join(
            edge.replace("operand 1", f"operand {at + 1} {key}") for at, key in enumerate(keys)
        )
        assert results(read_gml(gml(tmp_path, multi.replace(edge, both)))) == {"r": 3.0 - 10.0}
    path = gml(tmp_path, multi.replace(edge, f"{edge.replace('1 ]', '1 key 3 ]')} " * 2))
    with refused(f"{path}:6: edge from 0 to 2: is given twice: parallel edges must differ in key"):
        read_gml(path)


# node-link JSON


def node_link(tmp_path: Path, **changes: object) -> Path:
    data = {
        "directed": True,
        "nodes": [
            {"id": "a", "op": "input", "value": 5},
            {"id": 1, "op": "input", "value": 3},
            {"id": "r", "op": "sub"},
        ],
        "edges": [
            {"source": "a", "target": "r", "operand": 1},
            {"source": "a", "target": "r", "operand": 2},
            {"source": 1, "target": "r", "operand": 0},
        ],
    }
    data.update(changes)
    path = tmp_path / "g.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))
    return path


def test_repeated_links_are_repeated_operands_even_without_multigraph(tmp_path: Path) -> None:
    for multigraph in (None, False, True):
        workload = read_node_link(node_link(tmp_path, multigraph=multigraph))
        assert results(workload) == {"r": 3.0 - 5.0 - 5.0}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"nodes": None}, "not a node-link graph: must be an object with a list 'nodes'"),
        ({"nodes": {}}, "not a node-link graph: must be an object with a list 'nodes'"),
        ({"directed": None}, 'the graph is undirected: must have "directed": true'),
        ({"directed": False}, 'the graph is undirected: must have "directed": true'),
        ({"edges": None}, "no list 'links' or 'edges': must have one of them"),
        ({"links": 3, "edges": None}, "no list 'links' or 'edges': must have one of them"),
        ({"links": []}, "both 'links' and 'edges': must have one of them"),
        ({"nodes": ["a"]}, "nodes[0]: must be an object with a string or number 'id'"),
        ({"nodes": [{"id": [1]}]}, "nodes[0]: must be an object with a string or number 'id'"),
        ({"nodes": [{"id": "a"}] * 2}, "nodes[1]: duplicate id 'a'"),
        (
            {"edges": [{"source": "a"}]},
            "edges[0]: must be an object with a string or number 'target'",
        ),
        (
            {"edges": [{"source": "a", "target": "z"}]},
            "edges[0]: target 'z' is not the id of a node",
        ),
        (
            {"nodes": [{"id": "a", "op": "const", "value": float("nan")}], "edges": []},
            "node a: value = nan: must be finite in float64",
        ),
    ],
)
def test_damaged_node_link_graphs_are_refused(
    tmp_path: Path, changes: dict[str, object], text: str
) -> None:
    path = node_link(tmp_path, **changes)
    with refused(f"{path}: {text}"):
        read_node_link(path)


def test_json_that_breaks_off_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"nodes": [\n  {"id": 1},')
    with refused(f"{path}:2: invalid JSON at column 13: Expecting value"):
        parse_json(path.read_text(), str(path))


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"x": 1, "y": 2, "x": 3}')
    with refused(f"{path}: duplicate key 'x' in one object"):
        parse_json(path.read_text(), str(path))
