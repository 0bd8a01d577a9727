"""Sizes of a statement's indices, from the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.tensor.expression import Statement


def check_shapes(
    statement: Statement, shapes: Mapping[str, Sequence[int]], *, complete: bool = True
) -> dict[str, int]:
    """Size of every index variable, in loop order.

    ``shapes`` has the size of each mode of every operand; the result's is needed only where an
    index is in no operand. Those that are not ``complete`` may lack tensors, and give the sizes
    that they have. Raises ``WorkloadError``: a tensor that the expression does not have or that is
    missing, another order, an index of two sizes, one without a size.
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
            if access is result or not complete:
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
    same: dict[str, int] = {}
    for index, size in sizes.items():
        name = statement.size_names[index]
        if same.setdefault(name, size) != size:
            raise WorkloadError(
                f"expression: index {index} has size {size} in {first[index]}; it must have that "
                f"of {name}, {same[name]}, as a tensor has both in one mode"
            )
    sizes = {index: same[name] for index, name in statement.size_names.items() if name in same}
    for index in result.indices:
        if index not in sizes and complete:
            raise WorkloadError(
                f"expression, column {result.column}: index {index} of {result} is in no operand, "
                f"so its size is not known; give the shape of {result.tensor}"
            )
    return sizes
