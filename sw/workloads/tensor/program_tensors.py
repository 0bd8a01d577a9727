"""The tensors of a statement as inputs and outputs of a program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.program.tensor_spec import Array, Dense, Sparse, Storage, TensorSpec
from gnarl.sw.workloads.tensor.expression import Access, Indexed
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor


def statement_tensors(
    statement: Indexed, format: str, sizes: Mapping[str, int] = {}, destinations: bool = True
) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The operands, and the results. A size is that of ``sizes``, or the index that it is the size
    of: the first of those that have the same one.

    A result with an index whose size no operand has is an operand, too, where ``destinations`` are
    wanted: else its own shape says it.
    """
    operands = {access.tensor: access for access in statement.operands}
    known = {index for access in statement.operands for index in access.indices}
    for result in statement.results if destinations else ():
        if not known.issuperset(result.indices):
            operands[result.tensor] = result
    return (
        tuple(_spec(statement, access, format, sizes) for access in operands.values()),
        tuple(_spec(statement, result, format, sizes) for result in statement.results),
    )


def result_array(
    spec: TensorSpec, sizes: Mapping[str, int], coordinates: np.ndarray, values: np.ndarray
) -> Array:
    """Entries as the output that ``spec`` describes: an array if stored dense, else a tensor.

    ``sizes`` has those that the spec leaves open; coordinates are int64 [n, order].
    """
    shape = tuple(sizes[size] if isinstance(size, str) else size for size in spec.shape)
    if not isinstance(spec.storage, Dense):
        return Tensor(shape, coordinates, values)
    dense = np.zeros(shape, values.dtype)
    dense[tuple(coordinates.T)] = values if shape else values.sum(initial=0)
    return dense


def storage_of(format: TensorFormat) -> Storage:
    """How a program's tensor of a format is handed over."""
    dense = all(level == DENSE for level in format.levels)
    return Dense() if dense else Sparse(format.levels, format.modes)


def format_of(spec: TensorSpec) -> TensorFormat:
    """A format in which a program's tensor may be stored as it is handed over."""
    match spec.storage:
        case Sparse(levels, modes):
            return TensorFormat(levels, modes)
    order = len(spec.shape)
    return TensorFormat((DENSE,) * order, tuple(range(order)))


def _spec(statement: Indexed, access: Access, format: str, sizes: Mapping[str, int]) -> TensorSpec:
    storage = storage_of(statement.formats[access.tensor])
    names = statement.size_names
    known = {names[index]: size for index, size in sizes.items()}
    shape = tuple(known.get(names[index], names[index]) for index in access.indices)
    return TensorSpec(access.tensor, shape, format, storage)
