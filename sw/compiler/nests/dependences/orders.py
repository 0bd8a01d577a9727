"""What may change places in a nest: whether iterations may go side by side, or loops be exchanged.

Source: Allen and Kennedy, "Automatic Translation of FORTRAN Programs to Vector Form" (1987).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation

from gnarl.sw.compiler.nests.dependences.accesses import (
    Access,
    access_of,
    accesses_in,
    distances_in,
)
from gnarl.sw.compiler.nests.dependences.distances import FARTHEST
from gnarl.sw.compiler.nests.dialects import fiber, slc
from gnarl.sw.compiler.nests.values import is_inside

_LOOPS = (scf.ForOp, scf.WhileOp, fiber.MergeOp, *slc.LOOPS)


def conflicts(accesses: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs of accesses of one array, in their order, at least one of which writes; a store with
    itself, too."""
    for number, one in enumerate(accesses):
        for other in accesses[number:]:
            if one.array is other.array and (one.is_store or other.is_store):
                yield one, other


def allows_vectors(
    loop: Operation, lanes: int = FARTHEST, late: Collection[Operation] = ()
) -> bool:
    """Whether, of ``lanes`` iterations of a loop that come one after the other, each operation may
    be done for all of them before the next operation is, ``late`` ones behind all others: no two
    accesses of one word, one a store, change their order.

    Loops inside are gone through once, for all. O(accesses squared).
    """
    in_order = list(accesses_in(loop))
    places = {each.operation: place for place, each in enumerate(in_order)}
    for one, other in conflicts(sorted(in_order, key=lambda each: each.operation in late)):
        gone = distances_in(loop, one, other)
        is_moved = places[other.operation] < places[one.operation] and gone.meet(0, 0)
        if is_moved or gone.meet(1 - lanes, -1):
            return False
        if gone.meet(1, lanes - 1) and _have_loop_inside(loop, one.operation, other.operation):
            return False
    return True


def are_apart(loop: Operation) -> bool:
    """Whether no two iterations of a loop touch one word that one of them writes: they may come in
    any order, and side by side. O(accesses squared)."""
    return touch_apart(loop, conflicts(list(accesses_in(loop))))


def touch_apart(loop: Operation, pairs: Iterable[tuple[Access, Access]]) -> bool:
    """Whether the accesses of each pair touch no word in common in two iterations of a loop."""
    found = [distances_in(loop, *each) for each in pairs]
    return not any(gone.is_ahead or gone.is_behind for gone in found)


def may_load_sooner(loop: Operation, loads: Iterable[Operation], iterations: int) -> bool:
    """Whether, of so many iterations of a loop that come one after the other, ``loads``, behind no
    store in their iteration, may be done for all of them before any store. O(loads x stores)."""
    stores = [each for each in accesses_in(loop) if each.is_store]
    return not any(
        distances_in(loop, store, load).meet(1, iterations - 1)
        for load in map(access_of, loads)
        for store in stores
        if store.array is load.array
    )


def may_permute(loops: Sequence[Operation]) -> bool:
    """Whether loops, each but the first all that the one before it does, may come in any order: no
    two accesses of one word, one a store, change their order. O(accesses squared x loops)."""
    for one, other in conflicts(list(accesses_in(loops[0]))):
        gone = [distances_in(loop, one, other, loops[0]) for loop in loops]
        moving = [each for each in gone if each.is_ahead or each.is_behind]
        is_mixed = any(each.is_ahead for each in gone) and any(each.is_behind for each in gone)
        if all(gone) and len(moving) > 1 and is_mixed:
            return False
    return True


def _have_loop_inside(loop: Operation, one: Operation, other: Operation) -> bool:
    """Whether a loop inside of ``loop`` has both."""
    around = one.parent_op()
    while around is not None and around is not loop:
        if isinstance(around, _LOOPS) and is_inside(other, around):
            return True
        around = around.parent_op()
    return False
