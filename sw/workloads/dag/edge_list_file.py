"""Reads graphs with operation attributes from edge lists.

The attributes are those of ``gnarl.sw.workloads.dag.graph``. A line ``u v`` or ``u v {'operand':
0}`` is an edge from operand ``u`` to its user ``v``; names are without spaces and tabs, attributes
are a Python dictionary. Since networkx writes no line for a node, the edge's attribute ``op`` gives
the operation of ``v``; one edge into ``v`` is enough. Besides, there may be lines ``u {'op':
'const', 'value': 2.0}`` with the attributes of a node, which networkx does not know. A node without
``op`` and without operands is an input.

``#`` in a name belongs to it; at the beginning of a word it starts a comment. A comment that would
be an edge if its ``#`` belonged to a name is refused: it needs a space behind the ``#``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.hw.lib.text_lines import BLANKS, text_lines
from gnarl.sw.workloads.compressed_file import stem_of
from gnarl.sw.workloads.dag.graph import from_networkx
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.refusals import NOT_BELOW
from gnarl.sw.workloads.text_file import is_not_zero, read_text

_COMMENT = "^[ \t]*#.*"
_TWO_WORDS = re.compile("([^ \t]*)[ \t]*(([^ \t]*)[ \t]*(.*))", re.DOTALL)


def read_edge_list(path: str | Path, seed: int = 0) -> DagWorkload:
    """The workload of an edge list; ``WorkloadError`` naming the line."""
    graph = nx.MultiDiGraph()
    lines: dict[Hashable, int] = {}
    doubts: list[tuple[str, str, str]] = []
    for number, line in enumerate(text_lines(read_text(path, _COMMENT)), 1):
        place = f"{path}:{number}"
        if (doubt := _doubt(line)) is not None:
            doubts.append((place, *doubt))
        node, user, text = _without_comment(line)
        if not node:
            continue
        attributes = _dictionary(text, place)
        if not user:
            lines[node] = number
            graph.add_node(node)
            _update(graph.nodes[node], attributes, place)
            continue
        for end in (node, user):
            lines.setdefault(end, number)
        graph.add_edge(node, user)
        if "op" in attributes:
            _update(graph.nodes[user], {"op": attributes.pop("op")}, place)
        graph.edges[node, user, graph.number_of_edges(node, user) - 1].update(attributes)
    for place, word, user in doubts:
        if not user or user in graph:
            raise WorkloadError(
                f"{place}: {quoted(word)} may be a name or begin a comment: a name must not begin "
                "with #, a comment must have a space behind it"
            )
    for node, attributes in graph.nodes(data=True):
        if "op" not in attributes and not graph.pred[node]:
            attributes["op"] = "input"
    return from_networkx(graph, stem_of(path), source=str(path), lines=lines, seed=seed)


def _words(line: str) -> tuple[str, str, str, str]:
    """The first word, all that comes behind it, the second word, and what comes behind that."""
    matched = _TWO_WORDS.fullmatch(line.strip(BLANKS))
    assert matched is not None
    return matched[1], matched[2], matched[3], matched[4]


def _without_comment(line: str) -> tuple[str, str, str]:
    """Operand, user and attributes; a node alone has no user, an empty line no operand either."""
    node, rest, user, text = _words(line)
    if node.startswith("#"):
        return "", "", ""
    if user.startswith("#"):
        return node, "", ""
    if user.startswith("{"):
        return node, "", rest
    return node, user, "" if text.startswith("#") else text


def _doubt(line: str) -> tuple[str, str] | None:
    """The word of a line that may begin a comment, or be a name, and the user that the edge would
    have: with one, the word is a name only if another line has that user, too."""
    node, _, user, text = _words(line)
    if node.startswith("#"):
        has_attributes = "{" in (user[:1], text[:1])
        if node.strip("#") and (has_attributes or user and not text):
            return node, "" if has_attributes else user
    elif user.startswith("#") and user.strip("#") and text[:1] in ("", "{"):
        return user, ""
    return None


def _dictionary(text: str, place: str) -> dict[str, Any]:
    attributes: dict[str, Any] | None = None
    try:
        syntax = ast.parse(text or "{}", mode="eval").body
        if isinstance(syntax, ast.Dict):
            attributes = ast.literal_eval(syntax)
            if len(attributes) < len(syntax.keys):
                raise WorkloadError(f"{place}: {short(text)}: a key is given twice")
            _refuse_vanished(syntax, text, place)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        attributes = None
    if attributes is None:
        raise WorkloadError(
            f"{place}: {quoted(text)} is not a dictionary: must be like "
            "{'op': 'add', 'operand': 0}"
        )
    return attributes


def _refuse_vanished(syntax: ast.AST, text: str, place: str) -> None:
    """Raises ``WorkloadError`` for a number that float64 makes 0 and is not."""
    for node in ast.walk(syntax):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and not node.value:
            number = ast.get_source_segment(text, node) or ""
            if is_not_zero(number):
                raise WorkloadError(f"{place}: {short(number)}: {NOT_BELOW}")


def _update(attributes: dict[str, Any], new: dict[str, Any], place: str) -> None:
    """Adds attributes of a node that do not contradict what is known of it."""
    for key, value in new.items():
        if attributes.setdefault(key, value) != value:
            raise WorkloadError(
                f"{place}: {short(key)} = {quoted(value)}, but earlier "
                f"{quoted(attributes[key])}: must agree"
            )
