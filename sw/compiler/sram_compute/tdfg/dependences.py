"""Whether statements may run one after the other for all iterations at once.

Source: Allen and Kennedy, *Optimizing Compilers for Modern Architectures*, sections 2.2 to 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sw.compiler.sram_compute.tdfg.affine import Affine, Box
from sw.compiler.sram_compute.tdfg.statements import reject
from sw.workloads.loops.place import Place


@dataclass(frozen=True)
class Element:
    """What an iteration reads or writes of ``array``.

    indices
        of each dimension an affine number, with loop variables; ``None`` if it is none.
    box
        all that the iterations reach, if it is a box.
    loops
        the loops around it, the outermost first: variables and where they are.
    statement
        its number.
    """

    array: str
    indices: tuple[Affine | None, ...]
    box: Box | None
    loops: tuple[tuple[str, Place], ...]
    statement: int
    place: Place


def require_independent(reads: Sequence[Element], writes: Sequence[Element]) -> None:
    """Raises ``NotTensor`` naming the access whose order the region would change: where an
    iteration reads or writes what an earlier one of a later statement, or of its own, has written.
    O(accesses squared)."""
    for write in writes:
        for other in (*reads, *writes):
            if other is not write and other.array == write.array:
                _check(write, other, is_read=other in reads)


def _check(write: Element, other: Element, *, is_read: bool) -> None:
    if write.box is not None and other.box is not None:
        pairs = zip(write.box, other.box, strict=True)
        if any(one.is_apart(two) for one, two in pairs):
            return
    distance = _distance(write, other)
    if distance is None:
        reject(
            other.place,
            f"{other.array} is written at {write.place}, perhaps the same element: must be "
            "indices that differ by numbers, or other parts of the array",
        )
    # The write of iteration I is what the other access meets in iteration I + distance.
    forward = _sign(distance)
    if is_read:
        # A write is seen by reads behind it; reads of the same statement come before it.
        is_wrong = forward > 0 and write.statement >= other.statement
        is_wrong |= forward < 0 and write.statement < other.statement
    else:
        is_wrong = forward > 0 and write.statement > other.statement
    if is_wrong:
        word = "read" if is_read else "written"
        reject(
            other.place,
            f"{other.array} is {word} here and written at {write.place} by another iteration: its "
            "value is carried from one to the next",
        )


def _distance(write: Element, other: Element) -> list[int] | None:
    """Iterations from a write to the access of the same element, in loops that both have; ``None``
    where it is not one number in each. Empty where there is no such access."""
    shared = [loop[0] for loop in write.loops if loop in other.loops]
    own = {loop[0] for each in (write, other) for loop in each.loops} - set(shared)
    found = dict.fromkeys(shared, 0)
    seen: set[str] = set()
    for one, two in zip(write.indices, other.indices, strict=True):
        if one is None or two is None:
            return None
        if (one.names | two.names) & own:
            continue
        difference = one - two
        if difference.terms:
            return None
        variables = [name for name in shared if one.factor(name)]
        if not variables:
            if difference.constant:
                return []
            continue
        if len(variables) > 1 or one.factor(variables[0]) != 1:
            return None
        found[variables[0]] = difference.constant
        seen.add(variables[0])
    return [found[name] for name in shared] if seen == set(shared) else None


def _sign(distance: Sequence[int]) -> int:
    """Whether it is lexicographically positive or negative."""
    first = next((each for each in distance if each), 0)
    return (first > 0) - (first < 0)
