"""Reads graphs with operation attributes from node-link JSON.

The attributes are those of ``gnarl.sw.workloads.dag.graph``. The format is what networkx writes:
``{"directed": true, "nodes": [{"id": …, "op": …}, …], "links": [{"source": …, "target": …}, …]}``,
or ``edges`` for ``links``. Repeated links are parallel edges, whatever ``multigraph`` says.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.sw.workloads.compressed_file import stem_of
from gnarl.sw.workloads.dag.graph import from_networkx
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.text_file import parse_json, read_text


def read_node_link(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of a node-link JSON file; ``WorkloadError`` naming line, entry or node."""
    data = parse_json(read_text(path), str(path))
    if not is_node_link(data):
        raise WorkloadError(f"{path}: not a node-link graph: must be an object with a list 'nodes'")
    return from_networkx(_node_link(data, str(path)), stem_of(path), source=str(path), seed=seed)


def is_node_link(data: Any) -> bool:
    """Whether a JSON value is meant as a graph."""
    return isinstance(data, dict) and isinstance(data.get("nodes"), list)


def _node_link(data: dict[str, Any], source: str) -> nx.MultiDiGraph:
    if data.get("directed") is not True:
        raise WorkloadError(f'{source}: the graph is undirected: must have "directed": true')
    key = "links" if "links" in data else "edges"
    if key == "links" and "edges" in data:
        raise WorkloadError(f"{source}: both 'links' and 'edges': must have one of them")
    if not isinstance(data.get(key), list):
        raise WorkloadError(f"{source}: no list 'links' or 'edges': must have one of them")
    graph = nx.MultiDiGraph()
    for at, node in enumerate(data["nodes"]):
        name = _end(node, "id", f"{source}: nodes[{at}]")
        if name in graph:
            raise WorkloadError(f"{source}: nodes[{at}]: duplicate id {quoted(name)}")
        graph.add_node(name)
        graph.nodes[name].update(node)
    for at, edge in enumerate(data[key]):
        place = f"{source}: {key}[{at}]"
        ends = []
        for end in ("source", "target"):
            name = _end(edge, end, place)
            if name not in graph:
                raise WorkloadError(f"{place}: {end} {quoted(name)} is not the id of a node")
            ends.append(name)
        graph.edges[(*ends, graph.add_edge(*ends))].update(edge)
    return graph


def _end(entry: Any, key: str, place: str) -> Hashable:
    """The node that an entry names."""
    name = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(name, str | int | float) or isinstance(name, bool) or name != name:
        raise WorkloadError(f"{place}: must be an object with a string or number {key!r}")
    return name
