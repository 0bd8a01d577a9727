"""Runs tDFGs on NumPy arrays: what they mean, cell by cell, without any hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, Box
from gnarl.sw.compiler.sram_compute.tdfg.functions import apply, identity
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Indirect,
    Move,
    Node,
    Reduce,
    Shrink,
    Stream,
    Tensor,
)
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType

Cells = tuple[tuple[int, int], ...]
"""First and, without, last cell of each dimension."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of the cells of a box, dimension 0 last; a constant has no box, and one value."""

    cells: Cells | None
    values: np.ndarray

    def within(self, cells: Cells) -> np.ndarray:
        """The values of a part of the box."""
        if self.cells is None:
            return self.values
        pairs = zip(cells, self.cells, strict=True)
        slices = [slice(low - first, high - first) for (low, high), (first, _) in pairs]
        return self.values[tuple(reversed(slices))]


def run_graph(
    graph: Graph,
    arrays: dict[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, np.ndarray],
) -> None:
    """Writes the outputs to ``arrays``. ``sizes``: with the variables of loops around the region.

    Raises ``WorkloadError`` where iterations leave an array.
    """
    names = graph.names(sizes)
    check_accesses(graph, arrays, names)
    values = evaluate(graph, arrays, names, scalars)
    stored = []
    for output in graph.outputs:
        cells = concrete(output.box, names)
        if not is_empty(cells):
            shape = tuple(high - low for low, high in reversed(cells))
            stored.append(np.broadcast_to(values[output.node].within(cells), shape).copy())
    for output in graph.outputs:
        cells = concrete(output.box, names)
        if not is_empty(cells):
            _lattice_view(arrays[output.array], len(cells))[_slices(cells)] = stored.pop(0)


def evaluate(
    graph: Graph,
    arrays: Mapping[str, np.ndarray],
    names: Mapping[str, int],
    scalars: Mapping[str, np.ndarray],
) -> list[Values]:
    """What each node has. ``names``: as ``Graph.names`` gives them."""
    values: list[Values] = []
    for node in graph.nodes:
        values.append(_evaluate(node, values, graph, arrays, names, scalars))
    return values


def check_accesses(
    graph: Graph, arrays: Mapping[str, np.ndarray], names: Mapping[str, int]
) -> None:
    """Raises ``WorkloadError`` for the first access whose iterations leave its array."""
    for access in graph.accesses:
        if is_empty(concrete(access.cells, names)):
            continue
        shape = arrays[access.array].shape[::-1]
        for dimension, (low, high) in enumerate(concrete(access.box, names)[: len(shape)]):
            if low < 0 or high > shape[dimension]:
                index = low if low < 0 else high - 1
                raise WorkloadError(
                    f"{access.place}: {access.array}: index {index} in dimension "
                    f"{len(shape) - 1 - dimension}: must be at least 0 and less than "
                    f"{shape[dimension]}"
                )


def concrete(box: Box, names: Mapping[str, int]) -> Cells:
    return tuple(each.value(names) for each in box)


def is_empty(cells: Cells) -> bool:
    return any(low >= high for low, high in cells)


def _slices(cells: Cells) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in reversed(cells))


def _lattice_view(array: np.ndarray, rank: int) -> np.ndarray:
    """The array with all dimensions of the lattice."""
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def _evaluate(
    node: Node,
    values: list[Values],
    graph: Graph,
    arrays: Mapping[str, np.ndarray],
    names: Mapping[str, int],
    scalars: Mapping[str, np.ndarray],
) -> Values:
    match node:
        case Tensor(array, box):
            cells = concrete(box, names)
            if is_empty(cells):
                shape = tuple(high - low for low, high in reversed(cells))
                return Values(cells, np.zeros(shape, node.type.dtype))
            return Values(cells, _lattice_view(arrays[array], len(box))[_slices(cells)])
        case Const(value, type):
            numbers = {**names, **scalars}
            constant = numbers[value] if isinstance(value, str) else value
            return Values(None, np.asarray(constant).astype(type.dtype))
        case Move(operand, dimension, distance):
            return _moved(values[operand], dimension, distance.value(names), graph, names)
        case Broadcast(operand, dimension, distance, count):
            source = values[operand]
            if source.cells is None:
                return source
            whole = _repeated(source.values, source.cells, dimension, max(0, count.value(names)))
            return _moved(whole, dimension, distance.value(names), graph, names)
        case Compute(function, operands, type):
            return _computed(function, [values[each] for each in operands], type)
        case Reduce(function, operand, dimension, type):
            return _reduced(values[operand], function, dimension, node)
        case Shrink(operand, dimension, kept):
            source = values[operand]
            line = kept.value(names)
            if source.cells is None:
                raise ValueError("a constant has no box to shrink")
            cells = _meet(
                source.cells, (*source.cells[:dimension], line, *source.cells[dimension + 1 :])
            )
            return Values(cells, source.within(cells))
        case Stream():
            return _gathered(node, arrays, names)


