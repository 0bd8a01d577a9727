"""Edges whose ranks are given as ``operand`` and ``index``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

NUMBERED: list[tuple[dict[str, int], dict[str, int], str]] = [
    (
        {"operand": 0},
        {"index": 1},
        "edge from b: has index alone, others do not: edges into a node must be numbered by one "
        "attribute",
    ),
    (
        {"operand": 0, "index": 1},
        {"operand": 1, "index": 0},
        "edge from a: operand = 0 and index = 1: must agree",
    ),
    (
        {"index": 0},
        {"operand": 1, "index": 2},
        "edge from b: operand = 1 and index = 2: must agree",
    ),
    ({"operand": 1, "index": 1}, {"operand": 0, "index": 0}, ""),
    ({"operand": 1, "index": 1}, {"index": 0}, ""),
]
"""What the edges from a and b have, and what is wrong with it at node d; nothing where d is
b - a."""


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> nx.DiGraph:
    """d of a = 5 and b = 3, whose edges have these attributes."""
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=5.0)
    graph.add_node("b", op="input", value=3.0)
    graph.add_node("d", op="sub")
    graph.add_edge("a", "d", **first)
    graph.add_edge("b", "d", **second)
    return graph
