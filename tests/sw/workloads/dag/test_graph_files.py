"""What all files of graphs have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest

from gnarl.sw.workloads.dag.edge_list_file import read_edge_list
from gnarl.sw.workloads.dag.gml_file import read_gml
from gnarl.sw.workloads.dag.graph import from_networkx
from gnarl.sw.workloads.dag.graphml_file import read_graphml
from gnarl.sw.workloads.dag.node_link_file import read_node_link
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.dpu.dags import results
from tests.support.dpu.named_graphs import named_graph
from tests.support.dpu.numbered_edges import NUMBERED, difference
from tests.support.errors import refused


def example(multigraph: bool) -> nx.DiGraph:
    """r = a - (b + 0.5) with b twice in a multigraph; s = max(a, b + 0.5), r and b are outputs."""
    graph = nx.MultiDiGraph() if multigraph else nx.DiGraph()
    graph.add_node("a", op="input", value=5.0)
    graph.add_node("b", op="input", value=3.0, output=True)
    graph.add_node("half", op="const", value=0.5)
    graph.add_node("t", op="add")
    graph.add_node("r", op="sub")
    graph.add_node("s", op="max")
    graph.add_edge("t", "r", operand=1)
    graph.add_edge("a", "r", operand=0)
    for rank, name in enumerate(["half", "b", "b"][: 3 if multigraph else 2]):
        graph.add_edge(name, "t", operand=rank)
    graph.add_edge("a", "s", operand=0)
    graph.add_edge("t", "s", operand=1)
    return graph


def write_edge_list(graph: nx.DiGraph, path: Path) -> None:
    nodes = [
        f"{node} { ({k: v for k, v in data.items()})!r}" for node, data in graph.nodes(data=True)
    ]
    path.write_text("\n".join(nodes) + "\n")
    with path.open("ab") as file:
        nx.write_edgelist(graph, file, data=True)


def write_node_link(graph: nx.DiGraph, path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))


FORMATS = [
    pytest.param(nx.write_graphml, read_graphml, id="graphml"),
    pytest.param(nx.write_gml, read_gml, id="gml"),
    pytest.param(write_node_link, read_node_link, id="json"),
    pytest.param(write_edge_list, read_edge_list, id="edgelist"),
]


@pytest.mark.parametrize(("write", "read"), FORMATS)
@pytest.mark.parametrize("multigraph", [False, True], ids=["simple", "multi"])
def test_what_networkx_writes_is_read(
    tmp_path: Path,
    multigraph: bool,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    path = tmp_path / "example.file"
    write(example(multigraph), path)
    workload = read(path)
    assert workload.name == "example"
    assert workload.source == str(path)
    total = 6.5 if multigraph else 3.5
    assert results(workload) == {"b": 3.0, "r": 5.0 - total, "s": max(5.0, total)}


@pytest.mark.parametrize(("write", "read"), FORMATS)
@pytest.mark.parametrize("multigraph", [False, True], ids=["simple", "multi"])
@pytest.mark.parametrize("op", ["sub", "Subtract", "-"])
def test_a_difference_whose_first_operand_no_file_names_is_refused(
    tmp_path: Path,
    op: str,
    multigraph: bool,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    """In memory it is c - m, by the order of edges; networkx writes them by their first node."""
    graph = nx.MultiDiGraph() if multigraph else nx.DiGraph()
    graph.add_node("m", op="input", value=6.0)
    graph.add_node("c", op="input", value=4.0)
    graph.add_node("s", op=op)
    graph.add_edges_from([("c", "s"), ("m", "s")])
    assert results(from_networkx(graph)) == {"s": -2.0}
    path = tmp_path / "d.file"
    write(graph, path)
    line = ":3" if read is read_edge_list else ""
    with refused(
        f"{path}{line}: node s: nothing says which operand sub takes first, m or c: the edges into "
        "it must have the attribute operand, whole numbers in their order"
    ):
        read(path)


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_differences_that_no_order_changes_are_read(
    tmp_path: Path,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("a", op="input", value=6.0)
    graph.add_node("one", op="sub")
    graph.add_node("none", op="sub")
    graph.add_edges_from([("a", "one"), ("a", "none"), ("a", "none")])
    path = tmp_path / "d.file"
    write(graph, path)
    assert results(read(path)) == {"one": 6.0, "none": 0.0}


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_a_file_without_nodes_is_refused(
    tmp_path: Path,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    path = tmp_path / "empty.file"
    write(nx.DiGraph(), path)
    with refused(f"{path}: the DAG has no nodes: it must have at least one"):
        read(path)


@pytest.mark.parametrize("read", [read_graphml, read_gml, read_node_link, read_edge_list])
def test_a_missing_file_is_refused(tmp_path: Path, read: Callable[[Path], DagWorkload]) -> None:
    with refused(f"{tmp_path / 'no'}: No such file or directory"):
        read(tmp_path / "no")


@pytest.mark.parametrize(("write", "read"), FORMATS)
@pytest.mark.parametrize(("first", "second", "text"), NUMBERED)
def test_operand_and_index_must_agree(
    tmp_path: Path,
    first: dict[str, int],
    second: dict[str, int],
    text: str,
    write: Callable[[nx.DiGraph, Path], None],
    read: Callable[[Path], DagWorkload],
) -> None:
    path = tmp_path / "d.file"
    write(difference(first, second), path)
    if not text:
        assert results(read(path)) == {"d": -2.0}
        return
    line = ":3" if read is read_edge_list else ""
    with refused(f"{path}{line}: node d: {text}"):
        read(path)


def check_named_graph(folder: Path, seed: int) -> None:
    """What networkx writes of it is read as the graph in memory is, to the last bit."""
    graph = named_graph(Random(seed))
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = results(from_networkx(graph))
        for param in FORMATS[:3]:
            write, read = param.values
            path = folder / f"{seed}.file"
            write(graph, path)
            found = results(read(path))
            assert [*map(repr, found.items())] == [*map(repr, wanted.items())], (seed, param.id)


def test_any_names_and_values_are_read_as_they_were_written(tmp_path: Path) -> None:
    for seed in range(40):
        check_named_graph(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(40, 5000, 160))
def test_more_names_and_values(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 160):
        check_named_graph(tmp_path, seed)
