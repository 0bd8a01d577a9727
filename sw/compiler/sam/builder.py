"""Graphs, block by block, by names of streams instead of edges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gnarl.hw.sam.graph import Block, Edge, Graph


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


Lane = tuple[Stream, Stream]
"""Coordinates, or words of a bitvector, and the references or values that go with them."""


class GraphBuilder:
    """Collects blocks and the streams that they read."""

    def __init__(self) -> None:
        self._blocks: dict[str, Block] = {}
        self._edges: list[Edge] = []

    def add(self, type: str, label: str, inputs: dict[str, Stream], **parameters: Any) -> Node:
        """A block named after ``label`` that reads ``inputs``, streams by port."""
        stem = re.sub(r"\W", "_", label, flags=re.ASCII)
        name, number = stem, 2
        while name in self._blocks:
            name, number = f"{stem}_{number}", number + 1
        self._blocks[name] = Block(name, type, parameters)
        for port, stream in inputs.items():
            self._edges.append(Edge(stream.block, stream.output, name, port))
        return Node(name)

    @cached_property
    def root(self) -> Stream:
        """Reference 0, outside of all loops."""
        return self.add("root", "root", {}).out_ref

    def join(self, type: str, index: str, one: Lane, other: Lane) -> Node:
        """A joiner, such as ``union`` or ``bitvectorunion``, of two lanes."""
        label = type.removeprefix("bitvector")
        kind = "crd" if label == type else "bv"
        inputs = {f"{kind}0": one[0], "ref0": one[1], f"{kind}1": other[0], "ref1": other[1]}
        return self.add(type, f"{label}_{index}", inputs, index=index)

    def graph(self) -> Graph:
        return Graph(tuple(self._blocks.values()), tuple(self._edges))
