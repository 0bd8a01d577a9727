"""What all files of graphs have in common; GraphML, GML and node-link JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from hw.lib.errors import WorkloadError
from sw.workloads.dag.edge_list_file import read_edge_list
from sw.workloads.dag.graph import from_networkx
from sw.workloads.dag.graph_files import read_gml, read_graphml, read_node_link
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
        ('key="k1">5', 'key="k7">5', " invalid GraphML: Bad GraphML data: no key k7"),
        (
            ">5</data>",
            ">five</data>",
            " invalid GraphML: could not convert string to float: 'five'",
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
    with refused(f"{path}: invalid GraphML: file not successfully read as graphml"):
        read_graphml(path)


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
        ("directed 1", "", "the graph is undirected: edges must lead from operand to user"),
        (
            "edge [ source 1 target 2",
            "edge [ source 9 target 2",
            "invalid GML: edge #1 has undefined source 9",
        ),
        (
            "edge [ source 1 target 2",
            "edge [ source 0 target 2",
            "invalid GML: edge #1 (0->2) is duplicated",
        ),
        ('label "b"', 'label "a"', "'a' names two nodes: names must differ"),
        (
            'op "sub"',
            'op "pow"',
            "node r: op = 'pow': must be one of input, const, add, mul, max, min, sub, neg",
        ),
    ],
)
def test_damaged_gml_is_refused(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in GML
    path = gml(tmp_path, GML.replace(old, new))
    with refused(f"{path}: {text}"):
        read_gml(path)


@pytest.mark.parametrize(
    ("text", "place"),
    [(GML.replace("value 5.0 ]", "value ]"), r"\(3, \d+\)"), (GML[:-3], r"EOF at \(\d, \d+\)")],
    ids=["value", "end"],
)
def test_gml_that_breaks_off_is_refused_in_the_words_of_networkx(
    tmp_path: Path, text: str, place: str
) -> None:
    path = gml(tmp_path, text)
    with pytest.raises(WorkloadError, match=rf"^{path}: invalid GML: expected .* {place}$"):
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
