"""Sizes of a statement's indices, from the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.tensor.expression import Access, Indexed


def check_shapes(
    statement: Indexed, shapes: Mapping[str, Sequence[int]], *, complete: bool = True
) -> dict[str, int]:
    """Size of every index variable, in loop order.

    ``shapes`` has the size of each mode of every operand; the result's is needed only where an
    index is in no operand. Those that are not ``complete`` may lack tensors, and give the sizes
    that they have. Raises ``WorkloadError``: a tensor that the expression does not have or that is
    missing, another order, an index of two sizes, one without a size.
    """
    results = statement.results
    used = (*statement.operands, *results)
    names = [access.tensor for access in used]
    for tensor in shapes:
        if tensor not in names:
            there = ", ".join(dict.fromkeys(names))
            raise WorkloadError(f"tensor {tensor} is not in the expression; it has {there}")
    known: dict[str, _Size] = {}
    for access in used:
        shape = shapes.get(access.tensor)
        if shape is not None:
            _add_sizes(known, access, shape)
        elif complete and not any(access is result for result in results):
            raise WorkloadError(
                f"expression, column {access.column}: tensor {access.tensor} is not given"
            )
    by_name = _sizes_by_name(statement, known)
    sizes = {
        index: by_name[name] for index, name in statement.size_names.items() if name in by_name
    }
    for result in results:
        for index in result.indices:
            if index not in sizes and complete:
                raise WorkloadError(
                    f"expression, column {result.column}: index {index} of {result} is in no "
                    f"operand, so its size is not known; give the shape of {result.tensor}"
                )
    return sizes


class _Size(NamedTuple):
    """The size of an index, and the first place that has it."""

    size: int
    place: str


def _add_sizes(known: dict[str, _Size], access: Access, shape: Sequence[int]) -> None:
    """Adds the sizes of a tensor's indices to those that are known."""
    if len(shape) != len(access.indices):
        raise WorkloadError(
            f"expression, column {access.column}: tensor {access.tensor} has "
            f"{len(shape)} dimensions, but {access} {len(access.indices)}; "
            "they must be the same"
        )
    for mode, (index, size) in enumerate(zip(access.indices, shape, strict=True)):
        place = f"mode {mode} of {access.tensor}"
        first = known.setdefault(index, _Size(int(size), place))
        if first.size != size:
            raise WorkloadError(
                f"expression, column {access.column}: index {index} has size {size} in "
                f"{place}, but {first.size} in {first.place}; it must have one size"
            )


def _sizes_by_name(statement: Indexed, known: Mapping[str, _Size]) -> dict[str, int]:
    """Sizes by their names, which indices share that one mode of a tensor has."""
    by_name: dict[str, int] = {}
    for index, (size, place) in known.items():
        name = statement.size_names[index]
        if by_name.setdefault(name, size) != size:
            raise WorkloadError(
                f"expression: index {index} has size {size} in {place}; it must have that "
                f"of {name}, {by_name[name]}, as a tensor has both in one mode"
            )
    return by_name
