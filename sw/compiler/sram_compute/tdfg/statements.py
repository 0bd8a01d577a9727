"""What a region stores: its statements, each with the loops around it and no locals.

This is the stream dataflow graph: each load and store is a stream over the loops around it, and
each value an expression of loads. Source: Infinity Stream, section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, NoReturn, TypeAlias

from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    For,
    If,
    Load,
    Merge,
    Select,
    Statement,
    Store,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import INT32, ScalarType
from gnarl.sw.workloads.place import Location

MOST_UNROLLED = 64
"""Iterations of a loop that is unrolled into one expression."""

_MOST_NODES = 1 << 14
"""Parts of an expression without locals."""

REDUCING = ("+", "min", "max")


class NotTensor(Exception):
    """Why a statement is no tensor computation: "file:line:column: …"."""


def reject(place: Location, text: str) -> NoReturn:
    raise NotTensor(f"{place}: {text}")


@dataclass(frozen=True)
class Reduction:
    """``initial`` operator all ``term`` of the loops."""

    operator: BinaryOperator
    initial: Value
    term: Value
    loops: tuple[For, ...]
    place: Location

    @property
    def type(self) -> ScalarType:
        return self.initial.type


Value: TypeAlias = Expression | Reduction
"""Expressions whose operands may be reductions."""

LoopLocation: TypeAlias = tuple[str, Location]
"""A loop's variable, and where it is: loops one after the other may share a variable."""


@dataclass(frozen=True)
class Read(Load):
    """A load, which locals and conditions may have kept for statements behind it.

    behind
        how many of the region's statements come before it in an iteration.
    around
        the loops around it, the outermost first.
    """

    behind: int = field(compare=False)
    around: tuple[LoopLocation, ...] = field(compare=False)


@dataclass(frozen=True)
class Stored:
    """``array[indices] = value`` for all iterations of ``loops``, the outermost first. All loads of
    ``value`` are of ``Read``.

    around
        the loops around it in the source: also those of which each iteration adds to the element.
    """

    array: str
    indices: tuple[Expression, ...]
    value: Any
    loops: tuple[For, ...]
    place: Location
    around: tuple[LoopLocation, ...]

    @property
    def sums(self) -> BinaryOperator | None:
        """What adds to the element, if some of ``around`` do."""
        return self.value.operator if len(self.around) > len(self.loops) else None


Carry: TypeAlias = Callable[[For, Mapping[str, tuple[Variable, Any, Any]]], Mapping[str, Any]]
"""What gives the values behind a loop of locals that it carries from one iteration to the next,
where they are no reductions. Of each: how it is called in an iteration, its value before the loop,
and behind an iteration."""


def flatten(
    body: tuple[Statement, ...], known: frozenset[str], carry: Carry | None = None
) -> list[Stored]:
    """Raises ``NotTensor``. ``known``: sizes, scalars and loop variables around the region.
    O(statements x iterations unrolled)."""
    reader = _Reader(known, carry)
    reader.block(body, (), {})
    if not reader.stored:
        reject(body[0].place, "no array is written: must be one")
    return reader.stored


