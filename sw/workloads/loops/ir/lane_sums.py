"""Sums in the order in which a vector unit adds them up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from gnarl.sw.workloads.loops.ir.binding import dimension
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    For,
    If,
    Merge,
    Nest,
    Statement,
    Variable,
    statements,
)
from gnarl.sw.workloads.loops.ir.parts import with_parts
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32
from gnarl.sw.workloads.place import Location


def sum_by_lanes(
    nest: Nest,
    sizes: Mapping[str, int],
    loops: Collection[int],
    lanes: int,
    halved: Collection[int] = (),
) -> Nest:
    """The nest with ``lanes`` partial sums, a power of two, for each float32 local that one of
    ``loops`` adds up.

    ``loops``: numbers of loops as ``statements`` gives them. Lane l sums the iterations l,
    l + lanes, and so on, from 0. Then lane i is added to lane i + lanes / 2, and so on by halves;
    what the local was comes last. The lanes' own sums that this has made of a loop may be split
    again: vector i of them belongs to sum i modulo ``lanes``.

    Of ``loops``, those of ``halved``, whose bounds are of ``sizes`` and make an even number of
    vectors, go through both halves of their iterations at once, with partial sums of their own: to
    lane l of the first half's that of the second one's is added, before all else. O(size of the
    nest x lanes).
    """
    numbers = {
        id(statement): number
        for number, statement in enumerate(statements(nest.body))
        if number in loops and isinstance(statement, For)
    }
    wanted = {each: 2 if number in halved else 1 for each, number in numbers.items()}
    return replace(nest, body=_block(nest.body, _Rewriting(nest, sizes, wanted, lanes)))


def loops_of_sums(nest: Nest) -> set[int]:
    """Numbers of innermost loops that add up float32 locals, as ``statements`` gives them."""
    return {
        number
        for number, statement in enumerate(statements(nest.body))
        if isinstance(statement, For)
        and any(isinstance(each, Assign) and _adds_up(each) for each in statement.body)
        and not any(isinstance(each, For | Merge) for each in statement.body)
    }


class _Rewriting:
    """How a nest is rewritten. ``wanted``: of loops by identity, in how many parts they are gone
    through at once."""

    def __init__(
        self, nest: Nest, sizes: Mapping[str, int], wanted: Mapping[int, int], lanes: int
    ) -> None:
        self.wanted, self.lanes, self.sizes = wanted, lanes, sizes
        assigned = {each.name for each in statements(nest.body) if isinstance(each, Assign)}
        variables = {each.variable for each in statements(nest.body) if isinstance(each, For)}
        self._taken = {*assigned, *variables, *sizes, *nest.arrays, *nest.scalars}

    def lane(self, name: str, number: int) -> str:
        found = f"{name}_lane{number}"
        while found in self._taken:
            found += "_"
        return found

    def are_whole(self, loop: For) -> bool:
        """Whether every step has all lanes."""
        try:
            first, last = self.bounds(loop)
        except (KeyError, TypeError):  # not of sizes alone
            return False
        return (last - first) % (self.lanes * loop.step) == 0

    def bounds(self, loop: For) -> tuple[int, int]:
        first, last = (dimension(each, self.sizes) for each in (loop.lower, loop.upper))
        return first, last


def _block(body: tuple[Statement, ...], rewriting: _Rewriting) -> tuple[Statement, ...]:
    rewritten: list[Statement] = []
    for statement in body:
        match statement:
            case For() if id(statement) in rewriting.wanted:
                rewritten += _by_lanes(statement, rewriting)
            case If(then=then, otherwise=otherwise):
                halves = _block(then, rewriting), _block(otherwise, rewriting)
                rewritten.append(replace(statement, then=halves[0], otherwise=halves[1]))
            case For():
                rewritten.append(replace(statement, body=_block(statement.body, rewriting)))
            case _:
                rewritten.append(statement)
    return tuple(rewritten)


def _by_lanes(loop: For, rewriting: _Rewriting) -> list[Statement]:
    lanes, place = rewriting.lanes, loop.place
    names = _sums(loop.body)
    zero = Constant(0.0, FLOAT32, place)
    parts = rewriting.wanted[id(loop)]
    upper, apart = loop.upper, 0
    if parts > 1:
        first, last = rewriting.bounds(loop)
        apart = (last - first) // parts
        upper = Constant(first + apart, INT32, place)
    begin: list[Statement] = [
        Assign(rewriting.lane(name, number), zero, place)
        for name in names
        for number in range(parts * lanes)
    ]
    whole = rewriting.are_whole(loop)
    steps: list[Statement] = []
    for number in range(parts * lanes):
        index: Expression = Variable(loop.variable, INT32, place)
        off = number % lanes * loop.step + number // lanes * apart
        if off:
            index = Binary(BinaryOperator.ADD, index, Constant(off, INT32, place), place)
        renamed = {name: rewriting.lane(name, number) for name in names}
        body = tuple(_with(each, loop.variable, index, renamed) for each in loop.body)
        if number and not whole:
            condition = Binary(BinaryOperator.LESS, index, loop.upper, place)
            steps.append(If(condition, body, (), place))
        else:
            steps += body
    end: list[Statement] = []
    for name in names:
        half = parts * lanes // 2
        while half:
            for number in range(half):
                first_lane, second = (rewriting.lane(name, n) for n in (number, number + half))
                end.append(_sum(first_lane, second, place))
            half //= 2
        end.append(_sum(name, rewriting.lane(name, 0), place))
    return [*begin, replace(loop, upper=upper, step=lanes * loop.step, body=tuple(steps)), *end]


def _sums(body: tuple[Statement, ...]) -> list[str]:
    """Locals that a body adds up, those of lanes that may be left out too."""
    sums = []
    for statement in body:
        if isinstance(statement, If):
            sums += _sums(statement.then)
        elif isinstance(statement, Assign) and _adds_up(statement):
            sums.append(statement.name)
    return sums


def _sum(name: str, other: str, place: Location) -> Assign:
    left, right = Variable(name, FLOAT32, place), Variable(other, FLOAT32, place)
    return Assign(name, Binary(BinaryOperator.ADD, left, right, place), place)


def _adds_up(assign: Assign) -> bool:
    """Whether a local becomes its sum with something."""
    value = assign.value
    if not isinstance(value, Binary) or value.operator != "+" or value.type != FLOAT32:
        return False
    operands = (value.left, value.right)
    return sum(isinstance(each, Variable) and each.name == assign.name for each in operands) == 1


def _with(node: Any, variable: str, index: Expression, names: Mapping[str, str]) -> Any:
    """A part of a loop's body with another index, and other names for locals."""
    if isinstance(node, Variable):
        if node.name == variable:
            return index
        return replace(node, name=names.get(node.name, node.name))
    made = with_parts(node, lambda part: _with(part, variable, index, names))
    if isinstance(made, Assign):
        return replace(made, name=names.get(made.name, made.name))
    return made
