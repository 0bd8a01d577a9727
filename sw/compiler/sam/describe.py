"""What a graph computes, as a statement: read back from its values, from the writer inwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.agreement import walked_indices
from gnarl.sw.compiler.sam.drops import writers_of
from gnarl.sw.compiler.sam.lane_sums import summed_lanes
from gnarl.sw.compiler.sam.streams import lane_of, trace
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant
from gnarl.sw.workloads.tensor.notation import SIGNS, Binding, Sum, Written, binding, text_of
from gnarl.sw.workloads.tensor.storage import TensorFormat

_MINUS = Constant(-1.0)


@dataclass(frozen=True)
class _Part:
    """An expression, and whether there is a sum over an index in it, or a function, inside of which
    sums are written out."""

    written: Written
    summed: bool = False
    calls: bool = False


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
        if summed := summed_lanes(graph, self._loops):
            raise WorkloadError(
                f"graph: lanes have sums over {' and '.join(summed)}, which only a file with its "
                "Einsum text can say"
            )
        writer = next(block for block in graph.blocks if block.type == "valwrite")
        result = writer["tensor"]
        levels = writers_of(graph).get(result, [])
        access = self._access(result, [level["index"] for level in levels])
        expression = self._value(graph.drivers[writer.name, "val"])
        parts = [f"{access}={text_of(expression.written)}"]
        for tensor, format in self._formats.items():
            if format.levels:
                parts.append(format.option(tensor))
        order = self._order()
        if order:
            parts.append(f"-s=reorder({','.join(order)})")
        dealt: dict[str, int] = {}
        for block in graph.blocks:
            if block.type == "parallelizer":
                fibers = self._loops[block.name, next(iter(block.outputs))][-1]
                _, lanes = lane_of(fibers) or (0, 1)
                dealt[fibers.index] = max(lanes, dealt.get(fibers.index, 1))
        parts += [f"-s=block({index},{words})" for index, words in graph.blocks_along.items()]
        parts += [f"-s=parallelize({index},{lanes})" for index, lanes in dealt.items()]
        return " ".join(parts)

    def _order(self) -> list[str]:
        """Indices, each after those whose loops lie around its own.

        Terms that lack an index of the result are computed inside of its loop, where it may be in
        another place than in other terms: then what each term has itself must be in one order.
        """
        every = ([fibers.index for fibers in loops] for loops in self._loops.values())
        order = _ordered(every)
        if not nx.is_directed_acyclic_graph(order):
            order = _ordered(self._own_loops())
        places = {index: place for place, index in enumerate(order)}
        try:
            return list(nx.lexicographical_topological_sort(order, key=places.__getitem__))
        except nx.NetworkXUnfeasible:
            loop = ", ".join(source for source, _ in nx.find_cycle(order))
            raise WorkloadError(
                f"graph: the loops over {loop} lie in each other; there must be one loop order"
            ) from None

    def _own_loops(self) -> Iterator[Sequence[str]]:
        """Indices of the levels of each tensor, and of what each sum adds up, outermost first."""
        for levels in writers_of(self._graph).values():
            yield [level["index"] for level in levels]
        for block in self._graph.blocks:
            if block.type == "arrayvals" and block["tensor"].isidentifier():
                edge = self._graph.drivers[block.name, "ref"]
                yield walked_indices(self._graph, block["tensor"], edge)
            elif block.type in ("reduce", "spaccumulator"):
                edge = self._graph.drivers[block.name, "val"]
                own = set(_indices_of(self._value(edge).written))
                loops = self._loops[edge.source, edge.output]
                yield [fibers.index for fibers in loops if fibers.index in own]

    def _value(self, edge: Edge) -> _Part:
        """The expression of a stream of values."""
        block = self._graph[edge.source]
        match block.type:
            case "arrayvals":
                tensor = block["tensor"]
                if not tensor.isidentifier():
                    return _Part(Constant(float(tensor)))
                indices = walked_indices(
                    self._graph, tensor, self._graph.drivers[block.name, "ref"]
                )
                return _Part(self._access(tensor, indices))
            case "alu" if block["op"] in SIGNS:
                return self._infix(block)
            case "alu" | "function":
                values = [
                    self._value(self._graph.drivers[block.name, port]) for port in block.inputs
                ]
                self._require_unsummed(block, values)
                arguments = tuple(value.written for value in values)
                return _Part(Call(block["op"], arguments), calls=True)
            case "reduce" | "spaccumulator":
                value = self._value(self._graph.drivers[block.name, "val"])
                is_sum = binding(value.written) == Binding.TERMS
                if is_sum or (block.type == "reduce" and block["op"] != "add"):
                    op = "add" if block.type == "spaccumulator" else block["op"]
                    of = "terms" if is_sum else "values"
                    raise WorkloadError(
                        f"graph: {block.type} {block.name}: the notation has no {op} of {of} over "
                        "an index; it sums each term by itself"
                    )
                if value.calls:
                    index = self._summed_index(block)
                    return _Part(Sum(index, value.written), True, True)
                return replace(value, summed=True)
        port = {
            "valdrop": "val",
            "fold": "val",
            "crddrop": "inner",
            "repeat": "ref",
            "parallelizer": "i",
            "serializer": "i0",
            "valserializer": "i0",
        }.get(block.type, edge.output.removeprefix("out_"))
        return self._value(self._graph.drivers[block.name, port])

    def _infix(self, block: Block) -> _Part:
        left = self._value(self._graph.drivers[block.name, "val0"])
        right = self._value(self._graph.drivers[block.name, "val1"])
        summed, calls = left.summed or right.summed, left.calls or right.calls
        if block["op"] == "mul" and right.written == _MINUS:
            return _Part(Call("neg", (left.written,)), summed, calls)
        if block["op"] == "mul":
            self._require_unsummed(block, [left, right])
        return _Part(Call(block["op"], (left.written, right.written)), summed, calls)

    def _summed_index(self, block: Block) -> str:
        """The index that a reduction or an accumulator sums over."""
        edge = self._graph.drivers[block.name, "val"]
        inside = block["order"] if block.type == "spaccumulator" else 0
        return self._loops[edge.source, edge.output][-1 - inside].index

    def _require_unsummed(self, block: Block, values: list[_Part]) -> None:
        if any(value.summed for value in values):
            raise WorkloadError(
                f"graph: {block.type} {block.name}: the notation has no {block['op']} of what is "
                "summed already; it sums each whole term"
            )

    def _access(self, tensor: str, indices: Sequence[str]) -> Access:
        format = self._formats.get(tensor)
        if format is None or len(format.levels) != len(indices):
            has = "no format" if format is None else f"{len(format.levels)} levels"
            raise WorkloadError(
                f"graph: tensor {tensor} has {has}, but {len(indices)} levels in the graph"
            )
        modes = dict(zip(format.modes, indices, strict=True))
        return Access(tensor, tuple(modes[mode] for mode in range(len(indices))))


def _ordered(nests: Iterable[Sequence[str]]) -> nx.DiGraph:
    """Indices, with an edge from each to the next one inside of it."""
    order: nx.DiGraph = nx.DiGraph()
    for names in nests:
        order.add_nodes_from(names)
        order.add_edges_from(zip(names, names[1:], strict=False))
    return order


def _indices_of(written: Written) -> Iterator[str]:
    """Indices of all accesses."""
    match written:
        case Access():
            yield from written.indices
        case Sum():
            yield from _indices_of(written.part)
        case Call(_, arguments):
            for part in arguments:
                yield from _indices_of(part)
