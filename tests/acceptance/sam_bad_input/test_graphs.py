"""Graphs as DOT files, in whole commands; ``tests/sw/compiler/sam/test_dot.py`` has the texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import gnarl, refusal
from tests.support.sam.files import CONFIG, VECTOR
from tests.support.sam.refusals import refused


@pytest.fixture
def dot(tmp_path: Path) -> Path:
    path = tmp_path / "vector.gv"
    assert gnarl("compile", CONFIG, VECTOR, "--dot", path).exit_code == 0
    return path


DOT = {
    "empty": ("", ", line 1: the file ends inside the digraph"),
    "undirected": ("graph {}", ", line 1: expected digraph, found graph"),
    "no formats": (
        "digraph {}",
        ': the digraph must have a comment with formats, such as comment="x=s0,b=s0"',
    ),
    "bad format": (
        'digraph { comment="x=q0" }',
        ": comment of the digraph: format x=q0 must be none, or levels of d, s, b and then the "
        "mode of each, such as B=ss10",
    ),
    "unknown type": (
        'digraph { comment="x=none"\n\na [comment="type=frob"] }',
        ", line 3: node a: unknown type frob",
    ),
    "no type": (
        'digraph { comment="x=none"\na -> b }',
        ", line 2: node a has no type; it must have one",
    ),
    "feeds itself": (
        'digraph { comment="x=none,b=none"\na [type="add"]\nw [type="fiberwrite" mode="vals" '
        'tensor="x"]\na -> w [type="val"]\na -> a [type="val"]\na -> a [type="val"] }',
        ", line 2: add a feeds itself",
    ),
    "nested": (
        "digraph " + "{" * 10_000,
        ", line 1: subgraphs are not supported; write the nodes into the digraph",
    ),
    "binary": (bytes(range(256)), ": byte 128 is not valid UTF-8"),
    "zero bytes": (b"\0" * 9, ", line 1: unexpected character '\\x00'"),
}


@pytest.mark.parametrize("name", DOT)
def test_dot_files(tmp_path: Path, name: str) -> None:
    content, text = DOT[name]
    path = tmp_path / "x.gv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refused(tmp_path, path) == f"{path}{text}"
    command = ("compile", CONFIG, path, "-o", tmp_path / "x.npz")
    assert refusal(tmp_path, *command) == f"gnarl: {path}{text}"


@pytest.mark.parametrize("number", ["1e400", "-1e400", "-inf", "1_0", "a b", "9" * 40_000])
def test_constants_that_are_no_numbers(tmp_path: Path, number: str) -> None:
    path = tmp_path / "x.gv"
    arguments = ("x(i)=b(i)*2.5 -f=x:s -f=b:s", "--dot", path)
    assert gnarl("compile", CONFIG, *arguments).exit_code == 0
    path.write_text(path.read_text().replace('tensor="2.5"', f'tensor="{number}"'))
    shown = number if len(number) <= 40 else f"{number[:40]}…"
    assert refused(tmp_path, path).endswith(
        f": arrayvals 5: tensor {shown}: must be a name, or a number of float64"
    )


def test_a_graph_without_one_of_its_lines(tmp_path: Path, dot: Path, operands: list[str]) -> None:
    given = (*operands[:2], *operands[4:])
    assert gnarl("run", CONFIG, dot, *given, "--backend", "model").exit_code == 0
    lines = dot.read_text().splitlines(keepends=True)
    (meaning,) = (number for number, line in enumerate(lines) if " einsum=" in line)
    for left_out in {*range(len(lines))} - {meaning}:
        dot.write_text("".join(lines[:left_out] + lines[left_out + 1 :]))
        line = refusal(tmp_path, "run", CONFIG, dot, *given)
        assert line.startswith(f"gnarl: {dot}")


def test_a_graph_with_an_edge_twice(tmp_path: Path, dot: Path) -> None:
    lines = dot.read_text().splitlines(keepends=True)
    edges = [number for number, line in enumerate(lines) if "->" in line]
    for number in edges:
        dot.write_text("".join(lines[: number + 1] + lines[number:]))
        line = refusal(tmp_path, "run", CONFIG, dot)
        assert line.startswith(f"gnarl: {dot}, line {number + 2}: ")


def test_a_graph_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "no.gv"
    assert refused(tmp_path, path) == f"{path}: No such file or directory"


def test_a_graph_is_not_written_over(tmp_path: Path, dot: Path) -> None:
    line = refusal(tmp_path, "compile", CONFIG, dot, "--dot", dot)
    assert line == f"gnarl: {dot}: is an input of this command: must be another file"


def test_a_graph_without_its_text_is_read_as_a_statement(dot: Path, operands: list[str]) -> None:
    lines = dot.read_text().splitlines(keepends=True)
    dot.write_text("".join(line for line in lines if " einsum=" not in line))
    given = (*operands[:2], *operands[4:])
    assert gnarl("run", CONFIG, dot, *given, "--backend", "model").exit_code == 0


def test_a_graph_with_the_text_of_another(tmp_path: Path, dot: Path) -> None:
    dot.write_text(dot.read_text().replace("B(i,j)*", "B(j,i)*"))
    assert refused(tmp_path, dot) == (
        f"{dot}: einsum: block vals_B: reads B(i,j): the statement has B(j,i)"
    )
