"""The fusion table: blocks of a graph to be, by the loop and the tensor that they work for.

A row is a loop, the last one the values; a column is a tensor as one statement takes it, or what a
statement computes. A cell has the blocks that move the column's tensor into the row's loop; one
that has none refers to the cell above it. Nothing is a block of the graph before ``emit``, which
takes what results depend on. Source: FuseFlow, section 6.1, figure 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.builder import GraphBuilder, Lane, Node, Stream
from gnarl.sw.compiler.sam.iteration import Formula, Named

VALUES = "val"
"""The row of values."""

ROOT = "root"
"""The column of the reference outside of all loops, which is not shown."""


@dataclass(frozen=True)
class Cell:
    """A block to be, at its row and column; ``inputs`` by port, of cells that come before it."""

    name: str
    row: str
    column: str
    type: str
    inputs: dict[str, Stream]
    parameters: dict[str, Any]


@dataclass(frozen=True)
class FusionTable:
    """Cells, each after those that it reads.

    rows
        loops in their order.
    columns
        in the order in which statements take their tensors.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]

    @cached_property
    def _by_name(self) -> dict[str, Cell]:
        return {cell.name: cell for cell in self.cells}

    def __getitem__(self, name: str) -> Cell:
        return self._by_name[name]

    def emit(self) -> Graph:
        """The graph of what the writers depend on. O(cells)."""
        needed = {cell.name for cell in self.cells if not _outputs(cell)}
        for cell in reversed(self.cells):
            if cell.name in needed:
                needed.update(stream.block for stream in cell.inputs.values())
        builder = GraphBuilder()
        nodes: dict[str, Node] = {}
        for cell in self.cells:
            if cell.name in needed:
                inputs = {
                    port: Stream(nodes[stream.block].name, stream.output)
                    for port, stream in cell.inputs.items()
                }
                nodes[cell.name] = builder.add(cell.type, cell.name, inputs, **cell.parameters)
        return builder.graph()

    def text(self) -> Iterator[str]:
        """Lines with the table as figure 9 draws it: a row's cells say what moves each column into
        its loop, and pointers name what they read by column and row."""
        rows = [["", *self.columns]]
        for row in (*self.rows, VALUES):
            rows.append([row, *("; ".join(self._shown(row, column)) for column in self.columns)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for each in rows:
            padded = (cell.ljust(width) for cell, width in zip(each, widths, strict=True))
            yield " | ".join(padded).rstrip()

    def _shown(self, row: str, column: str) -> Iterator[str]:
        for cell in self.cells:
            if cell.row == row and cell.column == column and cell.type != "repsiggen":
                pointers = ", ".join(map(self._pointer, cell.inputs.values()))
                yield f"{_primitive(cell)}({pointers})"

    def _pointer(self, stream: Stream) -> str:
        cell = self[stream.block]
        while cell.type == "repsiggen":
            stream = cell.inputs["crd"]
            cell = self[stream.block]
        if cell.type == "root":
            return ROOT
        name, _, _ = cell.column.partition("(")
        return f"<{name}.{cell.row}>{_PORTS.get(stream.output, '')}"


_PRIMITIVES = {
    "fiberlookup": "LS",
    "bitvectorlookup": "LS",
    "bitvectorexpand": "Expand",
    "locate": "Locate",
    "repeat": "Rep",
    "arrayvals": "Val",
    "fiberwrite": "LW",
    "valwrite": "LW",
    "crddrop": "Drop",
    "valdrop": "Drop",
}
"""What the paper calls blocks, and blocks that it has not."""

_PORTS = {"out_crd": "", "out_crd0": "[crd0]", "out_crd1": "[crd1]", "out_val": "[val]"}


def _primitive(cell: Cell) -> str:
    match cell.type:
        case "spaccumulator":
            return f"Red{cell.parameters['order']}"
        case "reduce":
            return "Red0" if cell.parameters["op"] == "add" else "Max0"
        case "alu" | "function":
            return str(cell.parameters["op"]).capitalize()
    return _PRIMITIVES.get(cell.type, cell.type.removeprefix("bitvector").capitalize())


def _outputs(cell: Cell) -> bool:
    return bool(BLOCK_TYPES[cell.type].outputs(cell.parameters))


@dataclass
class TableBuilder:
    """Places cells; one that would do what another does already is that one."""

    rows: tuple[str, ...]
    _cells: list[Cell] = field(default_factory=list)
    _names: dict[str, int] = field(default_factory=dict)
    _same: dict[Any, Node] = field(default_factory=dict)
    _column: str = ""

    @contextmanager
    def working_for(self, formula: Formula) -> Iterator[None]:
        """Cells without a column are of what a statement computes, if ``formula`` is that."""
        before = self._column
        if isinstance(formula, Named):
            self._column = formula.name
        yield
        self._column = before

    def place(
        self,
        row: str,
        column: str,
        type: str,
        label: str,
        inputs: dict[str, Stream],
        **parameters: Any,
    ) -> Node:
        """The cell of a block of a ``type`` at a row and column, by default that of the statement
        at hand; ``label`` begins its name."""
        key = type, tuple(inputs.items()), tuple(parameters.items())
        if key not in self._same:
            number = self._names[label] = self._names.get(label, 0) + 1
            name = label if number == 1 else f"{label} {number}"
            cell = Cell(name, row, column or self._column, type, inputs, parameters)
            self._cells.append(cell)
            self._same[key] = Node(name)
        return self._same[key]

    def join(self, type: str, index: str, one: Lane, other: Lane) -> Node:
        """A joiner, such as ``union`` or ``bitvectorunion``, of two lanes."""
        label = type.removeprefix("bitvector")
        kind = "crd" if label == type else "bv"
        inputs = {f"{kind}0": one[0], "ref0": one[1], f"{kind}1": other[0], "ref1": other[1]}
        return self.place(index, "", type, f"{label}_{index}", inputs, index=index)

    @property
    def root(self) -> Stream:
        """Reference 0, outside of all loops."""
        return self.place("", ROOT, "root", "root", {}).out_ref

    def table(self) -> FusionTable:
        columns = dict.fromkeys(cell.column for cell in self._cells if cell.column != ROOT)
        return FusionTable(self.rows, tuple(columns), tuple(self._cells))
