"""A folder of small files, one of each format, all of them right."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse

from gnarl.sw.runtime.target.configuration import configuration_files
from tests.fuzz.formats import NEST_ARRAYS, VECTOR
from tests.support.cuda.embedding_files import write_model, write_values
from tests.support.dpu.dag_files import HEADER
from tests.support.sam.files import VECTOR_C, B, write_fibertree, write_mtx

ROOT = Path(__file__).parents[2]

# Two decisions over three variables, the parameters of each with the sum 1.
_PSDD = """c three variables
psdd 8
L 0 0 1
L 1 0 -1
T 2 1 2 -0.5
T 3 1 2 -1.25
D 4 2 2 0 2 -0.6931471805599453 1 3 -0.6931471805599453
L 5 3 3
L 6 3 -3
D 7 4 1 4 5 0
"""

_LOWER = f"{HEADER}3 3 5\n1 1 2\n2 1 -1\n2 2 4\n3 2 0.5\n3 3 8\n"

_EDGES = """a {'op': 'input', 'value': 1.5}
b {'op': 'input', 'value': 2.0}
two {'op': 'const', 'value': 2.0}
b product {'op': 'mul', 'operand': 0}
two product {'operand': 1}
a sum {'op': 'add'}
product sum
"""

_PYTHON = """from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

few = PoolingFactors(mean=3, std=1.0, maximum=9, coverage=0.8)
features = [
    Feature("colour", rows=50, dim=4),
    Feature("words", 20, 8, "mean", "float16", factors=few),
    Feature("scores", rows=30, dim=3, weighted=True, factors=few),
]
model = EmbeddingModel("shop", tuple(features))
"""

_NEST = """n, m, r = sizes("n", "m", "r")


@nest
def sums(x: float32[r, m], at: int32[n], out: float32[m]):
    for i in range(n):
        for e in range(m):
            out[e] += x[at[i], e]
"""

# The first statement is for memory, the second for the core.
_CELLS = """void cells(int n, int m, const int8_t a[n][m], int8_t b[n][m], int s[n]) {
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < n; i++)
      for (int j = 1; j < m; j++)
        b[i][j] = (int8_t) (a[i][j - 1] + 3 * a[i][0] - b[i][j]);
  for (int i = 1; i < n; i++)
    s[i] = s[i - 1] + 1;
}
"""

_COMMANDS = """input a int8 3,64 line=32
output b int8 3,64 line=48
layout layout=0 element=0 base=32 sizes=1,3,1 line_strides=1,0 tile=6,0,0 tile_strides=1,0
layout layout=1 element=0 base=48 sizes=1,3,1 line_strides=1,0 tile=6,0,0 tile_strides=1,0
load layout=0 row=0 n=8
fill d=8 n=8 value=5 bitlines=0:1:64 tiles=0:1:3
compute add n=8 bases=0,8,16,0,0
store layout=1 row=16 n=8
end
"""

_SPARSE: dict[str, Callable[[np.ndarray], object]] = {
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_array,
    "bsr": lambda dense: scipy.sparse.bsr_array(dense, blocksize=(1, 2)),
    "dia": scipy.sparse.dia_array,
    "empty": lambda dense: scipy.sparse.csr_array(dense.shape),
}

COMPILED = (
    ("dpu_d1_b8", "graph.edgelist", "-o", "dpu.npz"),
    ("sam_fp32", VECTOR, "-o", "sam.npz", "--dot", "graph.gv"),
    ("sam_fabric_small", VECTOR, "-o", "fabric.npz"),
    ("cuda_sm90", "small", "-o", "cuda.npz"),
    ("tmu_l2", "nest.py", *NEST_ARRAYS, "-o", "tmu.npz", "--dump", "dump"),
    ("tmu_l2", "nest.py", *NEST_ARRAYS, "--coupled", "-o", "coupled.npz"),
    ("sram_b2", "cells.c", "-o", "sram.npz"),
    ("sram_b2", "cells.sram", "-o", "commands.npz"),
)
"""Files that ``gnarl compile`` has to write, in this folder."""


def write_valid_files(folder: Path) -> None:
    """All files but ``COMPILED`` ones, schedules and a journal, which commands write."""
    (folder / "circuit.psdd").write_text(_PSDD)
    (folder / "lower.mtx").write_text(_LOWER)
    (folder / "graph.edgelist").write_text(_EDGES)
    (folder / "values.edgelist").write_text(_EDGES.replace("1.5", "-0.75"))
    (folder / "values.json").write_text(json.dumps({"a": 0.25, "b": -3.0}))
    _write_graphs(folder)
    write_mtx(folder / "B.mtx", B)
    (folder / "B.tns").write_text("# shape 3 4\n1 1 2\n1 3 1\n2 2 4\n3 4 5.5\n")
    (folder / "c.tns").write_text("# shape 4\n" + _entries(VECTOR_C))
    for kind, form in _SPARSE.items():
        scipy.sparse.save_npz(folder / f"{kind}.npz", form(B), compressed=kind == "csc")
    np.save(folder / "B.npy", B)
    write_fibertree(folder / "tree", "B")
    write_model(folder)
    write_values(folder / "values.npz")
    (folder / "model.py").write_text(_PYTHON)
    (folder / "nest.py").write_text(_NEST)
    np.save(folder / "x.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    np.save(folder / "at.npy", np.array([1, 0, 3], np.int32))
    (folder / "cells.c").write_text(_CELLS)
    (folder / "cells.sram").write_text(_COMMANDS)
    np.save(folder / "cells.npy", np.arange(192, dtype=np.int8).reshape(3, 64))
    _write_module(folder / "bag.pt2")
    configurations = configuration_files()
    for name, source in (
        ("dpu", "dpu_d1_b8"),
        ("sam", "sam_matmul"),
        ("fabric", "sam_fabric_small"),
        ("cuda", "cuda_sm90"),
        ("tmu", "tmu_l2"),
        ("sram", "sram_b2"),
    ):
        (folder / f"{name}.toml").write_text(configurations[source].read_text())


_MODULE = """
import sys
import torch
from tests.support.nests.pytorch_modules import bag

indices, offsets = torch.tensor([1, 0, 3, 2]), torch.tensor([0, 3])
torch.export.save(torch.export.export(bag(), (indices, offsets)), sys.argv[1])
"""


def _write_module(path: Path) -> None:
    """In a process of its own, for PyTorch has threads, which a server must not have."""
    subprocess.run([sys.executable, "-c", _MODULE, str(path)], cwd=ROOT, check=True)


def _write_graphs(folder: Path) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=1.5)
    graph.add_node("b", op="input", value=2.0)
    graph.add_node("two", op="const", value=2.0)
    graph.add_node("product", op="mul")
    graph.add_node("sum", op="add")
    graph.add_edges_from([("b", "product"), ("two", "product"), ("a", "sum"), ("product", "sum")])
    nx.write_graphml(graph, folder / "graph.graphml")
    nx.write_gml(graph, folder / "graph.gml")
    (folder / "graph.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))


def _entries(vector: np.ndarray) -> str:
    return "".join(f"{at + 1} {value}\n" for at, value in enumerate(vector.tolist()) if value)
