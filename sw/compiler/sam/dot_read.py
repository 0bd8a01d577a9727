"""Graphs from the DOT dialect of the SAM tools, all generations of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from hw.lib.errors import ConfigError, GnarlError, WorkloadError, damaged_as
from hw.sam.block_types import ALU_OPERATIONS, BITVECTOR, FUNCTIONS, MAX_LANES
from hw.sam.graph import Graph
from sw.compiler.sam.builder import GraphBuilder, Stream
from sw.compiler.sam.describe import describe
from sw.compiler.sam.dot_generations import modernise
from sw.compiler.sam.dot_netlist import Netlist, Node
from sw.compiler.sam.dot_syntax import DotGraph, parse_dot
from sw.compiler.sam.dot_write import JOINERS
from sw.compiler.sam.passes import (
    attach_coordinates,
    mark_empty_fibers,
    mark_skips,
    remove_unused,
)
from sw.compiler.sam.verify import verify
from sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat


@dataclass(frozen=True)
class ReadGraph:
    """A graph, how its tensors are stored, the result first, and the statement it computes."""

    graph: Graph
    formats: Mapping[str, TensorFormat]
    statement: str


def read_dot(text: str, name: str, operand_order: str | None = None) -> ReadGraph:
    """The graph in the text of the file called ``name``.

    operand_order
        ``id`` or ``edge``, for a file that does not say, see ``dot_netlist``.

    Raises ``WorkloadError`` that names the file, and the line where one can be named; for a
    difference whose first operand nothing tells, too.
    """
    with damaged_as(WorkloadError, f"{name}: file"):
        syntax = parse_dot(text, name)
        formats = _formats(syntax, name)
        netlist = Netlist(syntax, name, operand_order)
        modernise(netlist)
        blocks = _Builder(netlist, formats).blocks()
        try:
            graph = mark_empty_fibers(attach_coordinates(remove_unused(blocks.graph())))
            if not any("skip" in node.values for node in netlist.nodes.values()):
                graph = mark_skips(graph)
            verify(graph)
            return ReadGraph(graph, formats, describe(graph, formats))
        except GnarlError as error:
            raise WorkloadError(f"{name}: {error}") from error


def _formats(syntax: DotGraph, name: str) -> dict[str, TensorFormat]:
    """Formats by tensor from the digraph's comment, such as ``X=ss01,b=none``."""
    formats = {}
    for entry in filter(None, syntax.attributes.get("comment", "").split(",")):
        tensor, _, code = entry.partition("=")
        levels, modes = code[: len(code) // 2], code[len(code) // 2 :]
        if code == "none":
            levels = modes = ""
        known = all(level in LEVEL_FORMATS for level in levels)
        if not known or sorted(modes) != [str(mode) for mode in range(len(levels))]:
            raise WorkloadError(
                f"{name}: comment of the digraph: format {entry} must be none, or levels of "
                f"{', '.join(LEVEL_FORMATS)} and then the mode of each, such as B=ss10"
            )
        formats[tensor] = TensorFormat(
            tuple(LEVEL_FORMATS[level] for level in levels), tuple(map(int, modes))
        )
    if not formats:
        raise WorkloadError(
            f'{name}: the digraph must have a comment with formats, such as comment="x=s0,b=s0"'
        )
    return formats


class _Builder:
    """Blocks for nodes, each after those that feed it."""

    def __init__(self, netlist: Netlist, formats: Mapping[str, TensorFormat]) -> None:
        self._netlist = netlist
        self._formats = formats
        self._blocks = GraphBuilder()
        self._streams: dict[tuple[str, str], Stream] = {}
        self._root: Stream | None = None

    def blocks(self) -> GraphBuilder:
        order: nx.DiGraph = nx.DiGraph()
        for node in self._netlist.nodes.values():
            order.add_node(node.name)
            order.add_edges_from((source, node.name) for source, _ in node.inputs.values())
        if not nx.is_directed_acyclic_graph(order):
            name = nx.find_cycle(order)[0][0]
            node = self._netlist.nodes[name]
            self._netlist.fail(node.line, f"{node.type} {name} feeds itself")
        for name in nx.topological_sort(order):
            node = self._netlist.nodes[name]
            if node.type != "broadcast":
                try:
                    self._rule(node)(node)
                except ConfigError as error:
                    self._netlist.fail(node.line, f"{node.type} {name}: {error}")
        return self._blocks

    def _rule(self, node: Node) -> Callable[[Node], None]:
        if node.type in JOINERS:
            return self._joiner
        if node.type == "add" or node.type in ALU_OPERATIONS:
            return self._alu
        if node.type in FUNCTIONS:
            return self._function
        rule: Callable[[Node], None] = getattr(self, f"_{node.type}")
        return rule

    def _add(
        self,
        node: Node,
        type: str,
        label: str,
        ports: Mapping[str, str],
        outputs: Mapping[str, str],
        **parameters: Any,
    ) -> None:
        """A block; ``ports`` and ``outputs`` give the node's port for each of the block's."""
        inputs = {port: self._stream(node, source) for port, source in ports.items()}
        made = self._blocks.add(type, label, inputs, **parameters)
        for output, wanted in outputs.items():
            self._streams[node.name, wanted] = getattr(made, output)

    def _stream(self, node: Node, port: str) -> Stream:
        if port == "ref" and port not in node.inputs:
            rooted = node.values.get("root", "true" if node.type == "arrayvals" else "false")
            if rooted == "true":
                if self._root is None:
                    self._root = self._blocks.add("root", "root", {}).out_ref
                return self._root
        source, output = self._netlist.wire(node, port)
        stream = self._streams.get((source, output))
        if stream is None:
            kind = self._netlist.nodes[source].type
            self._netlist.fail(
                node.line, f"{node.type} {node.name}: {kind} {source} has no output for {port}"
            )
        return stream

    def _value(self, node: Node, key: str) -> str:
        if key not in node.values:
            self._netlist.fail(node.line, f"{node.type} {node.name} must have attribute {key}")
        return node.values[key]

    def _level(self, node: Node) -> int:
        """The level that stores the node's mode, in the tensor's format."""
        tensor, mode = self._value(node, "tensor"), self._value(node, "mode")
        if not tensor:
            return 0
        format = self._formats.get(tensor)
        modes = () if format is None else format.modes
        if mode not in map(str, modes):
            known = "is not among the formats" if format is None else f"has format {format}"
            self._netlist.fail(
                node.line, f"{node.type} {node.name}: mode {mode} of {tensor}, which {known}"
            )
        assert format is not None
        level = modes.index(int(mode))
        kind = node.values.get("format", format.levels[level])
        if kind != format.levels[level]:
            self._netlist.fail(
                node.line,
                f"{node.type} {node.name}: format {kind}, but mode {mode} of {tensor} is "
                f"{format.levels[level]} in {format}",
            )
        return level

    def _fiberlookup(self, node: Node) -> None:
        tensor, index = self._value(node, "tensor"), self._value(node, "index")
        format = self._value(node, "format")
        label = f"lookup_{tensor}_{index}" if tensor else f"all_{index}"
        common: dict[str, Any] = {"tensor": tensor, "index": index, "level": self._level(node)}
        if format == BITVECTOR:
            outputs = {"out_bv": "out_bv", "out_ref": "out_ref"}
            self._add(node, "bitvectorlookup", label, {"ref": "ref"}, outputs, **common)
            return
        outputs = {"out_crd": "out_crd", "out_ref": "out_ref"}
        common |= {"format": format, "skip": node.values.get("skip") == "true"}
        self._add(node, "fiberlookup", label, {"ref": "ref"}, outputs, **common)

    def _bitvectorexpand(self, node: Node) -> None:
        index = self._value(node, "index")
        ports, outputs = {"bv": "bv", "ref": "ref"}, {"out_crd": "out_crd", "out_ref": "out_ref"}
        self._add(node, "bitvectorexpand", f"expand_{index}", ports, outputs, index=index)

    def _locate(self, node: Node) -> None:
        tensor, index = self._value(node, "tensor"), self._value(node, "index")
        self._add(
            node,
            "locate",
            f"locate_{tensor}_{index}",
            {"crd": "crd", "ref": "ref"},
            {"out_ref": "out_ref"},
            tensor=tensor,
            index=index,
            level=self._level(node),
        )

    def _repeat(self, node: Node) -> None:
        tensor, index = node.values.get("tensor", ""), self._value(node, "index")
        self._add(
            node,
            "repeat",
            f"repeat_{tensor}_{index}",
            {"ref": "ref", "repsig": "repsig"},
            {"out_ref": "out_ref"},
            tensor=tensor,
            index=index,
        )

    def _repsiggen(self, node: Node) -> None:
        index = self._value(node, "index")
        self._add(
            node,
            "repsiggen",
            f"repsig_{index}",
            {"crd": "crd"},
            {"out_repsig": "out_repsig"},
            index=index,
        )

    def _joiner(self, node: Node) -> None:
        """Two operands at a time: for each reference so far, a joiner with the next operand."""
        index = self._value(node, "index")
        if len(node.lanes) < 2:
            self._netlist.fail(
                node.line, f"{node.type} {node.name} joins {len(node.lanes)} operands; at least 2"
            )
        kind = "bv" if node.type.startswith("bitvector") else "crd"
        crd = self._stream(node, f"{kind}0")
        references = [self._stream(node, "ref0")]
        for lane in range(1, len(node.lanes)):
            other, reference = self._stream(node, f"{kind}{lane}"), self._stream(node, f"ref{lane}")
            joined = [
                self._blocks.add(
                    node.type,
                    f"{node.type.removeprefix('bitvector')}_{index}",
                    {f"{kind}0": crd, "ref0": one, f"{kind}1": other, "ref1": reference},
                    index=index,
                )
                for one in references
            ]
            crd = joined[0].out_crd
            references = [*(made.out_ref0 for made in joined), joined[0].out_ref1]
        self._streams[node.name, "out_crd"] = crd
        for lane, reference in enumerate(references):
            self._streams[node.name, f"out_ref{lane}"] = reference

    def _arrayvals(self, node: Node) -> None:
        tensor = self._value(node, "tensor")
        ports, outputs = {"ref": "ref"}, {"out_val": "out_val"}
        self._add(node, "arrayvals", f"vals_{tensor}", ports, outputs, tensor=tensor)

    def _alu(self, node: Node) -> None:
        op = "sub" if node.type == "add" and node.values.get("sub") == "1" else node.type
        ports, outputs = {"val0": "val0", "val1": "val1"}, {"out_val": "out_val"}
        self._add(node, "alu", op, ports, outputs, op=op)

    def _function(self, node: Node) -> None:
        ports, outputs = {"val": "val"}, {"out_val": "out_val"}
        self._add(node, "function", node.type, ports, outputs, op=node.type)

    def _reduce(self, node: Node) -> None:
        operation = node.values.get("op", "add")
        ports, outputs = {"val": "val"}, {"out_val": "out_val"}
        self._add(node, "reduce", "reduce", ports, outputs, op=operation)

    def _spaccumulator(self, node: Node) -> None:
        order = int(self._value(node, "order"))
        full = {name: node.values.get(name) == "true" for name in ("full0", "full1")}
        outputs = [f"out_crd{place}" for place in range(order)] + ["out_val"]
        self._add(
            node,
            "spaccumulator",
            "accumulate",
            {port: port for port in node.inputs},
            {output: output for output in outputs},
            order=order,
            **full,
        )

    def _parallelizer(self, node: Node) -> None:
        lanes = self._lanes(node)
        outputs = {f"o{lane}": f"o{lane}" for lane in range(lanes)}
        self._add(node, "parallelizer", "deal", {"i": "i"}, outputs, lanes=lanes)

    def _serializer(self, node: Node) -> None:
        lanes = self._lanes(node)
        ports = {f"i{lane}": f"i{lane}" for lane in range(lanes)}
        self._add(node, "serializer", "merge", ports, {"o": "o"}, lanes=lanes)

    def _lanes(self, node: Node) -> int:
        lanes = self._value(node, "lanes")
        if not lanes.isdecimal() or not 2 <= int(lanes) <= MAX_LANES:
            self._netlist.fail(
                node.line, f"{node.type} {node.name}: lanes {lanes} must be 2 to {MAX_LANES}"
            )
        return int(lanes)

    def _crddrop(self, node: Node) -> None:
        outer, inner = self._value(node, "outer"), self._value(node, "inner")
        if inner == "vals":
            ports = {"crd": "outer", "val": "inner"}
            outputs = {"out_crd": "out_outer", "out_val": "out_inner"}
            self._add(node, "valdrop", f"drop_zeros_{outer}", ports, outputs)
            return
        self._coordinates(node, f"drop_{outer}_{inner}")

    def _crdhold(self, node: Node) -> None:
        self._coordinates(node, f"hold_{self._value(node, 'outer')}_{self._value(node, 'inner')}")

    def _coordinates(self, node: Node, label: str) -> None:
        ports = {"outer": "outer", "inner": "inner"}
        outputs = {"out_outer": "out_outer", "out_inner": "out_inner"}
        self._add(node, node.type, label, ports, outputs)

    def _fiberwrite(self, node: Node) -> None:
        tensor = self._value(node, "tensor")
        if self._value(node, "mode") == "vals":
            self._add(node, "valwrite", f"write_{tensor}_vals", {"val": "val"}, {}, tensor=tensor)
            return
        index = self._value(node, "index")
        self._add(
            node,
            "fiberwrite",
            f"write_{tensor}_{index}",
            {"crd": "crd"},
            {},
            tensor=tensor,
            index=index,
            level=self._level(node),
            format=self._value(node, "format"),
        )
