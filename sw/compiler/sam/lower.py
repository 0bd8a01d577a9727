"""Lowers statements to graphs.

The expression is a sum of terms; an index that the result does not have is summed over the whole
term that it is part of. Loops over the result's indices are shared by all terms as long as no term
has a sum outside of them. Then each term has its own loops and sums: a reduction where the sum is
innermost, a sparse accumulator where loops of the result lie inside it. Source: Hsu et al., "The
Sparse Abstract Machine", ASPLOS 2023, section 5; FuseFlow, section 6, for sums inside the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE, FUNCTIONS, MAX_ACCUMULATOR_ORDER
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Trace, run_passes
from gnarl.sw.compiler.sam.builder import GraphBuilder, Stream
from gnarl.sw.compiler.sam.check import check_order
from gnarl.sw.compiler.sam.graph_pass import SamOptions, SamState, graph_pass
from gnarl.sw.compiler.sam.iteration import (
    All,
    Coordinates,
    Formula,
    Operand,
    Union,
    coordinates,
    indices_of,
    is_full,
    operands,
    simplify,
)
from gnarl.sw.compiler.sam.nest import Loop, Nest, Walker
from gnarl.sw.compiler.sam.parallelize import parallelize
from gnarl.sw.compiler.sam.passes import CLEANING
from gnarl.sw.workloads.tensor.expression import (
    Access,
    Call,
    Constant,
    Expression,
    Statement,
    stored_indices,
)


def lower(statement: Statement, skip: bool = True) -> Graph:
    """The graph of a statement; with ``skip``, lookups learn what intersections do not need.

    Raises ``WorkloadError`` for loop orders that a tensor cannot be walked in, for sums that need
    an accumulator of more than two indices, and for results that no writer can store.
    """
    return run_passes(LOWERING, SamState(), SamOptions(statement, skip), Trace()).graph


def _lowered(statement: Statement) -> Graph:
    check_order(statement)
    return _Lowering(statement).graph()


def _dealt(graph: Graph, options: SamOptions) -> Graph:
    assert options.statement.lanes is not None
    return parallelize(graph, *options.statement.lanes)


LOWERING = (
    graph_pass(
        "lower",
        "from the statement to loops, joins and sums over streams",
        lambda graph, options: _lowered(options.statement),
    ),
    *CLEANING,
    graph_pass(
        "parallelize",
        "deals a loop to lanes, where the statement says so",
        _dealt,
        is_needed=lambda state, options: (
            not options.has_graph and options.statement.lanes is not None
        ),
        optional=True,
    ),
)


@dataclass(frozen=True)
class _Values:
    """Values in loops over the result's indices, those after the shared ones in ``loops``."""

    loops: tuple[Loop, ...]
    val: Stream


