"""A plan as flat arrays, with all that does not depend on sizes: made once, lowered often.

Source: Infinity Stream, section 3.3: what the compiler leaves to be lowered when sizes are known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import words_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.operations import MAX_WIDTH, Operation
from gnarl.sw.compiler.sram_compute.lower.bounds import Bounds, BoundsBuilder
from gnarl.sw.compiler.sram_compute.lower.finish import Finish
from gnarl.sw.compiler.sram_compute.lower.narrow import narrowed
from gnarl.sw.compiler.sram_compute.lower.records import Records
from gnarl.sw.compiler.sram_compute.lower.schedule import Schedule
from gnarl.sw.compiler.sram_compute.lower.select import (
    Calculate,
    UnsupportedError,
    bits_of,
    calculate,
    copied,
    shifted,
)
from gnarl.sw.compiler.sram_compute.tdfg.functions import identity
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Move,
    Node,
    Reduce,
    Shrink,
    Stream,
    Tensor,
    lattice_name,
    operands,
)
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import may_be_finished
from gnarl.sw.compiler.sram_compute.tdfg.plan import Elsewhere, Region, Repeat, regions
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step as Planned
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, ScalarType
from gnarl.sw.workloads.place import Location


def _record(names: str) -> np.dtype:
    return np.dtype([(name, np.int64) for name in words_of(names)])


REGION, REPEAT, AGAIN = range(3)
"""Kinds of a ``CONTROL``."""

CONTROL = _record("kind number lower upper step jump")
"""What runs when: region ``number``; or a loop over the name ``number``, which ``jump`` is behind,
and at the end of its body, which begins at ``jump``, the next iteration."""

PARTS = _record("nodes outputs accesses extents")
"""Parts of a region, and last of none: where its nodes, outputs, accesses and extents begin."""

TENSOR, CONST, SHRINK, SHIFT, COPIES, COMPUTE, REDUCE = range(7)
"""Kinds of a ``NODE``."""

NODE = _record("kind a b c number dimension distance given box first end rows finish output")
"""``a``, ``b``, ``c``: operands, in the region; ``number``: array or constant, of a reduction that
which changes nothing; ``distance``: an affine number; ``given``, ``box``: the boxes of operand and
node; ``first`` to ``end``: calculations, with results of ``rows`` rows; ``finish``: of a reduction,
see ``Prepared``, or -1; ``output``: the first one that needs it."""

OUTPUT = _record("array node box")

ACCESS = _record("array box cells")

EXTENT = _record("name first end")
"""A name that is the largest of some affine ``sizes``."""

CALCULATION = _record(
    "entry n scratch cycles a b e may_replace a_offset result_offset is_partial is_copy"
)
"""As ``Calculate`` has it; ``entry``: in ROM; ``scratch``: rows; ``cycles``: about."""

CONSTANT = _record("bits rows")


class Template(NamedTuple):
    """Flat arrays of the kinds above.

    sizes
        int64 [n]: affine numbers, of extents.
    copies
        int64 [``MAX_WIDTH`` + 1]: the calculation that copies so many rows.
    array_rows
        int64 [arrays]: bits of their elements.
    is_own
        bool [arrays]: whether they are in rows alone, and begin as zeros.
    results
        int64 [n]: arrays that are written, and are to be in memory.
    """

    bounds: Bounds
    controls: Records
    parts: Records
    nodes: Records
    outputs: Records
    accesses: Records
    extents: Records
    sizes: np.ndarray
    calculations: Records
    constants: Records
    copies: np.ndarray
    array_rows: np.ndarray
    is_own: np.ndarray
    results: np.ndarray


@dataclass(frozen=True)
class Prepared:
    """A template, and what it is about.

    names
        that affine numbers have, by their number.
    places
        of accesses, in the source.
    stores
        the same of outputs.
    scalars
        (constant, scalar's name, type): bits that are known once scalars are.
    finishes
        reductions that stream engines can finish, each kind once.
    """

    template: Template
    names: tuple[str, ...]
    places: tuple[Location, ...]
    stores: tuple[Location, ...]
    scalars: tuple[tuple[int, str, ScalarType], ...]
    finishes: tuple[Finish, ...]


def prepare(
    nest: Nest,
    plan: tuple[Planned, ...],
    config: SramConfig,
    schedule: Schedule,
    own: Collection[str] = (),
) -> Prepared:
    """``schedule`` orders the nodes of each region; ``own``: arrays that are in rows alone. Raises
    ``WorkloadError`` for what banks do not compute. O(nodes)."""
    return _Builder(nest, config, schedule).prepared(plan, own)


class _Builder:
    def __init__(self, nest: Nest, config: SramConfig, schedule: Schedule) -> None:
        self._nest = nest
        self._config = config
        self._schedule = schedule
        self._operations = config.operations
        self._bounds = BoundsBuilder()
        self._arrays = {name: number for number, name in enumerate(nest.arrays)}
        self._controls: list[tuple[int, ...]] = []
        self._parts: list[tuple[int, ...]] = []
        self._nodes: list[tuple[int, ...]] = []
        self._outputs: list[tuple[int, ...]] = []
        self._stores: list[Location] = []
        self._accesses: list[tuple[int, ...]] = []
        self._places: list[Location] = []
        self._extents: list[tuple[int, ...]] = []
        self._sizes: list[int] = []
        self._calculations: list[tuple[int, ...]] = []
        self._groups: dict[tuple[Calculate, ...], int] = {}
        self._constants: dict[tuple[Any, int], int] = {}
        self._scalars: list[tuple[int, str, ScalarType]] = []
        self._finishes: dict[Finish, int] = {}

    def prepared(self, plan: tuple[Planned, ...], own: Collection[str]) -> Prepared:
        types = [array.type for array in self._nest.arrays.values()]
        copies = np.full(MAX_WIDTH + 1, -1)
        for bits in sorted({type.bits for type in types}):
            copies[bits] = self._calculated((copied(bits, self._operations),))
        self._run(plan)
        self._parts.append(self._begin())
        constants = [(0 if isinstance(of, str) else of, rows) for of, rows in self._constants]
        written = {each.array for region in regions(plan) for each in region.graph.outputs}
        written -= {*own}
        template = Template(
            self._bounds.bounds(),
            np.array(self._controls, CONTROL),
            np.array(self._parts, PARTS),
            np.array(self._nodes, NODE),
            np.array(self._outputs, OUTPUT),
            np.array(self._accesses, ACCESS),
            np.array(self._extents, EXTENT),
            np.array(self._sizes, np.int64),
            np.array(self._calculations, CALCULATION),
            np.array(constants, CONSTANT),
            copies,
            np.array([type.bits for type in types]),
            np.array([name in own for name in self._arrays], np.bool_),
            np.array([at for name, at in self._arrays.items() if name in written], np.int64),
        )
        names = tuple(self._bounds.names)
        return Prepared(
            template,
            names,
            tuple(self._places),
            tuple(self._stores),
            tuple(self._scalars),
            tuple(self._finishes),
        )

    def _run(self, plan: tuple[Planned, ...]) -> None:
        for step in plan:
            match step:
                case Region(graph):
                    self._controls.append((REGION, len(self._parts), 0, 0, 0, 0))
                    self._region(self._schedule(narrowed(graph)))
                case Repeat(variable, lower, upper, stride, body):
                    first, name = len(self._controls), self._bounds.name(variable)
                    ends = self._bounds.affine(lower), self._bounds.affine(upper)
                    self._controls.append(())
                    self._run(body)
                    self._controls.append((AGAIN, name, 0, 0, stride, first + 1))
                    behind = len(self._controls)
                    self._controls[first] = (REPEAT, name, *ends, stride, behind)
                case Elsewhere(reason):
                    raise WorkloadError(reason)

    def _begin(self) -> tuple[int, ...]:
        lists = (self._nodes, self._outputs, self._accesses, self._extents)
        return tuple(map(len, lists))

    def _region(self, graph: Graph) -> None:
        self._parts.append(self._begin())
        for dimension in range(len(graph.lattice)):
            first = len(self._sizes)
            self._sizes += [self._bounds.affine(shape[dimension]) for _, shape in graph.shapes]
            name = self._bounds.name(lattice_name(dimension))
            self._extents.append((name, first, len(self._sizes)))
        for access in graph.accesses:
            boxes = self._bounds.box(access.box), self._bounds.box(access.cells)
            self._accesses.append((self._arrays[access.array], *boxes))
            self._places.append(access.place)
        first_output = len(self._outputs)
        for number, (node, at) in enumerate(zip(graph.nodes, _needing(graph), strict=True)):
            self._nodes.append((*self._node(number, node, graph), first_output + at))
        for output in graph.outputs:
            box = self._bounds.box(output.box)
            self._outputs.append((self._arrays[output.array], output.node, box))
            self._stores.append(output.place)

    def _node(self, number: int, node: Node, graph: Graph) -> tuple[int, ...]:
        columns = {name: 0 for name in NODE.names or () if name != "output"}
        columns |= dict(zip("abc", operands(node), strict=False))
        match node:
            case Tensor(array, box):
                columns |= {"kind": TENSOR, "number": self._arrays[array]}
                columns["box"] = self._bounds.box(box)
            case Const(value, type):
                columns |= {"kind": CONST, "number": self._constant(value, type)}
            case Shrink():
                columns["kind"] = SHRINK
            case Move(operand, dimension, distance):
                columns |= {"kind": SHIFT, "dimension": dimension}
                columns["distance"] = self._bounds.affine(distance)
                columns["given"] = self._bounds.box(graph.domains[operand])
            case Broadcast(operand, dimension):
                columns |= {"kind": COPIES, "dimension": dimension}
                columns["given"] = self._bounds.box(graph.domains[operand])
                columns["box"] = self._bounds.box(graph.domains[number])
            case Compute("<<" | ">>" as function, (_, count), type):
                places = _places(graph.nodes[count])
                columns["kind"] = COMPUTE
                columns |= self._group(shifted(function, type, places, self._operations), type)
            case Compute(function, given, type):
                types = [graph.nodes[each].type for each in given]
                columns |= {"kind": COMPUTE, **self._computed(function, types, type)}
            case Reduce(function, operand, dimension, type):
                columns |= {"kind": REDUCE, "dimension": dimension}
                columns |= self._computed(function, [type, type], type)
                columns["number"] = self._constant(identity(function, type), type)
                columns["given"] = self._bounds.box(graph.domains[operand])
                columns["finish"] = -1
                if may_be_finished(node, graph.domains[operand]):
                    kind = Finish(dimension, function, type)
                    columns["finish"] = self._finishes.setdefault(kind, len(self._finishes))
            case Stream(array):
                raise WorkloadError(f"{array}: is gathered: banks compute on boxes of cells alone")
        return tuple(columns.values())

    def _computed(self, function: str, types: list[ScalarType], type: ScalarType) -> dict[str, int]:
        try:
            steps = calculate(function, types, type, self._operations)
        except UnsupportedError as error:
            lacking = {each.name for each in (*types, type) if not each.is_integer}
            lacking -= {BOOL.name, *self._config.formats}
            if lacking:
                formats = f"formats = {list(self._config.formats)}"
                raise WorkloadError(f"{error}: {formats}: must have {min(lacking)}") from None
            raise WorkloadError(f"{error}: banks have no operation for it") from None
        return self._group(steps, type)

    def _group(self, steps: Sequence[Calculate], type: ScalarType) -> dict[str, int]:
        first = self._calculated(tuple(steps))
        return {"first": first, "end": first + len(steps), "rows": type.bits}

    def _calculated(self, steps: tuple[Calculate, ...]) -> int:
        """The number of the first, which the others follow."""
        if steps not in self._groups:
            self._groups[steps] = len(self._calculations)
            self._calculations += [self._calculation(each) for each in steps]
        return self._groups[steps]

    def _calculation(self, step: Calculate) -> tuple[int, ...]:
        entry = self._config.rom.entry(step.operation, step.n)
        costs = _costs(step.operation, step.n, self._config.skip)
        is_copy = step.operation.name == "move"
        rows = step.a_offset, step.result_offset
        bases = step.a, step.b, step.e
        return entry, step.n, *costs, *bases, step.may_replace, *rows, step.is_partial, is_copy

    def _constant(self, value: float | str, type: ScalarType) -> int:
        key = value if isinstance(value, str) else bits_of(value, type), type.bits
        if key not in self._constants:
            if isinstance(value, str):
                self._scalars.append((len(self._constants), value, type))
            self._constants[key] = len(self._constants)
        return self._constants[key]


def _needing(graph: Graph) -> list[int]:
    """For each node, the first of the outputs that need it."""
    first = [len(graph.outputs)] * len(graph.nodes)
    for at, output in enumerate(graph.outputs):
        first[output.node] = min(first[output.node], at)
    for number in reversed(range(len(graph.nodes))):
        for operand in operands(graph.nodes[number]):
            first[operand] = min(first[operand], first[number])
    return first


@cache
def _costs(operation: Operation, n: int, skips: bool) -> tuple[int, int]:
    """Rows of scratch, and cycles."""
    return operation.scratch_rows(n), operation.cycles(n, skips=skips)


def _places(count: Node) -> int:
    """The number of places that a shift goes by: a constant, as ``program_steps`` demands."""
    assert isinstance(count, Const) and isinstance(count.value, int)
    return count.value
