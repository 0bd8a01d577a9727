"""Workloads of the DPU from files and from networkx graphs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.sw.workloads.compressed_file import suffix_of
from gnarl.sw.workloads.dag.edge_list_file import read_edge_list
from gnarl.sw.workloads.dag.gml_file import read_gml
from gnarl.sw.workloads.dag.graphml_file import read_graphml
from gnarl.sw.workloads.dag.node_link_file import read_node_link
from gnarl.sw.workloads.dag.psdd import read_psdd
from gnarl.sw.workloads.dag.triangular_system import read_matrix
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.refusals import InputWarning

READERS: dict[str, Callable[[str | Path, int], DagWorkload]] = {
    ".psdd": lambda path, seed: read_psdd(path),
    ".mtx": lambda path, seed: read_matrix(path, seed=seed),
    ".npz": lambda path, seed: read_matrix(path, seed=seed),
    ".graphml": read_graphml,
    ".gml": read_gml,
    ".json": read_node_link,
    ".edgelist": read_edge_list,
    ".edges": read_edge_list,
}
"""Who reads which file, by its extension in lower case; texts may be compressed."""


def load(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload in a file; the extension says what it is.

    ``seed`` is for input values that the file does not hold: a matrix's right-hand side, and the
    inputs of a graph without values. Raises ``WorkloadError`` naming the file and the place in it.
    """
    extension = suffix_of(path)
    if extension not in READERS:
        raise WorkloadError(
            f"{path}: no workload has the extension {extension!r}: must be one of "
            f"{', '.join(READERS)}"
        )
    with damaged_as(WorkloadError, path), warnings.catch_warnings():
        # What a parser only warns of would change what the file means.
        warnings.simplefilter("error")
        warnings.simplefilter("always", InputWarning)
        return READERS[extension](path, seed)
