"""Plans that compute some rows of arrays at a time, slab by slab: for lattices that banks have no
room for.

Rows are what the outermost dimension counts. Some arrays move along with the slab, of the others
each slab has all. Row 0 of a slab is row ``BASE`` of the whole arrays; it has ``ROWS`` rows, and
writes those from ``FIRST`` up to, without, ``END``. The others are its halo, which moves read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, Box, Interval, interval, named
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Const,
    Graph,
    Move,
    Node,
    Reduce,
    Shrink,
    Tensor,
    lattice_of,
    operands,
)
from gnarl.sw.compiler.sram_compute.tdfg.plan import Region, Repeat, Step, regions

BASE, FIRST, END, ROWS = "slab base", "slab first", "slab end", "slab rows"
"""Names that affine numbers have for what is known of each slab."""

_Key = str | tuple[int, int]
"""An array; or a node: the number of its region, and its own."""

_Range = tuple[int, int]
"""The least and the largest value."""


class SlabError(WorkloadError):
    """There are no slabs."""


@dataclass(frozen=True)
class SlabPlan:
    """The plan of a slab.

    steps
        of one slab.
    dimension
        of the lattice that counts rows.
    arrays, written
        that move along with the slab, and that it writes, which do, too.
    """

    steps: tuple[Step, ...]
    dimension: int
    arrays: frozenset[str]
    written: frozenset[str]


def slab_plan(plan: tuple[Step, ...], ranks: Mapping[str, int]) -> SlabPlan:
    """Plans slabs. ``ranks``: dimensions of the arrays of ``plan``. Raises ``SlabError`` saying why
    there are no slabs. O(nodes)."""
    dimension = max(ranks.values()) - 1
    graphs = [region.graph for region in regions(plan)]
    groups = _Groups()
    for number, graph in enumerate(graphs):
        groups.add(graph, number, dimension)
    written = frozenset(each.array for graph in graphs for each in graph.outputs)
    moving = {groups.root(name) for name in written}
    groups.check(moving)
    arrays = frozenset(name for name in ranks if groups.root(name) in moving)
    for name in sorted(arrays):
        if ranks[name] <= dimension:
            raise SlabError(f"{name}: has no dimension {dimension} of the lattice")
    slabs = []
    for number, graph in enumerate(graphs):
        moves = [groups.root((number, at)) in moving for at in range(len(graph.nodes))]
        used = tuple((name, shape) for name, shape in graph.shapes if name in ranks)
        slabs.append(_slab(replace(graph, shapes=used), dimension, arrays, moves))
    return SlabPlan(tuple(_with_graphs(plan, iter(slabs))), dimension, arrays, written)


class _Groups:
    """Nodes and arrays that either move along with a slab together, or not.

    whole
        why each slab needs all rows of some.
    moved
        why others are refused, if they do not move along.
    """

    def __init__(self) -> None:
        self._above: dict[_Key, _Key] = {}
        self.whole: dict[_Key, str] = {}
        self.moved: dict[_Key, str] = {}

    def root(self, key: _Key) -> _Key:
        while (above := self._above.get(key, key)) != key:
            key = above
        return key

    def check(self, moving: Set[_Key]) -> None:
        """Raises ``SlabError`` where one of these moves that must not, or another does not that
        must."""
        for key, problem in self.whole.items():
            if self.root(key) in moving:
                raise SlabError(f"{self.array(key)}: {problem}")
        for key, problem in self.moved.items():
            if self.root(key) not in moving:
                raise SlabError(f"{self.array(key)}: {problem}")

    def array(self, key: _Key) -> str:
        """The first of a group."""
        group = self.root(key)
        names = [each for each in self._above if isinstance(each, str)]
        return min((each for each in names if self.root(each) == group), default="a value")

    def add(self, graph: Graph, region: int, dimension: int) -> None:
        for number, node in enumerate(graph.nodes):
            key = region, number
            self._above.setdefault(key, key)
            for operand in operands(node):
                if isinstance(graph.nodes[operand], Const):
                    continue
                if isinstance(node, Broadcast) and node.dimension == dimension:
                    self.whole[region, operand] = "a row of it is copied to all others"
                else:
                    self._join(key, (region, operand))
            if isinstance(node, Tensor):
                self._join(key, node.array)
            elif isinstance(node, Reduce) and node.dimension == dimension:
                self.whole[key] = "its rows become one"
            elif isinstance(node, Move) and node.dimension == dimension:
                self.moved[key] = "rows of it move, and are copied then"
        for output in graph.outputs:
            self._above.setdefault(output.array, output.array)
            if not isinstance(graph.nodes[output.node], Const):
                self._join((region, output.node), output.array)

    def _join(self, one: _Key, other: _Key) -> None:
        for key in (one, other):
            self._above.setdefault(key, key)
        self._above[self.root(one)] = self.root(other)


def _slab(graph: Graph, dimension: int, arrays: frozenset[str], moves: list[bool]) -> Graph:
    """A graph on rows of a slab. Accesses stay those of whole arrays."""

    def of_slab(line: Interval, kept: Interval) -> Interval:
        return (line + -named(BASE)) & kept

    def boxed(box: Box, kept: Interval) -> Box:
        line = of_slab(box[dimension], kept)
        return (*box[:dimension], line, *box[dimension + 1 :])

    def moved(node: Node) -> Node:
        match node:
            case Tensor(_, box):
                return replace(node, box=boxed(box, interval(Affine(), named(ROWS))))
            case Broadcast(_, along, distance) if along == dimension:
                return replace(node, distance=distance - named(BASE))
            case Shrink(_, along, kept) if along == dimension:
                return replace(node, interval=kept + -named(BASE))
        return node

    nodes = tuple(
        moved(node) if is_moving else node
        for node, is_moving in zip(graph.nodes, moves, strict=True)
    )
    outputs = tuple(
        replace(each, box=boxed(each.box, interval(named(FIRST), named(END))))
        for each in graph.outputs
    )
    shapes = tuple(
        (name, (*shape[:dimension], named(ROWS), *shape[dimension + 1 :]))
        if name in arrays
        else (name, shape)
        for name, shape in graph.shapes
    )
    lattice = lattice_of(shape for _, shape in shapes)
    return replace(graph, nodes=nodes, outputs=outputs, shapes=shapes, lattice=lattice)


def _with_graphs(plan: tuple[Step, ...], graphs: Iterator[Graph]) -> Iterator[Step]:
    for step in plan:
        if isinstance(step, Region):
            yield replace(step, graph=next(graphs))
        elif isinstance(step, Repeat):
            yield replace(step, body=tuple(_with_graphs(step.body, graphs)))


def halo(plan: tuple[Step, ...], of_slab: SlabPlan, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Rows that a slab needs before and behind those that it writes. ``sizes``: scalars, too.
    Raises ``SlabError`` where another slab writes some of these. O(nodes)."""
    before = behind = 0
    known = {name: (value, value) for name, value in sizes.items()}
    for graph, ranges in _graphs(plan, known):
        for node, (low, high) in _offsets(graph, of_slab.dimension, ranges):
            before, behind = max(before, -low), max(behind, high)
            if isinstance(node, Tensor) and node.array in of_slab.written and (low or high):
                raise SlabError(f"{node.array}: rows are read that another slab writes")
    return before, behind