class _Reader:
    def __init__(self, known: frozenset[str], carry: Carry | None) -> None:
        self._known = known
        self._carry = carry
        self.stored: list[Stored] = []
        self._sizes: dict[int, tuple[Any, int]] = {}

    def block(
        self, body: tuple[Statement, ...], loops: tuple[For, ...], locals: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Gives the locals behind it."""
        known = dict(locals)
        for statement in body:
            known = self._statement(statement, loops, known)
        return known

    def _statement(
        self, statement: Statement, loops: tuple[For, ...], locals: dict[str, Any]
    ) -> dict[str, Any]:
        match statement:
            case For():
                return self._for(statement, loops, locals)
            case Merge(place=place):
                reject(place, "fibers are merged: must be loops over ranges")
            case Assign(name, value):
                return locals | {name: self._value(value, loops, locals)}
            case Store(array, indices, value, place):
                self._store(
                    array,
                    tuple(self._value(each, loops, locals) for each in indices),
                    self._value(value, loops, locals),
                    loops,
                    place,
                )
            case AugmentedStore(operator, array, indices, value, place):
                places = tuple(self._value(each, loops, locals) for each in indices)
                right = self._value(value, loops, locals)
                element = self._read(Load(array, places, right.type, place), loops)
                self._store(array, places, Binary(operator, element, right, place), loops, place)
            case If():
                return self._if(statement, loops, locals)
        return locals

    def _store(
        self,
        array: str,
        indices: tuple[Any, ...],
        value: Any,
        loops: tuple[For, ...],
        place: Location,
    ) -> None:
        used = {each.name for index in indices for each in nodes(index) if _is_variable(each)}
        around = _places(loops)
        missing = tuple(loop for loop in loops if loop.variable not in used)
        if missing:
            loops = tuple(loop for loop in loops if loop not in missing)
            element = self._read(Load(array, indices, value.type, place), loops)
            match _extremum(_always(value, element), element):
                case Binary(operator, Read(behind=behind) as left, term) if (
                    operator in REDUCING and left == element and left.around == around
                ):
                    initial = replace(element, behind=behind)
                case _:
                    reject(
                        place,
                        f"{array} is written by all iterations of {missing[0].variable}: each "
                        "must write elements of its own, or add to one",
                    )
            if any(isinstance(each, Load) and each.array == array for each in nodes(term)):
                reject(place, f"{array} is read and summed up in the same statement")
            value = Reduction(operator, initial, term, missing, place)
        self.stored.append(Stored(array, indices, value, loops, place, around))

    def _for(self, loop: For, loops: tuple[For, ...], locals: dict[str, Any]) -> dict[str, Any]:
        bounds = [self._value(each, loops, locals) for each in (loop.lower, loop.upper)]
        loop = replace(loop, lower=bounds[0], upper=bounds[1])
        trips = _trips(loop)
        is_value = self._carry is None and is_a_value(loop.variable, loop.body)
        if loops and trips is not None and (is_value or _shares_an_index(loop)):
            for trip in trips:
                constant = Constant(trip, INT32, loop.place)
                locals = self.block(loop.body, loops, locals | {loop.variable: constant})
            return {name: each for name, each in locals.items() if name != loop.variable}
        assigned = {each.name for each in nodes(loop.body) if isinstance(each, Assign)}
        markers = {
            name: Variable(f"{name}@{loop.variable}", locals[name].type, loop.place)
            for name in sorted(assigned & locals.keys())
        }
        inside = self.block(loop.body, (*loops, loop), locals | markers)
        changed = {
            name: (marker, locals[name], inside[name])
            for name, marker in markers.items()
            if inside[name] != marker
        }
        after = locals | self._reduced(loop, changed)
        self._refuse_carried(loop, markers.values())
        return after

    def _reduced(
        self, loop: For, changed: Mapping[str, tuple[Variable, Any, Any]]
    ) -> dict[str, Any]:
        """Locals behind a loop that changes them, by their marker, their value before and the one
        behind an iteration."""
        try:
            return {
                name: _reduction(value, marker, initial, loop)
                for name, (marker, initial, value) in changed.items()
            }
        except NotTensor:
            if self._carry is None:
                raise
            return dict(self._carry(loop, changed))

    def _refuse_carried(self, loop: For, markers: Collection[Variable]) -> None:
        """Refuses what is stored and depends on an earlier iteration."""
        for each in self.stored:
            for marker in markers:
                if marker in list(nodes((each.value, each.indices))):
                    reject(
                        each.place,
                        f"{marker.name.partition('@')[0]} comes from an earlier iteration of "
                        f"{loop.variable}",
                    )

    def _if(self, statement: If, loops: tuple[For, ...], locals: dict[str, Any]) -> dict[str, Any]:
        """Both ways, and what the condition chooses."""
        condition = self._value(statement.condition, loops, locals)
        negated = Unary(UnaryOperator.NOT, condition, statement.place)
        ways = []
        for chooses, body in ((condition, statement.then), (negated, statement.otherwise)):
            first = len(self.stored)
            ways.append(self.block(body, loops, locals))
            for at in range(first, len(self.stored)):
                each = self.stored[at]
                if isinstance(each.value, Reduction):
                    reject(each.place, "a sum under a condition")
                old = Read(each.array, each.indices, each.value.type, each.place, at, each.around)
                chosen = Select(chooses, each.value, old, each.place)
                self.stored[at] = replace(each, value=chosen)
        names = [name for name in ways[0] if name in ways[1]]
        return {
            name: ways[0][name]
            if ways[0][name] == ways[1][name]
            else Select(condition, ways[0][name], ways[1][name], statement.place)
            for name in names
        }

    def _read(self, load: Load, loops: tuple[For, ...]) -> Read:
        behind = len(self.stored)
        return Read(load.array, load.indices, load.type, load.place, behind, _places(loops))

    def _value(self, expression: Expression, loops: tuple[For, ...], locals: Any) -> Any:
        """The expression without locals."""
        variables = {loop.variable for loop in loops}

        def replaced(node: Any) -> Any:
            if isinstance(node, Variable):
                if node.name in locals:
                    return locals[node.name]
                if node.name not in variables | self._known:
                    reject(node.place, f"{node.name} is assigned outside of the region")
            if isinstance(node, Load):
                return self._read(node, loops)
            return node

        value = _mapped(expression, replaced)
        self._require_small(expression, value, locals)
        return value

    def _require_small(self, expression: Expression, value: Any, locals: Any) -> None:
        """Locals stand in their values as often as they are used."""
        size = 0
        for node in nodes(expression):
            local = locals.get(node.name) if isinstance(node, Variable) else None
            size += 1 if local is None else self._sizes.get(id(local), (local, 1))[1]
        if size > _MOST_NODES:
            reject(
                expression.place,
                f"an expression of {size} parts, with locals that are used more than once: must be "
                f"at most {_MOST_NODES}",
            )
        self._sizes[id(value)] = value, size


def _places(loops: tuple[For, ...]) -> tuple[LoopLocation, ...]:
    return tuple((loop.variable, loop.place) for loop in loops)


def _reduction(value: Any, marker: Variable, initial: Any, loop: For) -> Any:
    """A local behind a loop that changes it."""
    match _extremum(_always(value, marker), marker):
        case Reduction(operator, first, term, loops) if first == marker:
            around = (loop, *loops)
        case Binary(operator, first, term) if operator in REDUCING and first == marker:
            around = (loop,)
        case _:
            operator, term, around = BinaryOperator.ADD, marker, ()
    if any(each == marker for each in nodes(term)):
        reject(
            value.place,
            f"{marker.name.partition('@')[0]} carries a value from one iteration of "
            f"{loop.variable} to the next: must be a sum, min or max",
        )
    return Reduction(operator, initial, term, around, value.place)


def _extremum(value: Any, known: Any) -> Any:
    """The lesser or larger of ``known`` and another integer, chosen by a comparison of both, as one
    operation; else ``value``."""
    match _unwidened(value):
        case Select(Binary("<" | "<=" | ">" | ">=" as order, left, right), chosen, other, place):
            if left.type.is_integer and known in (left, right):
                own, term = (left, right) if known == left else (right, left)
                if (chosen, other) in ((left, right), (right, left)):
                    is_least = (order[0] == "<") == (chosen == left)
                    wanted = BinaryOperator.MINIMUM if is_least else BinaryOperator.MAXIMUM
                    return Binary(wanted, own, term, place)
    return value


_NEUTRAL: Mapping[str, Callable[[ScalarType], int]] = {
    "+": lambda type: 0,
    "min": lambda type: type.most,
    "max": lambda type: type.least,
}
"""What changes no integer."""


def _always(value: Any, known: Any) -> Any:
    """``known + (x if c else 0)`` for ``known + x if c else known``, of integers; so for the lesser
    and the larger one; else ``value``."""
    match value:
        case Select(condition, chosen, other, place) if value.type.is_integer:
            if chosen == known:
                condition, chosen, other = Unary(UnaryOperator.NOT, condition, place), other, chosen
            if other != known:
                return value
            match _extremum(_always(chosen, known), known):
                case Binary(operator, left, right) as changed if operator in _NEUTRAL:
                    if right == known and left != known:
                        left, right = right, left
                    if left != known:
                        return value
                    neutral = Constant(_NEUTRAL[operator](value.type), value.type, place)
                    return replace(
                        changed, left=left, right=Select(condition, right, neutral, place)
                    )
    return value


def _unwidened(value: Any) -> Any:
    """A choice between integers that are widened for it, of their own type."""
    if not (isinstance(value, Cast) and isinstance(value.operand, Select)):
        return value
    choice, type = value.operand, value.type

    def narrow(each: Any) -> Any:
        is_wide = isinstance(each, Cast) and each.type.holds(type) and each.operand.type == type
        return each.operand if is_wide else None

    if not isinstance(choice.condition, Binary):
        return value
    sides = choice.condition.left, choice.condition.right, choice.chosen, choice.other
    left, right, chosen, other = map(narrow, sides)
    if None in (left, right, chosen, other):
        return value
    condition = replace(choice.condition, left=left, right=right)
    return Select(condition, chosen, other, choice.place)


def _trips(loop: For) -> range | None:
    """Iterations of a loop that may be unrolled."""
    lower, upper = loop.lower, loop.upper
    if isinstance(lower, Constant) and isinstance(upper, Constant):
        trips = range(int(lower.value), int(upper.value), loop.step)
        return trips if len(trips) <= MOST_UNROLLED else None
    return None


def _shares_an_index(loop: For) -> bool:
    """Whether its variable makes an index together with another variable, or a value."""
    indices = [
        index
        for each in nodes(loop.body)
        if isinstance(each, Load | Store | AugmentedStore)
        for index in each.indices
    ]
    for index in indices:
        names = {each.name for each in nodes(index) if _is_variable(each)}
        if loop.variable in names and len(names) > 1:
            return True
    return False


def is_a_value(name: str, part: Any) -> bool:
    """Whether a variable is anywhere but in indices and bounds of loops."""
    match part:
        case Load():
            return False
        case For(body=body):
            return is_a_value(name, body)
        case Store(value=value) | AugmentedStore(value=value):
            return is_a_value(name, value)
        case Variable(found):
            return found == name
        case tuple():
            return any(is_a_value(name, each) for each in part)
        case _ if is_dataclass(part):
            return any(is_a_value(name, getattr(part, each.name)) for each in fields(part))
    return False


def _is_variable(node: Any) -> bool:
    return isinstance(node, Variable)


def _mapped(node: Any, function: Any) -> Any:
    """Replaces each part by the function's result, innermost first."""
    match node:
        case Load(indices=indices):
            node = replace(node, indices=tuple(_mapped(each, function) for each in indices))
        case Unary() | Binary() | Select():
            names = [each.name for each in fields(node) if each.name not in ("operator", "place")]
            parts = {name: _mapped(getattr(node, name), function) for name in names}
            node = replace(node, **parts)
        case _ if hasattr(node, "operand"):
            node = replace(node, operand=_mapped(node.operand, function))
    return function(node)
