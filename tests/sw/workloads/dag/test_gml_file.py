"""GML: texts, lists, words and edges; what is damaged or given twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.workloads.dag.gml_file import read_gml
from tests.support.dpu.dags import results
from tests.support.errors import refused

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