def _offsets(
    graph: Graph, dimension: int, ranges: Mapping[str, _Range]
) -> Iterator[tuple[Node, _Range]]:
    """The rows of each node that are read for row 0 of what is written."""
    ranges_of: dict[int, _Range] = dict.fromkeys((each.node for each in graph.outputs), (0, 0))
    for number in reversed(range(len(graph.nodes))):
        node = graph.nodes[number]
        if number not in ranges_of:
            continue
        low, high = ranges_of[number]
        yield node, (low, high)
        if isinstance(node, Broadcast) and node.dimension == dimension:
            continue
        if isinstance(node, Move) and node.dimension == dimension:
            least, most = _range(node.distance, ranges)
            low, high = low - most, high - least
        for operand in operands(node):
            first, last = ranges_of.get(operand, (low, high))
            ranges_of[operand] = min(first, low), max(last, high)


def _graphs(
    plan: tuple[Step, ...], ranges: Mapping[str, _Range]
) -> Iterator[tuple[Graph, Mapping[str, _Range]]]:
    """Graphs of a plan, with the values that names have there."""
    for step in plan:
        if isinstance(step, Region):
            yield step.graph, ranges
        elif isinstance(step, Repeat):
            first, (_, end) = _range(step.lower, ranges)[0], _range(step.upper, ranges)
            if first < end:
                yield from _graphs(step.body, {**ranges, step.variable: (first, end - 1)})


def _range(affine: Affine, ranges: Mapping[str, _Range]) -> _Range:
    least = most = affine.constant
    for name, factor in affine.terms:
        ends = [end * factor for end in ranges[name]]
        least, most = least + min(ends), most + max(ends)
    return least, most
