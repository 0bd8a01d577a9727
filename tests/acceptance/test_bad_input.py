"""Bad input through the ``gnarl`` command: status 2, one line that says where and what is right.

Nothing may be on stdout, no traceback on stderr, and no file may be left or changed. Cases whose
own text is not part of the promise are checked for all of that and for the name of the file.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sw.cli import main
from sw.runtime.configuration import configuration_names

CONFIG = "dpu_d1_b8"

GNARL = Path(sys.executable).with_name("gnarl")

OPERATIONS = "input, const, add, mul, max, min, sub, neg"

INPUT = {"id": "a", "op": "input"}

HEADER = "%%MatrixMarket matrix coordinate real general\n"


def gnarl(*arguments: str | Path) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a process of its own would print them on stderr
        return CliRunner().invoke(main, [str(argument) for argument in arguments])


def state(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its contents, every folder with ``None``."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
    }


def refusal(folder: Path, *arguments: str | Path) -> str:
    """What stands on the one line of a command that is refused and leaves ``folder`` as it was."""
    before = state(folder)
    result = gnarl(*arguments)
    unhandled = result.exception
    assert isinstance(unhandled, SystemExit), repr(unhandled)
    assert (result.exit_code, result.stdout) == (2, "")
    assert state(folder) == before
    assert result.stderr.endswith("\n")
    assert result.stderr.count("\n") == 1
    return result.stderr.rstrip("\n")


def refused_file(folder: Path, name: str, content: str | bytes) -> str:
    """How ``compile`` and ``run`` refuse a workload; without the file's name, which comes first."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refusal(folder, "compile", CONFIG, path, "-o", folder / "out.npz")
    assert line == refusal(folder, "run", CONFIG, path, "--backend", "model")
    assert line.startswith(f"gnarl: {path}")
    return line.removeprefix(f"gnarl: {path}")


def node_link(nodes: list[Any], *edges: tuple[Any, Any], **extra: Any) -> str:
    links = [{"source": source, "target": target} for source, target in edges]
    return json.dumps({"directed": True, "nodes": nodes, "edges": links, **extra})


def graphml(body: str, edgedefault: str = "directed") -> str:
    return (
        '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="o" for="node" attr.name="op" attr.type="string"/>'
        '<key id="v" for="node" attr.name="value" attr.type="double"/>'
        f'<graph edgedefault="{edgedefault}">{body}</graph></graphml>'
    )


def xml_node(name: str, op: str, value: str = "") -> str:
    data = f'<data key="v">{value}</data>' if value else ""
    return f'<node id="{name}"><data key="o">{op}</data>{data}</node>'


