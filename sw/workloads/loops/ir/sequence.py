"""A nest as nests that run one after the other. Source: Allen and Kennedy, *Optimizing Compilers
for Modern Architectures*, section 2.4.2, loop distribution; Ember, section VI.B, candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    Constant,
    Expression,
    Fiber,
    For,
    If,
    Load,
    Merge,
    Nest,
    Statement,
    Store,
    Variable,
    statements,
)
from gnarl.sw.workloads.loops.ir.parts import nodes

Body = tuple[Statement, ...]


def in_sequence(nest: Nest, given: Collection[str] = ()) -> tuple[Nest, ...]:
    """Nests that do one after the other what ``nest`` does, with the same results.

    Each has one loop, if any, that is a *candidate* for an access unit which runs ahead: it reads
    arrays that it does not write, and its bounds are addresses. Of two candidates in the nest's
    body, the second one's nest begins with it, or else with what stands between them. Loops around
    two candidates are distributed first, where neither side writes what the other one reads or
    writes, elements or locals.

    ``given``: results that do not begin as zeros. Candidates stay in one nest where a local goes
    from one to the other, where the first one reads what the second one fills from zeros, or where
    a nest would use a size that its arrays lack. Parameters that nothing uses are the first nest's.
    O(statements squared x nodes).
    """

    def may_part(first: Body, second: Body) -> bool:
        zeros = _read(first) - _written(first) - {*given}
        return not (zeros & _written(second) or _carried(first, second))

    uses = _uses(nest.body)
    body = tuple(part for each in nest.body for part in _distributed(each, uses))
    unused = {each.name for each in nest.parameters} - _used(body)
    first, *others = _cut(body, may_part)
    parts = [_part(nest, first, unused), *(_part(nest, each) for each in others)]
    if len(parts) == 1 or None in parts:
        return (nest,)
    return tuple(each for each in parts if each)


def _cut(body: Body, may_part: Callable[[Body, Body], bool]) -> list[Body]:
    """Cuts a body into parts with at most one candidate each, if all may part."""
    candidates = [number for number, each in enumerate(body) if _is_candidate(each)]
    cuts = [0]
    for one, other in zip(candidates, candidates[1:], strict=False):
        places = range(other, one, -1)
        cuts += [at for at in places if may_part(body[:at], body[at:])][:1]
    return [body[at:end] for at, end in zip(cuts, [*cuts[1:], len(body)], strict=True)]


def _is_candidate(statement: Statement) -> bool:
    if not isinstance(statement, For | Merge):
        return False
    ends = statement.fibers if isinstance(statement, Merge) else (statement,)
    written = _written([statement])
    bounds_known = all(_is_known(each, written) for end in ends for each in (end.lower, end.upper))
    return bounds_known and bool(_read([statement]) - written)


def _is_known(bound: Expression, written: Collection[str]) -> bool:
    """Whether it is an address, which an access unit computes from what it loads."""
    match bound:
        case Load(array, indices):
            return array not in written and all(_is_known(each, written) for each in indices)
        case Binary("+" | "-" | "*" | "<<", left, right):
            return _is_known(left, written) and _is_known(right, written)
    return isinstance(bound, Constant | Variable)


def _distributed(statement: Statement, uses: Counter[str]) -> Body:
    """Loops one after the other in place of one around several candidates. ``uses``: of variables
    in the whole nest."""
    if not isinstance(statement, For):
        return (statement,)
    own = _uses(statement)
    used_elsewhere = {name for name, count in uses.items() if count > own[name]}

    def may_part(first: Body, second: Body) -> bool:
        one, other = _written(first), _written(second)
        clash = one & (_read(second) | other) or other & _read(first)
        carried = _carried(first, second) or _carried(second, first)
        return not (clash or carried or _assigned(first) & _assigned(second) & used_elsewhere)

    ends = replace(statement, body=())
    if _read(ends) & _written(statement.body) or {*_uses(ends)} & _assigned(statement.body):
        return (statement,)
    body = tuple(part for each in statement.body for part in _distributed(each, uses))
    parts = _cut(body, may_part)
    if len(parts) == 1:
        return (statement,)
    return tuple(replace(statement, body=part) for part in parts)


def _part(nest: Nest, body: Body, others: Collection[str] = ()) -> Nest | None:
    """``body`` with the parameters that it has, and ``others``, if their shapes have all of its
    sizes."""
    used = _used(body)
    parameters = tuple(each for each in nest.parameters if each.name in {*used, *others})
    nest_part = replace(nest, parameters=parameters, body=body)
    shapes = [array.shape for array in nest_part.arrays.values()]
    named = {each.name: each for each in nest.sizes}
    in_shapes = dict.fromkeys(
        each.name for each in nodes(tuple(shapes)) if isinstance(each, Variable)
    )
    if used & named.keys() - in_shapes.keys():
        return None
    return replace(nest_part, sizes=tuple(named[each] for each in in_shapes))


def begun(nest: Nest) -> tuple[str, ...]:
    """Results that the nest reads before, in its text, it assigns to any of their elements: what
    they begin with is an input. In the order of parameters. O(nodes)."""
    assigned: set[str] = set()
    read_before: set[str] = set()
    for statement in statements(nest.body):
        match statement:
            case For() | Merge():
                read_before |= _read(replace(statement, body=())) - assigned
            case If(condition):
                read_before |= _read(condition) - assigned
            case _:
                read_before |= _read(statement) - assigned
                assigned |= _written(statement)
    return tuple(name for name in nest.outputs if name in read_before)


def _used(body: Any) -> set[str]:
    """Variables and arrays."""
    return {*_uses(body)} | _read(body) | _written(body)


def _uses(body: Any) -> Counter[str]:
    """How often each variable is read."""
    return Counter(each.name for each in nodes(body) if isinstance(each, Variable))


def _assigned(body: Any) -> set[str]:
    """Locals."""
    return {each.name for each in nodes(body) if isinstance(each, Assign)}


def _read(body: Any) -> set[str]:
    """Arrays of which elements are read."""
    return {each.array for each in nodes(body) if isinstance(each, Load | Fiber | AugmentedStore)}


def _written(body: Any) -> set[str]:
    return {each.array for each in nodes(body) if isinstance(each, Store | AugmentedStore)}


def _carried(first: Body, second: Body) -> set[str]:
    """Locals of ``first`` that ``second`` may read before it assigns them."""
    needed: set[str] = set()
    _block(second, set(), needed)
    return _assigned(first) & needed


def _block(body: Body, known: set[str], needed: set[str]) -> set[str]:
    """Adds to ``needed`` what is read and not ``known``; gives what is known behind it."""
    for statement in body:
        match statement:
            case For(variable, lower, upper, _, inside):
                _use((lower, upper), known, needed)
                _block(inside, known | {variable}, needed)
            case Merge(fibers=fibers, body=inside):
                _use(fibers, known, needed)
                own = {statement.coordinate, *statement.positions, *statement.present}
                _block(inside, known | own, needed)
            case If(condition, then, otherwise):
                _use(condition, known, needed)
                known = _block(then, known, needed) & _block(otherwise, known, needed)
            case Assign(name, value):
                _use(value, known, needed)
                known = known | {name}
            case _:
                _use(statement, known, needed)
    return known


def _use(node: Expression | Statement | tuple[Any, ...], known: set[str], needed: set[str]) -> None:
    needed |= {each.name for each in nodes(node) if isinstance(each, Variable)} - known
