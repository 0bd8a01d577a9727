"""Reads graphs with operation attributes from GraphML.

The attributes are those of ``gnarl.sw.workloads.dag.graph``, declared by ``key`` elements; several
may have the same ``attr.name``, of which a node or an edge has one. The defaults of keys hold for
nodes and edges without them. What extensions have in elements of their own means nothing here.

Source: U. Brandes, M. Eiglsperger, J. Lerner, GraphML Primer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError, one_line, quoted, short
from gnarl.hw.lib.text_lines import plain
from gnarl.sw.workloads.compressed_file import read_bytes, stem_of
from gnarl.sw.workloads.dag.graph import EDGE_ATTRIBUTES, NODE_ATTRIBUTES, from_networkx
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.text_file import any_real, any_whole

_BLANKS = " \t\n\r"
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _real(text: str, place: str) -> float:
    return any_real(plain(text.strip(_BLANKS)), place)


def _whole(text: str, place: str) -> float:
    word = plain(text.strip(_BLANKS))
    float(word)  # which may have more digits than Python's int takes
    return any_whole(word)


_TYPES: dict[str, tuple[Callable[[str, str], Any], str]] = {
    "string": (lambda text, place: text, ""),
    **dict.fromkeys(("float", "double"), (_real, "a number")),
    **dict.fromkeys(("int", "integer", "long"), (_whole, "a whole number")),
    "boolean": (lambda text, place: _TRUTH[text.lower()], "true or false"),
}
"""Types by ``attr.type``: what reads a text, raising ``ValueError`` or ``KeyError``, and what it
reads. ``integer`` is what Gephi writes."""


@dataclass(frozen=True)
class _Key:
    """A declared attribute. ``domain``: the kind of elements that it is for, or ``all``."""

    name: str
    type: str
    domain: str
    default: Any


def read_graphml(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of a GraphML file; ``WorkloadError`` naming line, node or edge."""
    try:
        root = fromstring(read_bytes(path))  # whose encoding the text declares
    except ParseError as error:
        line, column = error.position
        raise WorkloadError(f"{path}:{line}: not well-formed XML at column {column + 1}") from None
    except (LookupError, ValueError) as error:
        raise WorkloadError(f"{path}:1: encoding of the XML: {one_line(error)}") from None
    graph = _graph(root, str(path))
    return from_networkx(graph, stem_of(path), source=str(path), seed=seed)


def _graph(root: Element, source: str) -> nx.MultiDiGraph:
    """Edges are in the file's order."""
    element = _graph_element(root, source)
    keys = _keys(root, source)
    graph = nx.MultiDiGraph()
    for node in _children(element, "node"):
        _add_node(graph, node, keys, source)
    seen: set[tuple[str, ...]] = set()
    for edge in _children(element, "edge"):
        _add_edge(graph, edge, keys, source, seen)
    return graph


def _graph_element(root: Element, source: str) -> Element:
    """The file's one graph, which has no more than nodes and edges from operand to user."""
    graphs = [element for element in root.iter() if _tag(element) == "graph"]
    if _tag(root) != "graphml" or not graphs:
        raise WorkloadError(f"{source}: not GraphML: must be an element graphml with a graph")
    if len(graphs) != 1:
        raise WorkloadError(f"{source}: {len(graphs)} graphs: must be one")
    if graphs[0].get("edgedefault") != "directed":
        raise WorkloadError(
            f"{source}: the graph is undirected: edges must lead from operand to user"
        )
    for element in graphs[0].iter():
        if _tag(element) in ("hyperedge", "port"):
            raise WorkloadError(
                f"{source}: element {_tag(element)}: not supported: must have nodes and edges alone"
            )
    return graphs[0]


def _add_node(
    graph: nx.MultiDiGraph, element: Element, keys: dict[str | None, _Key], source: str
) -> None:
    name = element.get("id")
    if name is None:
        raise WorkloadError(f"{source}: a node without an id: must have one")
    place = f"{source}: node {short(name)}"
    if name in graph:
        raise WorkloadError(f"{place}: is given twice: must be given once")
    graph.add_node(name)
    graph.nodes[name].update(_attributes(element, keys, NODE_ATTRIBUTES, place))


