"""The loop nest that a plan computes: its operations in the plan's order, for the golden model.

What the source says and what tDFGs do differ in the order in which floats are added up. This nest
has that order: nodes that several others read, and lines that are summed up by halves, are arrays
of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, Box
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Indirect,
    Move,
    Output,
    Reduce,
    Shrink,
    Stream,
    Tensor,
    ends_of,
    operands,
)
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import Line, TileOrder, may_be_finished
from gnarl.sw.compiler.sram_compute.tdfg.plan import Elsewhere, Region, Repeat, Step, regions
from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, multiply, variable
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    For,
    Load,
    Nest,
    Select,
    Statement,
    Store,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, INT32, ScalarType

_UNARY = {
    "neg": UnaryOperator.NEGATE,
    "abs": UnaryOperator.ABS,
    "sqrt": UnaryOperator.SQRT,
    "not": UnaryOperator.NOT,
}
Cells = tuple[Expression, ...]

NOTHING_FINISHED: Mapping[int, TileOrder] = MappingProxyType({})


def compiled_order(
    nest: Nest, steps: tuple[Step, ...], orders: Mapping[int, TileOrder] = NOTHING_FINISHED
) -> tuple[Nest, frozenset[str]]:
    """The nest, and the arrays that it writes for itself alone; ``nest`` itself where nothing is in
    another order. ``orders``: by dimension, those of lines whose sums stream engines finish.
    O(nodes)."""
    if not any(region.is_reordered for region in regions(steps)):
        return nest, frozenset()
    writer = _Writer(nest, orders)
    body = writer.steps(steps)
    parameters = (*nest.parameters, *writer.arrays)
    return replace(nest, parameters=parameters, body=body), frozenset(
        array.name for array in writer.arrays
    )


class _Writer:
    def __init__(self, nest: Nest, orders: Mapping[int, TileOrder]) -> None:
        self._nest = nest
        self.orders = orders
        self._place = nest.place
        self._sizes = {size.name for size in nest.sizes}
        self.arrays: list[Array] = []

    def steps(self, steps: tuple[Step, ...]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for step in steps:
            match step:
                case Region(graph):
                    statements += _RegionWriter(self, graph).statements()
                case Repeat(name, lower, upper, stride, body):
                    bounds = self.number(lower), self.number(upper)
                    statements.append(For(name, *bounds, stride, self.steps(body), self._place))
                case Elsewhere(reason):
                    raise WorkloadError(reason)
        return tuple(statements)

    def number(self, affine: Affine) -> Expression:
        total: Expression = integer(affine.constant, self._place)
        for name, factor in affine.terms:
            term: Expression = variable(name, self._place)
            if factor != 1:
                term = multiply(term, integer(factor, self._place), self._place)
            total = add(term, total, self._place)
        return total

    def array(self, type: ScalarType, graph: Graph) -> str:
        """A new one that has all cells of the lattice."""
        name = f"kept_{len(self.arrays)}"
        while name in self._nest.arrays or name in self._nest.scalars or name in self._sizes:
            name += "_"
        shape = []
        for dimension in reversed(range(len(graph.lattice))):
            total = Affine()
            for size in dict.fromkeys(each[dimension] for _, each in graph.shapes):
                total = total + size
            shape.append(self.number(total))
        self.arrays.append(Array(name, type, tuple(shape), self._place))
        return name


class _RegionWriter:
    def __init__(self, writer: _Writer, graph: Graph) -> None:
        self._writer = writer
        self._graph = graph
        self._place = writer._place
        self._names = [f"cell_{dimension}" for dimension in range(len(graph.lattice))]
        self._kept: dict[int, str] = {}

    def statements(self) -> list[Statement]:
        graph, before = self._graph, []
        uses = Counter(each for node in graph.nodes for each in operands(node))
        for number, node in enumerate(graph.nodes):
            if isinstance(node, Reduce):
                before += self._sum(number, node)
            elif isinstance(node, Compute) and uses[number] > 1 and node.type != BOOL:
                name = self._writer.array(node.type, graph)
                value = self._value(number, self._cells)
                before.append(self._store(name, graph.domains[number], value))
                self._kept[number] = name
        stored = []
        for output in graph.outputs:
            name = self._writer.array(self._type(output), graph)
            before.append(self._store(name, output.box, self._value(output.node, self._cells)))
            value = Load(name, self._cells[::-1], self._type(output), self._place)
            stored.append(self._store(output.array, output.box, value))
        return [*before, *stored]

    @property
    def _cells(self) -> Cells:
        return tuple(variable(name, self._place) for name in self._names)

    def _type(self, output: Output) -> ScalarType:
        return self._writer._nest.arrays[output.array].type

    def _store(self, array: str, box: Box, value: Expression) -> Statement:
        """``value`` in all cells of a box."""
        return self._loops(
            box, (Store(array, self._indices(array, self._cells), value, self._place),)
        )

    def _loops(self, box: Box, body: tuple[Statement, ...]) -> Statement:
        for name, interval in zip(self._names, box, strict=True):
            lower = self._extreme(BinaryOperator.MAXIMUM, interval.lower)
            upper = self._extreme(BinaryOperator.MINIMUM, interval.upper)
            body = (For(name, lower, upper, 1, body, self._place),)
        return body[0]

    def _extreme(self, operator: BinaryOperator, ends: Sequence[Affine]) -> Expression:
        # Where the lattice is the largest of several sizes, no end but an array's own is less.
        known = [end for end in ends if not any(name.startswith("lattice") for name in end.names)]
        extreme = self._writer.number(known[0])
        for end in known[1:]:
            extreme = Binary(operator, extreme, self._writer.number(end), self._place)
        return extreme

    def _indices(self, array: str, cells: Cells) -> Cells:
        """The indices of a cell that an array has, the outermost dimension first."""
        known = self._writer._nest.arrays.get(array)
        rank = len(known.shape) if known else len(cells)
        return cells[:rank][::-1]

    def _value(self, number: int, cells: Cells) -> Expression:
        """The value of a node in a cell."""
        node = self._graph.nodes[number]
        if number in self._kept:
            return Load(self._kept[number], cells[::-1], node.type, self._place)
        match node:
            case Tensor(array, _, type):
                return Load(array, self._indices(array, cells), type, self._place)
            case Const(value, type):
                if isinstance(value, str):
                    return Variable(value, type, self._place)
                return Constant(value, type, self._place)
            case Move(operand, dimension, distance):
                moved = add(cells[dimension], self._writer.number(-distance), self._place)
                return self._value(operand, _with(cells, dimension, moved))
            case Broadcast(operand, dimension):
                first, _ = ends_of(self._graph.domains[operand][dimension])
                return self._value(operand, _with(cells, dimension, self._writer.number(first)))
            case Shrink(operand):
                return self._value(operand, cells)
            case Compute():
                return self._computed(node, [self._value(each, cells) for each in node.operands])
            case Stream():
                return self._gathered(node, cells)
        raise TypeError(node)

    def _computed(self, node: Compute, given: Sequence[Expression]) -> Expression:
        match given:
            case (condition, chosen, other):
                return Select(condition, chosen, other, self._place)
            case (left, right):
                return Binary(BinaryOperator(node.function), left, right, self._place)
        if node.function == "cast":
            return Cast(node.type, given[0], self._place)
        return Unary(_UNARY[node.function], given[0], self._place)

    def _gathered(self, node: Stream, cells: Cells) -> Expression:
        def index(affine: Affine) -> Expression:
            total: Expression = integer(affine.constant, self._place)
            for name, factor in affine.terms:
                places = {f"x{at}": cell for at, cell in enumerate(cells)}
                term = places.get(name, variable(name, self._place))
                term = multiply(term, integer(factor, self._place), self._place)
                total = add(total, term, self._place)
            return total

        indices: list[Expression] = []
        for each in node.indices:
            if isinstance(each, Indirect):
                type = self._writer._nest.arrays[each.array].type
                inner: Expression = Load(
                    each.array, tuple(map(index, each.indices)), type, self._place
                )
                inner = inner if type == INT32 else Cast(INT32, inner, self._place)
                indices.append(add(inner, index(each.offset), self._place))
            else:
                indices.append(index(each))
        return Load(node.array, tuple(indices), node.type, self._place)

    def _sum(self, number: int, node: Reduce) -> list[Statement]:
        """Sums up in an array whose first cell of each line then has the sum."""
        name = self._kept[number] = self._writer.array(node.type, self._graph)
        domain, dimension = self._graph.domains[node.operand], node.dimension
        interval = domain[dimension]
        line = Line(
            node,
            name,
            lambda cell: _with(self._cells, dimension, cell)[::-1],
            self._names[dimension],
            self._extreme(BinaryOperator.MAXIMUM, interval.lower),
            self._extreme(BinaryOperator.MINIMUM, interval.upper),
            self._place,
        )
        order = self._writer.orders.get(dimension) if may_be_finished(node, domain) else None
        body = line.by_halves() if order is None else line.by_tiles(order)
        around = self._around(domain, dimension, body)
        return [self._store(name, domain, self._value(node.operand, self._cells)), *around]

    def _around(
        self, domain: Box, dimension: int, body: tuple[Statement, ...]
    ) -> tuple[Statement, ...]:
        """Loops over all dimensions but one."""
        for at, (name, interval) in enumerate(zip(self._names, domain, strict=True)):
            if at != dimension:
                lower = self._extreme(BinaryOperator.MAXIMUM, interval.lower)
                upper = self._extreme(BinaryOperator.MINIMUM, interval.upper)
                body = (For(name, lower, upper, 1, body, self._place),)
        return body


def _with(cells: Cells, dimension: int, cell: Expression) -> Cells:
    return (*cells[:dimension], cell, *cells[dimension + 1 :])
