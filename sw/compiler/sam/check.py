"""What can be wrong with a statement before anything is built: sizes, and orders of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hw.lib.errors import CapacityError, WorkloadError
from sw.workloads.tensor.expression import Access, Statement
from sw.workloads.tensor.storage import TensorFormat


def stored_indices(access: Access, format: TensorFormat) -> tuple[str, ...]:
    """The index variable of each level, outermost first."""
    return tuple(access.indices[mode] for mode in format.modes)


def check_shapes(statement: Statement, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Size of every index variable, in loop order.

    ``shapes`` has the size of each mode of every operand; the result's is needed only where an
    index is in no operand. Raises ``WorkloadError``: a tensor that the expression does not
    have or that is missing, another order, an index of two sizes, one without a size.
    """
    result = statement.result
    used = (*statement.operands, result)
    names = [access.tensor for access in used]
    for tensor in shapes:
        if tensor not in names:
            there = ", ".join(dict.fromkeys(names))
            raise WorkloadError(f"tensor {tensor} is not in the expression; it has {there}")
    sizes: dict[str, int] = {}
    first: dict[str, str] = {}
    for access in used:
        shape = shapes.get(access.tensor)
        if shape is None:
            if access is result:
                continue
            raise WorkloadError(
                f"expression, column {access.column}: tensor {access.tensor} is not given"
            )
        if len(shape) != len(access.indices):
            raise WorkloadError(
                f"expression, column {access.column}: tensor {access.tensor} has "
                f"{len(shape)} dimensions, but {access} {len(access.indices)}; "
                "they must be the same"
            )
        for mode, (index, size) in enumerate(zip(access.indices, shape, strict=True)):
            place = f"mode {mode} of {access.tensor}"
            if sizes.setdefault(index, int(size)) != size:
                raise WorkloadError(
                    f"expression, column {access.column}: index {index} has size {size} in "
                    f"{place}, but {sizes[index]} in {first[index]}; it must have one size"
                )
            first.setdefault(index, place)
    for index in result.indices:
        if index not in sizes:
            raise WorkloadError(
                f"expression, column {result.column}: index {index} of {result} is in no operand, "
                f"so its size is not known; give the shape of {result.tensor}"
            )
    return {index: sizes[index] for index in statement.order}


def require_index_bits(bits: int, index: str, size: int) -> None:
    """Raises ``CapacityError`` for a size that a machine has no coordinates for."""
    if size >> bits:
        raise CapacityError(
            f"index_bits = {bits}: index {index} of size {size} needs at least {size.bit_length()}"
        )


def check_order(statement: Statement) -> None:
    """Raises ``WorkloadError`` for a tensor whose levels the loops do not walk from the outside in.

    The message names the tensor, the mode, and the format of a copy that the loops can walk.
    """
    place = {index: number for number, index in enumerate(statement.order)}
    loops = ",".join(statement.order)
    for access in (*statement.operands, statement.result):
        format = statement.formats[access.tensor]
        indices = stored_indices(access, format)
        for level in range(1, len(indices)):
            outer, inner = indices[level - 1], indices[level]
            if place[outer] < place[inner]:
                continue
            walked = "written" if access is statement.result else "walked"
            raise WorkloadError(
                f"expression, column {access.column}: {access} cannot be {walked} in loop order "
                f"{loops}: mode {format.modes[level]} (index {inner}) is stored inside mode "
                f"{format.modes[level - 1]} (index {outer}), but its loop is outside; "
                f"a transposed copy would do: {_transposed(access, format, place)}"
            )


def _transposed(access: Access, format: TensorFormat, place: Mapping[str, int]) -> str:
    """The option for the same kinds of levels, in the order of the loops."""
    indices = stored_indices(access, format)
    order = sorted(range(len(format.levels)), key=lambda level: place[indices[level]])
    levels = tuple(format.levels[level] for level in order)
    modes = tuple(format.modes[level] for level in order)
    return TensorFormat(levels, modes).option(access.tensor)
