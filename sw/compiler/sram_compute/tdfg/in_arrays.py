"""Locals, and variables of loops that are values, as arrays of the nest's own: for loops in order,
whose iterations hand on nothing but arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gnarl.sw.compiler.sram_compute.tdfg.statements import is_a_value
from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, one_more, variable
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    For,
    If,
    Load,
    Nest,
    Select,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, INT32, ScalarType
from gnarl.sw.workloads.place import Location

_MOST_LOCALS = 16
"""Locals of a nest that may be in arrays: each is a region, and those take long to optimise."""


def rewritten(nest: Nest) -> Iterator[Nest]:
    """Nests that do the same, with more and more in arrays: variables of loops; locals that are
    assigned in several places; all locals but those of bool; conditions of several statements."""
    nest = _with_variables(nest)
    yield nest
    assigned = Counter(each.name for each in nodes(nest.body) if isinstance(each, Assign))
    if len(assigned) > _MOST_LOCALS:
        return
    several = {name for name, count in assigned.items() if count > 1}
    for names in (several, {*assigned}):
        yield _with_locals(nest, names)
    yield _with_locals(_with_conditions(nest), {*assigned})


def _with_locals(nest: Nest, names: Iterable[str]) -> Nest:
    """Locals in arrays of one element."""
    types: dict[str, ScalarType] = {}
    for each in nodes(nest.body):
        if isinstance(each, Assign) and each.name in names and each.value.type != BOOL:
            types[each.name] = each.value.type
    used = {each.name for each in (*nest.sizes, *nest.parameters)} | _all_names(nest)
    arrays = {name: fresh(f"{name}_cell", used) for name in types}

    def changed(node: Any) -> Any:
        match node:
            case Assign(name, value, place) if name in arrays:
                return Store(arrays[name], (integer(0, place),), changed(value), place)
            case Variable(name, type, place) if name in arrays:
                return Load(arrays[name], (integer(0, place),), type, place)
        return with_parts(node, changed)

    own = [
        Array(arrays[name], type, (integer(1, nest.place),), nest.place)
        for name, type in types.items()
    ]
    return _with_own(nest, own, changed(nest.body))


def _with_conditions(nest: Nest) -> Nest:
    """Conditions of several statements as elements, one for each of the statements."""
    used = {each.name for each in (*nest.sizes, *nest.parameters)} | _all_names(nest)
    own: list[Array] = []

    def changed(body: tuple[Statement, ...]) -> Iterator[Statement]:
        for each in body:
            match each:
                case For():
                    yield replace(each, body=tuple(changed(each.body)))
                case If(condition, then, otherwise, place) if len((*then, *otherwise)) > 1:
                    one, zero = integer(1, place), integer(0, place)
                    array = Array(fresh("condition", used), INT32, (one,), place)
                    own.append(array)
                    yield Store(array.name, (zero,), Select(condition, one, zero, place), place)
                    held = Load(array.name, (zero,), INT32, place)
                    for operator, way in (("!=", then), ("==", otherwise)):
                        chosen = Binary(BinaryOperator(operator), held, zero, place)
                        for inner in changed(way):
                            yield If(chosen, (inner,), (), place)
                case _:
                    yield each

    return _with_own(nest, own, tuple(changed(nest.body)))


def _with_variables(nest: Nest) -> Nest:
    """Variables of loops that are values, each as the elements of an array that has its values:
    along the dimension in which the variable is an index."""
    used = {each.name for each in (*nest.sizes, *nest.parameters)} | _all_names(nest)
    sizes = {size.name for size in nest.sizes}
    own: list[Array] = []
    filled: list[Statement] = []

    def changed(node: Any, ends: Mapping[str, Expression]) -> Any:
        if not isinstance(node, For):
            return with_parts(node, lambda each: changed(each, ends))
        end = _end(node, ends, sizes)
        inner = ends if end is None else {**ends, node.variable: end}
        if end is not None and is_a_value(node.variable, node.body):
            behind = _dimension(node)
            name, place = fresh(f"{node.variable}_values", used), node.place
            one = integer(1, place)
            own.append(Array(name, INT32, (end, *(one for _ in range(behind))), place))
            filled.extend(_counted(name, end, behind, place))
            node = replace(node, body=_with_values(node.body, node.variable, name, behind))
        bounds = [changed(each, ends) for each in (node.lower, node.upper)]
        body = tuple(changed(each, inner) for each in node.body)
        return replace(node, lower=bounds[0], upper=bounds[1], body=body)

    body = tuple(changed(each, {}) for each in nest.body)
    return _with_own(nest, own, (*filled, *body))


def _end(loop: For, ends: Mapping[str, Expression], sizes: set[str]) -> Expression | None:
    """A number, made of sizes, that a loop's variable is always below, if it is never negative."""
    if not _is_counted_up(loop.lower, ends):
        return None
    return _largest(loop.upper, ends, sizes)


