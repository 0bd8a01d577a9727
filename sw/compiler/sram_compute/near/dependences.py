"""Whether iterations may run in any order, and statements one after the other.

This is stricter than ``tdfg.dependences``: strips are read and written one after the other, and
loops change places.
"""

from __future__ import annotations

from collections.abc import Sequence

from sw.compiler.sram_compute.near.sums import summed_loops
from sw.compiler.sram_compute.tdfg.affine import affine_of
from sw.compiler.sram_compute.tdfg.statements import Stored, nodes, reject
from sw.workloads.loops.nest import Load


def require_apart(stored: Sequence[Stored]) -> None:
    """Raises ``NotTensor`` unless all accesses of what is written are of the same element, and of
    what is summed up, outside of the sum's loops. O(accesses squared)."""
    for one in stored:
        _require_own(one)
        summed = {(loop.variable, loop.place) for loop in summed_loops(one)}
        for other in stored:
            loops = {(loop.variable, loop.place) for loop in (*other.loops, *summed_loops(other))}
            loads = [each for each in nodes(other.value) if isinstance(each, Load)]
            accesses: list[Stored | Load] = [other, *loads]
            for access in accesses:
                if access is one or access.array != one.array or _is_apart(one, access):
                    continue
                is_own = other is one and access.indices == one.indices
                if access.indices != one.indices or summed & loops and not is_own:
                    reject(
                        access.place,
                        f"{one.array} is written at {one.place}, too: stream engines need the same "
                        "element at both, and no sum in between",
                    )


def _is_apart(one: Stored, access: Stored | Load) -> bool:
    """Whether an index of both is a number that no loop changes, not the same."""
    variables = {loop.variable for loop in one.loops}
    for index, other in zip(one.indices, access.indices, strict=True):
        affine, second = affine_of(index), affine_of(other)
        if affine is None or second is None or affine.names & variables:
            continue
        difference = affine - second
        if difference.constant and not difference.terms:
            return True
    return False


def _require_own(stored: Stored) -> None:
    """That no two iterations write the same element."""
    variables = {loop.variable for loop in stored.loops}
    seen: set[str] = set()
    for index in stored.indices:
        affine = affine_of(index)
        if affine is None:
            reject(stored.place, f"{stored.array}: the index of what is written must be affine")
        names = variables & affine.names
        if len(names) > 1 or names & seen:
            reject(
                stored.place, f"{stored.array}: an index depends on several loops: must be on one"
            )
        seen |= names
