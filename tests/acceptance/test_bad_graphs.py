"""Bad graphs: each kind of file has its texts; the text for hostile ones is left open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.dpu.dag_files import INPUT, graphml, node_link, refused_file, xml_node

OPERATIONS = "input, const, add, mul, max, min, sub, neg"


NODE_LINK = {
    "cycle": (
        node_link(
            [INPUT, {"id": "x", "op": "add"}, {"id": "y", "op": "mul"}],
            ("a", "x"),
            ("y", "x"),
            ("x", "y"),
        ),
        ": cycle: y -> x -> y",
    ),
    "self-loop": (
        node_link([INPUT, {"id": "x", "op": "add"}], ("a", "x"), ("x", "x")),
        ": cycle: x -> x",
    ),
    "unknown operation": (
        node_link([INPUT, {"id": "x", "op": "frob"}], ("a", "x")),
        f": node x: op = 'frob': must be one of {OPERATIONS}",
    ),
    "division": (
        node_link([INPUT, {"id": "x", "op": "div"}], ("a", "x")),
        ": node x: op = 'div': division is not supported: make the reciprocal an input and "
        "multiply by it",
    ),
    "operation is a list": (
        node_link([INPUT, {"id": "x", "op": [1]}], ("a", "x")),
        f": node x: op = [1]: must be one of {OPERATIONS}",
    ),
    "operation without operands": (
        node_link([INPUT, {"id": "x", "op": "add"}]),
        ": node x: add has no operands: must have at least one",
    ),
    "nothing said of a node": (
        node_link([INPUT, {"id": "x"}]),
        ": node x: no operands and no attribute op: must have one of input, const",
    ),
    "input with operands": (
        node_link([INPUT, {"id": "x", "op": "input"}], ("a", "x")),
        ": node x: input has 1 operands: must have none",
    ),
    "neg of two": (
        node_link(
            [INPUT, {"id": "b", "op": "input"}, {"id": "x", "op": "neg"}], ("a", "x"), ("b", "x")
        ),
        ": node x: neg has 2 operands: must have one",
    ),
    "constant without a value": (
        node_link([{"id": "k", "op": "const"}]),
        ": node k: const without a value: must have one",
    ),
    "constant is NaN": (
        node_link([{"id": "k", "op": "const", "value": float("nan")}]),
        ": node k: value = nan: must be finite in float64",
    ),
    "constant is text": (
        node_link([{"id": "k", "op": "const", "value": "two"}]),
        ": node k: value = 'two': must be a number",
    ),
    "constant is a truth value": (
        node_link([{"id": "k", "op": "const", "value": True}]),
        ": node k: value = True: must be a number",
    ),
    "one input without a value": (
        node_link(
            [{**INPUT, "value": 1}, {"id": "b", "op": "input"}, {"id": "x", "op": "add"}],
            ("a", "x"),
            ("b", "x"),
        ),
        ": node b: input without a value: must have one, as others have",
    ),
    "input is NaN": (
        node_link([{**INPUT, "value": float("nan")}]),
        ": node a: value = nan: must be finite in float64",
    ),
    "operation with a value": (
        node_link([INPUT, {"id": "x", "op": "mul", "value": 2}], ("a", "x")),
        ": node x: mul has a value: only input and const may",
    ),
    "no nodes": (node_link([]), ": the DAG has no nodes: it must have at least one"),
    "node twice": (node_link([INPUT, INPUT]), ": nodes[1]: duplicate id 'a'"),
    "number and text of one name": (
        node_link([{"id": 1, "op": "input"}, {"id": "1", "op": "input"}]),
        ": '1' names two nodes: names must differ",
    ),
    "edge to nowhere": (
        node_link([INPUT], ("a", "z")),
        ": edges[0]: target 'z' is not the id of a node",
    ),
    "undirected": (
        node_link([INPUT], directed=False),
        ': the graph is undirected: must have "directed": true',
    ),
    "no edges": (
        json.dumps({"directed": True, "nodes": [INPUT]}),
        ": no list 'links' or 'edges': must have one of them",
    ),
    "node is a number": (
        '{"directed": true, "nodes": [1], "edges": []}',
        ": nodes[0]: must be an object with a string or number 'id'",
    ),
    "edge is a number": (
        '{"directed": true, "nodes": [], "edges": [1]}',
        ": edges[0]: must be an object with a string or number 'source'",
    ),
    "links and edges": (
        node_link([INPUT], links=[]),
        ": both 'links' and 'edges': must have one of them",
    ),
    "id is NaN": (
        '{"directed": true, "nodes": [{"id": NaN, "op": "input"}], "edges": []}',
        ": nodes[0]: must be an object with a string or number 'id'",
    ),
    "control character": (
        node_link([{"id": "a\x1b[2J", "op": "input"}]),
        ": node 'a\\x1b[2J': names must have characters, but no control characters",
    ),
    "no name": (
        node_link([{"id": "", "op": "input"}]),
        ": node '': names must have characters, but no control characters",
    ),
    "id is a truth value": (
        node_link([{"id": True, "op": "input"}]),
        ": nodes[0]: must be an object with a string or number 'id'",
    ),
    "long name": (
        node_link([{"id": "a" * 40_000, "op": "frob"}]),
        f": node {'a' * 40}…: op = 'frob': must be one of {OPERATIONS}",
    ),
    "long value": (
        node_link([{**INPUT, "value": "x" * 40_000}]),
        f": node a: value = '{'x' * 39}…: must be a number",
    ),
    "output is no truth value": (
        node_link([{**INPUT, "output": "maybe"}]),
        ": node a: output = 'maybe': must be true or false",
    ),
    "no graph": ("3", ": not a node-link graph: must be an object with a list 'nodes'"),
    "empty": ("", ":1: invalid JSON at column 1: Expecting value"),
    "truncated": (
        '{"directed": true,\n "nodes": [{"id": "a", "op"',
        ":2: invalid JSON at column 28: Expecting ':' delimiter",
    ),
    "binary": (bytes(range(256)), ": byte 128 is not valid UTF-8"),
    "zero bytes": (b"\0" * 64, ":1: invalid JSON at column 1: Expecting value"),
}


@pytest.mark.parametrize("name", NODE_LINK)
def test_node_link(tmp_path: Path, name: str) -> None:
    content, text = NODE_LINK[name]
    assert refused_file(tmp_path, "x.json", content) == text


OPERAND_NUMBERS = {
    "some": ((0, None), ": node y: 1 of 2 operands are numbered: must be all or none"),
    "equal": ((0, 0), ": node y: two operands have the same number: numbers must differ"),
    "text": ((0, "first"), ": node y: operand = 'first': must be a number"),
}


@pytest.mark.parametrize("name", OPERAND_NUMBERS)
def test_operand_numbers(tmp_path: Path, name: str) -> None:
    numbers, text = OPERAND_NUMBERS[name]
    edges: list[dict[str, Any]] = [{"source": node, "target": "y"} for node in ("a", "b")]
    for edge, number in zip(edges, numbers, strict=True):
        if number is not None:
            edge["operand"] = number
    nodes = [INPUT, {"id": "b", "op": "input"}, {"id": "y", "op": "sub"}]
    content = json.dumps({"directed": True, "nodes": nodes, "edges": edges})
    assert refused_file(tmp_path, "x.json", content) == text


GRAPHML = {
    "cycle": (
        graphml(
            xml_node("a", "input")
            + xml_node("x", "add")
            + xml_node("y", "add")
            + '<edge source="a" target="x"/><edge source="x" target="y"/>'
            + '<edge source="y" target="x"/>'
        ),
        ": cycle: y -> x -> y",
    ),
    "unknown operation": (
        graphml(xml_node("a", "input") + xml_node("x", "frob") + '<edge source="a" target="x"/>'),
        f": node x: op = 'frob': must be one of {OPERATIONS}",
    ),
    "undirected": (
        graphml(xml_node("a", "input"), "undirected"),
        ": the graph is undirected: edges must lead from operand to user",
    ),
    "constant is NaN": (
        graphml(xml_node("k", "const", "nan")),
        ": node k: value = nan: must be finite in float64",
    ),
    "node twice": (
        graphml(xml_node("a", "input") + xml_node("a", "const", "2")),
        ": node a: is given twice: must be given once",
    ),
    "operation twice": (
        graphml(xml_node("a", 'input</data><data key="o">add')),
        ": node a: two data elements have one key: must have one each",
    ),
    "edge from nowhere": (
        graphml(xml_node("x", "neg") + '<edge source="a" target="x"/>'),
        ": edge: source a is not the id of a node",
    ),
    "node without an id": (
        graphml("<node/>"),
        ": a node without an id: must have one",
    ),
    "edge's number twice": (
        graphml(
            xml_node("a", "input")
            + '<edge source="a" target="a"><data key="o">1</data><data key="o">2</data></edge>'
        ),
        ": edge a to a: two data elements have one key: must have one each",
    ),
    "two graphs": (
        graphml(xml_node("a", "input") + '</graph><graph edgedefault="directed">'),
        ": 2 graphs: must be one",
    ),
    "unknown key": (
        graphml('<node id="a"><data key="q">1</data></node>'),
        ": node a: key q: is not declared: must be a key's id",
    ),
    "empty": ("", ":1: not well-formed XML at column 1"),
    "truncated": (
        graphml(xml_node("a", "input"))[:-20],
        ":2: not well-formed XML at column 244",
    ),
    "other XML": ("<html/>", ": not GraphML: must be an element graphml with a graph"),
    "entities of entities": (
        '<!DOCTYPE l [<!ENTITY a "xx"><!ENTITY b "&a;&a;">]>\n<graphml>&b;</graphml',
        ":2: not well-formed XML at column 13",
    ),
    "binary": (bytes(range(256)), ":1: not well-formed XML at column 1"),
}


@pytest.mark.parametrize("name", GRAPHML)
def test_graphml(tmp_path: Path, name: str) -> None:
    content, text = GRAPHML[name]
    assert refused_file(tmp_path, "x.graphml", content) == text


GML = {
    "cycle": (
        'graph [ directed 1 node [ id 0 op "add" ] node [ id 1 op "add" ] '
        "edge [ source 0 target 1 ] edge [ source 1 target 0 ] ]",
        ": cycle: 1 -> 0 -> 1",
    ),
    "unknown operation": (
        'graph [ directed 1 node [ id 0 op "frob" ] ]',
        f": node 0: op = 'frob': must be one of {OPERATIONS}",
    ),
    "undirected": (
        'graph [ node [ id 0 op "input" ] ]',
        ": the graph is undirected: must have directed 1",
    ),
    "node twice": (
        'graph [ directed 1 node [ id 0 op "input" ] node [ id 0 op "input" ] ]',
        ":1: node 0: is given twice: must be given once",
    ),
    "edge to nowhere": (
        'graph [ directed 1 node [ id 0 op "input" ] edge [ source 0 target 9 ] ]',
        ":1: edge: target 9 is not the id of a node",
    ),
    "constant is NaN": (
        'graph [ directed 1 node [ id 0 op "const" value NAN ] ]',
        ": node 0: value = nan: must be finite in float64",
    ),
    "constant is a list": (
        'graph [ directed 1 node [ id 0 op "const" value [ a 1 ] ] ]',
        ":1: value is a list: must be a number or a text",
    ),
    "two labels": (
        'graph [ directed 1 node [ id 0 label "a" label "b" op "input" ] ]',
        ":1: label is given twice: node must have one",
    ),
    "label twice": (
        'graph [ directed 1 node [ id 0 label "a" op "input" ] '
        'node [ id 1 label "a" op "input" ] ]',
        ": 'a' names two nodes: names must differ",
    ),
    "empty": ("", ": 0 graphs: must be one, as graph [ … ]"),
    "truncated": (
        "graph [ directed 1 node [ id 0 ",
        ":1: the list of line 1 has no end: must have ]",
    ),
    "other text": (
        "hello world",
        ":1: hello: 'world': must be a number, a text in quotes, or a list in [ ]",
    ),
    "binary": (bytes(range(256)), ": byte 128 is not valid UTF-8"),
}


@pytest.mark.parametrize("name", GML)
def test_gml(tmp_path: Path, name: str) -> None:
    content, text = GML[name]
    assert refused_file(tmp_path, "x.gml", content) == text


EDGE_LIST = {
    "cycle": ("a b {'op': 'add'}\nb a {'op': 'add'}\n", ": cycle: b -> a -> b"),
    "no operation": (
        "\n# comment\na b\n",
        f":3: node b: 1 operands and no attribute op: must have one of {OPERATIONS}",
    ),
    "unknown operation": (
        "a y {'op': 'frob'}\n",
        f":1: node y: op = 'frob': must be one of {OPERATIONS}",
    ),
    "two operations": (
        "a y {'op': 'add'}\nb y {'op': 'mul'}\n",
        ":2: op = 'mul', but earlier 'add': must agree",
    ),
    "attribute twice": (
        "a y {'op': 'add', 'op': 'mul'}\n",
        ":1: {'op': 'add', 'op': 'mul'}: a key is given twice",
    ),
    "a zero byte": (
        "\0",
        ":1: node '\\x00': names must have characters, but no control characters",
    ),
    "a long line": (
        "a y " + "x" * 40_000,
        f":1: '{'x' * 39}… is not a dictionary: must be like {{'op': 'add', 'operand': 0}}",
    ),
    "code for attributes": (
        "a y __import__('os')\n",
        ":1: \"__import__('os')\" is not a dictionary: must be like {'op': 'add', 'operand': 0}",
    ),
    "constant without a value": (
        "k {'op': 'const'}\n",
        ":1: node k: const without a value: must have one",
    ),
    "constant is NaN": (
        "k {'op': 'const', 'value': 'nan'}\n",
        ":1: node k: value = 'nan': must be finite in float64",
    ),
    "truncated": (
        "a y {'op': 'add'}\nb y {'op",
        ":2: \"{'op\" is not a dictionary: must be like {'op': 'add', 'operand': 0}",
    ),
    "empty": ("", ": the DAG has no nodes: it must have at least one"),
    "binary": (bytes(range(256)), ":3: not valid UTF-8: only comments may be in another encoding"),
}


@pytest.mark.parametrize("name", EDGE_LIST)
def test_edge_list(tmp_path: Path, name: str) -> None:
    content, text = EDGE_LIST[name]
    assert refused_file(tmp_path, "x.edgelist", content) == text


HOSTILE = {
    "number beyond float64": ("x.json", node_link([{"id": "k", "op": "const", "value": 10**400}])),
    "number of 5000 digits": (
        "x.json",
        node_link([{"id": "k", "op": "const", "value": 7}]).replace("7", "7" * 5000),
    ),
    "operand number beyond float64": (
        "x.json",
        node_link([INPUT, {"id": "y", "op": "neg"}], ("a", "y")).replace(
            '"target": "y"', f'"target": "y", "operand": {10**400}'
        ),
    ),
    "deep JSON": ("x.json", "[" * 100_000),
    "GML graph is a number": ("x.gml", "graph 3"),
    "GML node is a number": ("x.gml", "graph [ directed 1 node 3 ]"),
    "GML edge is a number": ("x.gml", 'graph [ directed 1 node [ id 0 op "input" ] edge 3 ]'),
    "GML id is a list": ("x.gml", 'graph [ directed 1 node [ id [ a 1 ] op "input" ] ]'),
    "GML number beyond float64": (
        "x.gml",
        f'graph [ directed 1 node [ id 0 op "const" value {10**400} ] ]',
    ),
    "deep GML": ("x.gml", "graph [ " + "a [ " * 20_000),
    "edge list with an unhashable key": ("x.edgelist", "a y {[1]: 2}\n"),
    "edge list number beyond float64": (
        "x.edgelist",
        f"k {{'op': 'const', 'value': {10**400}}}\n",
    ),
    "GraphML with ports": ("x.graphml", graphml('<node id="a"><port name="p"/></node>')),
    "GraphML key without a type": (
        "x.graphml",
        graphml("").replace(' attr.name="op" attr.type="string"', ""),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tmp_path: Path, name: str) -> None:
    file, content = HOSTILE[name]
    refused_file(tmp_path, file, content)
