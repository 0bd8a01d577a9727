"""Loop nests as commands of stream engines. Source: Infinity Stream, sections 3.1 and 5.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hw.lib.errors import CapacityError, WorkloadError
from hw.lib.lines.line_size import LINE_WORDS
from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import DIMENSIONS, STRIP, UNITS, Opcode, When
from hw.sram_compute.program import Command, command
from sw.compiler.sram_compute.near.expressions import Expressions, operation_of, require_word
from sw.compiler.sram_compute.near.streams import Loop, Placed, Streams, alignment
from sw.compiler.sram_compute.near.strips import Element, Operand, StripProgram
from sw.compiler.sram_compute.tdfg.affine import affine_of
from sw.compiler.sram_compute.tdfg.statements import (
    NotTensor,
    Reduction,
    Stored,
    flatten,
    nodes,
    reject,
)
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import For, Load, Nest, Statement, Variable

MOST_LOOPS = 4096
"""``NEAR`` commands of a program."""

_MOST_COUNT = (1 << 20) - 1 - STRIP


@dataclass(frozen=True)
class NearCode:
    """arrays
        where they are in banks.
    computing
        commands without those that copy.
    results
        arrays that are written.
    whole
        those of which no element need be there before.
    """

    arrays: Mapping[str, Placed]
    computing: Sequence[Command]
    results: Sequence[str]
    whole: frozenset[str]

    @property
    def units(self) -> int:
        """Of all commands, at most."""
        own = sum(UNITS[each.opcode] for each in self.computing)
        return own + (len(self.arrays) + len(self.results)) * UNITS[Opcode.COPY]

    def commands(self, lines: Mapping[str, int], zeros: frozenset[str]) -> list[Command]:
        """All: what is needed comes to banks, is computed, what is written goes back.

        ``lines``: the first one of each array in memory; ``zeros``: arrays that are 0 there, or
        whatever they are where all is written.
        """
        loads = [name for name in self.arrays if name not in self.whole & zeros]
        copies = [
            [
                command(
                    Opcode.COPY,
                    is_store=is_store,
                    line=lines[name],
                    words=self.arrays[name].line,
                    lines=self.arrays[name].lines,
                )
                for name in names
                if self.arrays[name].lines
            ]
            for is_store, names in enumerate((loads, self.results))
        ]
        return [*copies[0], *self.computing, *copies[1]]


def near_code(nest: Nest, binding: Binding, config: SramConfig) -> NearCode:
    """Commands for the sizes and scalars of ``binding``.

    Raises ``WorkloadError`` naming the line that stream engines cannot run, and ``CapacityError``.
    """
    arrays = _placed(nest, binding, config)
    numbers: dict[str, float] = dict(binding.sizes)
    numbers |= {name: value.item() for name, value in binding.scalars.items()}
    lowering = _Lowering(arrays, numbers)
    try:
        for array in nest.arrays.values():
            require_word(array.type, array.place)
        computing = [each for statement in nest.body for each in lowering.statement(statement, {})]
    except NotTensor as refusal:
        raise WorkloadError(str(refusal)) from None
    return NearCode(arrays, computing, nest.results, frozenset(lowering.written_first))


def _placed(nest: Nest, binding: Binding, config: SramConfig) -> dict[str, Placed]:
    """Each array begins with the first bank. Raises ``CapacityError``."""
    step = config.banks * STRIP // LINE_WORDS
    line, found = 0, {}
    for name in nest.arrays:
        found[name] = Placed(binding.arrays[name].shape, line)
        line += -(-found[name].lines // step) * step
    words = config.banks * config.bank_words
    if line * LINE_WORDS > words:
        raise CapacityError(
            f"{nest.name}: its arrays are {line * LINE_WORDS} words: banks have {words}"
        )
    return found


class _Lowering:
    """written_first
    arrays of which all elements have been written before any is read.
    """

    def __init__(self, arrays: Mapping[str, Placed], numbers: Mapping[str, float]) -> None:
        self._arrays = arrays
        self._numbers = numbers
        self._touched: set[str] = set()
        self._loops = 0
        self.written_first: set[str] = set()

    def statement(self, statement: Statement, around: Mapping[str, int]) -> list[Command]:
        """Its commands; ``around``: variables of loops that run in order. Raises ``NotTensor``."""
        known = frozenset(self._numbers) | frozenset(around)
        try:
            stored = flatten((statement,), known)
            _require_apart(stored)
            made = [self._stored(each, around) for each in stored]
        except NotTensor as refusal:
            if not isinstance(statement, For):
                raise
            if not any(isinstance(each, For) for each in statement.body):
                raise
            try:
                return self._iterations(statement, around)
            except NotTensor:
                raise refusal from None
        return [each for commands in made for each in commands]

    def _iterations(self, loop: For, around: Mapping[str, int]) -> list[Command]:
        """Its body for each value of its variable, in order."""
        return [
            found
            for value in self._trips(loop, around)
            for each in loop.body
            for found in self.statement(each, {**around, loop.variable: value})
        ]

    def _trips(self, loop: For, around: Mapping[str, int]) -> range:
        found = self._loop(loop, around)
        return range(found.first, found.first + found.count * found.step, found.step)

    def _loop(self, loop: For, around: Mapping[str, int]) -> Loop:
        ends = []
        for bound in (loop.lower, loop.upper):
            affine = affine_of(bound)
            numbers = {**self._numbers, **around}
            if affine is None or affine.names - numbers.keys():
                reject(loop.place, f"{loop.variable}: its bounds are no numbers: must be")
            ends.append(affine.value({name: int(numbers[name]) for name in affine.names}))
        count = max(0, -(-(ends[1] - ends[0]) // loop.step))
        return Loop(loop.variable, ends[0], count, loop.step)

    def _stored(self, stored: Stored, around: Mapping[str, int]) -> list[Command]:
        """One ``NEAR`` for each iteration of loops that are none of its three."""
        reductions = [each for each in nodes(stored.value) if isinstance(each, Reduction)]
        if len(reductions) > 1:
            reject(stored.place, "several sums in one value: must be one")
        summed = reductions[0].loops if reductions else ()
        inner, outer = self._chosen(stored, summed)
        return list(self._in_order(stored, outer, inner, around))

    def _chosen(self, stored: Stored, summed: Sequence[For]) -> tuple[list[For | None], list[For]]:
        """The loops x, y and z, and those around them, which run in order: x is the one along
        which elements that are written are neighbours."""
        parallel = list(stored.loops)
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
            if not trips and any(outer[0] is each for each in _summed(stored)):
                yield from self._in_order(_without_sum(stored), outer[1:], inner, around)
            for value in trips:
                names = {**around, outer[0].variable: value}
                yield from self._in_order(stored, outer[1:], inner, names)
                if any(outer[0] is each for each in _summed(stored)):
                    stored = _continued(stored)
            return
        loops = [Loop("", 0, 1, 1) if each is None else self._loop(each, around) for each in inner]
        if inner[1] is not None and loops[1].count == 0 and _summed(stored):
            stored, loops[1] = _without_sum(stored), Loop("", 0, 1, 1)
        if min(loop.count for loop in loops) == 0:
            return
        self._loops += 1
        if self._loops > MOST_LOOPS:
            reject(stored.place, f"more than {MOST_LOOPS} loops in order: must be that many")
        yield from self._near(stored, loops, around)

    def _near(
        self, stored: Stored, loops: Sequence[Loop], around: Mapping[str, int]
    ) -> list[Command]:
        x, y, _ = loops
        names = {name: each for name, each in self._numbers.items() if isinstance(each, int)}
        streams = Streams(self._arrays, loops, {**names, **around})
        target, index = streams.find(stored.array, stored.indices, stored.place)
        if index is not None:
            reject(stored.place, f"{stored.array}: the index of what is written is loaded")
        first = alignment(target)
        if max(loop.count for loop in loops) > _MOST_COUNT:
            reject(stored.place, f"a loop of more than {_MOST_COUNT} iterations")
        program = StripProgram(stored.place)
        numbers = {**self._numbers, **around}
        sums = _Sum(program, y)
        expressions = Expressions(program, streams, x, first, numbers, sums.value)
        sums.expressions = expressions
        value = expressions.value(stored.value)
        program.store(program.element(target), value)
        self._note(stored, loops)
        owner = program.streams.index(target)
        counts = (first + x.count, *(loop.count for loop in loops[1:]))
        assert len(counts) == DIMENSIONS
        return [
            *program.commands(first),
            command(Opcode.NEAR, last=program.last, first=first, counts=counts, owner=owner),
        ]

    def _note(self, stored: Stored, loops: Sequence[Loop]) -> None:
        """What is read, and whether all of an array is written."""
        self._touched |= {each.array for each in nodes(stored.value) if isinstance(each, Load)}
        whole = {loop.variable: loop.count for loop in loops if loop.first == 0 and loop.step == 1}
        sizes = [
            whole.get(index.name) if isinstance(index, Variable) else None
            for index in stored.indices
        ]
        if stored.array not in self._touched and sizes == [*self._arrays[stored.array].shape]:
            self.written_first.add(stored.array)
        self._touched.add(stored.array)


class _Sum:
    """A reduction along y, in a register."""

    expressions: Expressions

    def __init__(self, program: StripProgram, y: Loop) -> None:
        self._program = program
        self._y = y

    def value(self, node: Reduction) -> Operand:
        """In the source's order. All behind it is done for the last y alone."""
        operation = operation_of(node.operator, node.type)
        if operation is None:
            reject(node.place, f"{node.operator} of {node.type}: not supported by stream engines")
        program = self._program
        program.when = 1 << When.FIRST_Y
        total = program.keep_apart(self.expressions.value(node.initial))
        program.when = 0
        term = self.expressions.value(node.term)
        operands = (term, total) if isinstance(term, Element) else (total, term)
        program.set(total, operation, *operands)
        program.when = 1 << When.LAST_Y
        return total


