"""Whether iterations may run in any order, and statements one after the other.

This is stricter than ``tdfg.dependences``: strips are read and written one after the other, and
loops change places.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from gnarl.sw.compiler.nests.dependences.distances import Counter, Distances, Words, distances
from gnarl.sw.compiler.nests.dependences.linear import UNKNOWN_RANGE, Linear, Range
from gnarl.sw.compiler.sram_compute.near.sums import summed_loops
from gnarl.sw.compiler.sram_compute.tdfg.affine import affine_of
from gnarl.sw.compiler.sram_compute.tdfg.dependences import used_behind
from gnarl.sw.compiler.sram_compute.tdfg.statements import Read, Reduction, Stored, reject
from gnarl.sw.workloads.loops.ir.nest import Expression, For
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.place import Location


def require_apart(stored: Sequence[Stored], numbers: Mapping[str, int]) -> None:
    """Raises ``NotTensor`` unless no iteration of a statement touches what another one writes, and
    statements may be done one after the other, each in all iterations. ``numbers``: names that are
    known. O(accesses squared x loops)."""
    loops = _Loops(numbers)
    before: list[_Statement] = []
    for number, each in enumerate(stored):
        statement = _statement(loops, each, number)
        _require_own(loops, statement)
        for one in before:
            _require_in_order(loops, one, statement)
        before.append(statement)


@dataclass(frozen=True)
class _Access:
    """An access of an array. ``behind``: of what is read, how many statements come before it in an
    iteration."""

    array: str
    words: Words
    place: Location
    behind: int = 0


@dataclass(frozen=True)
class _Statement:
    """A statement of a loop on stream engines.

    own, summed
        loops, each iteration of which writes an element of its own, or adds to one.
    partly_summed
        reads, between which part of a sum is stored.
    """

    number: int
    own: Sequence[Counter]
    summed: Sequence[Counter]
    write: _Access
    reads: Sequence[_Access]
    partly_summed: Sequence[_Access]


def _require_own(loops: _Loops, statement: _Statement) -> None:
    write = statement.write
    for access in (write, *statement.reads):
        gone = loops.between(write, access, statement.own)
        if any(each != Distances(0, 0) for each in gone or ()):
            reject(
                access.place,
                f"{write.array} is written at {write.place} by another iteration: stream engines "
                "do iterations in any order",
            )
    for read in statement.partly_summed:
        if loops.between(write, read, ()) is not None:
            reject(
                read.place,
                f"{write.array} is written at {write.place}, where parts of the sum are stored: "
                "must be another array, or a sum over one loop",
            )


def _require_in_order(loops: _Loops, one: _Statement, other: _Statement) -> None:
    """``one`` comes first."""
    shared = [each for each in (*one.own, *one.summed) if each in (*other.own, *other.summed)]
    for access in (other.write, *other.reads):
        gone = loops.between(one.write, access, shared)
        if gone is None:
            continue
        _require_forward(gone, access, one.write)
        is_kept = access is not other.write and access.behind <= one.number
        if is_kept and not any(each.least > 0 for each in gone):
            reject(access.place, used_behind(access.array, one.write.place))
    for read in one.reads:
        gone = loops.between(read, other.write, shared)
        _require_forward(gone or (), read, other.write)


def _require_forward(gone: Sequence[Distances], access: _Access, write: _Access) -> None:
    if any(each.least < 0 for each in gone):
        reject(
            access.place,
            f"{access.array} is written at {write.place}, too: stream engines do all iterations "
            "of one of the two first",
        )


class _Loops:
    """Variables of loops by what makes them one: their place and bounds, as a loop that is written
    out comes more than once."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._ranges: dict[Hashable, Range] = {}

    def between(
        self, one: _Access, other: _Access, counters: Sequence[Counter]
    ) -> Sequence[Distances] | None:
        """Iterations of each loop from ``one`` to ``other`` of the same element; ``None`` where
        there are no such two."""
        if one.array != other.array:
            return None
        apart = [
            distances(one.words, other.words, each, self._range, lambda _: True)
            for each in (None, *counters)
        ]
        return apart[1:] if all(apart) else None

    def counter(self, loop: For, scope: Mapping[str, For]) -> Counter:
        """The counter of a loop. ``scope``: loops around, and others beside, by variable."""
        name = loop.place, replace(loop, body=())
        if name not in self._ranges:
            lower, upper = (self._linear(each, scope) for each in (loop.lower, loop.upper))
            around = [self._range(each).depth for each in (*lower.terms, *upper.terms)]
            self._ranges[name] = Range(lower, upper.plus(Linear(-1)), max(around, default=0) + 1)
        return Counter(name, loop.step)

    def words(self, indices: Sequence[Expression], scope: Mapping[str, For]) -> Words:
        return Words([self._linear(each, scope) for each in indices])

    def _linear(self, expression: Expression, scope: Mapping[str, For]) -> Linear:
        affine = affine_of(expression)
        if affine is None:
            return Linear.of(object())
        linear = Linear(affine.constant)
        for name, factor in affine.terms:
            if name in self._numbers:
                term = Linear(self._numbers[name])
            else:
                # What is no loop's variable may be anything each time.
                known = name in scope
                term = Linear.of(self.counter(scope[name], scope).variable if known else object())
            linear = linear.plus(term, factor)
        return linear

    def _range(self, variable: Hashable) -> Range:
        return self._ranges.get(variable, UNKNOWN_RANGE)


def _statement(loops: _Loops, stored: Stored, number: int) -> _Statement:
    if any(affine_of(index) is None for index in stored.indices):
        reject(stored.place, f"{stored.array}: the index of what is written must be affine")
    summed = summed_loops(stored)
    scope = {loop.variable: loop for loop in (*stored.loops, *summed)}

    def reads(*values: object) -> list[_Access]:
        return [
            _Access(each.array, loops.words(each.indices, scope), each.place, each.behind)
            for each in nodes(values)
            if isinstance(each, Read)
        ]

    terms = [each.term for each in nodes(stored.value) if isinstance(each, Reduction)]
    return _Statement(
        number,
        [loops.counter(each, scope) for each in stored.loops],
        [loops.counter(each, scope) for each in summed],
        _Access(stored.array, loops.words(stored.indices, scope), stored.place),
        reads(stored.value),
        reads(*terms) if len(summed) > 1 else [],
    )
