"""What a graph computes, as a statement: read back from its values, from the writer inwards."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx

from hw.lib.errors import WorkloadError
from hw.sam.graph import Edge, Graph
from sw.compiler.sam.dot_write import JOINERS
from sw.compiler.sam.storage import LEVEL_FORMATS, TensorFormat
from sw.compiler.sam.streams import trace

_LETTERS = {name: letter for letter, name in LEVEL_FORMATS.items()}
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}
_SUM, _PRODUCT, _ATOM = 0, 1, 2


def describe(graph: Graph, formats: Mapping[str, TensorFormat]) -> str:
    """The statement, in the notation of ``parser``. ``formats`` has every tensor.

    Raises ``WorkloadError`` where the notation cannot say what a block does.
    """
    return _Reader(graph, formats).statement()


class _Reader:
    def __init__(self, graph: Graph, formats: Mapping[str, TensorFormat]) -> None:
        self._graph = graph
        self._loops = trace(graph).loops
        self._formats = formats

    def statement(self) -> str:
        graph = self._graph
        writer = next(block for block in graph.blocks if block.type == "valwrite")
        result = writer["tensor"]
        levels = {
            block["level"]: block["index"]
            for block in graph.blocks
            if block.type == "fiberwrite" and block["tensor"] == result
        }
        access = self._access(result, [levels[level] for level in sorted(levels)])
        expression, _ = self._value(graph.drivers[writer.name, "val"])
        parts = [f"{access}={expression}"]
        for tensor, format in self._formats.items():
            if format.levels:
                letters = "".join(_LETTERS[level] for level in format.levels)
                parts.append(f"-f={tensor}:{letters}:{','.join(map(str, format.modes))}")
        order = self._order()
        if order:
            parts.append(f"-s=reorder({','.join(order)})")
        for block in graph.blocks:
            if block.type == "parallelizer":
                edge = graph.drivers[block.name, "i"]
                index = self._loops[edge.source, edge.output][-1].index
                parts.append(f"-s=parallelize({index},{block['lanes']})")
                break
        return " ".join(parts)

    def _order(self) -> list[str]:
        """Indices, each after those whose loops lie around its own."""
        order: nx.DiGraph = nx.DiGraph()
        for loops in self._loops.values():
            names = [fibers.index for fibers in loops]
            order.add_nodes_from(names)
            order.add_edges_from(zip(names, names[1:], strict=False))
        places = {index: place for place, index in enumerate(order)}
        try:
            return list(nx.lexicographical_topological_sort(order, key=places.__getitem__))
        except nx.NetworkXUnfeasible:
            loop = ", ".join(source for source, _ in nx.find_cycle(order))
            raise WorkloadError(
                f"graph: the loops over {loop} lie in each other; there must be one loop order"
            ) from None

    def _value(self, edge: Edge) -> tuple[str, int]:
        """An expression for a stream of values, and how tightly it binds."""
        block = self._graph[edge.source]
        match block.type:
            case "arrayvals":
                tensor = block["tensor"]
                if not tensor.isidentifier():
                    return (f"({tensor})" if tensor.startswith("-") else tensor), _ATOM
                indices = self._indices(tensor, self._graph.drivers[block.name, "ref"])
                return self._access(tensor, indices), _ATOM
            case "alu" if block["op"] in _SIGNS:
                return self._infix(block.name, block["op"])
            case "alu" | "function":
                values = [
                    self._value(self._graph.drivers[block.name, port])[0] for port in block.inputs
                ]
                return f"{block['op']}({','.join(values)})", _ATOM
            case "reduce" if block["op"] != "add":
                raise WorkloadError(
                    f"graph: reduce {block.name}: the notation has no {block['op']} over an index"
                )
        port = {
            "reduce": "val",
            "spaccumulator": "val",
            "valdrop": "val",
            "crddrop": "inner",
            "repeat": "ref",
            "serializer": "i0",
        }.get(block.type, edge.output.removeprefix("out_"))
        return self._value(self._graph.drivers[block.name, port])

    def _infix(self, name: str, op: str) -> tuple[str, int]:
        left, left_binds = self._value(self._graph.drivers[name, "val0"])
        right, right_binds = self._value(self._graph.drivers[name, "val1"])
        binds = _PRODUCT if op == "mul" else _SUM
        if left_binds < binds:
            left = f"({left})"
        if right_binds <= binds:
            right = f"({right})"
        return f"{left}{_SIGNS[op]}{right}", binds

    def _indices(self, tensor: str, edge: Edge | None) -> list[str]:
        """Index of each level whose positions lead to these references, outermost first."""
        found = []
        while edge is not None and self._graph[edge.source].type != "root":
            block = self._graph[edge.source]
            if block.type in ("fiberlookup", "bitvectorlookup", "locate"):
                if block["tensor"] != tensor:
                    raise WorkloadError(
                        f"graph: {block.type} {block.name} is of tensor {block['tensor']}, but "
                        f"its references reach values of {tensor}"
                    )
                found.append(block["index"])
            port = "i" if block.type == "parallelizer" else "ref"
            if block.type in (*JOINERS, "bitvectorexpand"):
                port = edge.output.removeprefix("out_")
            edge = self._graph.drivers.get((block.name, port))
        return found[::-1]

    def _access(self, tensor: str, indices: list[str]) -> str:
        format = self._formats.get(tensor)
        if format is None or len(format.levels) != len(indices):
            has = "no format" if format is None else f"{len(format.levels)} levels"
            raise WorkloadError(
                f"graph: tensor {tensor} has {has}, but {len(indices)} levels in the graph"
            )
        modes = dict(zip(format.modes, indices, strict=True))
        names = ",".join(modes[mode] for mode in range(len(indices)))
        return f"{tensor}({names})" if indices else tensor