class _Lowering:
    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._format = statement.formats[statement.result.tensor]
        self._free = stored_indices(statement.result, self._format)
        self._dense = {
            index
            for index, level in zip(self._free, self._format.levels, strict=True)
            if level == DENSE
        }
        self._builder = GraphBuilder()
        self._walker = Walker(self._builder)
        self._count = 0
        self._formula = self._number(statement.expression)
        self._terms = list(_terms(self._formula))

    def graph(self) -> Graph:
        shared = self._free[: min(map(self._shared, self._terms))]
        nest = self._walker.start(list(operands(self._formula)))
        for index in shared:
            complete = index in self._dense or self._must_be_complete_outside()
            visited = self._coordinates(self._formula, index, nest, complete)
            nest = self._walker.descend(nest, index, visited, list(operands(self._formula)))
        result = self._sum(self._formula, nest)
        self._write((*nest.loops, *result.loops), result.val)
        return self._builder.graph()

    # Operands get numbers, left to right.

    def _number(self, expression: Expression) -> Formula:
        match expression:
            case Access():
                format = self._statement.formats[expression.tensor]
                return self._operand(
                    expression.tensor, stored_indices(expression, format), format.levels
                )
            case Constant():
                return self._operand(expression.tensor, (), ())
            case Call(function, arguments):
                return Call(function, tuple(map(self._number, arguments)))

    def _operand(self, tensor: str, indices: tuple[str, ...], formats: tuple[str, ...]) -> Operand:
        self._count += 1
        return Operand(self._count, tensor, indices, formats)

    # Which loops a term has, and which of them all terms share.

    def _outer_sum(self, term: Formula) -> int | None:
        """Place in the loop order of the outermost sum with loops of the term's result inside."""
        own = indices_of(term)
        order = self._statement.order
        for place, index in enumerate(order):
            if index in own and index not in self._free:
                if any(inner in own and inner in self._free for inner in order[place + 1 :]):
                    return place
        return None

    def _shared(self, term: Formula) -> int:
        """How many of the result's loops run outside the term's first accumulator."""
        place = self._outer_sum(term)
        outside = self._statement.order[:place]
        return sum(index in self._free for index in outside)

    def _own_loops(self, term: Formula, nest: Nest) -> list[str]:
        """The loops after the shared ones; sums that can be innermost are."""
        shared = {loop.index for loop in nest.loops}
        own = [index for index in self._statement.order if index not in shared]
        own = [index for index in own if index in self._free or index in indices_of(term)]
        if self._outer_sum(term) is None:
            own.sort(key=lambda index: index not in self._free)
        return own

    def _coordinates(self, formula: Formula, index: str, nest: Nest, complete: bool) -> Coordinates:
        visited = coordinates(formula, index, nest.present)
        if visited is None:
            return All()
        if complete and not is_full(visited, nest.present):
            return simplify(Union((visited, All())), nest.present)
        return visited

    # Values, term by term.

    def _sum(self, formula: Formula, nest: Nest) -> _Values:
        if _is_sum(formula):
            parts = [self._sum(argument, nest) for argument in formula.arguments]
            return self._apply(formula.function, parts, nest)
        return self._term(formula, nest)

    def _term(self, term: Formula, nest: Nest) -> _Values:
        used = list(operands(term))
        own = self._own_loops(term, nest)
        sums = [place for place, index in enumerate(own) if index not in self._free]
        outer = None if self._outer_sum(term) is None else sums[0]
        inner = nest
        for place, index in enumerate(own):
            complete = self._is_complete(index)
            if outer is not None:
                complete = place < outer and (complete or self._must_be_complete_outside())
            coordinates = self._coordinates(term, index, inner, complete)
            inner = self._walker.descend(inner, index, coordinates, used)
        val = self._value(term, inner)
        kept: tuple[Loop, ...] = ()
        for place, loop in reversed(list(enumerate(inner.loops[len(nest.loops) :]))):
            if loop.index in self._free:
                kept = (loop, *kept)
            elif kept:
                around = inner.loops[: len(nest.loops) + place]
                kept, val = self._accumulate(loop, kept, val, around, place == outer)
            else:
                val = self._builder.add("reduce", f"reduce_{loop.index}", {"val": val}).out_val
        return _Values(kept, val)

    def _is_complete(self, index: str) -> bool:
        """Whether every coordinate of a loop that is not shared must be there.

        Fibers of several terms are only joined in the innermost loop; the loops outside it must
        agree, and those that are complete do.
        """
        if index not in self._free:
            return False
        return index in self._dense or (len(self._terms) > 1 and index != self._free[-1])

    def _must_be_complete_outside(self) -> bool:
        """Whether loops around accumulators must have every coordinate.

        An accumulator of two indices that gives every coordinate cannot tell a fiber without sums
        from none at all, so there must not be an empty fiber around it.
        """
        for term in self._terms:
            place = self._outer_sum(term)
            if place is not None:
                inside = self._statement.order[place + 1 :]
                kept = [index for index in inside if index in self._free]
                if len(kept) > 1 and any(map(self._is_complete, kept)):
                    return True
        return False

    def _accumulate(
        self,
        summed: Loop,
        kept: tuple[Loop, ...],
        val: Stream,
        around: tuple[Loop, ...],
        last: bool,
    ) -> tuple[tuple[Loop, ...], Stream]:
        """The sum over a loop in which those of ``kept`` lie; the last one's result is read."""
        order = len(kept)
        if order > MAX_ACCUMULATOR_ORDER:
            inside = ", ".join(loop.index for loop in kept)
            raise WorkloadError(
                f"loop order {','.join(self._statement.order)}: index {summed.index} is summed "
                f"outside of {inside}; a sparse accumulator holds at most "
                f"{MAX_ACCUMULATOR_ORDER} indices, put {summed.index} further inside"
            )
        innermost_first = kept[::-1]
        inputs = {f"crd{place}": loop.crd for place, loop in enumerate(innermost_first)}
        full = [last and self._is_complete(loop.index) for loop in innermost_first]
        # Where there may be an empty fiber around, the coordinates are added behind.
        behind = any(full) and not all(loop.never_empty for loop in around)
        node = self._builder.add(
            "spaccumulator",
            f"accumulate_{summed.index}",
            {**inputs, f"crd{order}": summed.crd, "val": val},
            order=order,
            **{f"full{place}": flag and not behind for place, flag in enumerate(full)},
        )
        if behind:
            assert order == 1, "loops around accumulators of two complete indices are complete"
            index = kept[0].index
            every = self._walker.every(around, index)
            union = self._builder.join(
                "union", index, (node.out_crd0, node.out_val), (every.out_crd, every.out_ref)
            )
            return (Loop(index, union.out_crd, True, True),), union.out_ref0
        loops = tuple(
            Loop(
                loop.index,
                getattr(node, f"out_crd{place}"),
                full[place],
                full[place] or (place < order - 1 and not full[place + 1]),
            )
            for place, loop in enumerate(innermost_first)
        )
        return loops[::-1], node.out_val

    def _value(self, formula: Formula, nest: Nest) -> Stream:
        if isinstance(formula, Operand):
            return self._walker.values(nest, formula)
        parts = [_Values((), self._value(argument, nest)) for argument in formula.arguments]
        return self._apply(formula.function, parts, nest).val

    def _apply(self, op: str, parts: list[_Values], nest: Nest) -> _Values:
        """An operation on values in the loops of ``nest`` and those of their own, joined."""
        first = parts[0]
        if op in FUNCTIONS:
            return replace(
                first, val=self._builder.add("function", op, {"val": first.val}, op=op).out_val
            )
        if op == "neg":
            loops = (*nest.loops, *first.loops)
            minus = self._walker.values(
                Nest(loops, {}, frozenset()), Operand(0, Constant(-1).tensor, (), ())
            )
            op, parts = "mul", [first, _Values(first.loops, minus)]
        loops, values = self._joined(parts)
        inputs = {f"val{place}": val for place, val in enumerate(values)}
        return _Values(loops, self._builder.add("alu", op, inputs, op=op).out_val)

    def _joined(self, parts: list[_Values]) -> tuple[tuple[Loop, ...], list[Stream]]:
        """Loops that have the coordinates of both parts, and their values there."""
        one, other = parts
        if not one.loops or one.loops[-1].crd == other.loops[-1].crd:
            return one.loops, [one.val, other.val]
        first, second = one.loops[-1], other.loops[-1]
        if first.full and second.full:
            return one.loops, [one.val, other.val]
        node = self._builder.join(
            "union", first.index, (first.crd, one.val), (second.crd, other.val)
        )
        joined = Loop(
            first.index,
            node.out_crd,
            first.full or second.full,
            first.never_empty or second.never_empty,
        )
        return (*one.loops[:-1], joined), [node.out_ref0, node.out_ref1]

    # The result.

    def _write(self, loops: tuple[Loop, ...], val: Stream) -> None:
        tensor = self._statement.result.tensor
        levels = self._format.levels
        self._require_writable(loops)
        crds = [loop.crd for loop in loops]
        filled = [loop.never_empty for loop in loops]
        if levels and levels[-1] != DENSE and loops[-1].full:
            label = f"drop_zeros_{loops[-1].index}"
            node = self._builder.add("valdrop", label, {"crd": crds[-1], "val": val})
            crds[-1], val, filled[-1] = node.out_crd, node.out_val, False
        for level in range(len(levels) - 1, 0, -1):
            if levels[level - 1] == DENSE or filled[level]:
                continue
            outer, inner = loops[level - 1].index, loops[level].index
            node = self._builder.add(
                "crddrop",
                f"drop_{outer}_{inner}",
                {"outer": crds[level - 1], "inner": crds[level]},
            )
            crds[level - 1], crds[level] = node.out_outer, node.out_inner
            filled[level - 1] = False
        for level, (loop, crd) in enumerate(zip(loops, crds, strict=True)):
            self._builder.add(
                "fiberwrite",
                f"write_{tensor}_{loop.index}",
                {"crd": crd},
                tensor=tensor,
                level=level,
                index=loop.index,
                format=levels[level],
            )
        self._builder.add("valwrite", f"write_{tensor}_vals", {"val": val}, tensor=tensor)

    def _require_writable(self, loops: tuple[Loop, ...]) -> None:
        """A stop does not distinguish an empty fiber from one around it.

        A level below a dense one has a fiber for each of its positions, so the writer must count
        empty ones, but not those that stand for an empty fiber further out.
        """
        levels = self._format.levels
        for level in range(2, len(levels)):
            if levels[level] == DENSE or levels[level - 1] != DENSE:
                continue
            above = next((a for a in range(level - 2, 0, -1) if levels[a] != DENSE), None)
            if above is not None and not loops[above].never_empty:
                result = self._statement.result
                raise WorkloadError(
                    f"expression, column {result.column}: level {level} of {result.tensor} cannot "
                    f"be {levels[level]} below a dense level that lies below level {above}, "
                    f"{levels[above]}; make level {level} dense, or level {level - 1} compressed"
                )


def _is_sum(formula: Formula) -> TypeGuard[Call[Formula]]:
    return isinstance(formula, Call) and formula.function in ("add", "sub", "neg")


def _terms(formula: Formula) -> list[Formula]:
    """The parts of the top sum, left to right."""
    if _is_sum(formula):
        return [term for argument in formula.arguments for term in _terms(argument)]
    return [formula]
