"""Node-link JSON: links, and what is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnarl.sw.workloads.dag.node_link_file import read_node_link
from gnarl.sw.workloads.text_file import parse_json
from tests.support.dpu.dags import results
from tests.support.errors import refused


def node_link(tmp_path: Path, **changes: object) -> Path:
    data = {
        "directed": True,
        "nodes": [
            {"id": "a", "op": "input", "value": 5},
            {"id": 1, "op": "input", "value": 3},
            {"id": "r", "op": "sub"},
        ],
        "edges": [
            {"source": "a", "target": "r", "operand": 1},
            {"source": "a", "target": "r", "operand": 2},
            {"source": 1, "target": "r", "operand": 0},
        ],
    }
    data.update(changes)
    path = tmp_path / "g.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))
    return path


def test_repeated_links_are_repeated_operands_even_without_multigraph(tmp_path: Path) -> None:
    for multigraph in (None, False, True):
        workload = read_node_link(node_link(tmp_path, multigraph=multigraph))
        assert results(workload) == {"r": 3.0 - 5.0 - 5.0}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"nodes": None}, "not a node-link graph: must be an object with a list 'nodes'"),
        ({"nodes": {}}, "not a node-link graph: must be an object with a list 'nodes'"),
        ({"directed": None}, 'the graph is undirected: must have "directed": true'),
        ({"directed": False}, 'the graph is undirected: must have "directed": true'),
        ({"edges": None}, "no list 'links' or 'edges': must have one of them"),
        ({"links": 3, "edges": None}, "no list 'links' or 'edges': must have one of them"),
        ({"links": []}, "both 'links' and 'edges': must have one of them"),
        ({"nodes": ["a"]}, "nodes[0]: must be an object with a string or number 'id'"),
        ({"nodes": [{"id": [1]}]}, "nodes[0]: must be an object with a string or number 'id'"),
        ({"nodes": [{"id": "a"}] * 2}, "nodes[1]: duplicate id 'a'"),
        (
            {"edges": [{"source": "a"}]},
            "edges[0]: must be an object with a string or number 'target'",
        ),
        (
            {"edges": [{"source": "a", "target": "z"}]},
            "edges[0]: target 'z' is not the id of a node",
        ),
        (
            {"nodes": [{"id": "a", "op": "const", "value": float("nan")}], "edges": []},
            "node a: value = nan: must be finite in float64",
        ),
    ],
)
def test_damaged_node_link_graphs_are_refused(
    tmp_path: Path, changes: dict[str, object], text: str
) -> None:
    path = node_link(tmp_path, **changes)
    with refused(f"{path}: {text}"):
        read_node_link(path)


def test_json_that_breaks_off_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"nodes": [\n  {"id": 1},')
    with refused(f"{path}:2: invalid JSON at column 13: Expecting value"):
        parse_json(path.read_text(), str(path))


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"x": 1, "y": 2, "x": 3}')
    with refused(f"{path}: duplicate key 'x' in one object"):
        parse_json(path.read_text(), str(path))
