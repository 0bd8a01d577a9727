"""Loading any workload by its file's extension."""

from __future__ import annotations

import io
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.graph import from_networkx
from gnarl.sw.workloads.dag.load import READERS, load
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.errors import refused

GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="op" for="node" attr.name="op" attr.type="string"/>
<graph edgedefault="directed"><node id="x"><data key="op">input</data></node></graph></graphml>
"""


def sparse_file(dense: list[list[float]]) -> bytes:
    """The bytes that SciPy saves of a matrix."""
    octets = io.BytesIO()
    scipy.sparse.save_npz(octets, scipy.sparse.csr_array(dense))
    return octets.getvalue()


FILES: dict[str, str | bytes] = {
    ".psdd": "psdd 1\nL 0 0 1\n",
    ".npz": sparse_file([[2.0]]),
    ".mtx": "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n",
    ".graphml": GRAPHML,
    ".gml": 'graph [ directed 1 node [ id 0 label "x" op "input" ] ]',
    ".json": '{"directed": true, "nodes": [{"id": "x", "op": "input"}], "links": []}',
    ".edgelist": "x\n",
    ".edges": "x\n",
}


@pytest.mark.parametrize("extension", READERS)
@pytest.mark.parametrize("upper", [False, True])
def test_the_extension_says_who_reads(tmp_path: Path, extension: str, upper: bool) -> None:
    path = tmp_path / f"some.thing{extension.upper() if upper else extension}"
    content = FILES[extension]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    workload = load(path)
    assert workload.name == "some.thing"
    assert len(workload.dag.outputs) == 1
    assert workload.inputs.dtype == np.float64


def test_the_seed_chooses_values_that_the_file_lacks(tmp_path: Path) -> None:
    for extension in (".mtx", ".edgelist"):
        path = tmp_path / f"w{extension}"
        path.write_text(str(FILES[extension]))
        one, same, other = (load(path, seed).inputs[0] for seed in (1, 1, 2))
        assert one == same != other


@pytest.mark.parametrize("name", ["w.txt", "w", ".psdd"])
def test_an_unknown_extension_is_refused(name: str) -> None:
    extension = {"w.txt": ".txt"}.get(name, "")
    with refused(
        f"{name}: no workload has the extension '{extension}': must be one of "
        ".psdd, .mtx, .npz, .graphml, .gml, .json, .edgelist, .edges"
    ):
        load(name)


def test_places_say_as_much_as_is_known() -> None:
    builder = DagBuilder()
    builder.operation(Op.ADD, [builder.input("x")], name="y")
    dag, _ = builder.build()
    one = np.ones(1)
    assert DagWorkload("w", dag, one).place(0) == "node x"
    assert DagWorkload("w", dag, one, "f").place(0) == "f: node x"
    lines = np.array([3, 0])
    assert DagWorkload("w", dag, one, "f", lines).place(0) == "f:3: node x"
    assert DagWorkload("w", dag, one, "f", lines).place(1) == "f: node y"


def test_a_graph_is_a_workload_too() -> None:
    graph = nx.DiGraph()
    graph.add_node("x", op="input")
    assert from_networkx(graph).output_names.tolist() == ["x"]
