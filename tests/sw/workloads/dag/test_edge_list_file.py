"""Edge lists: names, attributes, comments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gnarl.sw.workloads.dag.edge_list_file import read_edge_list
from tests.support.dpu.dags import results
from tests.support.errors import refused


def edge_list(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "g.edgelist"
    path.write_text(text)
    return path


def test_an_edge_list_that_networkx_could_have_written(tmp_path: Path) -> None:
    path = edge_list(
        tmp_path,
        "# operands lead to users\n"
        "a r {'op': 'sub', 'operand': 1}\n"
        "\n"
        "t r {'operand': 0}  # the minuend\n"
        "a t {'op': 'add'}\n"
        "b t\n"
        "b t {}\n",
    )
    workload = read_edge_list(path, seed=4)
    a, b = workload.inputs.tolist()
    assert workload.input_names.tolist() == ["a", "b"]
    assert results(workload) == {"r": pytest.approx(a + b + b - a)}
    assert [workload.place(node) for node in range(4)] == [
        f"{path}:2: node a",
        f"{path}:6: node b",
        f"{path}:4: node t",
        f"{path}:2: node r",
    ]


@pytest.mark.parametrize("name", ["b#1", "b#", "b##", "b#x#y"])
def test_a_number_sign_in_a_name_belongs_to_it(tmp_path: Path, name: str) -> None:
    text = f"a s {{'op': 'add'}}\n{name} s\nc s # three operands\n{name} # an input\n"
    workload = read_edge_list(edge_list(tmp_path, text))
    assert workload.input_names.tolist() == ["a", name, "c"]
    assert results(workload) == {"s": pytest.approx(sum(workload.inputs))}


def test_number_signs_in_attributes_and_comments_behind_them(tmp_path: Path) -> None:
    text = (
        "#\n## a s {'op': 'mul'}\n# a s {'op': 'mul'}\n#a b c\n#old graph\n#\ta s\n"
        "a s {'op': 'add', 'note': 'a # b'}# of two\n\tb  s\t#c d\nc\t{'op': 'input'} #d\n"
    )
    assert read_edge_list(edge_list(tmp_path, text)).input_names.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("#1 s", "#1"),
        ("#1 s {}", "#1"),
        ("#1 s {'operand': 0}", "#1"),
        ("#1 {'op': 'input'}", "#1"),
        ("b #s", "#s"),
        ("b #s {'op': 'add'}", "#s"),
        ("b ##s {'op': 'add'}", "##s"),
    ],
)
def test_comments_that_may_be_names_are_refused(tmp_path: Path, line: str, name: str) -> None:
    path = edge_list(tmp_path, f"a s {{'op': 'add'}}\n\n{line}\n")
    with refused(
        f"{path}:3: '{name}' may be a name or begin a comment: a name must not begin with #, a "
        "comment must have a space behind it"
    ):
        read_edge_list(path)


def test_edge_lists_with_tabs(tmp_path: Path) -> None:
    text = "a\ts\t{'op': 'add'}\nb \t s\t{}\na\t{'value': 2}\nb\t{'value': 3}\n"
    assert results(read_edge_list(edge_list(tmp_path, text))) == {"s": 5.0}


def test_lines_of_nodes_give_values_and_operations(tmp_path: Path) -> None:
    path = edge_list(tmp_path, "a r\nc r\na {'value': 2}\nc {'op': 'const', 'value': 3}\n"
                               "r {'op': '*'}\nlonely {'op': 'input', 'value': 7}\n")  # fmt: skip
    assert results(read_edge_list(path)) == {"r": 6.0, "lonely": 7.0}


def test_a_name_alone_is_an_input(tmp_path: Path) -> None:
    assert read_edge_list(edge_list(tmp_path, "x\n")).output_names.tolist() == ["x"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "a r 3.5\n",
            ":1: '3.5' is not a dictionary: must be like {'op': 'add', 'operand': 0}",
        ),
        (
            "a r {'op': 'add'\n",
            ":1: \"{'op': 'add'\" is not a dictionary: must be like {'op': 'add', 'operand': 0}",
        ),
        (
            "a r {'op': open('x')}\n",
            ":1: \"{'op': open('x')}\" is not a dictionary: must be like "
            "{'op': 'add', 'operand': 0}",
        ),
        (
            "a r {'op': 'add'}\nb r {'op': 'mul'}\n",
            ":2: op = 'mul', but earlier 'add': must agree",
        ),
        ("r {'op': 'add'}\nr {'op': 'max'}\n", ":2: op = 'max', but earlier 'add': must agree"),
        (
            "\na r\n",
            ":2: node r: 1 operands and no attribute op: must have one of "
            "input, const, add, mul, max, min, sub, neg",
        ),
        ("a b {'op': '+'}\nb a {'op': '+'}\n", ": cycle: b -> a -> b"),
        ("a a {'op': '+'}\n", ": cycle: a -> a"),
        (
            "a {'value': 1}\na r {'op': '+'}\n\nb r\n",
            ":4: node b: input without a value: must have one, as others have",
        ),
    ],
)
def test_damaged_edge_lists_are_refused(tmp_path: Path, text: str, error: str) -> None:
    path = edge_list(tmp_path, text)
    with refused(f"{path}{error}"):
        read_edge_list(path)


@pytest.mark.parametrize("number", ["1e-400", "-1e-400", "[0.0, 2.4e-324]", "{1: (1_0e-999,)}"])
def test_numbers_that_float64_makes_0_are_refused(tmp_path: Path, number: str) -> None:
    path = tmp_path / "g.edgelist"
    path.write_text(f"a {{'op': 'input', 'value': 0e-400}}\nb {{'op': 'input', 'value': {number}}}")
    spelt = re.search(r"[\d_.]+e-\d+", number)
    assert spelt is not None
    with refused(
        f"{path}:2: {spelt[0]}: must be 0, or at least 5e-324, the smallest number of float64"
    ):
        read_edge_list(path)
