"""Graphs from the DOT dialect of the SAM tools, all generations of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import networkx as nx

from gnarl.hw.lib.errors import ConfigError, GnarlError, WorkloadError, damaged_as, short
from gnarl.hw.sam.block_types import (
    BITVECTOR,
    BLOCK_TYPES,
    FUNCTIONS,
    MAX_LANES,
    SUM_LANES,
)
from gnarl.sw.compiler.sam.builder import GraphBuilder, Stream
from gnarl.sw.compiler.sam.dot_generations import modernise
from gnarl.sw.compiler.sam.dot_meaning import plan_in
from gnarl.sw.compiler.sam.dot_netlist import Netlist, Node
from gnarl.sw.compiler.sam.dot_syntax import DotGraph, parse_dot
from gnarl.sw.compiler.sam.dot_write import JOINERS
from gnarl.sw.compiler.sam.drops import remove_other_drops
from gnarl.sw.compiler.sam.passes import (
    attach_coordinates,
    mark_empty_fibers,
    mark_skips,
    remove_unused,
)
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.workloads.tensor.lanes import MAX_DEALT
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat
from gnarl.sw.workloads.text_file import is_number


def read_dot(text: str, name: str) -> Plan:
    """The graph in the text of the file called ``name``, and what it computes: what its attribute
    ``einsum`` says, or, without one, a statement that is found in the graph.

    Raises ``WorkloadError`` that names the file, and the line or the attribute where one can be
    named; for a difference whose order of operands is ambiguous, see ``dot_netlist``, and for a
    graph whose tensors or indices are not those of ``einsum``, too.
    """
    with damaged_as(WorkloadError, f"{name}: file"):
        syntax = parse_dot(text, name)
        formats = _formats(syntax, name)
        netlist = Netlist(syntax, name)
        modernise(netlist)
        builder = _Builder(netlist, formats)
        blocks = builder.blocks()
        try:
            graph = remove_other_drops(remove_unused(blocks.graph()))
            graph = mark_empty_fibers(attach_coordinates(graph)).with_depths(builder.depths)
            if not any("skip" in node.values for node in netlist.nodes.values()):
                graph = mark_skips(graph)
            verify(graph)
            return plan_in(syntax, graph, formats)
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
                f"{name}: comment of the digraph: format {short(entry)} must be none, or levels of "
                f"{', '.join(LEVEL_FORMATS)} and then the mode of each, such as B=ss10"
            )
        if tensor in formats:
            raise WorkloadError(
                f"{name}: comment of the digraph: {short(tensor)} has two formats: must have one"
            )
        formats[tensor] = TensorFormat(
            tuple(LEVEL_FORMATS[level] for level in levels), tuple(map(int, modes))
        )
    if not formats:
        raise WorkloadError(
            f'{name}: the digraph must have a comment with formats, such as comment="x=s0,b=s0"'
        )
    return formats


_OF_VALDROP = {"crd": "outer", "val": "inner", "out_crd": "out_outer", "out_val": "out_inner"}
"""Ports of drops of coordinates, by those of drops of values."""


class _Builder:
    """Blocks for nodes, each after those that feed it; depths of queues by block and input."""

    def __init__(self, netlist: Netlist, formats: Mapping[str, TensorFormat]) -> None:
        self._netlist = netlist
        self._formats = formats
        self._blocks = GraphBuilder()
        self._streams: dict[tuple[str, str], Stream] = {}
        self.depths: dict[tuple[str, str], int] = {}

    def blocks(self) -> GraphBuilder:
        order: nx.DiGraph = nx.DiGraph()
        for node in self._netlist.nodes.values():
            order.add_node(node.name)
            order.add_edges_from((source, node.name) for source, _ in node.inputs.values())
        if not nx.is_directed_acyclic_graph(order):
            name = nx.find_cycle(order)[0][0]
            node = self._netlist.nodes[name]
            self._netlist.refuse(node, " feeds itself")
        for name in nx.topological_sort(order):
            node = self._netlist.nodes[name]
            try:
                self._block(node)
            except ConfigError as error:
                self._netlist.refuse(node, f": {error}")
        return self._blocks

    def _block(self, node: Node) -> None:
        kind = node.type
        if kind in _ADDERS:
            _ADDERS[kind](self, node)
        elif kind in JOINERS:
            self._joiner(node)
        elif kind in FUNCTIONS:
            self._add(node, "function", kind, op=kind)
        else:
            op = "sub" if kind == "add" and node.values.get("sub") == "1" else kind
            self._add(node, "alu", op, op=op)

    def _broadcast(self, node: Node) -> None:
        """No block: its readers read its source."""

    def _lookup(self, node: Node) -> None:
        value = partial(self._value, node)
        tensor, index, format = value("tensor"), value("index"), value("format")
        label = f"lookup_{tensor}_{index}" if tensor else f"all_{index}"
        lookup = partial(self._add, node, label=label, tensor=tensor, index=index)
        level, skip = self._level(node), node.values.get("skip") == "true"
        if format == BITVECTOR:
            lookup("bitvectorlookup", level=level)
        else:
            lookup("fiberlookup", level=level, format=format, skip=skip)

    def _expand(self, node: Node) -> None:
        index = self._value(node, "index")
        self._add(node, "bitvectorexpand", f"expand_{index}", index=index)

    def _locate(self, node: Node) -> None:
        tensor, index = self._value(node, "tensor"), self._value(node, "index")
        level, label = self._level(node), f"locate_{tensor}_{index}"
        self._add(node, "locate", label, tensor=tensor, index=index, level=level)

    def _repeat(self, node: Node) -> None:
        tensor, index = node.values.get("tensor", ""), self._value(node, "index")
        self._add(node, "repeat", f"repeat_{tensor}_{index}", tensor=tensor, index=index)
        # Values are repeated like references.
        self._streams[node.name, "out_val"] = self._streams[node.name, "out_ref"]

    def _repeat_signal(self, node: Node) -> None:
        index = self._value(node, "index")
        self._add(node, "repsiggen", f"repsig_{index}", index=index)

    def _array_values(self, node: Node) -> None:
        tensor = self._value(node, "tensor")
        if not tensor.isidentifier() and not is_number(tensor):
            self._netlist.refuse(
                node, f": tensor {short(tensor)}: must be a name, or a number of float64"
            )
        self._add(
            node, "arrayvals", f"vals_{tensor}", tensor=tensor, block=node.values.get("block", "")
        )

    def _reduce(self, node: Node) -> None:
        self._add(node, "reduce", "reduce", op=node.values.get("op", "add"))

    def _fold(self, node: Node) -> None:
        block, index = self._value(node, "block"), self._value(node, "index")
        self._add(node, "fold", "fold", op=node.values.get("op", "add"), block=block, index=index)

    def _accumulator(self, node: Node) -> None:
        full0, full1 = (node.values.get(name) == "true" for name in ("full0", "full1"))
        order = int(self._value(node, "order"))
        self._add(node, "spaccumulator", "accumulate", order=order, full0=full0, full1=full1)

    def _deal(self, node: Node) -> None:
        self._add(node, "parallelizer", "deal", lanes=self._lanes(node))

    def _deal_by_coordinate(self, node: Node) -> None:
        lanes = self._lanes(node)
        if lanes not in SUM_LANES:
            allowed = ", ".join(map(str, SUM_LANES[:-1]))
            self._netlist.refuse(node, f": lanes {lanes} must be {allowed} or {SUM_LANES[-1]}")
        shift = node.values.get("shift", "0")
        if not (shift.isdecimal() and len(shift) == 1):
            self._netlist.refuse(node, f": shift {short(shift)} must be 0 to 5")
        self._add(node, "crdparallelizer", "share", lanes=lanes, shift=int(shift))

    def _merge(self, node: Node) -> None:
        self._add(node, "serializer", "merge", lanes=self._lanes(node))

    def _merge_values(self, node: Node) -> None:
        self._add(node, "valserializer", "merge", lanes=self._lanes(node))

    def _drop(self, node: Node) -> None:
        outer, inner = self._value(node, "outer"), self._value(node, "inner")
        if inner == "vals":
            self._add(node, "valdrop", f"drop_zeros_{outer}", _OF_VALDROP)
        else:
            self._add(node, "crddrop", f"drop_{outer}_{inner}")

    def _hold(self, node: Node) -> None:
        outer, inner = self._value(node, "outer"), self._value(node, "inner")
        self._add(node, "crdhold", f"hold_{outer}_{inner}")

    def _write(self, node: Node) -> None:
        value = partial(self._value, node)
        tensor, lane = value("tensor"), node.values.get("lane", "0")
        if lane not in map(str, range(MAX_DEALT)):
            self._netlist.refuse(node, f": lane {short(lane)} must be 0 to {MAX_DEALT - 1}")
        if value("mode") == "vals":
            name = f"write_{tensor}_vals"
            block = node.values.get("block", "")
            self._add(node, "valwrite", name, tensor=tensor, lane=int(lane), block=block)
            return
        index, level, format = value("index"), self._level(node), value("format")
        write = partial(self._add, node, "fiberwrite", f"write_{tensor}_{index}")
        write(tensor=tensor, index=index, level=level, format=format, lane=int(lane))

    def _add(
        self,
        node: Node,
        type: str,
        label: str,
        names: Mapping[str, str] = {},
        **parameters: Any,
    ) -> None:
        """A block, its ports named like the node's but for those that ``names`` translates."""
        kind = BLOCK_TYPES[type]
        inputs = {
            port.name: self._stream(node, names.get(port.name, port.name))
            for port in kind.inputs(parameters)
            if not port.optional or port.name in node.inputs
        }
        block = self._blocks.add(type, label, inputs, **parameters)
        for port in kind.inputs(parameters):
            self._set_depth(block.name, port.name, node, names.get(port.name, port.name))
        for port in kind.outputs(parameters):
            output = getattr(block, port.name)
            self._streams[node.name, names.get(port.name, port.name)] = output

    def _set_depth(self, block: str, input: str, node: Node, port: str) -> None:
        depth = self._netlist.depth(node, port)
        if depth is not None:
            self.depths[block, input] = depth

    def _stream(self, node: Node, port: str) -> Stream:
        if port == "ref" and port not in node.inputs:
            rooted = node.values.get("root", "true" if node.type == "arrayvals" else "false")
            if rooted == "true":
                return self._blocks.root
        source, output = self._netlist.wire(node, port)
        stream = self._streams.get((source, output))
        if stream is None:
            kind = self._netlist.nodes[source].type
            self._netlist.refuse(node, f": {kind} {short(source)} has no output for {port}")
        return stream

    def _value(self, node: Node, key: str) -> str:
        if key not in node.values:
            self._netlist.refuse(node, f" must have attribute {key}")
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
            self._netlist.refuse(node, f": mode {short(mode)} of {short(tensor)}, which {known}")
        assert format is not None
        level = modes.index(int(mode))
        kind = node.values.get("format", format.levels[level])
        if kind != format.levels[level]:
            self._netlist.refuse(
                node,
                f": format {short(kind)}, but mode {mode} of {tensor} is "
                f"{format.levels[level]} in {format}",
            )
        return level

    def _joiner(self, node: Node) -> None:
        """Two operands at a time: for each reference so far, a joiner with the next operand."""
        index = self._value(node, "index")
        if len(node.lanes) < 2:
            self._netlist.refuse(node, f" joins {len(node.lanes)} operands; at least 2")
        kind = "bv" if node.type.startswith("bitvector") else "crd"
        crd = self._stream(node, f"{kind}0")
        references = [self._stream(node, "ref0")]
        for lane in range(1, len(node.lanes)):
            other, reference = self._stream(node, f"{kind}{lane}"), self._stream(node, f"ref{lane}")
            joined = [
                self._blocks.join(node.type, index, (crd, one), (other, reference))
                for one in references
            ]
            for joiner in joined:
                self._set_depth(joiner.name, f"{kind}1", node, f"{kind}{lane}")
                self._set_depth(joiner.name, "ref1", node, f"ref{lane}")
            if lane == 1:
                self._set_depth(joined[0].name, f"{kind}0", node, f"{kind}0")
                self._set_depth(joined[0].name, "ref0", node, "ref0")
            crd = joined[0].out_crd
            references = [*(joiner.out_ref0 for joiner in joined), joined[0].out_ref1]
        self._streams[node.name, "out_crd"] = crd
        for lane, reference in enumerate(references):
            self._streams[node.name, f"out_ref{lane}"] = reference

    def _lanes(self, node: Node) -> int:
        lanes = self._value(node, "lanes")
        if lanes not in map(str, range(2, MAX_LANES + 1)):
            self._netlist.refuse(node, f": lanes {short(lanes)} must be 2 to {MAX_LANES}")
        return int(lanes)


_ADDERS: Mapping[str, Callable[[_Builder, Node], None]] = {
    "broadcast": _Builder._broadcast,
    "fiberlookup": _Builder._lookup,
    "bitvectorexpand": _Builder._expand,
    "locate": _Builder._locate,
    "repeat": _Builder._repeat,
    "repsiggen": _Builder._repeat_signal,
    "arrayvals": _Builder._array_values,
    "reduce": _Builder._reduce,
    "fold": _Builder._fold,
    "spaccumulator": _Builder._accumulator,
    "parallelizer": _Builder._deal,
    "crdparallelizer": _Builder._deal_by_coordinate,
    "serializer": _Builder._merge,
    "valserializer": _Builder._merge_values,
    "crddrop": _Builder._drop,
    "crdhold": _Builder._hold,
    "fiberwrite": _Builder._write,
}
"""What adds the blocks of a node, by its type; joiners, functions and operations are others."""
