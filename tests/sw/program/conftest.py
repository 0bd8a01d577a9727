"""A program in a file, for tests that load or spoil it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dpu.example_program import program


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "example.npz"
    program().save(path)
    return path
