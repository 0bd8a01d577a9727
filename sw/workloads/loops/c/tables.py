"""Tables of constants in a body: numbers where indices are numbers, else arrays that it fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from gnarl.sw.workloads.loops.c.constants import Table
from gnarl.sw.workloads.loops.ir.nest import (
    Constant,
    For,
    If,
    Load,
    Merge,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.loops.ir.substitute import substituted

_MOST_TRIPS = 64
_MOST_NODES = 20_000
"""Iterations of a loop that is unrolled for a table, and nodes that this may make."""

Body = tuple[Statement, ...]


def with_numbers(body: Body, tables: Mapping[str, Table]) -> Body:
    """Loops of few iterations whose variables are in indices of tables are unrolled, and elements
    of tables with known indices are numbers. ``tables``: by the names of their arrays."""
    if not tables:
        return body
    unrolled = tuple(part for each in body for part in _unrolled(each, tables))

    def changed(node: Any) -> Any:
        node = with_parts(node, changed)
        if isinstance(node, Load) and node.array in tables:
            indices = [each.value for each in node.indices if isinstance(each, Constant)]
            if len(indices) == len(node.indices):
                return tables[node.array].value(tuple(map(int, indices))) or node
        return node

    result: Body = changed(unrolled)
    return result


def filled(table: Table) -> Iterator[Statement]:
    """Stores of all elements."""
    place = table.array.place
    for at, value in zip(product(*map(range, table.extents)), table.values, strict=True):
        indices = tuple(Constant(each, INT32, place) for each in at)
        yield Store(table.array.name, indices, value, place)


def _unrolled(statement: Statement, tables: Mapping[str, Table]) -> Body:
    match statement:
        case If():
            then, otherwise = (
                tuple(part for each in way for part in _unrolled(each, tables))
                for way in (statement.then, statement.otherwise)
            )
            return (If(statement.condition, then, otherwise, statement.place),)
        case For() | Merge():
            body = tuple(part for each in statement.body for part in _unrolled(each, tables))
            statement = replace(statement, body=body)
    if not isinstance(statement, For) or not _is_index(statement, tables):
        return (statement,)
    lower, upper = statement.lower, statement.upper
    if not (isinstance(lower, Constant) and isinstance(upper, Constant)):
        return (statement,)
    trips = range(int(lower.value), int(upper.value), statement.step)
    size = sum(1 for _ in nodes(statement.body))
    if len(trips) > _MOST_TRIPS or len(trips) * size > _MOST_NODES:
        return (statement,)
    return tuple(
        part
        for trip in trips
        for part in substituted(
            statement.body, statement.variable, Constant(trip, INT32, statement.place)
        )
    )


def _is_index(loop: For, tables: Mapping[str, Table]) -> bool:
    """Whether an index of a table has its variable."""
    return any(
        isinstance(each, Variable) and each.name == loop.variable
        for load in nodes(loop.body)
        if isinstance(load, Load) and load.array in tables
        for each in nodes(load.indices)
    )
