"""Nodes and graphs. Source: Infinity Stream, figure 5 and appendix A.

The lattice has a dimension for each of the array's with the most; dimension 0 is the one whose
elements are neighbours in memory. All arrays begin at the origin. A node is a *tensor*: a value for
each cell of its domain, a box of cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from gnarl.sw.compiler.sram_compute.tdfg.affine import (
    UNBOUNDED,
    Affine,
    Box,
    Interval,
    at,
    interval,
    meet,
    named,
)
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType
from gnarl.sw.workloads.place import Location


@dataclass(frozen=True)
class Tensor:
    """The part of an array in ``box``, each element in its own cell."""

    array: str
    box: Box
    type: ScalarType


@dataclass(frozen=True)
class Const:
    """``value`` in all cells: a number, or the name of a scalar parameter or a size."""

    value: int | float | str
    type: ScalarType


@dataclass(frozen=True)
class Move:
    """``mv``: cell x has what ``operand`` has in x - ``distance``. What leaves the lattice is
    lost."""

    operand: int
    dimension: int
    distance: Affine
    type: ScalarType


@dataclass(frozen=True)
class Broadcast:
    """``bc``: ``count`` copies one behind the other, the first moved by ``distance``."""

    operand: int
    dimension: int
    distance: Affine
    count: Affine
    type: ScalarType


@dataclass(frozen=True)
class Compute:
    """``cmp``: ``function`` of the operands, in the cells that all of them have.

    function
        operators of loop nests: binary ones; ``neg``, ``abs``, ``sqrt``, ``not``; ``select`` of a
        condition and two values; ``cast`` to ``type``.
    """

    function: str
    operands: tuple[int, ...]
    type: ScalarType


@dataclass(frozen=True)
class Reduce:
    """``function``, which is + or an extremum, over all cells of a line; the result is in its first
    cell. Of n cells, the upper half is added to the lower one cell by cell, at the distance of the
    power of two from n / 2 up, and so on by halves; unless stream engines finish it, see
    ``line_sums``."""

    function: str
    operand: int
    dimension: int
    type: ScalarType


@dataclass(frozen=True)
class Shrink:
    """The part of the operand in ``interval`` of one dimension."""

    operand: int
    dimension: int
    interval: Interval
    type: ScalarType


@dataclass(frozen=True)
class Indirect:
    """``array[indices]`` + ``offset``, as an index."""

    array: str
    indices: tuple[Affine, ...]
    offset: Affine


@dataclass(frozen=True)
class Stream:
    """``strm``: what is no box of an array, gathered into ``box``: in cell (x0, x1, …) the element
    whose indices are affine in x0, x1, … or loaded from an array by such."""

    array: str
    indices: tuple[Affine | Indirect, ...]
    box: Box
    type: ScalarType


Node: TypeAlias = Tensor | Const | Move | Broadcast | Compute | Reduce | Shrink | Stream


def operands(node: Node) -> tuple[int, ...]:
    """Numbers of the nodes that a node reads."""
    match node:
        case Compute():
            return node.operands
        case Move() | Broadcast() | Reduce() | Shrink():
            return (node.operand,)
    return ()


def with_operands(node: Node, numbers: Sequence[int]) -> Node:
    match node:
        case Compute():
            return replace(node, operands=tuple(numbers))
        case Move() | Broadcast() | Reduce() | Shrink():
            return replace(node, operand=numbers[0])
    return node


@dataclass(frozen=True)
class Output:
    """``array`` becomes what ``node`` has, in the cells of ``box``."""

    array: str
    node: int
    box: Box
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Access:
    """Elements in ``box`` are read or written, which must lie in the array, if there are
    iterations, in ``cells``."""

    array: str
    box: Box
    cells: Box
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Graph:
    """One region. Its nodes see arrays as they are before it; outputs are written behind all of
    them, one after the other.

    nodes
        each behind those that it reads, none twice.
    lattice
        the bounding hyperrectangle: a size for each dimension, ``lattice0`` and so on where it is
        the largest of several.
    shapes
        of the arrays, by name, dimension 0 first, for each dimension of the lattice.
    accesses
        to be checked when sizes are known.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    lattice: tuple[Affine, ...]
    shapes: tuple[tuple[str, tuple[Affine, ...]], ...]
    accesses: tuple[Access, ...]

    def names(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """``sizes`` and loop variables, with what ``lattice`` names."""
        extents = range(len(self.lattice))
        return {**sizes} | {
            lattice_name(at): max(shape[at].value(sizes) for _, shape in self.shapes)
            for at in extents
        }

    @cached_property
    def domains(self) -> tuple[Box, ...]:
        """The domain of each node."""
        boxes: list[Box] = []
        for node in self.nodes:
            boxes.append(_domain(node, boxes, self))
        return tuple(boxes)

    def clipped(self, box: Box, dimension: int) -> Box:
        """What is left in the lattice of a box that was moved along a dimension."""
        line = box[dimension]
        if self._is_within(line, dimension):
            return box
        return _with(box, dimension, line & interval(Affine(), self.lattice[dimension]))

    def _is_within(self, kept: Interval, dimension: int) -> bool:
        return any(interval(Affine(), shape[dimension]).holds(kept) for _, shape in self.shapes)


def lattice_name(dimension: int) -> str:
    return f"lattice{dimension}"


def lattice_of(shapes: Iterable[tuple[Affine, ...]]) -> tuple[Affine, ...]:
    """The bounding hyperrectangle of arrays."""
    return tuple(
        sizes[0] if len(set(sizes)) == 1 else named(lattice_name(dimension))
        for dimension, sizes in enumerate(zip(*shapes, strict=True))
    )


class Builder:
    """Adds nodes, each one once."""

    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        self.nodes: list[Node] = list(nodes)
        self._numbers = {node: number for number, node in enumerate(nodes)}

    def add(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]


def only_used(graph: Graph) -> Graph:
    """Removes nodes that no output needs. O(nodes)."""
    used = {output.node for output in graph.outputs}
    for number in reversed(range(len(graph.nodes))):
        if number in used:
            used.update(operands(graph.nodes[number]))
    builder = Builder()
    numbers: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        if number in used:
            moved = with_operands(node, [numbers[each] for each in operands(node)])
            numbers[number] = builder.add(moved)
    outputs = tuple(replace(each, node=numbers[each.node]) for each in graph.outputs)
    return replace(graph, nodes=tuple(builder.nodes), outputs=outputs)


def has_float_sums(graph: Graph) -> bool:
    """Whether it adds up floats by halves."""
    sums = [each for each in graph.nodes if isinstance(each, Reduce) and each.function == "+"]
    return any(not each.type.is_integer for each in sums)


def arrays_of(graph: Graph) -> Iterator[str]:
    """Arrays that are read, each once."""
    arrays: dict[str, None] = {}
    for node in graph.nodes:
        if isinstance(node, Tensor | Stream):
            arrays[node.array] = None
        if isinstance(node, Stream):
            arrays.update((each.array, None) for each in node.indices if isinstance(each, Indirect))
    yield from arrays


def mentioned_arrays(graph: Graph) -> frozenset[str]:
    """Arrays that are read, written or checked."""
    written = {each.array for each in graph.outputs}
    checked = {each.array for each in graph.accesses}
    return frozenset(written | checked | {*arrays_of(graph)})


def _domain(node: Node, found: Sequence[Box], graph: Graph) -> Box:
    match node:
        case Tensor() | Stream():
            return node.box
        case Const():
            return (UNBOUNDED,) * len(graph.lattice)
        case Move(operand, dimension, distance):
            moved = found[operand][dimension] + distance
            return graph.clipped(_with(found[operand], dimension, moved), dimension)
        case Broadcast(operand, dimension, distance, count):
            spread = spread_of(found[operand][dimension], distance, count)
            return graph.clipped(_with(found[operand], dimension, spread), dimension)
        case Compute():
            domain: Box = (UNBOUNDED,) * len(graph.lattice)
            for operand in node.operands:
                domain = meet(domain, found[operand])
            return domain
        case Reduce(_, operand, dimension):
            (lower,) = found[operand][dimension].lower
            return _with(found[operand], dimension, at(lower))
        case Shrink(operand, dimension, kept):
            return _with(found[operand], dimension, found[operand][dimension] & kept)


def spread_of(copied: Interval, distance: Affine, count: Affine) -> Interval:
    """The interval of ``count`` copies. ``ValueError`` where a length is not affine."""
    lower, upper = ends_of(copied)
    extent = upper - lower
    if extent.terms and count.terms:
        raise ValueError(f"copies {count} of {extent} cells: one must be a number")
    length = count * extent.constant if count.terms else extent * count.constant
    return interval(lower + distance, lower + distance + length)


def ends_of(line: Interval) -> tuple[Affine, Affine]:
    """Both ends of cells that are copied: of several those that are a number of cells apart, as
    those of a part that lies within an array are. ``ValueError`` where there are none."""
    pairs = [(low, high) for low in line.lower for high in line.upper]
    if len(pairs) == 1:
        return pairs[0]
    known = [(low, high) for low, high in pairs if not (high - low).terms]
    if not known:
        raise ValueError(f"{line}: must have two ends")
    return min(known, key=lambda pair: (pair[1] - pair[0]).constant)


def _with(box: Box, dimension: int, kept: Interval) -> Box:
    return (*box[:dimension], kept, *box[dimension + 1 :])