def _add_edge(
    graph: nx.MultiDiGraph,
    element: Element,
    keys: dict[str | None, _Key],
    source: str,
    seen: set[tuple[str, ...]],
) -> None:
    """``seen``: edges with an id that are there already."""
    ends = [str(element.get(end)) for end in ("source", "target")]
    for end, name in zip(("source", "target"), ends, strict=True):
        if name not in graph or element.get(end) is None:
            raise WorkloadError(f"{source}: edge: {end} {short(name)} is not the id of a node")
    called = [*filter(None, [element.get("id")]), *ends]
    place = f"{source}: edge {' to '.join(map(short, called))}"
    if element.get("directed", "true") not in ("true", "1"):
        raise WorkloadError(f"{place}: is undirected: must lead from operand to user")
    if element.get("id") and tuple(called) in seen:
        raise WorkloadError(f"{place}: is given twice: must be given once")
    seen.add(tuple(called))
    graph.edges[(*ends, graph.add_edge(*ends))].update(
        _attributes(element, keys, EDGE_ATTRIBUTES, place)
    )


def _tag(element: Element) -> str:
    """The tag without its name space."""
    return element.tag.rpartition("}")[2]


def _children(element: Element, tag: str) -> list[Element]:
    return [each for each in element if _tag(each) == tag]


def _keys(root: Element, source: str) -> dict[str | None, _Key]:
    """Keys by their ids. Keys of extensions, which may have no name or type, are not read."""
    declared: dict[str | None, _Key] = {}
    for element in _children(root, "key"):
        name = element.get("id")
        place = f"{source}: key {short(name)}"
        if name in declared:
            raise WorkloadError(f"{place}: is given twice: must be given once")
        type = element.get("attr.type", "string")
        key = _Key(element.get("attr.name", ""), type, element.get("for", "all"), None)
        if key.name in (*NODE_ATTRIBUTES, *EDGE_ATTRIBUTES):
            if type not in _TYPES:
                raise WorkloadError(
                    f"{place}: attr.type = {quoted(type)}: must be one of {', '.join(_TYPES)}"
                )
            defaults = _children(element, "default")
            if len(defaults) > 1:
                raise WorkloadError(f"{place}: two defaults: must have one")
            for default in defaults:
                value = _read(default, key, f"{place}: default")
                key = _Key(key.name, type, key.domain, value)
        declared[name] = key
    for kind in ("node", "edge"):
        named = [key.name for key in declared.values() if _is_for(key, kind)]
        for name in named:
            if named.count(name) > 1:
                raise WorkloadError(
                    f"{source}: keys: {short(name)} has two defaults for each {kind}: must have one"
                )
    return declared


def _is_for(key: _Key, kind: str) -> bool:
    """Whether it has a default for all elements of a kind."""
    return key.default is not None and key.domain in (kind, "all")


def _read(element: Element, key: _Key, place: str) -> Any:
    """What an element says of a key."""
    read, right = _TYPES[key.type]
    if len(element):
        raise WorkloadError(f"{place}: {key.name} has elements in it: must be a text")
    try:
        return read(element.text or "", f"{place}: {key.name}")
    except (ValueError, KeyError):
        raise WorkloadError(
            f"{place}: {key.name} = {quoted(element.text or '')}: must be {right}"
        ) from None


def _attributes(
    element: Element, keys: dict[str | None, _Key], names: tuple[str, ...], place: str
) -> dict[str, Any]:
    """Attributes of a node or edge with these names, from its data and defaults."""
    attributes: dict[str, Any] = {}
    seen: set[str | None] = set()
    for data in _children(element, "data"):
        name = data.get("key")
        if name not in keys:
            raise WorkloadError(f"{place}: key {short(name)}: is not declared: must be a key's id")
        if name in seen:
            raise WorkloadError(f"{place}: two data elements have one key: must have one each")
        seen.add(name)
        key = keys[name]
        if key.name not in names:
            continue
        if key.name in attributes:
            raise WorkloadError(
                f"{place}: {key.name} is given twice, by two keys: must be given once"
            )
        attributes[key.name] = _read(data, key, place)
    for key in keys.values():
        if _is_for(key, _tag(element)) and key.name in names:
            attributes.setdefault(key.name, key.default)
    return attributes
