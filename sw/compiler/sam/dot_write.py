"""Graphs in the DOT dialect of the SAM tools.

Types that the tools do not have (``locate``, bitvectors, functions, ``max``, ``min``, lanes) are
written in the same manner, and so are depths of queues, which edges have. What a reader adds by
itself is not written: the root, whose readers say ``root=true``, and the coordinates that
reductions see; depths of these are the reader's ``ref_depth`` and ``crd_depth``. What the graph
computes is the attribute ``einsum`` of the digraph, and ``longest`` how many coordinates of an
index a fiber may have for which queues are deep enough; readers that do not know these leave them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import BITVECTOR, COMPRESSED, DEALERS, REDUCTIONS
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.compiler.sam.streams import trace
from gnarl.sw.workloads.einsum.text import program_text
from gnarl.sw.workloads.tensor.expression import Indexed

_STYLES = {"crd": "dashed", "ref": "bold", "repsig": "dotted", "bv": "dashed"}
JOINERS = ("intersect", "union", "bitvectorintersect", "bitvectorunion")
_COLOURS = {
    "fiberlookup": "green4",
    "fiberwrite": "green3",
    "repeat": "cyan2",
    "repsiggen": "cyan3",
    "arrayvals": "green2",
    "crddrop": "orange",
    "crdhold": "orange",
    **dict.fromkeys(JOINERS, "purple"),
}


def plan_dot(plan: Plan) -> str:
    """The text of a DOT file that says what its graph computes, as an Einsum program.

    Raises ``WorkloadError`` for blocks that the dialect cannot say.
    """
    program = plan.kernel.program
    names = dict.fromkeys((*program.inputs, *program.results, *program.formats))
    formats = {name: program.formats[name] for name in names}
    attributes = {"einsum": program_text(replace(program, formats=formats))}
    if plan.longest:
        known = (index for index in plan.kernel.order if index in plan.longest)
        attributes["longest"] = ",".join(f"{index}={plan.longest[index]}" for index in known)
    return write_dot(plan.graph, plan.kernel, attributes)


def write_dot(graph: Graph, statement: Indexed, attributes: Mapping[str, str] = {}) -> str:
    """The text of a DOT file of the SAM tools, with more ``attributes`` of the digraph.

    Raises ``WorkloadError`` for blocks that the dialect cannot say.
    """
    return _Writer(graph, statement).text(attributes)


class _Writer:
    def __init__(self, graph: Graph, statement: Indexed) -> None:
        self._graph = graph
        self._statement = statement
        self._loops = trace(graph).loops
        self._ids = _numbered(graph, [result.tensor for result in statement.results])
        # Inputs in the order of the ids of their blocks, so that operands come left to right.
        self._edges = [
            edge
            for name in self._ids
            for port in graph[name].inputs
            if (edge := graph.drivers.get((name, port))) is not None and self._is_written(edge)
        ]

    def _is_written(self, edge: Edge) -> bool:
        source = self._graph[edge.source].type
        is_found = self._graph[edge.target].type == "reduce" and edge.input == "crd"
        return source != "root" and (source == "parallelizer" or not is_found)

    def text(self, attributes: Mapping[str, str]) -> str:
        formats = self._statement.formats
        results = (result.tensor for result in self._statement.results)
        names = dict.fromkeys((*results, *formats))
        tensors = ",".join(f"{name}={formats[name]}" for name in names)
        lines = ["digraph SAM {", f'    comment="{tensors}"']
        lines += [f'    {name}="{value}"' for name, value in attributes.items()]
        for name, number in self._ids.items():
            lines.append(f"    {number} {self._node(self._graph[name])}")
        readers: dict[tuple[str, str], list[Edge]] = {}
        for edge in self._edges:
            readers.setdefault((edge.source, edge.output), []).append(edge)
        number = len(self._ids)
        shared = {}
        for output, edges in readers.items():
            if len(edges) > 1:
                shared[output] = number
                lines.append(
                    f'    {number} [comment="type=broadcast" shape=point style=invis '
                    'type="broadcast"]'
                )
                number += 1
        for edge in self._edges:
            source = edge.source, edge.output
            leaves, enters = self._output_comment(edge), self._input_comment(edge)
            start, end = self._ids[edge.source], self._ids[edge.target]
            if source in shared:
                if edge is readers[source][0]:
                    lines.append(self._edge(start, shared[source], edge, leaves))
                start, comment, both = shared[source], enters, ""
            else:
                same = leaves.rpartition("-")[2] == enters.rpartition("-")[2]
                comment, both = enters or leaves, "" if same or not enters else leaves
            lines.append(self._edge(start, end, edge, comment, both, edge.depth))
        return "\n".join([*lines, "}", ""])

    def _edge(
        self,
        source: int,
        target: int,
        edge: Edge,
        comment: str,
        leaves: str = "",
        depth: int | None = None,
    ) -> str:
        """The line of an edge. ``leaves``: the comment of the output, where the input has one,
        too."""
        kind = self._graph.kind_of_stream(edge.source, edge.output)
        positional = comment.startswith("in-") and comment[3:].isdigit()
        label = f"{kind}_{comment}" if comment and not positional else kind
        style = f" style={_STYLES[kind]}" if kind in _STYLES else ""
        more = f' source="{leaves}"' if leaves else ""
        more += "" if depth is None else f' depth="{depth}"'
        return (
            f'    {source} -> {target} [label="{label}"{style} type="{kind}" '
            f'comment="{comment}"{more}]'
        )

    # Edges.

    def _lanes(self, joiner: Block) -> tuple[str, str]:
        """A name for each lane: the tensor whose references it brings, made unique."""
        edges = (self._graph.drivers[joiner.name, f"ref{lane}"] for lane in "01")
        one, other = (self._tensor_of(edge.source, edge.output) for edge in edges)
        return one, f"{one}_2" if other == one else other

    def _tensor_of(self, name: str, output: str) -> str:
        block = self._graph[name]
        if block.type in (*JOINERS, "bitvectorexpand"):
            edge = self._graph.drivers[name, output.removeprefix("out_")]
            return self._tensor_of(edge.source, edge.output)
        return str(block.parameters.get("tensor") or "") or (
            "all" if block.type == "fiberlookup" else "vals"
        )

    def _output_comment(self, edge: Edge) -> str:
        """What the dialect says of the output that an edge leaves."""
        block = self._graph[edge.source]
        if block.type in JOINERS and edge.output != "out_crd":
            return f"out-{self._lanes(block)[int(edge.output[-1])]}"
        if block.type == "spaccumulator" and edge.output != "out_val":
            return f"out-{self._index(edge)}"
        if block.type in DEALERS:
            return f"out-{edge.output.removeprefix('o')}"
        if block.type in ("crddrop", "crdhold", "valdrop"):
            outer, inner = self._outer_inner(block)
            is_outer = edge.output in ("out_outer", "out_crd")
            return f"outer-{outer}" if is_outer else f"inner-{inner}"
        return ""

    def _input_comment(self, edge: Edge) -> str:
        """What the dialect says of the input that an edge enters."""
        block = self._graph[edge.target]
        if block.type in JOINERS:
            return f"in-{self._lanes(block)[int(edge.input[-1])]}"
        if block.type == "spaccumulator" and edge.input != "val":
            return self._index(edge)
        if block.type in ("crddrop", "crdhold", "valdrop"):
            outer, inner = self._outer_inner(block)
            return f"in-{outer if edge.input in ('outer', 'crd') else inner}"
        if block.type == "alu":
            return f"in-{edge.input[-1]}"
        if block.type == "crdparallelizer":
            return f"in-{edge.input}"
        if block.type in ("serializer", "valserializer") and edge.input != "crd":
            return f"in-{edge.input.removeprefix('i')}"
        return ""

    def _index(self, edge: Edge) -> str:
        return self._loops[edge.source, edge.output][-1].index

    def _outer_inner(self, block: Block) -> tuple[str, str]:
        ports = ("crd", "val") if block.type == "valdrop" else ("outer", "inner")
        outer, inner = (self._graph.drivers[block.name, port] for port in ports)
        is_val = self._graph.kind_of_stream(inner.source, inner.output) == "val"
        return self._index(outer), "vals" if is_val else self._index(inner)

    # Nodes.

    def _node(self, block: Block) -> str:
        values, label = self._attributes(block)
        for port in block.inputs:
            edge = self._graph.drivers.get((block.name, port))
            if edge is not None and edge.depth is not None and not self._is_written(edge):
                values[f"{port}_depth"] = str(edge.depth)
        comment = ",".join(f"{key}={value}" for key, value in values.items())
        attributes = " ".join(f'{key}="{value}"' for key, value in values.items())
        colour = _COLOURS.get(values["type"], "brown")
        return (
            f'[comment="{comment}" label="{label}" color={colour} shape=box style=filled '
            f"{attributes}]"
        )

    def _attributes(self, block: Block) -> tuple[dict[str, str], str]:
        """The attributes that the dialect gives a block, and its label."""
        index, tensor = block.parameters.get("index", ""), block.parameters.get("tensor", "")
        match block.type:
            case "fiberlookup" | "bitvectorlookup":
                return self._lookup(block)
            case "locate":
                mode = self._mode(tensor, block["level"])
                values = {"type": "locate", "index": index, "tensor": tensor, "mode": mode}
                return values, f"Locate {index}: {tensor}{mode}"
            case "fiberwrite":
                return self._write(block)
            case "valwrite":
                return self._write_values(block)
            case "repeat":
                root = self._root(block)
                values = {"type": "repeat", "index": index, "tensor": tensor, "root": root}
                return values, f"Repeat {index}: {tensor}"
            case "repsiggen":
                return {"type": "repsiggen", "index": index}, f"RepeatSignalGenerator {index}"
            case "arrayvals":
                values = {"type": "arrayvals", "tensor": tensor, **_block_of(block)}
                return values, f"Array Vals: {tensor}"
            case "alu" | "function":
                return _operation(block["op"])
            case "reduce":
                operation = {} if block["op"] == REDUCTIONS[0] else {"op": block["op"]}
                return {"type": "reduce", **operation}, "Reduce"
            case "fold":
                operation = {} if block["op"] == REDUCTIONS[0] else {"op": block["op"]}
                values = {"type": "fold", "index": index, **operation, **_block_of(block)}
                return values, f"Fold {index}"
            case "spaccumulator":
                return self._accumulator(block)
            case "crddrop" | "valdrop":
                return self._drop(block)
            case "crdhold":
                return self._hold(block)
            case "parallelizer" | "crdparallelizer" | "serializer" | "valserializer":
                values = {"type": block.type, "lanes": str(block["lanes"])}
                if shift := block.parameters.get("shift"):
                    values["shift"] = str(shift)
                return values, f"{block.type} {block['lanes']}"
            case kind if kind in (*JOINERS, "bitvectorexpand"):
                return {"type": block.type, "index": index}, f"{block.type} {index}"
        raise WorkloadError(
            f"graph: {block.type} {block.name} has no node in the SAM tools' dialect"
        )

    def _lookup(self, block: Block) -> tuple[dict[str, str], str]:
        index, tensor = block["index"], block["tensor"]
        format = BITVECTOR if block.type == "bitvectorlookup" else block["format"]
        mode = self._mode(tensor, block["level"])
        values = {"type": "fiberlookup", "index": index, "tensor": tensor, "mode": mode}
        values |= {"format": format, "src": "true", "root": self._root(block)}
        if format == COMPRESSED:
            values["skip"] = str(block["skip"]).lower()
        return values, f"FiberLookup {index}: {tensor}{mode}\\n{format}"

    def _write(self, block: Block) -> tuple[dict[str, str], str]:
        index, tensor = block["index"], block["tensor"]
        level, format = block["level"], block["format"]
        mode = self._mode(tensor, level)
        values = {"type": "fiberwrite", "index": index, "tensor": tensor, "mode": mode}
        values["format"] = format
        if format == COMPRESSED:
            outer = "*".join(self._dimensions(tensor, level))
            values["segsize"] = f"{outer}+1" if outer else "2"
            values["crdsize"] = "*".join(self._dimensions(tensor, level + 1))
        values |= self._lane(block) | {"sink": "true"}
        return values, f"FiberWrite {index}: {tensor}{mode}\\n{format}"

    def _write_values(self, block: Block) -> tuple[dict[str, str], str]:
        tensor = block["tensor"]
        order = self._statement.formats[tensor].order
        size = "*".join(["1", *self._dimensions(tensor, order)])
        values = {"type": "fiberwrite", "mode": "vals", "tensor": tensor, "size": size}
        values |= {**self._lane(block), **_block_of(block), "sink": "true"}
        return values, f"FiberWrite Vals: {tensor}"

    def _lane(self, writer: Block) -> dict[str, str]:
        return {"lane": str(writer["lane"])} if writer["lane"] else {}

    def _drop(self, block: Block) -> tuple[dict[str, str], str]:
        outer, inner = self._outer_inner(block)
        values = {"type": "crddrop", "outer": outer, "inner": inner}
        if block.type == "valdrop":
            values["vals"] = "true"
        return values, f"CrdDrop {outer},{inner}"

    def _hold(self, block: Block) -> tuple[dict[str, str], str]:
        outer, inner = self._outer_inner(block)
        label = f"CrdHold {outer},{inner}\nouter={outer},inner={inner}"
        return {"type": "crdhold", "outer": outer, "inner": inner}, label

    def _accumulator(self, block: Block) -> tuple[dict[str, str], str]:
        order = block["order"]
        edges = [self._graph.drivers[block.name, f"crd{place}"] for place in range(order + 1)]
        indices = {f"in{place}": self._index(edge) for place, edge in enumerate(edges)}
        full = {name: "true" for place in range(order) if block[name := f"full{place}"]}
        shown = "".join(f"{place}={index} " for place, index in enumerate(indices.values()))
        values = {"type": "spaccumulator", "order": str(order), **indices, **full}
        return values, f"SparseAccumulator {order} \n{shown}"

    def _root(self, block: Block) -> str:
        source = self._graph.drivers[block.name, "ref"].source
        return str(self._graph[source].type == "root").lower()

    def _mode(self, tensor: str, level: int) -> str:
        return str(self._statement.formats[tensor].modes[level]) if tensor else "0"

    def _dimensions(self, tensor: str, levels: int) -> list[str]:
        """Sizes of a result's first levels, as the operand's that has the index first."""
        (result,) = (each for each in self._statement.results if each.tensor == tensor)
        names: Mapping[str, str] = {
            index: f"{access.tensor}{mode}_dim"
            for access in (result, *reversed(self._statement.operands))
            for mode, index in enumerate(access.indices)
        }
        modes = self._statement.formats[result.tensor].modes[:levels]
        return [names[result.indices[mode]] for mode in modes]


def _numbered(graph: Graph, results: Sequence[str]) -> dict[str, int]:
    """Ids by block: first the writers of values, in the order of ``results``, then the other
    writers, then from left to right.

    The root has none.
    """
    writers = [block for block in graph.blocks if not block.outputs]
    writers.sort(
        key=lambda block: (
            -block.parameters.get("level", 1 << 30),
            results.index(block["tensor"]),
            block["lane"],
        )
    )
    names = {block.name: None for block in writers}
    waiting = [block.name for block in reversed(writers)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or graph[name].type == "root":
            continue
        seen.add(name)
        names.setdefault(name)
        ports = reversed(list(graph[name].inputs))
        waiting.extend(
            graph.drivers[name, port].source for port in ports if (name, port) in graph.drivers
        )
    return {name: number for number, name in enumerate(names)}


def _block_of(block: Block) -> dict[str, str]:
    """The attribute of blocks of values."""
    return {"block": block["block"]} if block["block"] else {}


def _operation(op: str) -> tuple[dict[str, str], str]:
    """The attributes and the label of an operation or a function."""
    if op == "add":
        return {"type": "add", "sub": "0"}, "Add"
    if op == "sub":
        return {"type": "add", "sub": "1"}, "Add\nsubtract"
    return {"type": op}, op.capitalize()
