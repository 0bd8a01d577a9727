"""Nodes and edges of the SAM tools' DOT files as blocks, of any number of operands.

The dialect names ports in the comments of edges: ``in-B`` and ``out-B`` are the lane of operand B
of a joiner, ``i``, ``in-i``, ``outer-i`` a port for coordinates of index i, ``in-0`` and ``in-1``
the operands of arithmetic. Where edges into arithmetic have no comment, as in files of the tools,
the digraph's attribute ``operand_order`` says which operand is the first one: ``id``, that from the
node with the lower number; ``edge``, that whose edge comes first.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.sam.block_types import ALU_OPERATIONS, BLOCK_TYPES, DEALERS, FUNCTIONS
from gnarl.hw.sam.graph import DEPTHS
from gnarl.sw.compiler.sam.dot_dialects import index_of, node_attributes, one_operand
from gnarl.sw.compiler.sam.dot_syntax import DotEdge, DotGraph
from gnarl.sw.compiler.sam.dot_write import JOINERS

OPERAND_ORDERS = ("id", "edge")
"""What ``operand_order`` may be."""

_ARITHMETIC = frozenset(("add", *ALU_OPERATIONS))

_NO_NODES = "root alu function bitvectorlookup valdrop valwrite crdtopoint pointtocrd".split()
"""Types of blocks that the dialect has other nodes for, or none."""

TYPES = BLOCK_TYPES.keys() - _NO_NODES | {"broadcast"} | _ARITHMETIC | set(FUNCTIONS)
"""Types of nodes that are known."""

Wire = tuple[str, str]
"""A node and its output."""


@dataclass
class Node:
    """A node's attributes, the wire into each input, and depths of queues, where these are given.

    Inputs and outputs are named like those of blocks, but for joiners, which may have any number of
    lanes, and for accumulators, whose ``in i`` and ``out i`` have the index instead of a place.
    ``free`` are the inputs of arithmetic that no comment names.
    """

    name: str
    type: str
    values: dict[str, str]
    line: int
    inputs: dict[str, Wire] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    lanes: list[str] = field(default_factory=list)  # of joiners, by name
    free: list[str] = field(default_factory=list)

    @property
    def subtracts(self) -> bool:
        """The one operation whose operands cannot be exchanged."""
        return self.type == "sub" or (self.type == "add" and self.values.get("sub") == "1")


@dataclass(frozen=True)
class _Link:
    """A link from node to node, broadcasts left out: the edges that leave the one and enter the
    other."""

    source: str
    target: str
    leaves: DotEdge
    enters: DotEdge


class Netlist:
    """Nodes by name, broadcasts among them, and what feeds each of their inputs.

    ``result_indices``: those of the coordinates that are written.
    """

    def __init__(self, syntax: DotGraph, name: str) -> None:
        self._file = name
        self._operand_order = syntax.attributes.get("operand_order")
        if self._operand_order not in (None, *OPERAND_ORDERS):
            raise WorkloadError(
                f"{name}: operand_order = {short(self._operand_order)}: must be "
                f"{' or '.join(OPERAND_ORDERS)}"
            )
        self.nodes: dict[str, Node] = {}
        linked = {name for edge in syntax.edges for name in (edge.source, edge.target)}
        for node in syntax.nodes.values():
            values = node_attributes(node)
            # Files written by hand keep blocks whose edges were moved elsewhere.
            if node.name not in linked and values.get("type") in TYPES - {"fiberwrite"}:
                continue
            if "type" not in values:
                self.fail(node.line, f"node {short(node.name)} has no type; it must have one")
            if values["type"] not in TYPES:
                self.fail(
                    node.line, f"node {short(node.name)}: unknown type {short(values['type'])}"
                )
            self.nodes[node.name] = Node(node.name, values["type"], values, node.line)
        links = self._links(syntax)
        self._take_one_operand(links)
        for link in links:
            if self.nodes[link.target].type in JOINERS:
                self._add_lane(link)
        for link in self._operands_first(links):
            self._connect(link)
        self.result_indices = {
            node.values.get("index", "")
            for node in self.nodes.values()
            if node.type == "fiberwrite" and node.values.get("mode") != "vals"
        }

    def fail(self, line: int, problem: str) -> NoReturn:
        raise WorkloadError(f"{self._file}, line {line}: {problem}")

    def refuse(self, node: Node, problem: str) -> NoReturn:
        """Fails with the node's line, type and name, and the problem behind them."""
        self.fail(node.line, f"{node.type} {short(node.name)}{problem}")

    # Edges.

    def _links(self, syntax: DotGraph) -> list[_Link]:
        entering: dict[str, DotEdge] = {}
        for edge in syntax.edges:
            if self.nodes[edge.target].type == "broadcast":
                if edge.target in entering:
                    self.fail(
                        edge.line, f"broadcast {short(edge.target)} is fed twice; must be once"
                    )
                entering[edge.target] = edge
        links = []
        for edge in syntax.edges:
            if self.nodes[edge.target].type == "broadcast":
                continue
            leaves, seen = edge, set()
            while self.nodes[leaves.source].type == "broadcast":
                if leaves.source not in entering or leaves.source in seen:
                    self.fail(
                        leaves.line, f"broadcast {short(leaves.source)} must be fed by a block"
                    )
                seen.add(leaves.source)
                leaves = entering[leaves.source]
            links.append(_Link(leaves.source, edge.target, leaves, edge))
        return links

    def _take_one_operand(self, links: list[_Link]) -> None:
        """Makes functions of arithmetic that has one operand, and a constant for the other."""
        entering = Counter(link.target for link in links)
        for node in self.nodes.values():
            if node.type in _ARITHMETIC and entering[node.name] == 1:
                try:
                    node.type = one_operand(node.type, node.values)
                except WorkloadError as error:
                    self.refuse(node, f": {error}")

    def _add_lane(self, link: _Link) -> None:
        lanes = self.nodes[link.target].lanes
        lane = _comment(link.enters).removeprefix("in-")
        if lane not in lanes:
            lanes.append(lane)

    def _operands_first(self, links: list[_Link]) -> list[_Link]:
        """The links, those into arithmetic from the left operand to the right one.

        Comments come before either order. Without an order, numbered nodes are taken by number,
        as the tools write them, others by edge; that must not matter for a difference.
        """
        are_numbered = self._are_numbered()
        by_node: dict[str, list[_Link]] = {}
        for link in links:
            if self.nodes[link.target].type in _ARITHMETIC:
                by_node.setdefault(link.target, []).append(link)
        for name, entering in by_node.items():
            comments = [_comment(link.enters) for link in entering]
            self.nodes[name].free = [
                f"val{place}" for place in "01" if f"in-{place}" not in comments
            ]
            if are_numbered and self._operand_order is None:
                self._require_order(self.nodes[name], [int(link.source) for link in entering])
        if self._operand_order == "edge" or not are_numbered:
            return links
        return sorted(
            links,
            key=lambda link: int(link.source) if link.target in by_node else 0,
        )

    def _are_numbered(self) -> bool:
        """Whether the names of all nodes are numbers, which the order by id requires."""
        unnumbered = next((node for node in self.nodes.values() if not node.name.isdecimal()), None)
        if self._operand_order == "id" and unnumbered is not None:
            self.fail(
                unnumbered.line,
                f"operand_order = id: node {short(unnumbered.name)}: names must be numbers from "
                "left to right",
            )
        return unnumbered is None

    def _require_order(self, node: Node, sources: list[int]) -> None:
        """Refuses a difference whose operands come in another order by number than by edge."""
        if node.subtracts and len(node.free) > 1 and sources != sorted(sources):
            self.refuse(
                node,
                " subtracts: the order of its operands is ambiguous: "
                'comment="in-0" on the edge of the first one gives it, or '
                'operand_order="id" or "edge" in the digraph',
            )

    def _connect(self, link: _Link) -> None:
        target = self.nodes[link.target]
        port = self._input(link, target)
        if port in target.inputs:
            self.fail(
                link.enters.line,
                f"{target.type} {short(target.name)} has a second edge into {short(port)}; must "
                "have one",
            )
        target.inputs[port] = link.source, self._output(link, self.nodes[link.source])
        depth = link.enters.attributes.get("depth")
        if depth is not None:
            if not _is_depth(depth):
                self.fail(link.enters.line, f"edge depth {short(depth)} must be {_WHOLE}")
            target.depths[port] = int(depth)

    def _kind(self, edge: DotEdge) -> str:
        kind = edge.attributes.get("type", "")
        if kind not in ("crd", "ref", "val", "repsig", "bv"):
            self.fail(
                edge.line,
                f"edge type {short(kind or '(none)')} must be crd, ref, val, repsig or bv",
            )
        return kind

    def _output(self, link: _Link, node: Node) -> str:
        edge, kind = link.leaves, self._kind(link.leaves)
        comment = edge.attributes.get("source", _comment(edge))
        if node.type in JOINERS and kind != "crd":
            lane = comment.removeprefix("out-").removeprefix("in-")
            if lane not in node.lanes:
                named = ", ".join(f"out-{name}" for name in node.lanes)
                self.fail(
                    edge.line,
                    f"comment {short(comment or '(none)')} must say which operand of {node.type} "
                    f"{short(node.name)} is meant: {short(named)}",
                )
            return f"out_ref{node.lanes.index(lane)}"
        if node.type == "spaccumulator" and kind == "crd":
            return f"out {index_of(comment)}"
        if node.type in ("crddrop", "crdhold"):
            return f"out_{self._outer_or_inner(edge, node, kind, comment)}"
        if node.type in DEALERS:
            return f"o{comment.removeprefix('out-')}"
        return "o" if node.type == "serializer" else f"out_{kind}"

    def _input(self, link: _Link, node: Node) -> str:
        edge, kind, comment = link.enters, self._kind(link.enters), _comment(link.enters)
        if node.type in JOINERS:
            lane = node.lanes.index(comment.removeprefix("in-"))
            return f"{'ref' if kind == 'val' else kind}{lane}"
        if node.type == "spaccumulator" and kind == "crd":
            return f"in {index_of(comment)}"
        if node.type in ("crddrop", "crdhold"):
            return self._outer_or_inner(edge, node, kind, comment)
        if node.type in _ARITHMETIC:
            if comment in ("in-0", "in-1"):
                return f"val{comment[-1]}"
            return node.free.pop(0) if node.free else "val1"
        if node.type == "parallelizer":
            return "i"
        if node.type == "crdparallelizer":
            return comment.removeprefix("in-")
        if node.type == "serializer" or (node.type == "valserializer" and kind == "val"):
            return f"i{comment.removeprefix('in-')}"
        if node.type == "repsiggen":
            return "crd"
        if node.type == "repeat":
            return "repsig" if kind == "repsig" else "ref"
        return kind

    def _outer_or_inner(self, edge: DotEdge, node: Node, kind: str, comment: str) -> str:
        if kind == "val":
            return "inner"
        index = index_of(comment)
        for port in ("outer", "inner"):
            if node.values.get(port) == index:
                return port
        self.fail(
            edge.line,
            f"comment {short(comment or '(none)')} must name the outer or inner index of "
            f"{node.type} {short(node.name)}: "
            + " or ".join(short(node.values.get(key)) for key in ("outer", "inner")),
        )

    def depth(self, node: Node, port: str) -> int | None:
        """Of the queue in front of an input; also of one whose edge no file has."""
        key = f"{port}_depth"
        if key not in node.values:
            return node.depths.get(port)
        if not _is_depth(node.values[key]):
            self.refuse(node, f": {key} {short(node.values[key])} must be {_WHOLE}")
        return int(node.values[key])

    def wire(self, node: Node, port: str) -> Wire:
        """What feeds an input."""
        if port not in node.inputs:
            self.refuse(node, f": no edge into its input {port}")
        return node.inputs[port]

    def replace(self, old: Wire, new: Wire) -> None:
        """Everything that ``old`` feeds is fed by ``new``."""
        for node in self.nodes.values():
            for port, wire in node.inputs.items():
                if wire == old:
                    node.inputs[port] = new


_WHOLE = f"a whole number from {DEPTHS[0]} to {DEPTHS[-1]}"


def _is_depth(text: str) -> bool:
    return bool(re.fullmatch("[0-9]{1,5}", text)) and int(text) in DEPTHS


def _comment(edge: DotEdge) -> str:
    return edge.attributes.get("comment", "")
