"""A loop's statements as loops of their own, and sums in locals as sums in arrays.

``for i, j: t = 0; for k: t += a[i][k] * b[k][j]; c[i][j] = t`` becomes three nests, of which the
second is an outer product. Each element is computed by the same operations in the same order.
Source: Allen and Kennedy, *Optimizing Compilers for Modern Architectures*, section 5.2 and 5.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gnarl.sw.workloads.loops.ir.nest import (
    AUGMENTING,
    SHIFTS,
    Array,
    Assign,
    AugmentedStore,
    Binary,
    Cast,
    Expression,
    For,
    If,
    Load,
    Merge,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts

_WRAPPING = ("+", "-", "*")
"""Of integers: low bits of results depend on low bits of operands alone."""


def distributed(statement: Statement, arrays: Mapping[str, Array]) -> tuple[Statement, ...] | None:
    """Statements that do the same one after the other; ``None`` where loops do not part.

    Loops part where each iteration of those around the body has elements of its own of all arrays
    that a statement writes and another one uses, and no local goes from one to another. O(nodes
    squared).
    """
    loops: list[For] = []
    while isinstance(statement, For) and (not loops or len(loops[-1].body) == 1):
        loops.append(statement)
        if len(statement.body) != 1:
            break
        statement = statement.body[0]
    if not loops or len(loops[-1].body) < 2:
        return None
    body = _without_sums_in_locals(loops[-1].body, [loop.variable for loop in loops], arrays)
    if not _may_part(body, [loop.variable for loop in loops]):
        return None
    if any(_readswritten_arrays(loop, body) for loop in loops):
        return None
    return tuple(_around(loops, each) for each in body)


def _around(loops: Sequence[For], statement: Statement) -> Statement:
    for loop in reversed(loops):
        statement = replace(loop, body=(statement,))
    return statement


def _readswritten_arrays(loop: For, body: tuple[Statement, ...]) -> bool:
    """Whether bounds of a loop are made of what its body changes."""
    bounds = (loop.lower, loop.upper)
    changed = written_arrays(body) | {each.name for each in nodes(body) if isinstance(each, Assign)}
    used = {getattr(each, "array", getattr(each, "name", None)) for each in nodes(bounds)}
    return bool(changed & used)


def _may_part(body: tuple[Statement, ...], variables: list[str]) -> bool:
    if any(isinstance(each, Merge) for each in nodes(body)):
        return False
    assigned = Counter(
        name
        for each in body
        for name in {inner.name for inner in nodes(each) if isinstance(inner, Assign)}
    )
    mentioned = Counter(name for each in body for name in _names(each))
    if any(mentioned[name] > 1 for name in assigned):
        return False
    shared = [
        array
        for array in written_arrays(body)
        if sum(1 for each in body if any(_is_access(inner, array) for inner in nodes(each))) > 1
    ]
    return all(is_own(array, body, variables) for array in shared)


def is_own(array: str, body: tuple[Statement, ...], variables: list[str]) -> bool:
    """Whether iterations use elements of their own: of each variable there is a dimension in which
    all indices are just that variable."""
    found = [each.indices for each in nodes(body) if _is_access(each, array)]
    for name in variables:
        if not any(
            all(_is_variable(indices[at], name) for indices in found) for at in range(len(found[0]))
        ):
            return False
    return True


def _is_variable(index: Expression, name: str) -> bool:
    return isinstance(index, Variable) and index.name == name


def _is_access(node: Any, array: str) -> bool:
    return isinstance(node, Load | Store | AugmentedStore) and node.array == array


def written_arrays(body: Any) -> set[str]:
    """Arrays that statements store to."""
    return {each.array for each in nodes(body) if isinstance(each, Store | AugmentedStore)}


def _names(node: Any) -> set[str]:
    """Variables that are read or assigned."""
    return {each.name for each in nodes(node) if isinstance(each, Variable | Assign)}


def _without_sums_in_locals(
    body: tuple[Statement, ...], variables: list[str], arrays: Mapping[str, Array]
) -> tuple[Statement, ...]:
    """Locals that end in one element each are that element all along."""
    for name in dict.fromkeys(each.name for each in body if isinstance(each, Assign)):
        body = _in_element(body, name, variables, arrays) or body
    return body


def _in_element(
    body: tuple[Statement, ...], name: str, variables: list[str], arrays: Mapping[str, Array]
) -> tuple[Statement, ...] | None:
    """The body with an element in place of the local ``name``, if it may be: the element is of the
    local's type, or a narrower integer where only low bits of sums count; nothing else accesses
    its array, and the local is assigned first."""
    stores = [each for each in body if isinstance(each, Store) and name in _names((each.value,))]
    first = next((each for each in body if name in _names(each)), None)
    if len(stores) != 1 or not isinstance(first, Assign) or name in _names(first.value):
        return None
    store, type = stores[0], first.value.type
    array = arrays[store.array]
    used = [each for each in nodes(body) if _is_access(each, store.array)]
    if len(used) != 1 or not _names(store.indices) <= {*variables}:
        return None
    behind = body[body.index(store) + 1 :]
    if name in _names(behind) or any(isinstance(each, If) for each in nodes(body)):
        return None
    local = Variable(name, type, store.place)
    if array.type != type:
        is_narrower = array.type.is_integer and type.is_integer and array.type.bits < type.bits
        if not is_narrower or store.value != Cast(array.type, local, store.place):
            return None
        if not all(_wraps(each, name) for each in body if each is not store):
            return None
    element = Load(store.array, store.indices, array.type, store.place)

    def changed(node: Any) -> Any:
        match node:
            case Assign(target, Binary(operator, Variable(read), term), place) if (
                target == read == name and operator in AUGMENTING and operator not in SHIFTS
            ):
                value = _narrowed(changed(term), array)
                return AugmentedStore(operator, element.array, element.indices, value, place)
            case Assign(target, value, place) if target == name:
                stored = _narrowed(changed(value), array)
                return Store(element.array, element.indices, stored, place)
            case Variable(read) if read == name:
                return element
        return with_parts(node, changed)

    is_copy = store.value in (local, Cast(array.type, local, store.place))
    last = () if is_copy else (replace(store, value=changed(store.value)),)
    at = body.index(store)
    return (*map(changed, body[:at]), *last, *body[at + 1 :])


def _narrowed(value: Expression, array: Array) -> Expression:
    return value if value.type == array.type else Cast(array.type, value, value.place)


def _wraps(statement: Statement, name: str) -> bool:
    """Whether the low bits of ``name`` follow from the low bits of what it was."""
    sums = [
        each.value
        for each in nodes(statement)
        if isinstance(each, Assign) and each.name == name and name in _names(each.value)
    ]
    mentions = sum(1 for each in nodes(statement) if _is_variable(each, name))
    return mentions == len(sums) and all(
        isinstance(value, Binary) and value.operator in _WRAPPING and _is_variable(value.left, name)
        for value in sums
    )
