"""Reads graphs with operation attributes: GraphML, GML and node-link JSON.

The attributes are those of ``sw.workloads.dag.graph``. What each format adds:

GraphML
    Defaults of node attributes hold for nodes without them.
GML
    A node is called by its ``label`` if every node has one, else by its ``id``. ``#`` outside of
    texts starts a comment.
node-link JSON
    As networkx writes it: ``{"directed": true, "nodes": [{"id": …, "op": …}, …],
    "links": [{"source": …, "target": …}, …]}``, or ``edges`` for ``links``. Repeated links are
    parallel edges, whatever ``multigraph`` says.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

import networkx as nx

from hw.lib.errors import WorkloadError, one_line, quoted, short
from hw.lib.text_lines import text_lines
from sw.workloads.dag.graph import from_networkx
from sw.workloads.dag.workload import DagWorkload
from sw.workloads.text_file import parse_json, read_text

_GML_TEXT = re.compile('"[^"]*"')
_GML_TEXT_OR_COMMENT = re.compile('"[^"]*"|#[^\n]*')
_OTHER_SPACE = re.compile("[^\\S \t]")


def read_graphml(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of a GraphML file; ``WorkloadError`` naming line or node."""
    text = read_text(path)
    try:
        # The multigraph keeps the file's order of edges, which is the order of operands.
        graph = nx.parse_graphml(text, force_multigraph=True)
        _refuse_contradictions(fromstring(text), str(path))
    except ParseError as error:
        line, column = error.position
        raise WorkloadError(f"{path}:{line}: not well-formed XML at column {column + 1}") from None
    except (nx.NetworkXError, KeyError, ValueError) as error:
        raise WorkloadError(f"{path}: invalid GraphML: {one_line(error)}") from None
    for _, attributes in graph.nodes(data=True):
        for key, value in graph.graph["node_default"].items():
            attributes.setdefault(key, value)
    return from_networkx(graph, Path(path).stem, source=str(path), seed=seed)


def _refuse_contradictions(root: Element, source: str) -> None:
    """Raises ``WorkloadError`` for what networkx takes the last of, or makes up."""
    graphs = [element for element in root.iter() if _tag(element) == "graph"]
    if len(graphs) != 1:
        raise WorkloadError(f"{source}: {len(graphs)} graphs: must be one")
    nodes, edges = (
        [element for element in graphs[0] if _tag(element) == tag] for tag in ("node", "edge")
    )
    seen: set[str] = set()
    for node in nodes:
        name = node.get("id")
        if name is None:
            raise WorkloadError(f"{source}: a node without an id: must have one")
        if name in seen:
            raise WorkloadError(f"{source}: node {short(name)}: is given twice: must be given once")
        seen.add(name)
    for element in (*nodes, *edges):
        keys = [data.get("key") for data in element if _tag(data) == "data"]
        if len(set(keys)) < len(keys):
            ends = [element.get(name) for name in ("id", "source", "target")]
            place = f"{source}: {_tag(element)} {' to '.join(map(short, filter(None, ends)))}"
            raise WorkloadError(f"{place}: two data elements have one key: must have one each")
    for edge in edges:
        for end in ("source", "target"):
            if edge.get(end) not in seen:
                raise WorkloadError(
                    f"{source}: edge: {end} {short(edge.get(end))} is not the id of a node"
                )


def _tag(element: Element) -> str:
    """Without its name space."""
    return element.tag.rpartition("}")[2]


def read_gml(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of a GML file; ``WorkloadError`` naming line or node."""
    lines = _gml_lines(read_text(path), str(path))
    try:
        graph = nx.parse_gml(lines, label=None)
    except (nx.NetworkXError, ValueError) as error:
        raise WorkloadError(f"{path}: invalid GML: {one_line(error)}") from None
    labels = dict(graph.nodes(data="label"))
    names = None
    for node, label in labels.items():
        if not isinstance(label, str | int | float | None):
            raise WorkloadError(f"{path}: node {short(node)}: label = {quoted(label)}: must be one")
    if None not in labels.values():
        names = {node: str(label) for node, label in labels.items()}
    return from_networkx(graph, Path(path).stem, source=str(path), names=names, seed=seed)


def _gml_lines(text: str, source: str) -> list[str]:
    """Without comments. For networkx a line ends wherever ``str.splitlines`` ends it, and a quote
    in a comment begins a text. ``WorkloadError`` naming the line for other spaces between words."""
    text = _GML_TEXT_OR_COMMENT.sub(lambda found: found[0] * (found[0][0] == '"'), text)
    for number, line in enumerate(text_lines(_GML_TEXT.sub(_only_line_feeds, text)), 1):
        if found := _OTHER_SPACE.search(line):
            raise WorkloadError(
                f"{source}:{number}: {found[0]!r} between words: must be a space or a tab"
            )
    return text_lines(text)


def _only_line_feeds(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def read_node_link(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of a node-link JSON file; ``WorkloadError`` naming line, entry or node."""
    data = parse_json(read_text(path), str(path))
    if not is_node_link(data):
        raise WorkloadError(f"{path}: not a node-link graph: must be an object with a list 'nodes'")
    return from_networkx(_node_link(data, str(path)), Path(path).stem, source=str(path), seed=seed)


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
