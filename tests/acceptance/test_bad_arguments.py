"""Arguments that mean nothing: options, and paths that do not exist or cannot be written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import GNARL, gnarl, refusal, state
from tests.support.dpu.dag_files import CONFIG, refused_file
from tests.support.forked import run


@pytest.mark.parametrize("command", ["run", "compile"])
def test_a_negative_seed(tmp_path: Path, graph: Path, command: str) -> None:
    output = ("-o", tmp_path / "out.npz") if command == "compile" else ("--backend", "model")
    line = refusal(tmp_path, command, CONFIG, graph, "--seed", "-1", *output)
    assert "--seed" in line


def test_an_extension_that_no_workload_has(tmp_path: Path) -> None:
    assert refused_file(tmp_path, "x.csv", "") == (
        ": no workload has the extension '.csv': must be one of .psdd, .mtx, .npz, .graphml, .gml, "
        ".json, .edgelist, .edges"
    )


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


def test_a_program_is_not_written_where_its_graph_cannot_be(tmp_path: Path, graph: Path) -> None:
    outputs = ("-o", tmp_path / "x.npz", "--dot", tmp_path / "x.gv")
    before = state(tmp_path)
    result = gnarl("compile", CONFIG, graph, *outputs)
    assert result.exit_code == 2
    assert state(tmp_path) == before
    # Stages that take seconds, as the compiler's first use does, have lines of their own above.
    line = "gnarl: --dot: not supported by target dpu"
    assert result.stderr.splitlines()[-1] == line


def test_a_compilers_option_for_a_program(tmp_path: Path, program: Path) -> None:
    assert refusal(tmp_path, "run", CONFIG, program, "--no-reassociate") == (
        f"gnarl: --no-reassociate: {program} is compiled already: must be left out"
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
    ],
)
def test_a_command_that_is_refused(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    (tmp_path / "loop.edgelist").write_text("a b {'op': 'add'}\nb a {'op': 'add'}\n")
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", text + "\n")
    assert list(state(tmp_path)) == ["loop.edgelist"]


def test_the_installed_command(tmp_path: Path) -> None:
    done = subprocess.run([GNARL, "run"], cwd=tmp_path, capture_output=True, text=True)
    text = "gnarl run: Missing argument 'CONFIG'. See gnarl run --help\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", text)
    assert state(tmp_path) == {}
