"""Names in a statement: those that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.workloads.tensor.columns import counted, fail
from gnarl.sw.workloads.tensor.expression import Access


def check_names(result: Access, operands: Sequence[Access]) -> None:
    """Refuses names that contradict each other, in order of their columns."""
    indices = {index for access in (result, *operands) for index in access.indices}
    first: dict[str, Access] = {}
    for access in (result, *operands):
        shown = str(access)
        for index in access.indices:
            if access.indices.count(index) > 1:
                fail(
                    access.column,
                    f"index {index} appears twice in {shown}; a diagonal cannot be read or "
                    "written, use an index for each mode",
                )
        if access.tensor in indices:
            fail(access.column, f"{access.tensor} is an index and cannot also be a tensor")
        if access is not result and access.tensor == result.tensor:
            fail(
                access.column,
                f"result {access.tensor} cannot also be an operand; give the result its own name",
            )
        known = first.setdefault(access.tensor, access)
        if len(known.indices) != len(access.indices):
            fail(
                access.column,
                f"tensor {access.tensor} has {counted(len(access.indices), 'index', 'indices')} "
                f"here and {len(known.indices)} in column {known.column}; "
                "a tensor has one order",
            )