# Workloads: structure and values.

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
        ": node x: op = 'div': there is no division: make the reciprocal an input and multiply "
        "by it",
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
        ": node k: value = nan: must be a number",
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
        ": node a: value = nan: must be a number",
    ),
    "operation with a value": (
        node_link([INPUT, {"id": "x", "op": "mul", "value": 2}], ("a", "x")),
        ": node x: mul has a value: only input and const may",
    ),
    "no nodes": (node_link([]), ": the DAG has no nodes: it must have at least one"),
    "node twice": (node_link([INPUT, INPUT]), ": nodes[1]: id 'a' is given twice"),
    "number and text of one name": (
        node_link([{"id": 1, "op": "input"}, {"id": "1", "op": "input"}]),
        ": '1' names two nodes: names must differ",
    ),
    "edge to nowhere": (
        node_link([INPUT], ("a", "z")),
        ": edges[0]: target 'z' is no node's id",
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
    "output is no truth value": (
        node_link([{**INPUT, "output": "maybe"}]),
        ": node a: output = 'maybe': must be true or false",
    ),
    "no graph": ("3", ": no node-link graph: must be an object with a list 'nodes'"),
    "empty": ("", ":1: no sound JSON at column 1: Expecting value"),
    "truncated": (
        '{"directed": true,\n "nodes": [{"id": "a", "op"',
        ":2: no sound JSON at column 28: Expecting ':' delimiter",
    ),
    "binary": (bytes(range(256)), ": byte 128 is no UTF-8 text"),
    "zero bytes": (b"\0" * 64, ":1: no sound JSON at column 1: Expecting value"),
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
        ": node k: value = nan: must be a number",
    ),
    "unknown key": (
        graphml('<node id="a"><data key="q">1</data></node>'),
        ": no sound GraphML: Bad GraphML data: no key q",
    ),
    "empty": ("", ":1: not well-formed XML at column 1"),
    "truncated": (
        graphml(xml_node("a", "input"))[:-20],
        ":2: not well-formed XML at column 244",
    ),
    "other XML": ("<html/>", ": no sound GraphML: file not successfully read as graphml"),
    "entities of entities": (
        '<!DOCTYPE l [<!ENTITY a "xx"><!ENTITY b "&a;&a;">]>\n<graphml>&b;</graphml',
        ":2: not well-formed XML at column 13",
    ),
    "binary": (bytes(range(256)), ": byte 128 is no UTF-8 text"),
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
        ": the graph is undirected: edges must lead from operand to user",
    ),
    "node twice": (
        'graph [ directed 1 node [ id 0 op "input" ] node [ id 0 op "input" ] ]',
        ": no sound GML: node id 0 is duplicated",
    ),
    "edge to nowhere": (
        'graph [ directed 1 node [ id 0 op "input" ] edge [ source 0 target 9 ] ]',
        ": no sound GML: edge #0 has undefined target 9",
    ),
    "constant is NaN": (
        'graph [ directed 1 node [ id 0 op "const" value NAN ] ]',
        ": node 0: value = nan: must be a number",
    ),
    "constant is a list": (
        'graph [ directed 1 node [ id 0 op "const" value [ a 1 ] ] ]',
        ": node 0: value = {'a': 1}: must be a number",
    ),
    "label twice": (
        'graph [ directed 1 node [ id 0 label "a" op "input" ] '
        'node [ id 1 label "a" op "input" ] ]',
        ": 'a' names two nodes: names must differ",
    ),
    "empty": ("", ": no sound GML: input contains no graph"),
    "truncated": (
        "graph [ directed 1 node [ id 0 ",
        ": no sound GML: expected ']', found EOF at (2, 1)",
    ),
    "other text": (
        "hello world",
        ": no sound GML: expected an int, float, string or '[', found 'world' at (1, 7)",
    ),
    "binary": (bytes(range(256)), ": byte 128 is no UTF-8 text"),
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
    "code for attributes": (
        "a y __import__('os')\n",
        ":1: \"__import__('os')\" is no dictionary: must be like {'op': 'add', 'operand': 0}",
    ),
    "constant without a value": (
        "k {'op': 'const'}\n",
        ":1: node k: const without a value: must have one",
    ),
    "constant is NaN": (
        "k {'op': 'const', 'value': 'nan'}\n",
        ":1: node k: value = 'nan': must be a number",
    ),
    "truncated": (
        "a y {'op': 'add'}\nb y {'op",
        ":2: \"{'op\" is no dictionary: must be like {'op': 'add', 'operand': 0}",
    ),
    "empty": ("", ": the DAG has no nodes: it must have at least one"),
    "binary": (bytes(range(256)), ": byte 128 is no UTF-8 text"),
}


@pytest.mark.parametrize("name", EDGE_LIST)
def test_edge_list(tmp_path: Path, name: str) -> None:
    content, text = EDGE_LIST[name]
    assert refused_file(tmp_path, "x.edgelist", content) == text


