"""Graphs as terms of egglog, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gnarl.sw.compiler.sram_compute.optimise.alike import constant_key
from gnarl.sw.compiler.sram_compute.optimise.extract import Chosen
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, Interval, interval
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Builder,
    Compute,
    Const,
    Graph,
    Move,
    Node,
    Reduce,
    Shrink,
    Stream,
    Tensor,
    only_used,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, ScalarType


@dataclass
class Encoding:
    """What names in terms mean."""

    graph: Graph
    _ends: dict[str, tuple[Affine, ...]] = field(default_factory=dict)
    _tensors: dict[str, Tensor] = field(default_factory=dict)
    _consts: dict[str, Const] = field(default_factory=dict)
    _parts: set[tuple[str, int, Interval]] = field(default_factory=set)

    def commands(self) -> str:
        """A global ``$n`` for each node, and the roots. O(nodes)."""
        lines = [f"(let ${at} {self._term(at, node)})" for at, node in enumerate(self.graph.nodes)]
        roots = sorted({output.node for output in self.graph.outputs})
        return "\n".join([*lines, *(f"(Root {at} ${at})" for at in roots)])

    def functions(self) -> set[tuple[str, ScalarType]]:
        """Functions of the graph's computations, with the types of their results."""
        return {
            (node.function, node.type) for node in self.graph.nodes if isinstance(node, Compute)
        }

    def _term(self, at: int, node: Node) -> str:
        match node:
            case Tensor(array, box):
                key = f"{array}|{node.type}"
                self._tensors[key] = node
                term = f'(Tensor "{key}")'
                shape = dict(self.graph.shapes)[array]
                for dimension, (kept, size) in enumerate(zip(box, shape, strict=True)):
                    if kept != interval(Affine(), size):
                        self._parts.add((array, dimension, kept))
                        lower, upper = self._bound(kept.lower), self._bound(kept.upper)
                        term = f"(S {term} {dimension} {lower} {upper})"
                return term
            case Const():
                key = constant_key(node)
                self._consts[key] = node
                return f'(Const "{key}")'
            case Move(operand, dimension, distance):
                return f"(Mv ${operand} {dimension} {self._bound((distance,))})"
            case Broadcast(operand, dimension, distance, count):
                bounds = f"{self._bound((distance,))} {self._bound((count,))}"
                return f"(Bc ${operand} {dimension} {bounds})"
            case Compute(function, operands, type):
                arguments = " ".join(f"${each}" for each in operands)
                return f'(C{len(operands)} "{function}|{type}" {arguments})'
            case Reduce(function, operand, dimension, type):
                return f'(Reduce "{function}|{type}" ${operand} {dimension})'
            case Shrink(operand, dimension, kept):
                lower, upper = self._bound(kept.lower), self._bound(kept.upper)
                return f"(S ${operand} {dimension} {lower} {upper})"
            case Stream():
                return f"(Leaf {at})"

    def _bound(self, ends: tuple[Affine, ...]) -> str:
        """A single end is a name and a number; several are one name."""
        offset = ends[0].constant if len(ends) == 1 else 0
        bases = tuple(each - offset for each in ends)
        name = "" if bases == (Affine(),) else ", ".join(map(str, bases))
        self._ends[name] = bases
        return f'(At "{name}" {offset})'

    def graph_of(self, chosen: Chosen, roots: Mapping[int, str]) -> Graph:
        """The graph of chosen terms. ``roots``: the class of each output's node."""
        builder = Builder()
        numbers: dict[str, int] = {}
        for name in chosen.in_order(roots.values()):
            numbers[name] = builder.add(self._node(chosen, name, numbers, builder))
        outputs = tuple(
            replace(each, node=numbers[roots[each.node]]) for each in self.graph.outputs
        )
        return only_used(replace(self.graph, nodes=tuple(builder.nodes), outputs=outputs))

    def _node(
        self, chosen: Chosen, name: str, numbers: Mapping[str, int], builder: Builder
    ) -> Node:
        term = chosen.terms[name]
        arguments = [numbers[each] for each in term.operands]
        types = [builder.nodes[each].type for each in arguments]
        literals = term.literals
        match term.kind:
            case "Tensor":
                known = self._tensors[literals[0]]
                shape = dict(self.graph.shapes)[known.array]
                whole = tuple(interval(Affine(), size) for size in shape)
                return replace(known, box=whole)
            case "Const":
                return self._consts[literals[0]]
            case "Leaf":
                return self.graph.nodes[int(literals[0])]
            case "Mv":
                (distance,) = self._read(literals[1])
                return Move(arguments[0], int(literals[0]), distance, types[0])
            case "Bc":
                (distance,), (count,) = self._read(literals[1]), self._read(literals[2])
                return Broadcast(arguments[0], int(literals[0]), distance, count, types[0])
            case "S":
                kept = Interval(self._read(literals[1]), self._read(literals[2]))
                return self._shrunken(arguments[0], int(literals[0]), kept, builder)
            case "Reduce":
                function = literals[0].rpartition("|")[0]
                return Reduce(function, arguments[0], int(literals[1]), types[0])
            case _:
                function, _, type = literals[0].rpartition("|")
                return Compute(function, tuple(arguments), BY_NAME[type])

    def _read(self, bound: str) -> tuple[Affine, ...]:
        """Reads a bound, ``name offset``."""
        name, _, offset = bound.rpartition(" ")
        return tuple(each + int(offset) for each in self._ends[name])

    def _shrunken(self, operand: int, dimension: int, kept: Interval, builder: Builder) -> Node:
        """A part of an array is a tensor, where it is known to lie within."""
        inner = builder.nodes[operand]
        if isinstance(inner, Tensor):
            whole = interval(Affine(), dict(self.graph.shapes)[inner.array][dimension])
            is_part = (inner.array, dimension, kept) in self._parts or whole.holds(kept)
            if inner.box[dimension] == whole and is_part:
                box = (*inner.box[:dimension], kept, *inner.box[dimension + 1 :])
                return replace(inner, box=box)
        return Shrink(operand, dimension, kept, inner.type)
