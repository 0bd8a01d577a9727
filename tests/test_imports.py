"""Imports run one way: the contracts of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import networkx

ROOT = Path(__file__).parents[1]


def test_no_import_runs_against_the_layers() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_modules_do_not_import_each_other_in_circles() -> None:
    """For types alone, or inside of functions, neither."""
    found = grimp.build_graph("gnarl", "manual", "bench", cache_dir=None)
    graph = networkx.DiGraph()
    for module in found.modules:
        graph.add_edges_from(
            (module, each) for each in found.find_modules_directly_imported_by(module)
        )
    assert graph.number_of_edges() > 5000
    circles = networkx.strongly_connected_components(graph)
    assert [sorted(each) for each in circles if len(each) > 1] == []