def _summed(stored: Stored) -> tuple[For, ...]:
    found = [each for each in nodes(stored.value) if isinstance(each, Reduction)]
    return found[0].loops if found else ()


def _continued(stored: Stored) -> Stored:
    """Which goes on with what has been stored."""
    if not isinstance(stored.value, Reduction):
        reject(stored.place, "a sum over several loops within a value: must be the value")
    element = Load(stored.array, stored.indices, stored.value.type, stored.place)
    return replace(stored, value=replace(stored.value, initial=element))


def _without_sum(stored: Stored) -> Stored:
    """Where there is nothing to add up."""
    (found,) = (each for each in nodes(stored.value) if isinstance(each, Reduction))
    if stored.value is not found:
        reject(stored.place, "a sum of nothing within a value: must be the value")
    return replace(stored, value=found.initial)


def _require_apart(stored: Sequence[Stored]) -> None:
    """Raises ``NotTensor`` unless all accesses of what is written are of the same element: so
    iterations can run in any order, and one statement after the other."""
    accesses = [(each.array, each.indices, each.place) for each in stored]
    accesses += [
        (each.array, each.indices, each.place)
        for one in stored
        for each in nodes(one.value)
        if isinstance(each, Load)
    ]
    for one in stored:
        _require_own(one)
        for array, indices, place in accesses:
            if array == one.array and indices != one.indices:
                reject(
                    place,
                    f"{array} is written at {one.place}, too: must be the same element for stream "
                    "engines",
                )


def _require_own(stored: Stored) -> None:
    """That no two iterations write the same element."""
    variables = {loop.variable for loop in stored.loops}
    seen: set[str] = set()
    for index in stored.indices:
        affine = affine_of(index)
        names = variables & (affine.names if affine is not None else frozenset())
        if len(names) > 1 or names & seen:
            reject(stored.place, f"{stored.array}: an index of several loops: must be of one")
        seen |= names
