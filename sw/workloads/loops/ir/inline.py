"""Calls of other functions of a file: their statements, in place of the call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Assign,
    Binary,
    Constant,
    Expression,
    For,
    Merge,
    Nest,
    Statement,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts
from gnarl.sw.workloads.loops.ir.printer import print_expression
from gnarl.sw.workloads.loops.ir.scalar_type import INT32, ScalarType
from gnarl.sw.workloads.place import Location

Argument: TypeAlias = Expression | Array

_NUMBER = re.compile(r"(_\d+)+$")


class OwnArray(NamedTuple):
    """An array that a called function has for itself: its name there, and what it is here."""

    name: str
    given: Array


class Inliner:
    """Inlines calls into one function.

    taken
        names that it uses; those of what it calls become others where they are among these.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def own_arrays(
        self, called: Nest, arguments: Mapping[str, Argument], place: Location
    ) -> Iterator[OwnArray]:
        """Arrays that a function has for itself, for one call of it."""
        sizes = {each.name: arguments[each.name] for each in called.sizes if each.name in arguments}
        for name in called.temporaries:
            array = called.arrays[name]
            shape = tuple(_inlined(each, sizes, place) for each in array.shape)
            given = Array(self.fresh(name), array.type, shape, array.place.called_at(place))
            yield OwnArray(name, given)

    def statements(
        self,
        called: Nest,
        arguments: Mapping[str, Argument],
        place: Location,
        pointers: Collection[str] = (),
    ) -> tuple[Statement, ...]:
        """What a call at ``place`` does.

        ``arguments``: by the names of the function's sizes, scalars and arrays. Scalars that are
        neither numbers nor names are evaluated once, before. Arrays of one dimension among
        ``pointers`` may have any length. Raises ``WorkloadError`` for arrays of
        other types or shapes than the function's. O(nodes).
        """
        names: dict[str, Expression | str] = {}
        before: list[Statement] = []
        sizes = {size.name for size in called.sizes}
        for name, value in arguments.items():
            if isinstance(value, Array):
                names[name] = value.name
            elif name in sizes or isinstance(value, Constant | Variable):
                names[name] = _folded(value)
            else:
                local = self.fresh(name)
                before.append(Assign(local, value, place))
                names[name] = Variable(local, value.type, place)
        for array in called.arrays.values():
            argument = arguments[array.name]
            assert isinstance(argument, Array)
            is_of_any_length = array.name in pointers and len(argument.shape) == 1
            if not is_of_any_length or argument.type != array.type:
                _require_alike(called, array, argument, names, place)
        for own in dict.fromkeys(_own_names(called.body)):
            names[own] = self.fresh(own)
        return (*before, *_inlined(called.body, names, place))

    def fresh(self, name: str) -> str:
        """Itself, or as the next one of several."""
        fresh, number, stem = name, 1, _NUMBER.sub("", name)
        while fresh in self._taken:
            number += 1
            fresh = f"{stem}_{number}"
        self._taken.add(fresh)
        return fresh


def size_arguments(
    called: Nest, arrays: Mapping[str, Array], place: Location
) -> dict[str, Argument]:
    """The sizes of a function that is given ``arrays``, by the names of its parameters: each is
    what they have in its place. Raises ``WorkloadError`` for one that is no dimension by itself."""
    sizes: dict[str, Argument] = {}
    for name, argument in arrays.items():
        for size, length in zip(called.arrays[name].shape, argument.shape, strict=False):
            if isinstance(size, Variable):
                sizes.setdefault(size.name, length)
    for each in called.sizes:
        if each.name not in sizes:
            raise WorkloadError(
                f"{place}: {called.name} is called: its size {each.name} must be a dimension of an "
                "array by itself"
            )
    return sizes


def _require_alike(
    called: Nest, array: Array, given: Array, names: Mapping[str, Any], place: Location
) -> None:
    wanted = tuple(_inlined(size, names, place) for size in array.shape)
    is_alike = len(wanted) == len(given.shape) and all(
        polynomial(one) == polynomial(other) for one, other in zip(wanted, given.shape, strict=True)
    )
    if array.type != given.type or not is_alike:
        raise WorkloadError(
            f"{place}: {given.name} is {_spelled(given.type, given.shape)}: {array.name} of "
            f"{called.name} must be {_spelled(array.type, wanted)}"
        )


def _spelled(type: ScalarType, shape: tuple[Expression, ...]) -> str:
    return f"{type}[{', '.join(map(print_expression, shape))}]"


def polynomial(size: Expression) -> Counter[tuple[str, ...]]:
    """Factors of products of names, which are sorted; what is no sum or product is a name."""
    match size:
        case Constant(value):
            return Counter({(): int(value)})
        case Binary("+", left, right):
            return _sum(polynomial(left), polynomial(right), 1)
        case Binary("-", left, right):
            return _sum(polynomial(left), polynomial(right), -1)
        case Binary("*", left, right):
            factors: Counter[tuple[str, ...]] = Counter()
            for one, factor in polynomial(left).items():
                for other, second in polynomial(right).items():
                    factors[tuple(sorted((*one, *other)))] += factor * second
            return factors
    return Counter({(print_expression(size),): 1})


def _sum(
    one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]], factor: int
) -> Counter[tuple[str, ...]]:
    total = Counter(one)
    for names, each in other.items():
        total[names] += factor * each
    return total


def _own_names(body: tuple[Statement, ...]) -> Iterator[str]:
    """Locals and variables of loops."""
    for each in nodes(body):
        match each:
            case For(variable):
                yield variable
            case Assign(name):
                yield name
            case Merge():
                yield from (each.coordinate, *each.positions, *each.present)


def _inlined(node: Any, names: Mapping[str, Any], caller: Location) -> Any:
    """The node with names and arguments in place of a function's own."""
    match node:
        case Location():
            return node.called_at(caller)
        case Variable(name) if not isinstance(names.get(name, name), str):
            return names[name]
        case str() if type(node) is str:  # and not an operator
            return names.get(node, node)
    return _folded(with_parts(node, lambda part: _inlined(part, names, caller)))


def _folded(node: Any) -> Any:
    """Sums and products of numbers of int32 as numbers."""
    match node:
        case Binary("+" | "-" | "*", left, right, place) if node.type == INT32:
            one, other = _folded(left), _folded(right)
            if isinstance(one, Constant) and isinstance(other, Constant):
                (value,) = polynomial(node).values() or (0,)
                if INT32.least <= value <= INT32.most:
                    return Constant(value, INT32, place)
    return node