def _is_counted_up(lower: Expression, ends: Mapping[str, Expression]) -> bool:
    match lower:
        case Constant(value):
            return value >= 0
        case Variable(name):
            return name in ends
    return getattr(lower, "operator", "") == "+" and all(
        _is_counted_up(each, ends)
        for each in (lower.left, lower.right)  # type: ignore[union-attr]
    )


def _largest(upper: Expression, ends: Mapping[str, Expression], sizes: set[str]) -> Any:
    """At least a bound: without what is taken from it."""
    match upper:
        case Constant(value):
            return upper if value >= 0 else None
        case Variable(name) if name in ends:
            return ends[name]
        case Variable(name):
            return upper if name in sizes else None
    operator = getattr(upper, "operator", "")
    if operator not in ("+", "-"):
        return None
    left, right = upper.left, upper.right  # type: ignore[union-attr]
    most = _largest(left, ends, sizes)
    if operator == "-":
        return most if isinstance(right, Constant) and right.value >= 0 else None
    other = _largest(right, ends, sizes)
    return None if most is None or other is None else add(most, other, upper.place)


def _dimension(loop: For) -> int:
    """How many dimensions lie behind the one that a variable is an index of: where arrays are
    written, else read."""
    found = [*nodes(loop.body)]
    for kinds in ((Store, AugmentedStore), (Load,)):
        for each in found:
            if isinstance(each, kinds):
                for behind, index in enumerate(reversed(each.indices)):
                    names = {inner.name for inner in nodes(index) if isinstance(inner, Variable)}
                    if loop.variable in names:
                        return behind
    return 0


def _counted(name: str, end: Expression, behind: int, place: Location) -> Iterator[Statement]:
    """Fills an array with the numbers from 0."""
    counter = f"{name}_at"
    zeros = tuple(integer(0, place) for _ in range(behind))
    at = variable(counter, place)
    before = add(at, integer(-1, place), place)
    yield Store(name, (integer(0, place), *zeros), integer(0, place), place)
    one_before = Load(name, (before, *zeros), INT32, place)
    stored = Store(name, (at, *zeros), one_more(one_before, place), place)
    yield For(counter, integer(1, place), end, 1, (stored,), place)


def _with_values(node: Any, name: str, array: str, behind: int) -> Any:
    """A part of a loop's body with elements for the variable, but for indices and bounds."""
    match node:
        case Load():
            return node
        case Store() | AugmentedStore():
            return replace(node, value=_with_values(node.value, name, array, behind))
        case For():
            return replace(node, body=_with_values(node.body, name, array, behind))
        case Variable(found, _, place) if found == name:
            zeros = tuple(integer(0, place) for _ in range(behind))
            return Load(array, (node, *zeros), INT32, place)
    return with_parts(node, lambda each: _with_values(each, name, array, behind))


def _with_own(nest: Nest, own: list[Array], body: tuple[Statement, ...]) -> Nest:
    return replace(
        nest,
        parameters=(*nest.parameters, *own),
        temporaries=(*nest.temporaries, *(each.name for each in own)),
        body=body,
    )


def _all_names(nest: Nest) -> set[str]:
    found: set[str] = set()
    for each in nodes(nest.body):
        found |= {value for key in ("name", "variable") if (value := getattr(each, key, None))}
    return found


def fresh(name: str, used: set[str]) -> str:
    """A name that is not used, which then is."""
    while name in used:
        name += "_"
    used.add(name)
    return name
