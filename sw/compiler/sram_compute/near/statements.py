"""Statements of a nest as loops of stream engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gnarl.hw.sram_compute.isa import COUNT_BITS, STRIP
from gnarl.hw.sram_compute.program import Command
from gnarl.sw.compiler.sram_compute.near.dependences import require_apart
from gnarl.sw.compiler.sram_compute.near.lanes import ONCE, Room, can_sum_by_lanes, sum_lanes
from gnarl.sw.compiler.sram_compute.near.loops import loop_commands
from gnarl.sw.compiler.sram_compute.near.recurrences import carry
from gnarl.sw.compiler.sram_compute.near.streams import BankArray, Loop, Streams
from gnarl.sw.compiler.sram_compute.near.sums import (
    continued,
    from_zero,
    shared_loads,
    summed_loops,
    without_sum,
)
from gnarl.sw.compiler.sram_compute.tdfg.affine import affine_of
from gnarl.sw.compiler.sram_compute.tdfg.statements import (
    NotTensor,
    Read,
    Reduction,
    Stored,
    flatten,
    reject,
)
from gnarl.sw.workloads.loops.ir.nest import For, Load, Statement, Variable
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32

_MOST_COUNT = (1 << COUNT_BITS) - 1 - STRIP

_COPIES = (7, 6, 4, 2)
"""Iterations of z that are done at once, as far as there are registers."""


Box = tuple[range, ...]

_State = tuple[int, list[For], set[str], dict[str, Box]]


class Statements:
    """Compiles statements to commands of stream engines.

    room
        for sums by lanes, if there may be any.
    most_loops
        ``NEAR`` commands that there may be.
    zeros
        arrays that are 0 before.
    written_first
        elements of arrays, ranges in each dimension, that are written before any is read.
    by_lanes
        loops of the body of which lanes have sums of float32 of their own.
    """

    def __init__(
        self,
        arrays: Mapping[str, BankArray],
        numbers: Mapping[str, float],
        room: Room | None,
        banks: int,
        most_loops: int,
        zeros: frozenset[str],
    ) -> None:
        self._zeros = zeros
        self._room = room
        self._banks = banks
        self._most_loops = most_loops
        self.by_lanes: list[For] = []
        self._arrays = arrays
        self._numbers = numbers
        self._touched: set[str] = set()
        self._loops = 0
        self.written_first: dict[str, Box] = {}

    def commands(self, group: tuple[Statement, ...]) -> list[Command]:
        """Their commands. What strips cannot do is done one element after the other. Raises
        ``NotTensor``."""
        before = self._state()
        try:
            return self._group(group, {}, may_be_sequential=False)
        except NotTensor as refusal:
            self._return_to(before)
            try:
                return self._group(group, {}, may_be_sequential=True)
            except NotTensor:
                raise refusal from None

    def _group(
        self, group: tuple[Statement, ...], around: Mapping[str, int], *, may_be_sequential: bool
    ) -> list[Command]:
        """Commands of statements that share loops. ``around``: variables of loops that run in
        order."""
        known = frozenset(self._numbers) | frozenset(around)
        before = self._state()
        try:
            stored = flatten(group, known, carry)
            try:
                require_apart(stored, {**self._names, **around})
            except NotTensor:
                if not may_be_sequential or len(stored) > 1:
                    raise
                return self._sequential(stored[0], around)
            grouped = [self._stored(each, around) for each in stored]
        except NotTensor as refusal:
            self._return_to(before)
            loop = group[0]
            if len(group) > 1 or not isinstance(loop, For):
                raise
            if not any(isinstance(each, For) for each in loop.body):
                raise
            try:
                return [
                    found
                    for value in self._trips(loop, around)
                    for each in loop.body
                    for found in self._group(
                        (each,),
                        {**around, loop.variable: value},
                        may_be_sequential=may_be_sequential,
                    )
                ]
            except NotTensor:
                raise refusal from None
        return [each for commands in grouped for each in commands]

    def _state(self) -> _State:
        return self._loops, [*self.by_lanes], {*self._touched}, {**self.written_first}

    def _return_to(self, before: _State) -> None:
        """What has been found since is of commands that are not taken."""
        self._loops, self.by_lanes, self._touched, self.written_first = before

    def _sequential(self, stored: Stored, around: Mapping[str, int]) -> list[Command]:
        """Strips of one element, in the order of the source."""
        if summed_loops(stored):
            reject(stored.place, f"{stored.array} is read and summed up in the same statement")
        for each in nodes((stored.value, stored.indices)):
            if isinstance(each, Read) and each.array == stored.array:
                if each.around != stored.around:
                    reject(each.place, f"{stored.array} is read before a loop that writes it")
        outer, (z, y) = stored.loops[:-2], (None, None, *stored.loops)[-2:]
        return list(self._in_order(stored, outer, [None, y, z], around))

    def _trips(self, loop: For, around: Mapping[str, int]) -> range:
        found = self._loop(loop, around)
        return range(found.first, found.first + found.count * found.step, found.step)

    def _loop(self, loop: For, around: Mapping[str, int]) -> Loop:
        ends = []
        for bound in (loop.lower, loop.upper):
            affine = affine_of(bound)
            numbers = {**self._numbers, **around}
            if affine is None or affine.names - numbers.keys():
                reject(loop.place, f"{loop.variable}: its bounds must be known before the loop")
            ends.append(affine.value({name: int(numbers[name]) for name in affine.names}))
        count = max(0, -(-(ends[1] - ends[0]) // loop.step))
        return Loop(loop.variable, ends[0], count, loop.step)

    def _stored(self, stored: Stored, around: Mapping[str, int]) -> list[Command]:
        """One ``NEAR`` for each iteration of loops that are none of its three."""
        if self._room is not None and not around and can_sum_by_lanes(stored, self._room.banks):
            if self._loop(summed_loops(stored)[0], {}).count > STRIP // 2:
                return self._by_lanes(stored, self._room)
        inner, outer = self._chosen(stored, summed_loops(stored))
        return list(self._in_order(stored, outer, inner, around))

    def _by_lanes(self, stored: Stored, room: Room) -> list[Command]:
        (node,) = summed_loops(stored)
        loop = self._loop(node, {})
        self._require_count(loop, stored)
        self._note(stored, (loop,))
        if any(
            each.operator == "+" and each.type == FLOAT32
            for each in nodes(stored.value)
            if isinstance(each, Reduction)
        ):
            self.by_lanes.append(node)
        names = {name: each for name, each in self._numbers.items() if isinstance(each, int)}
        return sum_lanes(stored, loop, self._arrays, names, self._numbers, room)

    def _chosen(self, stored: Stored, summed: Sequence[For]) -> tuple[list[For | None], list[For]]:
        """The loops x, y and z, and those around them, which run in order: x is the one along
        which elements that are written are neighbours."""
        parallel = list(stored.loops)
        for each in summed:
            if each.variable in [loop.variable for loop in parallel]:
                reject(each.place, f"{each.variable} is the variable of two loops: must be of one")
        last = stored.indices[-1] if stored.indices else ()
        names = [each.name for each in nodes(last) if isinstance(each, Variable)]
        x = next((each for each in parallel if each.variable in names), None)
        x = x or (parallel[-1] if parallel else None)
        others = [each for each in parallel if each is not x]
        y = summed[-1] if summed else (others.pop() if others else None)
        z = others.pop() if others else None
        return [x, y, z], [*others, *summed[:-1]]

    def _in_order(
        self,
        stored: Stored,
        outer: Sequence[For],
        inner: Sequence[For | None],
        around: Mapping[str, int],
    ) -> Iterator[Command]:
        if outer:
            trips = self._trips(outer[0], around)
            if not trips and any(outer[0] is each for each in summed_loops(stored)):
                yield from self._in_order(without_sum(stored), outer[1:], inner, around)
            for value in trips:
                names = {**around, outer[0].variable: value}
                yield from self._in_order(stored, outer[1:], inner, names)
                if any(outer[0] is each for each in summed_loops(stored)):
                    stored = continued(stored)
            return
        loops = [ONCE if each is None else self._loop(each, around) for each in inner]
        if inner[1] is not None and loops[1].count == 0 and summed_loops(stored):
            stored, loops[1] = without_sum(stored), ONCE
        if min(loop.count for loop in loops) == 0:
            return
        self._loops += 1
        if self._loops > self._most_loops:
            most = self._most_loops
            reject(stored.place, f"needs more than {most} NEAR commands: must be at most that")
        yield from self._near(stored, loops, around)

    def _near(
        self, stored: Stored, loops: Sequence[Loop], around: Mapping[str, int]
    ) -> list[Command]:
        for loop in loops:
            self._require_count(loop, stored)
        if stored.array in self._zeros - self._touched:
            stored = from_zero(stored)
        made = self._jammed(stored, loops, around)
        self._note(stored, loops)
        return made

    def _jammed(
        self, stored: Stored, loops: Sequence[Loop], around: Mapping[str, int]
    ) -> list[Command]:
        """Several iterations of z at once, where they read the same elements."""
        x, y, z = loops
        shared = shared_loads(stored, z)
        for copies in _COPIES if shared and y.count > 1 else ():
            whole, rest = divmod(z.count, copies)
            several = [
                Loop(z.variable, z.first + copy * z.step, whole, z.step * copies)
                for copy in range(copies)
            ]
            try:
                if not whole or not self._is_aligned(stored, [x, y, z], around):
                    continue
                commands = self._program(stored, x, y, several, around, shared)
                if rest:
                    last = Loop(z.variable, z.first + whole * copies * z.step, rest, z.step)
                    commands += self._jammed(stored, [x, y, last], around)
                return commands
            except NotTensor:
                continue  # too many registers, operations or streams
        return self._program(stored, x, y, [z], around, ())

    def _is_aligned(self, stored: Stored, loops: Sequence[Loop], around: Mapping[str, int]) -> bool:
        """Whether what is written in each iteration of z has its strips in the same banks."""
        streams = Streams(self._arrays, loops, {**self._names, **around})
        target, _ = streams.find(stored.array, stored.indices, stored.place)
        return target.strides[-1] % (self._banks * STRIP) == 0

    @property
    def _names(self) -> dict[str, int]:
        return {name: each for name, each in self._numbers.items() if isinstance(each, int)}

    def _program(
        self,
        stored: Stored,
        x: Loop,
        y: Loop,
        several: Sequence[Loop],
        around: Mapping[str, int],
        shared: Sequence[Load],
    ) -> list[Command]:
        return loop_commands(
            stored,
            (x, y, several),
            shared,
            self._arrays,
            {**self._names, **around},
            {**self._numbers, **around},
        )

    def _require_count(self, loop: Loop, stored: Stored) -> None:
        if loop.count > _MOST_COUNT:
            reject(
                stored.place, f"a loop of {loop.count} iterations: must be at most {_MOST_COUNT}"
            )

    def _note(self, stored: Stored, loops: Sequence[Loop]) -> None:
        """What is read, and what of an array is written first."""
        read = nodes((stored.value, *stored.indices))
        self._touched |= {each.array for each in read if isinstance(each, Load)}
        box = self._box(stored, loops)
        if box is not None and stored.array not in self._touched:
            self.written_first[stored.array] = box
        self._touched.add(stored.array)

    def _box(self, stored: Stored, loops: Sequence[Loop]) -> Box | None:
        """The elements that a loop writes, if it writes all of a box."""
        by_name = {loop.variable: loop for loop in loops if loop.step == 1}
        ranges: list[range] = []
        for index in stored.indices:
            affine = affine_of(index)
            names = [] if affine is None else [name for name in affine.names if name in by_name]
            if affine is None or len(names) != 1 or affine.factor(names[0]) != 1:
                return None
            rest, loop = affine.without(names[0]), by_name.pop(names[0])
            if rest.names - self._names.keys():
                return None
            first = loop.first + rest.value(self._names)
            ranges.append(range(first, first + loop.count))
        return tuple(ranges)
