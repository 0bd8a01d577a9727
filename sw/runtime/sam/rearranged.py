"""What the host makes between launches: tensors whose elements are those of others, moved.

Entries are moved and no others: their coordinates are counted anew. Patterns have entries of their
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.host_steps import statement_of, step_program
from gnarl.sw.golden.sums import run_totals
from gnarl.sw.golden.words import RangeError, nearest, to_words, typed
from gnarl.sw.program.host_step import HostStep
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.report.verify import entry_name
from gnarl.sw.workloads.einsum.coordinates import left_by, listed
from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    Coo,
    Kept,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
    Stored,
)
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.program_tensors import result_array
from gnarl.sw.workloads.tensor.tensor import Tensor

_Columns = Mapping[str, np.ndarray]
"""Coordinates of entries, int64 [nnz] by index."""


def moved(step: HostStep, tensors: Mapping[str, Array]) -> Array:
    """The tensor that a step makes of its inputs by name, whose numbers are those of its format.

    Raises ``WorkloadError`` for a number that this does not hold.
    """
    statement = statement_of(step)
    shapes = {name: tuple(each.shape) for name, each in tensors.items()}
    sizes = program_shapes(step_program(step), shapes).indices[statement.name]
    if isinstance(statement.how, Coo | Stored | Kept):
        return _of_coordinates(step, statement, tensors, sizes)
    known = {name: _entries(name, each, step.output.type) for name, each in tensors.items()}
    operands = [known[access.tensor] for access in statement.operands]
    columns = [
        dict(zip(access.indices, each.coordinates.T, strict=True))
        for access, each in zip(statement.operands, operands, strict=True)
    ]
    values = np.concatenate([each.values for each in operands])
    match statement.how:
        case Reshape():
            found = _reshaped(statement, columns[0], sizes, len(values))
        case Concat():
            counts = [each.nnz for each in operands]
            found = _concatenated(statement, columns, sizes, counts)
        case Slice() as how:
            found, kept = _sliced(statement, how, columns[0])
            values = values[kept]
        case Pattern() as how:
            how = replace(how, number=nearest(how.number, step.output.type))
            found = _pattern(statement, how, operands[0])
            values = np.ones(len(next(iter(found.values()), [0])))
    coordinates = _columns(statement, found, len(values))
    order = ascending_order(coordinates)
    return result_array(step.output, {}, coordinates[order], values[order])


def _columns(statement: Rearrangement, found: _Columns, count: int) -> np.ndarray:
    """Coordinates of the result, int64 [count, order]."""
    coordinates = np.empty((count, len(statement.result.indices)), np.int64)
    for mode, index in enumerate(statement.result.indices):
        coordinates[:, mode] = found[index]
    return coordinates


def _of_coordinates(
    step: HostStep,
    statement: Rearrangement,
    tensors: Mapping[str, Array],
    sizes: Mapping[str, int],
) -> Array:
    """Entries where an input lists coordinates, has entries, or is a mask that leaves them. The
    sums of numbers of one place are rounded as the machine's."""
    type, (first, *others) = step.output.type, statement.operands
    source = Tensor.from_result(tensors[first.tensor])
    if isinstance(statement.how, Stored | Kept):
        is_mask = isinstance(statement.how, Kept)
        places = left_by(first.tensor, source) if is_mask else source.coordinates
        own = dict(zip(first.indices, places.T, strict=True))
        coordinates = _columns(statement, own, len(places))
        values = np.ones(len(places))
    else:
        shape = [sizes[index] for index in statement.result.indices]
        coordinates = listed(first.tensor, source, shape)
        values = np.ones(len(coordinates))
    for access in others:
        given = _entries(access.tensor, tensors[access.tensor], type)
        values = np.zeros(len(coordinates))
        values[given.coordinates[:, 0]] = given.values
    order = ascending_order(coordinates)
    coordinates = coordinates[order]
    words = _words(statement.name, coordinates, values[order], type)
    begins = np.ones(len(coordinates), bool)
    begins[1:] = (coordinates[1:] != coordinates[:-1]).any(axis=1)
    places = np.flatnonzero(begins)
    words = run_totals(words, np.diff(np.append(places, len(words))), "add", type)
    return result_array(step.output, {}, coordinates[places], typed(words, type))


def _entries(name: str, array: Array, type: str) -> Tensor:
    tensor = Tensor.from_result(array)
    words = _words(name, tensor.coordinates, tensor.values, type)
    return replace(tensor, values=typed(words, type))


def _words(name: str, coordinates: np.ndarray, values: np.ndarray, type: str) -> np.ndarray:
    """Words of a tensor's entries. Raises ``WorkloadError`` for one that the type does not hold."""
    try:
        return to_words(values, type)
    except RangeError as error:
        place = entry_name(name, coordinates[error.index[0]])
        raise WorkloadError(f"{place} = {error.value}: {error.reason}") from error


def _reshaped(
    statement: Rearrangement, columns: _Columns, sizes: Mapping[str, int], count: int
) -> _Columns:
    own, made = statement.own(statement.operands[0]), statement.made
    if not count:
        return dict.fromkeys(statement.result.indices, np.zeros(0, np.int64))
    places = np.zeros(count, np.int64)
    if own:
        places = np.ravel_multi_index(
            [columns[index] for index in own], [sizes[index] for index in own]
        )
    split = np.unravel_index(places, [sizes[index] for index in made]) if made else ()
    return {**columns, **dict(zip(made, split, strict=True))}


def _concatenated(
    statement: Rearrangement,
    columns: Sequence[_Columns],
    sizes: Mapping[str, int],
    counts: Sequence[int],
) -> _Columns:
    (along,) = statement.made
    parts, begin = [], 0
    for access, own, count in zip(statement.operands, columns, counts, strict=True):
        (index, *_) = (*statement.own(access), None)
        at = np.zeros(count, np.int64) if index is None else own[index]
        parts.append({**own, along: begin + at})
        begin += 1 if index is None else sizes[index]
    return {
        index: np.concatenate([each[index] for each in parts]) for index in statement.result.indices
    }


def _sliced(statement: Rearrangement, how: Slice, columns: _Columns) -> tuple[_Columns, np.ndarray]:
    """Coordinates of the entries that are kept, and which these are."""
    at = columns[how.index]
    kept = (how.start <= at) & (at < how.stop) & ((at - how.start) % how.step == 0)
    found = {index: column[kept] for index, column in columns.items()}
    for index in statement.made:
        found[index] = (found[how.index] - how.start) // how.step
    return found, kept


def _pattern(statement: Rearrangement, how: Pattern, operand: Tensor) -> _Columns:
    elements = np.zeros(operand.shape)
    elements[tuple(operand.coordinates.T)] = operand.values
    places = np.nonzero(how.of(elements.ravel()).reshape(operand.shape))
    return dict(zip(statement.operands[0].indices, places, strict=True))
