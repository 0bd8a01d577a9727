"""Whether statements may run one after the other for all iterations at once.

Source: Allen and Kennedy, *Optimizing Compilers for Modern Architectures*, sections 2.2 to 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NoReturn

from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, Box
from gnarl.sw.compiler.sram_compute.tdfg.statements import LoopLocation, reject
from gnarl.sw.workloads.loops.ir.nest import BinaryOperator
from gnarl.sw.workloads.place import Location


@dataclass(frozen=True)
class Element:
    """What an iteration reads or writes of ``array``.

    indices
        of each dimension an affine number, with loop variables; ``None`` if it is none.
    box
        all that the iterations reach, if it is a box.
    loops
        the loops around it, the outermost first.
    statement
        its number.
    behind
        of what is read, how many statements come before it in an iteration.
    sums
        of what is written, what adds to it in each iteration of those of its loops that are in no
        index.
    """

    array: str
    indices: tuple[Affine | None, ...]
    box: Box | None
    loops: tuple[LoopLocation, ...]
    statement: int
    place: Location
    behind: int = 0
    sums: BinaryOperator | None = None


def require_independent(reads: Sequence[Element], writes: Sequence[Element]) -> None:
    """Raises ``NotTensor`` naming the access whose order the region would change: where an
    iteration reads or writes what an earlier one of a later statement, or of its own, has written;
    or where a statement has what was read before an earlier one wrote it. O(accesses squared)."""
    for write in writes:
        for read in reads:
            _check_read(write, read)
        for other in writes:
            if other is not write:
                _check_write(write, other)


def _check_read(write: Element, read: Element) -> None:
    for distance in _distances(write, read):
        forward = _sign(distance)
        is_seen = forward > 0 or (forward == 0 and write.statement < read.behind)
        # Of a region, statements are done one after the other, and read before they write.
        if is_seen == (write.statement < read.statement):
            continue
        if forward == 0:
            reject(read.place, used_behind(read.array, write.place))
        _reject_carried(read, "read", write)


def used_behind(array: str, written: Location) -> str:
    """Why what was read may not be used."""
    return (
        f"what {array} is here is used behind {written}, where it is written: must be used before"
    )


def _check_write(write: Element, other: Element) -> None:
    if write.sums is not None and write.sums == other.sums:
        return  # In any order; and where sums begin is read.
    for distance in _distances(write, other):
        if _sign(distance) > 0 and write.statement > other.statement:
            _reject_carried(other, "written", write)


def _reject_carried(access: Element, word: str, write: Element) -> NoReturn:
    reject(
        access.place,
        f"{access.array} is {word} here and written at {write.place} by another iteration: its "
        "value is carried from one to the next",
    )


def _distances(write: Element, other: Element) -> Iterator[tuple[int, ...]]:
    """Iterations from a write to the access of the same element, in loops that both have, the
    outermost first: nothing where there is no such access; of loops that add up, one before, the
    same, and one behind. Raises ``NotTensor`` where it is not one number in each other loop."""
    if write.array != other.array or _are_apart(write, other):
        return
    shared = [loop[0] for loop in write.loops if loop in other.loops]
    known = _known_distances(write, other, shared)
    if known is None:
        return
    unseen = set(shared) - set(known)
    if unseen and not (write.sums or other.sums):
        _reject_unknown(write, other)
    yield from product(*((known[name],) if name in known else (-1, 0, 1) for name in shared))


def _are_apart(write: Element, other: Element) -> bool:
    """Whether boxes around both have nothing in common."""
    if write.box is None or other.box is None:
        return False
    return any(one.is_apart(two) for one, two in zip(write.box, other.box, strict=True))


def _known_distances(
    write: Element, other: Element, shared: Sequence[str]
) -> dict[str, int] | None:
    """Iterations between both in each of the shared loops that an index tells; ``None`` where no
    element is the same."""
    own = {loop[0] for each in (write, other) for loop in each.loops} - set(shared)
    known: dict[str, int] = {}
    for one, two in zip(write.indices, other.indices, strict=True):
        if one is None or two is None:
            _reject_unknown(write, other)
        if (one.names | two.names) & own:
            continue
        difference = one - two
        variables = [name for name in shared if one.factor(name)]
        if difference.terms or not _is_one_loop(one, variables):
            _reject_unknown(write, other)
        if not variables and difference.constant:
            return None
        known |= dict.fromkeys(variables, difference.constant)
    return known


def _is_one_loop(index: Affine, variables: Sequence[str]) -> bool:
    """Whether of these variables an index has one at most, once."""
    return not variables or (len(variables) == 1 and index.factor(variables[0]) == 1)


def _reject_unknown(write: Element, other: Element) -> NoReturn:
    reject(
        other.place,
        f"{other.array} is written at {write.place}, perhaps the same element: must be indices "
        "that differ by numbers, or other parts of the array",
    )


def _sign(distance: Sequence[int]) -> int:
    """Whether it is lexicographically positive or negative."""
    first = next((each for each in distance if each), 0)
    return (first > 0) - (first < 0)
