"""Lowers a region's results, formulas over its operands, to a fusion table.

All results are computed in one set of loops, in the region's order. A sum whose index comes before
the next loop of what takes it is computed there, beside that loop: its coordinates and values are
streams that later loops join like stored levels. Products are thus never distributed over sums: the
iteration space is factored. Source: FuseFlow, section 6 and algorithm 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import COMPRESSED, DENSE, FUNCTIONS
from gnarl.sw.compiler.sam.builder import Stream
from gnarl.sw.compiler.sam.iteration import (
    STREAM,
    All,
    Coordinates,
    Formula,
    Known,
    Named,
    Operand,
    completed,
    coordinates,
    distinct,
    indices_of,
    is_full,
    operands,
    parts_of,
    with_parts,
)
from gnarl.sw.compiler.sam.table.nest import Computed, Loop, Nest, Walker
from gnarl.sw.compiler.sam.table.sums import Sums
from gnarl.sw.compiler.sam.table.table import VALUES, FusionTable, TableBuilder
from gnarl.sw.compiler.sam.table.write import Written, write
from gnarl.sw.workloads.tensor.expression import (
    ADDITIVE,
    Access,
    Call,
    Constant,
    Reduction,
    stored_indices,
)
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class RegionResult:
    """A tensor that a region writes: what it is called and indexed by, how it is stored, and what
    it is.

    format
        ``None``: levels in the order of loops, dense where these have every coordinate anyway.
    """

    access: Access
    format: TensorFormat | None
    formula: Formula


def fill(
    results: Sequence[RegionResult], order: Sequence[str]
) -> tuple[FusionTable, dict[str, TensorFormat]]:
    """The table of a region whose loops run in ``order``, outermost first, and how results are
    stored, by name.

    Raises ``WorkloadError`` for sums that need an accumulator of more than two indices, maxima that
    need one at all, streams that would have to be read twice, and results that no writer can store.
    """
    table = TableBuilder(tuple(order))
    first = 1 + max(each.number for result in results for each in operands(result.formula))
    lowering = _Lowering(table, order, first)
    formats = {}
    for result in results:
        with table.working_for(result.formula):
            formats[result.access.tensor] = lowering.add(result)
    return table.table(), formats


class _Lowering:
    def __init__(self, table: TableBuilder, order: Sequence[str], first_number: int) -> None:
        self._table = table
        self._walker = Walker(table)
        self._sums = Sums(table, self._walker, order)
        self._order = tuple(order)
        self._place = {index: place for place, index in enumerate(order)}
        self._numbers = count(first_number)
        self._named: dict[tuple[str, tuple[Stream, ...]], Operand] = {}
        self._streams: dict[int, Computed] = {}

    def add(self, result: RegionResult) -> TensorFormat:
        """Computes a result and writes it; returns how."""
        complete: set[str] = set()
        formula = result.formula
        if result.format is not None:
            indices = stored_indices(result.access, result.format)
            levels = zip(indices, result.format.levels, strict=True)
            complete = {index for index, level in levels if level == DENSE}
        own = self._ordered(result.access.indices)
        nest = self._walker.start(list(operands(formula)))
        outside = self._complete_outside(formula, complete)
        inner, formula = self._loops(formula, nest, own, complete, outside)
        format = result.format or _natural(result.access, inner.loops)
        write(self._table, Written(result.access, format, inner.loops, self._value(formula, inner)))
        return format

    # Loops, and what is computed beside them.

    def _loops(
        self,
        formula: Formula,
        nest: Nest,
        own: Sequence[str],
        complete: set[str],
        outside: set[str] = frozenset(),  # type: ignore[assignment]
    ) -> tuple[Nest, Formula]:
        """The nest of the loops ``own`` inside ``nest``, and what is left to compute in it.

        ``complete`` loops have every coordinate of their index.
        """
        complete = complete | self._split(formula)
        for place, index in enumerate(own):
            wanted = complete | self._full(formula, own[place:], nest)
            nest, formula = self._computed_before(formula, nest, index, wanted)
            found = coordinates(formula, index, nest.present) or All()
            if index in complete or index in outside:
                found = completed(found, nest.present)
            self._check_streams(formula, index, found, nest)
            nest = self._walker.descend(nest, index, found, list(operands(formula)))
        return self._computed_before(formula, nest, None, set())

    def _split(self, formula: Formula) -> set[str]:
        """Loops that must have every coordinate since parts of a sum are joined inside of them:
        all but the innermost that a part leaves which is summed outside of them."""
        parts = _additive_parts(formula)
        if len(parts) < 2:
            return set()
        found = set()
        for part in parts:
            if isinstance(part, Reduction):
                first = min(map(self._place.__getitem__, part.indices))
                inside = {index for index in indices_of(part) if self._place[index] > first}
                found.update(self._ordered(inside)[:-1])
        return found

    def _full(self, formula: Formula, own: Sequence[str], nest: Nest) -> set[str]:
        """Loops that have every coordinate of their index, whatever is computed beside them."""
        return {
            index
            for index in own
            if (found := coordinates(formula, index, nest.present)) is None
            or is_full(found, nest.present)
        }

    def _computed_before(
        self,
        formula: Formula,
        nest: Nest,
        index: str | None,
        full: set[str],
        known: dict[tuple[int, bool], Formula] | None = None,
    ) -> tuple[Nest, Formula]:
        """Computes what the loop over ``index`` needs, or, where it is None, what is left.

        full
            levels of the streams that should have every coordinate.
        known
            what has become of what is named, by its ``id`` and whether ``full`` has levels.
        """
        if isinstance(formula, Operand):
            return nest, formula
        known = {} if known is None else known
        key = id(formula), bool(full)
        if key in known:
            return nest, known[key]
        nest, made = self._computed_part(formula, nest, index, full, known)
        if isinstance(formula, Named):
            known[key] = made
        return nest, made

    def _computed_part(
        self,
        formula: Formula,
        nest: Nest,
        index: str | None,
        full: set[str],
        known: dict[tuple[int, bool], Formula],
    ) -> tuple[Nest, Formula]:
        remaining = indices_of(formula) - {loop.index for loop in nest.loops}
        is_value = not remaining and self._has_computed(formula)
        if is_value or self._comes_before(formula, index, remaining):
            return self._beside(formula, nest, full)
        if isinstance(formula, Call) and formula.function not in _KEEPING_COORDINATES:
            full = set()
        return self._parts_before(formula, nest, index, full, known)

    def _parts_before(
        self,
        formula: Formula,
        nest: Nest,
        index: str | None,
        full: set[str],
        known: dict[tuple[int, bool], Formula],
    ) -> tuple[Nest, Formula]:
        parts = []
        with self._table.working_for(formula):
            for part in parts_of(formula):
                nest, computed = self._computed_before(part, nest, index, full, known)
                parts.append(computed)
        return nest, with_parts(formula, tuple(parts))

    def _has_computed(self, formula: Formula) -> bool:
        """Whether something in a formula is reduced, or was computed."""
        return any(
            part.number in self._streams
            if isinstance(part, Operand)
            else isinstance(part, Reduction)
            for part in distinct(formula)
        )

    def _comes_before(self, formula: Formula, index: str | None, remaining: set[str]) -> bool:
        """Whether a formula that has loops of its own must be computed before the loop over
        ``index``: its next loop but for a sum is that one, and a sum comes before it, or it has no
        other and several take it."""
        if index not in remaining or index != self._ordered(remaining)[0]:
            return False
        match formula:
            case Reduction(_, indices):
                return min(map(self._place.__getitem__, indices)) < self._place[index]
            case Named():
                return formula.is_shared and len(remaining) == 1
        return False

    def _beside(self, formula: Formula, nest: Nest, full: set[str]) -> tuple[Nest, Formula]:
        """Computes a formula beside the loops of a nest, once if it has a name; it becomes an
        operand there."""
        if isinstance(formula, Named):
            key = formula.name, tuple(loop.crd for loop in nest.loops)
            if key not in self._named:
                self._named[key] = self._made(formula, nest, full)
            operand = self._named[key]
        else:
            operand = self._made(formula, nest, full)
        return self._walker.computed(nest, operand, self._streams[operand.number]), operand

    def _made(self, formula: Formula, nest: Nest, full: set[str]) -> Operand:
        """The operand that a formula becomes, whose streams are kept."""
        with self._table.working_for(formula):
            streams = self._compute(formula, nest, full)
        operand = Operand(
            next(self._numbers),
            "",
            tuple(loop.index for loop in streams.loops),
            (STREAM,) * len(streams.loops),
            tuple(Known(loop.full, loop.never_empty) for loop in streams.loops),
        )
        self._streams[operand.number] = streams
        return operand

    def _compute(self, formula: Formula, nest: Nest, full: set[str]) -> Computed:
        """The formula's own loops inside a nest, and its values in the innermost one."""
        if isinstance(formula, Reduction):
            return self._reduction(formula, nest, full)
        remaining = indices_of(formula) - {loop.index for loop in nest.loops}
        if not remaining:
            nest, formula = self._parts_before(formula, nest, None, full, {})
            return Computed((), self._value(formula, nest))
        (part,) = parts_of(formula)
        inner, part = self._loops(part, nest, self._ordered(remaining), full & remaining)
        return Computed(inner.loops[len(nest.loops) :], self._value(part, inner))

    def _reduction(self, formula: Reduction[Formula], nest: Nest, full: set[str]) -> Computed:
        bound, summed = {loop.index for loop in nest.loops}, set(formula.indices)
        if again := summed & bound:
            raise WorkloadError(
                f"loop order {','.join(self._order)}: index {min(again)} is reduced inside of its "
                "own loop; put its loop further inside, or cut the region"
            )
        own = self._ordered((indices_of(formula) - bound) | summed)
        complete = summed if formula.op == "max" else set()
        inner, part = self._loops(formula.part, nest, own, complete)
        val = self._value(part, inner)
        kept: tuple[Loop, ...] = ()
        own_loops = inner.loops[len(nest.loops) :]
        for place, loop in reversed(list(enumerate(own_loops))):
            if loop.index not in summed:
                kept = (loop, *kept)
            elif not kept:
                val = self._sums.reduced(formula.op, loop, val)
            else:
                # A sum comes before all loops of what takes it; those inside of it are its own.
                wanted = full if place == 0 else set()
                kept, val = self._sums.accumulated(formula.op, loop, kept, val, nest.loops, wanted)
        return Computed(kept, val)

    def _check_streams(self, formula: Formula, index: str, found: Coordinates, nest: Nest) -> None:
        """Refuses streams of several levels where the outer one would lose coordinates, or the
        inner one would be walked again in each turn of a loop between them."""
        walked = {loop.index for loop in nest.loops}
        for operand in operands(formula):
            if operand.number not in self._streams:
                continue
            if index not in operand.indices:
                left = [each for each in operand.indices if each not in walked]
                if left:
                    raise WorkloadError(
                        f"loop order {','.join(self._order)}: what is computed over "
                        f"{' and '.join(operand.indices)} would be walked again in each turn of "
                        f"the loop over {index}; put it inside of {left[-1]}, or cut the region"
                    )
                continue
            level = operand.indices.index(index)
            inner = operand.indices[level + 1 :]
            if not inner:
                continue
            is_alone = getattr(found, "operand", None) == operand
            if not (is_alone or (operand.known[level].full and is_full(found, nest.present))):
                raise WorkloadError(
                    f"loop order {','.join(self._order)}: what is computed over {index} and "
                    f"{','.join(inner)} cannot be joined in the loop over {index}; put the loops "
                    f"over {','.join(inner)} elsewhere, or cut the region"
                )

    def _complete_outside(self, formula: Formula, complete: set[str]) -> set[str]:
        """Loops around accumulators that must have every coordinate.

        An accumulator of two indices that gives every coordinate cannot tell a fiber without sums
        from none at all, so there must not be an empty fiber around it.
        """
        for part in _additive_parts(formula):
            if not isinstance(part, Reduction):
                continue
            first = min(map(self._place.__getitem__, part.indices))
            inside = {index for index in indices_of(part) if self._place[index] > first}
            if len(inside) > 1 and inside & complete:
                return {index for index in self._order if self._place[index] < first}
        return set()

    def _ordered(self, indices: Sequence[str] | set[str]) -> list[str]:
        return sorted(indices, key=self._place.__getitem__)

    # Values.

    def _value(
        self, formula: Formula, nest: Nest, known: dict[int, Stream] | None = None
    ) -> Stream:
        """``known``: the values of what is named, by its ``id``."""
        known = {} if known is None else known
        match formula:
            case Operand():
                return self._walker.values(nest, formula)
            case Named(part=part):
                if id(formula) not in known:
                    with self._table.working_for(formula):
                        known[id(formula)] = self._value(part, nest, known)
                return known[id(formula)]
            case Call("neg", (part,)):
                return self._value(Call("mul", (part, self._constant(-1.0))), nest, known)
            case Call(function, (part,)) if function in FUNCTIONS:
                inputs = {"val": self._value(part, nest, known)}
                return self._place_value("function", function, inputs)
            case Call(function, arguments):
                values = [self._value(part, nest, known) for part in arguments]
                inputs = {f"val{place}": val for place, val in enumerate(values)}
                return self._place_value("alu", function, inputs)
        raise TypeError(formula)

    def _place_value(self, type: str, op: str, inputs: dict[str, Stream]) -> Stream:
        return self._table.place(VALUES, "", type, op, inputs, op=op).out_val

    def _constant(self, value: float) -> Operand:
        return Operand(next(self._numbers), Constant(value).tensor, (), ())


def _natural(access: Access, loops: Sequence[Loop]) -> TensorFormat:
    """Levels in the order of loops, dense where these have every coordinate."""
    levels = tuple(DENSE if loop.full else COMPRESSED for loop in loops)
    return TensorFormat(levels, tuple(access.indices.index(loop.index) for loop in loops))


_KEEPING_COORDINATES = (*ADDITIVE, "neg", *FUNCTIONS)
"""Functions whose result is where any argument is, or everywhere."""


def _additive_parts(formula: Formula, known: dict[int, Formula] | None = None) -> list[Formula]:
    """The parts of nested sums; of what is named and comes again, the first one alone, which
    ``known`` has by its ``id``."""
    known = {} if known is None else known
    if isinstance(formula, Named):
        if id(formula) in known:
            return [known[id(formula)]]
        parts = _additive_parts(formula.part, known)
        known[id(formula)] = parts[0]
        return parts
    if isinstance(formula, Call) and formula.function in _KEEPING_COORDINATES:
        return [each for part in formula.arguments for each in _additive_parts(part, known)]
    return [formula]