MATRIX = {
    "neither lower nor upper": (
        HEADER + "3 3 5\n1 1 1\n2 2 1\n3 3 1\n2 1 1\n1 3 1\n",
        ":7: not triangular: entry (1, 3) stands above the diagonal, (2, 1) in line 6 below it",
    ),
    "zero on the diagonal": (
        HEADER + "2 2 2\n1 1 1\n2 2 0\n",
        ":4: the diagonal of row 2 is 0.0: must not be zero",
    ),
    "gap on the diagonal": (
        HEADER + "2 2 2\n1 1 1\n2 1 3\n",
        ": row 2 has no entry on the diagonal: must have one, not zero",
    ),
    "reciprocal overflows": (
        HEADER + "1 1 1\n1 1 1e-320\n",
        ":3: the diagonal of row 1 is 1e-320: its reciprocal must be finite",
    ),
    "NaN": (
        HEADER + "2 2 3\n1 1 1\n2 2 1\n2 1 nan\n",
        ":5: entry (2, 1) is nan: must be finite",
    ),
    "infinity": (HEADER + "1 1 1\n1 1 inf\n", ":3: entry (1, 1) is inf: must be finite"),
    "not square": (
        HEADER + "2 3 1\n1 1 1\n",
        ":2: 2 x 3: a triangular matrix must be square",
    ),
    "no rows": (
        HEADER + "0 0 0\n",
        ":2: 0 x 0: a triangular matrix must have at least one row",
    ),
    "cut between entries": (
        HEADER + "2 2 3\n1 1 1\n2 2 1\n",
        ": the file ends after 2 of 3 entries",
    ),
    "cut in an entry": (
        HEADER + "2 2 2\n1 1 1\n2 2",
        ":4: 2 fields: must be 'ROW COLUMN VALUE'",
    ),
    "cut after the header": (
        HEADER,
        ": the file ends before the line 'ROWS COLUMNS ENTRIES'",
    ),
    "too many entries": (
        HEADER + "1 1 1\n1 1 1\n1 1 1\n",
        ":4: more entries than the 1 announced",
    ),
    "entry twice": (
        HEADER + "1 1 2\n1 1 1\n1 1 1\n",
        ":4: entry (1, 1) is already given in line 3",
    ),
    "outside": (
        HEADER + "1 1 1\n2 1 1\n",
        ":3: entry (2, 1): row and column must be 1 to 1",
    ),
    "row is no whole number": (HEADER + "1 1 1\n1.0 1 1\n", ":3: '1.0' is no whole number"),
    "value is no number": (HEADER + "1 1 1\n1 1 one\n", ":3: 'one' is no number"),
    "symmetric": (
        "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n",
        ":1: symmetry 'symmetric': a triangular matrix must be general",
    ),
    "without values": (
        "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n",
        ":1: field 'pattern': must be real or integer",
    ),
    "dense": (
        "%%MatrixMarket matrix array real general\n1 1\n1\n",
        ":1: format 'array': must be coordinate",
    ),
    "empty": (
        "",
        ":1: the first line must be '%%MatrixMarket matrix coordinate real general'",
    ),
    "binary": (bytes(range(256)), ": byte 128 is no UTF-8 text"),
}


@pytest.mark.parametrize("name", MATRIX)
def test_matrix(tmp_path: Path, name: str) -> None:
    content, text = MATRIX[name]
    assert refused_file(tmp_path, "x.mtx", content) == text


PSDD = {
    "no header": ("L 0 0 1\n", ":1: the first line must be 'psdd COUNT'"),
    "no nodes": ("psdd 1\n", ": the file has no nodes: must have at least one"),
    "literal 0": (
        "psdd 1\nL 0 0 0\n",
        ":2: literal 0: must be a variable or minus a variable",
    ),
    "fields missing": ("psdd 1\nL 0\n", ":2: 2 fields: must be 'L id [vtree] literal'"),
    "unknown node": ("psdd 1\nQ 0 0 1\n", ":2: 'Q' starts no node: must be L, T or D"),
    "node twice": (
        "psdd 2\nL 0 0 1\nL 0 0 -1\n",
        ":3: node 0 is already defined in line 2",
    ),
    "child unknown": (
        "psdd 2\nL 0 0 1\nD 1 0 1 0 7 0\n",
        ":3: node 7 is not defined above: children must come before parents",
    ),
    "its own child": (
        "psdd 1\nD 2 0 1 2 2 0\n",
        ":2: node 2 is not defined above: children must come before parents",
    ),
    "probability above 1": (
        "psdd 1\nT 0 0 1 0.5\n",
        ":2: log-probability 0.5: must be a number not above 0",
    ),
    "probability is NaN": (
        "psdd 1\nT 0 0 1 nan\n",
        ":2: log-probability nan: must be a number not above 0",
    ),
    "decision cut short": (
        "psdd 3\nL 0 0 1\nL 1 0 -1\nD 2 0 2 0 1 -0.5\n",
        ":4: 7 fields: a decision with 2 elements must have 10",
    ),
    "cut before the root": (
        "psdd 5\nL 0 0 1\nL 1 1 2\nD 2 0 1 0 1 0\nD 3 0 1 0 1 0\n",
        ":4: decision 2 is used by no other: only the root, the last node, may be; is the file "
        "truncated?",
    ),
    "id beyond 63 bits": (
        "psdd 1\nL 99999999999999999999 0 1\n",
        ":2: 99999999999999999999 has more than 63 bits",
    ),
    "empty": ("", ": the file is empty: must start with 'psdd COUNT'"),
    "binary": (bytes(range(256)), ": byte 128 is no UTF-8 text"),
}


