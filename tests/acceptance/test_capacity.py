"""Workloads that need more than a configuration has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import gnarl, refusal
from tests.support.dpu.dag_files import CONFIG, HEADER


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