def _repeated(values: np.ndarray, cells: Cells, dimension: int, copies: int) -> Values:
    axis = len(cells) - 1 - dimension
    spread = np.concatenate([values] * copies, axis) if copies else values[:0]
    low, high = cells[dimension]
    line = (low, low + copies * (high - low))
    spread_cells = (*cells[:dimension], line, *cells[dimension + 1 :])
    spread = spread.reshape([last - first for first, last in reversed(spread_cells)])
    return Values(spread_cells, spread)


def _computed(function: str, given: list[Values], type: ScalarType) -> Values:
    """Where all operands are."""
    cells_of = [each.cells for each in given if each.cells is not None]
    if not cells_of:
        return Values(None, apply(function, [each.values for each in given], type))
    cells = reduce(_meet, cells_of)
    shape = tuple(high - low for low, high in reversed(cells))
    parts = [np.broadcast_to(each.within(cells), shape) for each in given]
    return Values(cells, apply(function, parts, type))


def _meet(one: Cells, other: Cells) -> Cells:
    pairs = [
        (max(low, first), min(high, last))
        for (low, high), (first, last) in zip(one, other, strict=True)
    ]
    return tuple((low, max(low, high)) for low, high in pairs)


def _moved(
    source: Values, dimension: int, distance: int, graph: Graph, names: Mapping[str, int]
) -> Values:
    if source.cells is None:
        return source
    low, high = source.cells[dimension]
    line = (low + distance, high + distance)
    cells = (*source.cells[:dimension], line, *source.cells[dimension + 1 :])
    lattice = tuple((0, size.value(names)) for size in graph.lattice)
    return Values(kept := _meet(cells, lattice), Values(cells, source.values).within(kept))


def _reduced(source: Values, function: str, dimension: int, node: Reduce) -> Values:
    if source.cells is None:
        raise ValueError("a constant has no line to sum up")
    axis = len(source.cells) - 1 - dimension
    line = np.moveaxis(source.values, axis, 0)
    low, high = source.cells[dimension]
    if low == high:
        line = np.full((1, *line.shape[1:]), identity(function, node.type), line.dtype)
    while len(line) > 1:
        half = 1 << (len(line) - 1).bit_length() - 1
        rest = len(line) - half
        added = apply(function, [line[:rest], line[half:]], node.type)
        line = np.concatenate([added, line[rest:half]])
    cells = (*source.cells[:dimension], (low, low + 1), *source.cells[dimension + 1 :])
    return Values(cells, np.moveaxis(line, 0, axis))


def _gathered(node: Stream, arrays: Mapping[str, np.ndarray], names: Mapping[str, int]) -> Values:
    cells = concrete(node.box, names)
    lines = [np.arange(low, high) for low, high in reversed(cells)]
    grids = np.meshgrid(*lines, indexing="ij")
    places = {f"x{len(cells) - 1 - axis}": grid for axis, grid in enumerate(grids)}

    def value(index: Affine) -> np.ndarray:
        found = np.full(grids[0].shape, index.constant, np.int64)
        for name, factor in index.terms:
            found = found + (places[name] if name in places else names[name]) * factor
        return found

    def checked(array: str, indices: list[np.ndarray]) -> np.ndarray:
        for axis, (index, size) in enumerate(zip(indices, arrays[array].shape, strict=True)):
            wrong = (index < 0) | (index >= size)
            if wrong.any():
                first = index.flat[int(np.argmax(wrong))]
                raise WorkloadError(
                    f"{array}: index {first} in dimension {axis}: must be at least 0 and less "
                    f"than {size}"
                )
        return arrays[array][tuple(indices)]

    found = []
    for index in node.indices:
        if isinstance(index, Indirect):
            loaded = checked(index.array, [value(each) for each in index.indices])
            found.append(loaded.astype(np.int64) + value(index.offset))
        else:
            found.append(value(index))
    return Values(cells, checked(node.array, found))
