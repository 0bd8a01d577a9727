"""Reads graphs with operation attributes from GML.

The attributes are those of ``gnarl.sw.workloads.dag.graph``. A node is called by its ``label`` if
every node has one, else by its ``id``. ``#`` outside of texts starts a comment. In a text, a line's
end with the blanks around it counts as one space, and ``&amp;`` and its like are what HTML says.

Source: M. Himsolt, GML: A portable Graph File Format, 1997. As networkx has it, ``id``, ``label``,
``source`` and ``target`` may be words without quotes, and parallel edges need ``multigraph 1``.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from html.entities import html5
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.compressed_file import stem_of
from gnarl.sw.workloads.dag.graph import EDGE_ATTRIBUTES, NODE_ATTRIBUTES, from_networkx
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.text_file import any_real, any_whole, read_text

_TOKEN = re.compile(
    r'(?P<skipped>[ \t\n]+|#[^\n]*)|(?P<text>"[^"]*")|(?P<bracket>[][])|(?P<word>[^\s"\[\]#]+)'
)
_KEY = re.compile("[A-Za-z][0-9A-Za-z_]*")
_WHOLE = re.compile("[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?")
_NOT_FINITE = {"NAN": math.nan, **{f"{sign}INF": float(f"{sign}inf") for sign in ("", "+", "-")}}
_ENTITY = re.compile("&(?:([0-9A-Za-z]+;)|#[0-9]{1,7};|#x[0-9A-Fa-f]{1,6};)")
_LINE_END = re.compile("[ \t]*\n[ \t\n]*")
_NAMES = ("id", "label", "source", "target")
"""Keys whose values may be words without quotes."""

_VALUE = "must be a number, a text in quotes, or a list in [ ]"


class _Token(NamedTuple):
    line: int
    kind: str
    text: str


@dataclass(frozen=True)
class _List:
    """What stands between brackets: (line, key, value)."""

    entries: list[tuple[int, str, Any]]

    def __repr__(self) -> str:
        return "[ … ]"


def read_gml(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of a GML file; ``WorkloadError`` naming line or node."""
    graph = _graph(_parsed(read_text(path), str(path)), str(path))
    labels = dict(graph.nodes(data="label"))
    names = None
    if None not in labels.values():
        names = {node: str(label) for node, label in labels.items()}
    return from_networkx(graph, stem_of(path), source=str(path), names=names, seed=seed)


def _tokens(text: str, source: str) -> Iterator[_Token]:
    """Tokens of a text whose lines end with line feeds; the last is of the kind ``end``."""
    at, line = 0, 1
    while at < len(text):
        matched = _TOKEN.match(text, at)
        if matched is None:
            if text[at] == '"':
                raise WorkloadError(f'{source}:{line}: a text without an end: must end with "')
            raise WorkloadError(
                f"{source}:{line}: {text[at]!r} between words: must be a space or a tab"
            )
        if matched.lastgroup != "skipped":
            yield _Token(line, str(matched.lastgroup), matched[0])
        line += matched[0].count("\n")
        at = matched.end()
    yield _Token(line, "end", "the end of the file")


def _parsed(text: str, source: str) -> _List:
    """The file's own keys; lists in lists of any depth."""
    tokens = _tokens("\n".join(text_lines(text)), source)
    whole = _List([])
    opened = [(0, whole)]
    for token in tokens:
        place = f"{source}:{token.line}"
        if token.text == "]" and token.kind == "bracket" and len(opened) > 1:
            opened.pop()
        elif token.kind == "end" and len(opened) > 1:
            raise WorkloadError(
                f"{place}: the list of line {opened[-1][0]} has no end: must have ]"
            )
        elif token.kind != "end":
            if token.kind != "word" or not _KEY.fullmatch(token.text):
                raise WorkloadError(
                    f"{place}: {quoted(token.text)}: must be a key, of letters, digits and _"
                )
            key, token = token.text, next(tokens)
            value = _value(key, token, f"{source}:{token.line}")
            opened[-1][1].entries.append((token.line, key, value))
            if isinstance(value, _List):
                opened.append((token.line, value))
    return whole


