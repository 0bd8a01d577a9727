"""Builds the tDFG of a region: streams become tensors. Source: Infinity Stream, section 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnarl.sw.compiler.sram_compute.tdfg.affine import (
    Affine,
    Box,
    Interval,
    affine_of,
    at,
    interval,
    named,
    number,
)
from gnarl.sw.compiler.sram_compute.tdfg.dependences import Element, require_independent
from gnarl.sw.compiler.sram_compute.tdfg.gather import Gather
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Access,
    Broadcast,
    Builder,
    Compute,
    Const,
    Graph,
    Move,
    Output,
    Reduce,
    Stream,
    Tensor,
    lattice_of,
    only_used,
)
from gnarl.sw.compiler.sram_compute.tdfg.iterations import Frame, Iterations
from gnarl.sw.compiler.sram_compute.tdfg.statements import (
    NotTensor,
    Read,
    Reduction,
    Stored,
    flatten,
    reject,
)
from gnarl.sw.workloads.loops.ir.nest import (
    LOGICAL,
    SHIFTS,
    Array,
    Binary,
    Cast,
    Constant,
    For,
    Nest,
    Select,
    Statement,
    Unary,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32
from gnarl.sw.workloads.place import Location

MOST_DIMENSIONS = 3
"""Dimensions of arrays. Source: Infinity Stream, table 1."""

_UNARY = {"-": "neg", "abs": "abs", "sqrt": "sqrt", "not": "not"}


@dataclass(frozen=True)
class Options:
    """Options of the tensor graphs.

    reassociate
        whether float32 may be summed up in another order.
    streams
        whether what is no box of an array may be gathered.
    """

    reassociate: bool = True
    streams: bool = True


def tensor_graphs(
    nest: Nest, body: tuple[Statement, ...], around: Sequence[For], options: Options
) -> list[Graph]:
    """The tDFGs of some of a nest's statements, to run one after the other.

    ``around``: loops that run one iteration after the other, outside of the region. Raises
    ``NotTensor``. O(accesses squared).
    """
    known = frozenset(
        (
            *(size.name for size in nest.sizes),
            *nest.scalars,
            *(loop.variable for loop in around),
        )
    )
    return _GraphBuilder(nest, flatten(body, known), around, options).graphs()


class _GraphBuilder:
    def __init__(
        self, nest: Nest, stored: list[Stored], around: Sequence[For], options: Options
    ) -> None:
        self._nest = nest
        self._stored = stored
        self._options = options
        self._numbers = {*nest.scalars, *(size.name for size in nest.sizes)}
        named_arrays = {
            each.array
            for one in stored
            for each in (one, *nodes(one.value))
            if hasattr(each, "array")
        }
        self._arrays = {name: each for name, each in nest.arrays.items() if name in named_arrays}
        self._rank = max(len(array.shape) for array in self._arrays.values())
        self._shapes = {name: self._shape(array) for name, array in self._arrays.items()}
        self._iterations = Iterations(nest, around, self._rank)
        self._builder = Builder()
        self._accesses: list[Access] = []
        self._reads: list[Element] = []
        self._writes: list[Element] = []
        self._statement = 0
        self._written: set[str] = set()
        self._depends = False

    def graphs(self) -> list[Graph]:
        built: list[Graph] = []
        outputs: list[Output] = []
        for place, stored in enumerate(self._stored):
            self._statement = place
            read = {each.array for each in nodes(stored.value) if isinstance(each, Read)}
            read |= {
                each.array
                for index in stored.indices
                for each in nodes(index)
                if hasattr(each, "array")
            }
            if read & {output.array for output in outputs}:
                built.append(self._graph(outputs))
                outputs = []
            outputs.append(self._output(stored))
        built.append(self._graph(outputs))
        require_independent(self._reads, self._writes)
        return built

    def _graph(self, outputs: list[Output]) -> Graph:
        graph = Graph(
            tuple(self._builder.nodes),
            tuple(outputs),
            lattice_of(self._shapes.values()),
            tuple(self._shapes.items()),
            tuple(self._accesses),
        )
        self._builder, self._accesses = Builder(), []
        return only_used(graph)

    def _shape(self, array: Array) -> tuple[Affine, ...]:
        if self._rank > MOST_DIMENSIONS:
            reject(
                array.place, f"{array.name} has {len(array.shape)} dimensions: must have at most 3"
            )
        extents = []
        for size in reversed(array.shape):
            affine = affine_of(size)
            if affine is None:
                reject(size.place, f"a size of {array.name} is not affine in sizes")
            extents.append(affine)
        return (*extents, *(number(1) for _ in range(self._rank - len(extents))))

    def _output(self, stored: Stored) -> Output:
        for loop in stored.loops:
            self._iterations.add(loop)
        indices = self._iterations.indices(stored.indices)
        variables: dict[int, tuple[str, Affine]] = {}
        cells: list[Interval] = []
        for dimension, index in enumerate(indices):
            variable = None if index is None else self._iterations.variable(index)
            if index is None or (variable is None and index.names - self._iterations.outer):
                reject(
                    stored.place,
                    f"{stored.array} is written where its index in dimension "
                    f"{len(self._nest.arrays[stored.array].shape) - 1 - dimension} says: must be a "
                    "loop's variable and a number, or a number",
                )
            if variable is None:
                cells.append(at(index))
                continue
            if variable in {name for name, _ in variables.values()}:
                reject(stored.place, f"{stored.array} is written along a diagonal of {variable}")
            variables[dimension] = variable, index.without(variable)
            lower, upper = self._iterations.ranges[variable]
            cells.append(interval(lower, upper) + index.without(variable))
        frame = Frame(variables, tuple(cells))
        value = self._value(stored.value, frame, guarded=False)
        box = tuple(cells)
        self._accesses.append(Access(stored.array, box, box, stored.place))
        written = self._element(stored, indices, box)
        self._writes.append(replace(written, sums=stored.sums))
        return Output(stored.array, value, box, stored.place)

    def _element(
        self, access: Stored | Read, indices: Sequence[Affine | None], box: Box | None
    ) -> Element:
        return Element(
            access.array, tuple(indices), box, access.around, self._statement, access.place
        )

    def _read(self, load: Read, indices: Sequence[Affine | None], box: Box | None) -> None:
        self._reads.append(replace(self._element(load, indices, box), behind=load.behind))

    def _value(self, value: Any, frame: Frame, *, guarded: bool) -> int:
        add = self._builder.add
        match value:
            case Constant(constant, type):
                return add(Const(constant, type))
            case Variable(name, type, place):
                if name not in self._numbers:
                    reject(place, f"{name} is used as a value: only scalars and sizes may be")
                return add(Const(name, type))
            case Read():
                return self._load(value, frame, guarded)
            case Reduction():
                return self._reduction(value, frame)
            case Unary(operator, operand):
                inner = self._value(operand, frame, guarded=guarded)
                return add(Compute(_UNARY[operator], (inner,), value.type))
            case Cast(type, operand, place):
                if operand.type == FLOAT32 and type.is_integer:
                    reject(place, f"float32 to {type} may be an error: only the core sees it")
                inner = self._value(operand, frame, guarded=guarded)
                return add(Compute("cast", (inner,), type))
            case Binary(operator, left, right, place):
                self._require_total(operator, right, left.type.bits, place)
                if operator in SHIFTS and not isinstance(right, Constant):
                    return self._shift(value, frame, guarded=guarded)
                lazy = guarded or operator in LOGICAL
                sides = (
                    self._value(left, frame, guarded=guarded),
                    self._value(right, frame, guarded=lazy),
                )
                return add(Compute(str(operator), sides, value.type))
            case Select(condition, chosen, other):
                parts = (
                    self._value(condition, frame, guarded=guarded),
                    self._value(chosen, frame, guarded=True),
                    self._value(other, frame, guarded=True),
                )
                return add(Compute("select", parts, value.type))
        raise TypeError(value)

    def _require_total(self, operator: str, right: Any, bits: int, place: Location) -> None:
        """Operations that may be errors have operands for which they are none."""
        if operator in ("//", "%") and not (isinstance(right, Constant) and right.value != 0):
            reject(
                place, "a quotient of integers may be an error: must be by a number other than 0"
            )
        if operator in ("<<", ">>") and not _is_below(right, bits):
            reject(
                place,
                "a shift may be an error: must be by a number from 0 to below the bits, or by what "
                "is & such a number",
            )

    def _shift(self, node: Binary, frame: Frame, *, guarded: bool) -> int:
        """A shift by each bit of the count in turn, or not."""
        add, type = self._builder.add, node.right.type
        value = self._value(node.left, frame, guarded=guarded)
        count = self._value(node.right, frame, guarded=guarded)
        for bit in range((node.left.type.bits - 1).bit_length()):
            one, zero = add(Const(1 << bit, type)), add(Const(0, type))
            is_set = add(Compute("!=", (add(Compute("&", (count, one), type)), zero), BOOL))
            places = add(Const(1 << bit, type))
            moved = add(Compute(str(node.operator), (value, places), node.type))
            value = add(Compute("select", (is_set, moved, value), node.type))
        return value

    def _load(self, load: Read, frame: Frame, guarded: bool) -> int:
        indices = self._iterations.indices(load.indices)
        box, moves = self._iterations.aligned(indices, frame)
        if box is None:
            return self._stream(load, frame, guarded)
        shape = self._shapes[load.array]
        inside = tuple(interval(number(0), size) for size in shape)
        reached = self._iterations.reached(box)
        if not all(outer.holds(inner) for outer, inner in zip(inside, reached, strict=True)):
            is_read_anyway = any(
                (each.array, each.box, each.cells) == (load.array, box, frame.cells)
                for each in self._accesses
            )
            if guarded and not is_read_anyway:
                reject(
                    load.place,
                    f"{load.array} is read under a condition, perhaps outside of the array",
                )
            self._accesses.append(Access(load.array, box, frame.cells, load.place))
        self._read(load, indices, box)
        node = self._builder.add(Tensor(load.array, box, load.type))
        for dimension, move in enumerate(moves):
            match move:
                case Affine() if move != number(0):
                    node = self._builder.add(Move(node, dimension, move, load.type))
                case (distance, count):
                    node = self._builder.add(Broadcast(node, dimension, distance, count, load.type))
        return node

    def _stream(self, load: Read, frame: Frame, guarded: bool) -> int:
        """A gather."""
        if not self._options.streams:
            reject(
                load.place,
                f"{load.array} is gathered: must be read where its indices, from the last one on, "
                "are those of what is written, each with a number, or fixed",
            )
        if guarded:
            reject(load.place, f"{load.array} is gathered under a condition")
        cells: dict[str, Affine] = {}
        for dimension, (variable, offset) in frame.variables.items():
            cells[variable] = named(f"x{dimension}") - offset
        gather = Gather(load, cells, self._iterations.ranges, self._iterations.outer)
        indices, loaded = gather.indices()
        for each in (*loaded, load):
            affine = self._iterations.indices(each.indices)
            self._read(each, affine, None)
        return self._builder.add(Stream(load.array, tuple(indices), frame.cells, load.type))

    def _reduction(self, value: Reduction, frame: Frame) -> int:
        if value.type == FLOAT32 and value.operator == "+" and not self._options.reassociate:
            reject(value.place, "a sum of float32 in another order: must be as the source says")
        variables, cells = dict(frame.variables), list(frame.cells)
        dimensions = []
        for loop in value.loops:
            self._iterations.add(loop)
            dimension, offset = self._iterations.line(loop, value, variables)
            first = cells[dimension]
            variables[dimension] = loop.variable, offset
            lower, upper = self._iterations.ranges[loop.variable]
            cells[dimension] = interval(lower, upper) + offset
            dimensions.append((dimension, first, cells[dimension]))
        node = self._value(value.term, Frame(variables, tuple(cells)), guarded=False)
        for dimension, first, line in dimensions:
            node = self._builder.add(Reduce(value.operator, node, dimension, value.type))
            distance = first.lower[0] - line.lower[0]
            if distance != number(0):
                node = self._builder.add(Move(node, dimension, distance, value.type))
        initial = self._value(value.initial, frame, guarded=False)
        return self._builder.add(Compute(value.operator, (initial, node), value.type))


def _is_below(count: Any, bits: int) -> bool:
    """Whether a shift's count is from 0 to below a type's bits for sure."""
    match count:
        case Constant(number):
            return 0 <= number < bits
        case Binary("&", left, right):
            return any(
                isinstance(each, Constant) and _is_below(each, bits) for each in (left, right)
            )
        case Cast(type, operand):
            return type.bits >= operand.type.bits and _is_below(operand, bits)
    return False


__all__ = ["NotTensor", "Options", "tensor_graphs"]
