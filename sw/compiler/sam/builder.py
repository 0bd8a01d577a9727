"""Graphs, block by block, by names of streams instead of edges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hw.sam.graph import Block, Edge, Graph


@dataclass(frozen=True)
class Stream:
    """An output of a block."""

    block: str
    output: str


@dataclass(frozen=True)
class Node:
    """A block that was added; ``node.out_crd`` is the stream of that name."""

    name: str

    def __getattr__(self, output: str) -> Stream:
        return Stream(self.name, output)


class GraphBuilder:
    """Collects blocks and the streams that they read."""

    def __init__(self) -> None:
        self._blocks: dict[str, Block] = {}
        self._edges: list[Edge] = []

    def add(self, type: str, label: str, inputs: dict[str, Stream], **parameters: Any) -> Node:
        """A block named after ``label`` that reads ``inputs``, streams by port."""
        stem = re.sub(r"\W", "_", label)
        name, number = stem, 2
        while name in self._blocks:
            name, number = f"{stem}_{number}", number + 1
        self._blocks[name] = Block(name, type, parameters)
        for port, stream in inputs.items():
            self._edges.append(Edge(stream.block, stream.output, name, port))
        return Node(name)

    def graph(self) -> Graph:
        return Graph(tuple(self._blocks.values()), tuple(self._edges))