def _value(key: str, token: _Token, place: str) -> Any:
    """The value of a key, which begins with a token; a list is still empty."""
    text = token.text
    if token.kind == "text":
        return _unescaped(_LINE_END.sub(" ", text[1:-1]))
    if token.kind == "bracket" and text == "[":
        return _List([])
    if token.kind == "word":
        if _WHOLE.fullmatch(text):
            return any_whole(text)
        if _REAL.fullmatch(text):
            return any_real(text, place)
        if key in _NAMES:
            return _unescaped(text)
        if text in _NOT_FINITE:
            return _NOT_FINITE[text]
    shown = text if token.kind == "end" else quoted(text)
    raise WorkloadError(f"{place}: {key}: {shown}: {_VALUE}")


def _unescaped(text: str) -> str:
    """Names that HTML does not know stay as they are."""
    return _ENTITY.sub(
        lambda found: found[0] if found[1] and found[1] not in html5 else html.unescape(found[0]),
        text,
    )


def _fields(given: Any, name: str, once: Iterable[str], place: str, source: str) -> dict[str, Any]:
    """The values of those of the keys ``once`` that something called ``name`` has; the others mean
    nothing here."""
    if not isinstance(given, _List):
        raise WorkloadError(f"{place}: {name} = {quoted(given)}: must be a list in [ ]")
    values: dict[str, Any] = {}
    for line, key, value in given.entries:
        if key not in once:
            continue
        if key in values:
            raise WorkloadError(f"{source}:{line}: {key} is given twice: {name} must have one")
        if isinstance(value, _List):
            raise WorkloadError(f"{source}:{line}: {key} is a list: must be a number or a text")
        values[key] = value
    return values


def _graph(whole: _List, source: str) -> nx.MultiDiGraph:
    graphs = [(line, value) for line, key, value in whole.entries if key == "graph"]
    if len(graphs) != 1:
        raise WorkloadError(f"{source}: {len(graphs)} graphs: must be one, as graph [ … ]")
    [(line, given)] = graphs
    options = _fields(given, "graph", ("directed", "multigraph"), f"{source}:{line}", source)
    for name, value in options.items():
        if isinstance(value, str) or value not in (0, 1):
            raise WorkloadError(f"{source}: {name} = {quoted(value)}: must be 0 or 1")
    if not options.get("directed"):
        raise WorkloadError(f"{source}: the graph is undirected: must have directed 1")
    graph = nx.MultiDiGraph()
    for line, key, value in given.entries:
        if key == "node":
            _add_node(graph, value, f"{source}:{line}", source)
    seen: set[Hashable] = set()
    for line, key, value in given.entries:
        if key == "edge":
            is_multigraph = bool(options.get("multigraph"))
            _add_edge(graph, value, is_multigraph, seen, f"{source}:{line}", source)
    return graph


def _add_node(graph: nx.MultiDiGraph, given: Any, place: str, source: str) -> None:
    fields = _fields(given, "node", ("id", "label", *NODE_ATTRIBUTES), place, source)
    if "id" not in fields:
        raise WorkloadError(f"{place}: a node without an id: must have one")
    node = fields.pop("id")
    if node in graph:
        raise WorkloadError(f"{place}: node {short(node)}: is given twice: must be given once")
    graph.add_node(node)
    graph.nodes[node].update(fields)


def _add_edge(
    graph: nx.MultiDiGraph,
    given: Any,
    is_multigraph: bool,
    seen: set[Hashable],
    place: str,
    source: str,
) -> None:
    """Adds an edge. ``seen``: edges by what no two have in common."""
    once = ("source", "target", "key", *EDGE_ATTRIBUTES)
    fields = _fields(given, "edge", once, place, source)
    for end in ("source", "target"):
        if end not in fields:
            raise WorkloadError(f"{place}: an edge without a {end}: must have one")
        if fields[end] not in graph:
            raise WorkloadError(
                f"{place}: edge: {end} {short(fields[end])} is not the id of a node"
            )
    ends = fields.pop("source"), fields.pop("target")
    key = fields.pop("key", None)
    identity = (*ends, key) if is_multigraph else ends
    if identity in seen:
        called = f"edge from {short(ends[0])} to {short(ends[1])}"
        right = "parallel edges must differ in key" if is_multigraph else "must have multigraph 1"
        raise WorkloadError(f"{place}: {called}: is given twice: {right}")
    if not is_multigraph or key is not None:
        seen.add(identity)
    graph.edges[(*ends, graph.add_edge(*ends))].update(fields)
