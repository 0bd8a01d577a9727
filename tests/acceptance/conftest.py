"""A workload of the DPU, its program and values for it, for tests that spoil one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import gnarl
from tests.support.dpu.dag_files import CONFIG, INPUT, node_link


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
