"""The fusion table: blocks of a graph to be, by the loop and the tensor that they work for.

A row is a loop, the last one the values; a column is a tensor as one statement takes it, or what a
statement computes. A cell has the blocks that move the column's tensor into the row's loop; one
that has none refers to the cell above it. Nothing is a block of the graph before ``emit``, which
takes what results depend on. Source: FuseFlow, section 6.1, figure 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.builder import GraphBuilder, Lane, Node, Stream

VALUES = "val"
"""The row of values."""


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
        """A line a row: what each column's cell has, as figure 9 draws it."""
        yield "\t".join(["", *self.columns])
        for row in (*self.rows, VALUES):
            cells = [" ".join(self._shown(row, column)) for column in self.columns]
            yield "\t".join([row, *cells])

    def _shown(self, row: str, column: str) -> Iterator[str]:
        for cell in self.cells:
            if cell.row == row and cell.column == column:
                yield f"{cell.type}({', '.join(map(self._pointer, cell.inputs.values()))})"

    def _pointer(self, stream: Stream) -> str:
        cell = self[stream.block]
        if cell.type == "root":
            return "root"
        return f"<{cell.column}.{cell.row}>"


def _outputs(cell: Cell) -> bool:
    return bool(BLOCK_TYPES[cell.type].outputs(cell.parameters))


@dataclass
class TableBuilder:
    """Places cells; one that would do what another does already is that one."""

    rows: tuple[str, ...]
    _cells: list[Cell] = field(default_factory=list)
    _names: dict[str, int] = field(default_factory=dict)
    _same: dict[Any, Node] = field(default_factory=dict)

    def place(
        self,
        row: str,
        column: str,
        type: str,
        label: str,
        inputs: dict[str, Stream],
        **parameters: Any,
    ) -> Node:
        """The cell of a block of a ``type`` at a row and column; ``label`` begins its name."""
        key = type, tuple(inputs.items()), tuple(parameters.items())
        if key not in self._same:
            number = self._names[label] = self._names.get(label, 0) + 1
            name = label if number == 1 else f"{label} {number}"
            self._cells.append(Cell(name, row, column, type, inputs, parameters))
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
        return self.place("", "", "root", "root", {}).out_ref

    def table(self) -> FusionTable:
        columns = dict.fromkeys(cell.column for cell in self._cells if cell.column)
        return FusionTable(self.rows, tuple(columns), tuple(self._cells))