@pytest.mark.parametrize("name", PSDD)
def test_psdd(tmp_path: Path, name: str) -> None:
    content, text = PSDD[name]
    assert refused_file(tmp_path, "x.psdd", content) == text


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
    "matrix of 10^12 rows": ("x.mtx", HEADER + f"{10**12} {10**12} 1\n1 1 1\n"),
    "negative number of entries": ("x.mtx", HEADER + "1 1 -1\n1 1 1\n"),
    "psdd count is no number": ("x.psdd", "psdd x\nL 0 0 1\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tmp_path: Path, name: str) -> None:
    file, content = HOSTILE[name]
    refused_file(tmp_path, file, content)


def test_an_extension_that_no_workload_has(tmp_path: Path) -> None:
    assert refused_file(tmp_path, "x.csv", "") == (
        ": no workload has the extension '.csv': must be one of .psdd, .mtx, .graphml, .gml, "
        ".json, .edgelist, .edges"
    )


def test_a_value_that_fixed_point_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(node_link([{**INPUT, "value": 1000.0}, {"id": "y", "op": "neg"}], ("a", "y")))
    arguments = (path, "--backend", "model", "--set", "format=fixed16.8")
    assert refusal(tmp_path, "run", CONFIG, *arguments) == (
        "gnarl: x: input a = 1000.0: fixed16.8 holds -128.0 to 127.99609375"
    )


# Configurations.


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "product.json"
    nodes = [
        {**INPUT, "value": 1.5},
        {"id": "b", "op": "input", "value": 2.0},
        {"id": "k", "op": "const", "value": 0.5},
        {"id": "y", "op": "mul"},
    ]
    path.write_text(node_link(nodes, ("a", "y"), ("b", "y"), ("k", "y")))
    return path


FIELDS = (
    "depth, banks, registers, format, output_interconnect, pe_stages, instruction_words, "
    "data_rows, overlap"
)

FORMATS = (
    "float32, float16, bfloat16, float8_e5m2, float8_e4m3, fixedW.F (W = 4 to 32 bits, F < W "
    "after the point)"
)

OVERRIDES = {
    "banks": " banks: must be field=value",
    "=3": " =3: must be field=value",
    "banks=": ": banks = '': must be a whole number from 8 to 64",
    "banks=9": ": banks = 9: must be a multiple of 2**depth = 2",
    "banks=many": ": banks = 'many': must be a whole number from 8 to 64",
    "banks=[8]": ": banks = [8]: must be a whole number from 8 to 64",
    "depth=5": ": depth = 5: must be a whole number from 1 to 4",
    "depth=1.5": ": depth = 1.5: must be a whole number from 1 to 4",
    "depth=true": ": depth = True: must be a whole number from 1 to 4",
    "registers=7": ": registers = 7: must be a whole number from 8 to 256",
    "pe_stages=0": ": pe_stages = 0: must be a whole number from 1 to 8",
    "data_rows=1": ": data_rows = 1: must be a whole number from 4 to 1048576",
    "instruction_words=0": ": instruction_words = 0: must be a whole number from 4 to 1048576",
    "overlap=maybe": ": overlap = 'maybe': must be true or false",
    "output_interconnect=full": (
        ": output_interconnect = 'full': must be one of crossbar, layered, single"
    ),
    "format=float64": f": format = 'float64': must be one of {FORMATS}",
    "format=fixed16.16": f": format = 'fixed16.16': must be one of {FORMATS}",
    "colour=red": f": colour = 'red': no such field; there are {FIELDS}",
    "target=dpu": f": target = 'dpu': no such field; there are {FIELDS}",
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides(tmp_path: Path, graph: Path, override: str) -> None:
    arguments = ("run", CONFIG, graph, "--backend", "model", "--set", override)
    assert refusal(tmp_path, *arguments) == f"gnarl: --set{OVERRIDES[override]}"


HOSTILE_OVERRIDES = ["registers=1" + "0" * 5000, "banks=" + "[" * 10_000]


@pytest.mark.parametrize("override", HOSTILE_OVERRIDES, ids=["long", "deep"])
def test_hostile_overrides(tmp_path: Path, graph: Path, override: str) -> None:
    arguments = ("run", CONFIG, graph, "--backend", "model", "--set", override)
    assert refusal(tmp_path, *arguments).startswith("gnarl: --set")


TOML = {
    "empty": ("", ': no target: must have a line target = one of "dpu", "sam"'),
    "unknown target": ('target = "cpu"\n', ":1: target = 'cpu': must be one of \"dpu\", \"sam\""),
    "unknown field": (
        'target = "dpu"\ncolour = "red"\n',
        f":2: colour = 'red': no such field; there are {FIELDS}",
    ),
    "bad value": (
        'target = "dpu"\n\nbanks = 9\n',
        ":3: banks = 9: must be a multiple of 2**depth = 8",
    ),
    "field twice": (
        'target = "dpu"\nbanks = 8\nbanks = 8\n',
        ":3: not TOML: Cannot overwrite a value at column 10",
    ),
    "truncated": ('target = "dpu"\nbanks = ', ":2: not TOML: Invalid value"),
    "binary": (bytes(range(256)), ": cannot be read: it is not UTF-8 text"),
    "zero bytes": (b"\0" * 9, ":1: not TOML: Invalid statement at column 1"),
}


@pytest.mark.parametrize("name", TOML)
def test_configuration_files(tmp_path: Path, graph: Path, name: str) -> None:
    content, text = TOML[name]
    path = tmp_path / "mine.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refusal(tmp_path, "run", path, graph, "--backend", "model")
    assert line == f"gnarl: {path}{text}"


HOSTILE_TOML = ['target = "dpu"\nregisters = 1' + "0" * 5000 + "\n", "a = " + "[" * 5000]


@pytest.mark.parametrize("content", HOSTILE_TOML, ids=["long", "deep"])
def test_hostile_configuration_files(tmp_path: Path, graph: Path, content: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    line = refusal(tmp_path, "run", path, graph, "--backend", "model")
    assert line.startswith(f"gnarl: {path}")


def test_an_unknown_configuration(tmp_path: Path, graph: Path) -> None:
    assert refusal(tmp_path, "run", "dpu_d9_b9", graph) == (
        f"gnarl: dpu_d9_b9: no such configuration; there are {', '.join(configuration_names())}, "
        "and paths of .toml files"
    )
    missing = tmp_path / "missing.toml"
    assert refusal(tmp_path, "run", missing, graph) == f"gnarl: {missing}: no such file"


@pytest.mark.parametrize("command", ["run", "compile"])
def test_a_negative_seed(tmp_path: Path, graph: Path, command: str) -> None:
    output = ("-o", tmp_path / "out.npz") if command == "compile" else ("--backend", "model")
    line = refusal(tmp_path, command, CONFIG, graph, "--seed", "-1", *output)
    assert "--seed" in line


# Files that are not there, are folders, or cannot be written.


def test_files_that_are_not_there_or_are_folders(tmp_path: Path, graph: Path) -> None:
    folder, missing = tmp_path / "folder.json", tmp_path / "missing.json"
    folder.mkdir()
    cases = [
        (folder, "is a directory", "not a file"),
        (missing, "does not exist", "no such file"),
    ]
    for path, text, workload_text in cases:
        assert refusal(tmp_path, "run", CONFIG, path) == f"gnarl: {path}: {workload_text}"
        assert refusal(tmp_path, "run", CONFIG, graph, "--values", path) == (
            f"gnarl run: Invalid value for '--values': File '{path}' {text}. See gnarl run --help"
        )
        assert refusal(tmp_path, "disasm", path) == (
            f"gnarl disasm: Invalid value for 'PROGRAM': File '{path}' {text}. "
            "See gnarl disasm --help"
        )
    assert refusal(tmp_path, "compile", CONFIG, graph, "-o", folder) == (
        f"gnarl compile: Invalid value for '-o' / '--output': File '{folder}' is a directory. "
        "See gnarl compile --help"
    )
    assert refusal(tmp_path, "compile", CONFIG, graph, "-o", tmp_path / "no" / "x.npz") == (
        f"gnarl compile: Invalid value for '-o' / '--output': {tmp_path / 'no'}: no such folder. "
        "See gnarl compile --help"
    )


def test_outputs_that_cannot_be_written(tmp_path: Path, graph: Path) -> None:
    # Nobody, not even root, makes files in /proc.
    for arguments in (
        ("compile", CONFIG, graph, "-o", "/proc/x.npz"),
        ("run", CONFIG, graph, "--backend", "model", "--timeline", "/proc/x.png"),
        ("rtl", CONFIG, "-o", "/proc/x"),
    ):
        assert refusal(tmp_path, *arguments).startswith("gnarl: /proc/")


def test_an_output_that_is_no_regular_file_is_not_replaced(tmp_path: Path, graph: Path) -> None:
    link, pipe = tmp_path / "link.npz", tmp_path / "pipe.npz"
    link.symlink_to("real.npz")
    os.mkfifo(pipe)
    gnarl("compile", CONFIG, graph, "-o", link)
    assert link.is_symlink()
    result = gnarl("compile", CONFIG, graph, "-o", pipe)
    assert pipe.is_fifo()
    assert result.exit_code == 2


# Programs and input values.


@pytest.fixture
def program(tmp_path: Path, graph: Path) -> Path:
    path = tmp_path / "product.npz"
    assert gnarl("compile", CONFIG, graph, "-o", path).exit_code == 0
    return path


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.json"
    path.write_text('{"a": 1, "b": 2}')
    return path


VALUES = {
    "NaN": ('{"a": NaN, "b": 1}', ": a = NaN: must be a number"),
    "text": ('{"a": "x", "b": 1}', ': a = "x": must be a number'),
    "null": ('{"a": null, "b": 1}', ": a = null: must be a number"),
    "truth value": ('{"a": true, "b": 1}', ": a = true: must be a number"),
    "missing": ('{"a": 1}', ": no value for b: every input must have one"),
    "unknown": (
        '{"a": 1, "b": 2, "q": 3}',
        ": no input is called q: the program has 2 inputs, a, b",
    ),
    "a constant's": (
        '{"a": 1, "b": 2, "k": 3}',
        ": no input is called k: the program has 2 inputs, a, b",
    ),
    "twice": ('{"a": 1, "a": 2, "b": 1}', ": 'a' is given twice in one object"),
    "a list": ("[1, 2]", ": must be an object of input names and numbers"),
    "empty": ("", ":1: no sound JSON at column 1: Expecting value"),
    "truncated": ('{"a": 1', ":1: no sound JSON at column 8: Expecting ',' delimiter"),
    "another graph": (
        node_link(
            [INPUT, {"id": "b", "op": "input"}, {"id": "y", "op": "add"}], ("a", "y"), ("b", "y")
        ),
        ": another structure than the program's: inputs have the same names, but op of the DAG "
        "differ",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(tmp_path: Path, program: Path, name: str) -> None:
    content, text = VALUES[name]
    path = tmp_path / "new.json"
    path.write_text(content)
    line = refusal(tmp_path, "run", CONFIG, program, "--values", path, "--backend", "model")
    assert line == f"gnarl: {path}{text}"


HOSTILE_VALUES = [f'{{"a": {10**400}, "b": 1}}', '{"a":' + "[" * 100_000]


@pytest.mark.parametrize("content", HOSTILE_VALUES, ids=["beyond float64", "deep"])
def test_hostile_values(tmp_path: Path, program: Path, content: str) -> None:
    path = tmp_path / "new.json"
    path.write_text(content)
    line = refusal(tmp_path, "run", CONFIG, program, "--values", path, "--backend", "model")
    assert line.startswith(f"gnarl: {path}")


def test_values_of_a_matrix_with_another_pattern(tmp_path: Path) -> None:
    old, new, output = (tmp_path / name for name in ("old.mtx", "new.mtx", "old.npz"))
    old.write_text(HEADER + "2 2 3\n1 1 2\n2 1 3\n2 2 4\n")
    assert gnarl("compile", CONFIG, old, "-o", output).exit_code == 0
    for content, text in (
        ("2 2 2\n1 1 2\n2 2 4\n", "4 inputs instead of 5"),
        ("2 2 3\n1 1 2\n1 2 3\n2 2 4\n", "input 2 is U[1,2] instead of L[2,1]"),
    ):
        new.write_text(HEADER + content)
        line = refusal(tmp_path, "run", CONFIG, output, "--values", new, "--backend", "model")
        assert line == f"gnarl: {new}: another structure than the program's: {text}"


def test_a_program_without_values(tmp_path: Path, program: Path) -> None:
    assert refusal(tmp_path, "run", CONFIG, program, "--backend", "model") == (
        f"gnarl: {program}: a program has no input values: "
        "--values FILE, or --tensor NAME=PATH, gives them"
    )


def test_a_program_for_another_configuration(tmp_path: Path, program: Path, values: Path) -> None:
    line = refusal(tmp_path, "run", "dpu_d2_b16", program, "--values", values)
    assert line == (
        f"gnarl: {program}: program for another configuration: depth is 1, must be 2; banks is 8, "
        "must be 16; registers is 16, must be 32"
    )


def test_programs_cut_anywhere(tmp_path: Path, program: Path, values: Path) -> None:
    whole = program.read_bytes()
    for length in [0, 1, *range(100, len(whole), 997), len(whole) - 1]:
        program.write_bytes(whole[:length])
        for command in (
            ("disasm", program),
            ("run", CONFIG, program, "--values", values, "--backend", "model"),
        ):
            line = refusal(tmp_path, *command)
            assert line.startswith(f"gnarl: {program}: not a program file, or damaged: ")


def test_a_workload_called_a_program(tmp_path: Path, graph: Path, values: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(graph.read_bytes())
    assert refusal(tmp_path, "run", CONFIG, path, "--values", values) == (
        f"gnarl: {path}: not a program file, or damaged: File is not a zip file"
    )


def with_member(program: Path, name: str, content: bytes | None) -> None:
    """Replaces, or with ``None`` drops, one member of a program file, checksums included."""
    with zipfile.ZipFile(program) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[name] = content or b""
    if content is None:
        del members[name]
    with zipfile.ZipFile(program, "w") as archive:
        for member, octets in members.items():
            archive.writestr(member, octets)


def with_manifest(program: Path, **fields: Any) -> None:
    with zipfile.ZipFile(program) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    with_member(program, "manifest.json", json.dumps({**manifest, **fields}).encode())


def array_bytes(array: np.ndarray) -> bytes:
    octets = io.BytesIO()
    np.save(octets, array)
    return octets.getvalue()


def array_of(octets: bytes) -> np.ndarray:
    return np.load(io.BytesIO(octets))


MANIFEST = {
    "version": (7, "version 7 of program files: this Gnarl reads version 1"),
    "target": ("cpu", "program for another configuration: target is cpu, must be dpu"),
    "workload": (3, "workload in manifest.json is 3: must be of type str"),
    "input_names": (["a", 2], "input_names[1] in manifest.json is 2: must be a name"),
    "output_names": ("y", "output_names in manifest.json is 'y': must be of type list"),
    "colour": ("red", "manifest.json has an unknown field 'colour'"),
}


@pytest.mark.parametrize("field", MANIFEST)
def test_bad_fields_of_a_manifest(tmp_path: Path, program: Path, values: Path, field: str) -> None:
    value, text = MANIFEST[field]
    with_manifest(program, **{field: value})
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line == f"gnarl: {program}: {text}"


SECTIONS = {
    "missing": ("tree_op.npy", None, "section 'tree_op' is missing"),
    "unknown": ("tree.npy", array_bytes(np.zeros(1)), "unknown section 'tree'"),
    "another type": (
        "word_row.npy",
        array_bytes(np.zeros(2)),
        "section 'word_row' is float64 [2]: must be int32 [2]",
    ),
    "out of range": (
        "dag_op.npy",
        array_bytes(np.full(4, 9, np.uint8)),
        "dag_op[0] = 9: must be from 0 to 5",
    ),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_bad_sections(tmp_path: Path, program: Path, values: Path, name: str) -> None:
    member, content, text = SECTIONS[name]
    with_member(program, member, content)
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line == f"gnarl: {program}: {text}"


def huge_array() -> bytes:
    """A header that announces 3 * 10**12 bytes."""
    octets = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": (3 * 10**12,)}
    np.lib.format.write_array_header_1_0(octets, header)
    return octets.getvalue()


HOSTILE_PROGRAMS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "deep manifest": ("manifest.json", lambda _: b"[" * 100_000),
    "array beyond memory": ("instructions.npy", lambda _: huge_array()),
    "half an instruction after the last": (
        "instructions.npy",
        lambda old: array_bytes(np.append(array_of(old), array_of(old)[:2])),
    ),
    "leaves where operations were": (
        "dag_op.npy",
        lambda old: array_bytes(array_of(old)[::-1].copy()),
    ),
    "constant is NaN": ("constants.npy", lambda old: array_bytes(array_of(old) * np.nan)),
}


@pytest.mark.parametrize("name", HOSTILE_PROGRAMS)
def test_hostile_programs(tmp_path: Path, program: Path, values: Path, name: str) -> None:
    member, damage = HOSTILE_PROGRAMS[name]
    with zipfile.ZipFile(program) as archive:
        content = archive.read(member)
    with_member(program, member, damage(content))
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line.startswith("gnarl: ")


def test_a_program_without_statistics(tmp_path: Path, program: Path, values: Path) -> None:
    with_manifest(program, statistics={})
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line.startswith(f"gnarl: {program}: statistics")


# More than the configuration has.


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """A bidiagonal matrix of 100 rows."""
    path = tmp_path / "chain.mtx"
    lines = [f"{i} {i} 2" for i in range(1, 101)] + [f"{i + 1} {i} 1" for i in range(1, 100)]
    path.write_text(f"{HEADER}100 100 {len(lines)}\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("field", ["data_rows", "instruction_words"])
def test_memories_that_are_too_small(tmp_path: Path, chain: Path, field: str) -> None:
    setting = ("--set", f"{field}=4")
    commands = [
        ("compile", CONFIG, chain, "-o", tmp_path / "out.npz", *setting),
        ("run", CONFIG, chain, "--backend", "model", *setting),
        ("run", CONFIG, chain, "--backend", "rtl", *setting),
    ]
    lines = {refusal(tmp_path, *command) for command in commands}
    assert len(lines) == 1
    line = lines.pop()
    assert line.startswith(f"gnarl: {field} = 4: this DAG needs at least ")
    needed = line.split("at least ")[1].split()[0]
    enough = ("--set", f"{field}={needed}")
    assert gnarl("run", CONFIG, chain, "--backend", "model", *enough).exit_code == 0


# The command as a process of its own.


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("compile", CONFIG, "loop.edgelist", "-o", "out.npz"),
            "gnarl: loop.edgelist: cycle: b -> a -> b",
        ),
        (
            ("run", CONFIG, "loop.edgelist", "--json"),
            "gnarl: loop.edgelist: cycle: b -> a -> b",
        ),
        (("run",), "gnarl run: Missing argument 'CONFIG'. See gnarl run --help"),
    ],
)
def test_the_command(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    (tmp_path / "loop.edgelist").write_text("a b {'op': 'add'}\nb a {'op': 'add'}\n")
    done = subprocess.run([GNARL, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", text + "\n")
    assert list(state(tmp_path)) == ["loop.edgelist"]
