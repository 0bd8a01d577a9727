"""Input values that a workload or a program cannot take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import gnarl, refusal
from tests.support.dpu.dag_files import CONFIG, HEADER, INPUT, node_link

VALUES = {
    "NaN": ('{"a": NaN, "b": 1}', ": a = NaN: must be finite in float64"),
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
    "twice": ('{"a": 1, "a": 2, "b": 1}', ": duplicate key 'a' in one object"),
    "a list": ("[1, 2]", ": must be an object of input names and numbers"),
    "empty": ("", ":1: invalid JSON at column 1: Expecting value"),
    "truncated": ('{"a": 1', ":1: invalid JSON at column 8: Expecting ',' delimiter"),
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
        "gnarl: product: a program has no input values: --values FILE gives them"
    )


def test_a_value_that_fixed_point_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(node_link([{**INPUT, "value": 1000.0}, {"id": "y", "op": "neg"}], ("a", "y")))
    arguments = (path, "--backend", "model", "--set", "format=fixed16.8")
    assert refusal(tmp_path, "run", CONFIG, *arguments) == (
        "gnarl: x: input a = 1000.0: fixed16.8 holds -128.0 to 127.99609375"
    )
