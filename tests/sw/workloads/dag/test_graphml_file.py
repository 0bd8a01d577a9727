"""GraphML: keys, defaults and edges; what is damaged or contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.workloads.dag.graphml_file import read_graphml
from tests.support.dpu.dags import results
from tests.support.errors import refused

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
