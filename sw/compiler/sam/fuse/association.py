"""Association: products of several tensors, multiplied in another order.

``A*(X*W)`` says that X and W are multiplied first. The products of a program that have just these
factors are replaced; what rounding makes of them changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    Reduction,
    free_indices,
    reductions,
    with_part,
)
from gnarl.sw.workloads.tensor.expression import Access, Call

Tree: TypeAlias = "str | tuple[Tree, Tree]"
"""A tensor, or the product of two."""

PlacedTree: TypeAlias = "Access | tuple[PlacedTree, PlacedTree]"
"""The same of tensors at indices."""

_NAME = r"[^\W\d][\w.]*|\d+\.[\w.]+"
"""Of a tensor: ``W``, or ``0.weight``, as users of PyTorch may call it."""


@dataclass(frozen=True)
class _Chain:
    """A product: the part of a statement that it is, the statements that are computed for it alone,
    and its factors at the statement's indices."""

    part: EinsumExpression
    inner: tuple[Einsum, ...]
    factors: tuple[Access, ...]


def associate(program: EinsumProgram, text: str, names: Mapping[str, str]) -> EinsumProgram:
    """The program with the product ``text`` multiplied as its parentheses say.

    names
        of tensors, by what users call them.

    Raises ``WorkloadError`` for what is no product of tensors by name, and for one that the program
    does not have.
    """
    tree = _parse(text, names)
    leaves = sorted(_leaves(tree))
    found = False
    for statement in program.einsums:
        for part in _products(statement.expression):
            chain = _chain(program, statement, part, set(leaves))
            if chain is not None and sorted(each.tensor for each in chain.factors) == leaves:
                current = program.einsum(statement.name)
                assert current is not None, "only what comes before a statement goes into it"
                program = _replaced(program, current, chain, tree)
                found = True
    if not found:
        raise WorkloadError(
            f"associate {quoted(text)}: the model has no product of just {', '.join(leaves)}"
        )
    return program


def products(program: EinsumProgram) -> list[tuple[tuple[str, ...], str]]:
    """The factors of each product of three tensors or more, left to right, that ``associate`` takes
    whole, and the text that says how it is multiplied already; empty: all at once. Products of the
    same tensors, which ``associate`` takes together, are there once."""
    found: list[tuple[str, tuple[str, ...], str]] = []
    inside: set[str] = set()
    for statement in program.einsums:
        for part in _products(statement.expression):
            chain = _chain(program, statement, part, None)
            if chain is not None and len(chain.factors) > 2:
                names = {each.name for each in chain.inner}
                tree = _tree(program, part, names)
                factors = tuple(each.tensor for each in chain.factors)
                found.append((statement.name, factors, _text(tree)[1:-1] if tree else ""))
                inside |= names
    distinct: dict[tuple[str, ...], tuple[tuple[str, ...], str]] = {}
    for name, factors, text in found:
        if name not in inside:
            distinct.setdefault(tuple(sorted(factors)), (factors, text))
    return [*distinct.values()]


def _tree(program: EinsumProgram, part: EinsumExpression, inner: Collection[str]) -> Tree | None:
    """How a product is multiplied whose statements are ``inner``; ``None``: more than two at
    once."""
    trees: list[Tree] = []
    for factor in _factors(part) or ():
        statement = program.einsum(factor.tensor) if factor.tensor in inner else None
        tree = _tree(program, statement.expression, inner) if statement else factor.tensor
        if tree is None:
            return None
        trees.append(tree)
    return (trees[0], trees[1]) if len(trees) == 2 else None


def associations(factors: Sequence[str]) -> Iterator[str]:
    """Every way to put parentheses around a product of tensors by name, as ``associate`` takes
    it."""
    for tree in _trees(factors):
        yield _text(tree)[1:-1]


def _trees(factors: Sequence[str]) -> Iterator[Tree]:
    if len(factors) == 1:
        yield factors[0]
    for cut in range(1, len(factors)):
        for left in _trees(factors[:cut]):
            for right in _trees(factors[cut:]):
                yield left, right


def _text(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"({_text(tree[0])}*{_text(tree[1])})"


def _parse(text: str, names: Mapping[str, str]) -> Tree:
    problem = f"associate {quoted(text)}: must be a product of tensors, as A*(X*W)"
    left = re.findall(rf"{_NAME}|\S", text)[::-1]

    def product() -> Tree:
        tree = factor()
        while left[-1:] == ["*"]:
            left.pop()
            tree = tree, factor()
        return tree

    def factor() -> Tree:
        token = left.pop() if left else ""
        if re.fullmatch(_NAME, token):
            return names.get(token, token)
        if token == "(":
            tree = product()
            if left and left.pop() == ")":
                return tree
        raise WorkloadError(problem)

    try:
        whole = product()
        count = len(list(_leaves(whole)))
    except RecursionError as error:
        raise WorkloadError(problem) from error
    if left or count < 2:
        raise WorkloadError(problem)
    return whole


def _leaves(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)


def _products(expression: EinsumExpression) -> Iterator[EinsumExpression]:
    """The largest parts of an expression that are sums of products."""
    if _factors(expression) is not None and not isinstance(expression, Access):
        yield expression
    elif isinstance(expression, Call):
        for part in expression.arguments:
            yield from _products(part)
    elif isinstance(expression, Reduction):
        yield from _products(expression.part)


def _chain(
    program: EinsumProgram, statement: Einsum, part: EinsumExpression, leaves: set[str] | None
) -> _Chain | None:
    """The product that a part of a statement is, followed back to ``leaves``; ``None``: as far as
    it goes."""
    summed = [index for each in reductions(part) for index in each.indices]
    if len(set(summed)) < len(summed):
        return None  # its sums would become one
    inner_statements: list[Einsum] = []
    found: list[Access] = []
    taken = set(statement.indices)
    for factor in _factors(part) or ():
        inner = program.einsum(factor.tensor)
        if factor.tensor in (leaves or ()) or inner is None or factor.tensor in program.shapes:
            found.append(factor)
            continue
        chain = None
        if (
            factor.tensor not in program.results
            and _is_taken_once(program, factor.tensor)
            and _factors(inner.expression) is not None
        ):
            chain = _chain(program, inner, inner.expression, leaves)
        if chain is None and leaves is None:
            found.append(factor)
            continue
        if chain is None:
            return None
        renamed = dict(zip(inner.result.indices, factor.indices, strict=True))
        for index in sorted({i for each in chain.factors for i in each.indices} - {*renamed}):
            renamed[index] = _fresh(index, taken)
            taken.add(renamed[index])
        inner_statements += [*chain.inner, inner]
        found.extend(
            Access(each.tensor, tuple(renamed[index] for index in each.indices))
            for each in chain.factors
        )
    return _Chain(part, tuple(inner_statements), tuple(found))


def _is_taken_once(program: EinsumProgram, tensor: str) -> bool:
    uses = (each.tensor for statement in program.statements for each in statement.operands)
    return list(uses).count(tensor) == 1


def _fresh(index: str, taken: set[str]) -> str:
    name, number = index, 1
    while name in taken:
        name, number = f"{index}{number}", number + 1
    return name


def _factors(expression: EinsumExpression) -> list[Access] | None:
    """The factors of a sum of products, or ``None`` for anything else."""
    if isinstance(expression, Reduction):
        return _factors(expression.part) if expression.op == "sum" else None
    if isinstance(expression, Access):
        return [expression]
    if isinstance(expression, Call) and expression.function == "mul":
        parts = [_factors(each) for each in expression.arguments]
        if all(part is not None for part in parts):
            return [factor for part in parts for factor in part or ()]
    return None


def _replaced(
    program: EinsumProgram, statement: Einsum, chain: _Chain, tree: Tree
) -> EinsumProgram:
    """The program with a statement's product, and what is computed for it, replaced by a tree of
    products."""
    inner_names = [each.name for each in chain.inner]
    unused = list(reversed(inner_names))
    by_name: dict[str, list[Access]] = {}
    for factor in chain.factors:
        by_name.setdefault(factor.tensor, []).append(factor)
    made: list[Einsum] = []

    def placed(tree: Tree) -> PlacedTree:
        """The tree with each tensor at its indices; of one that is there twice, left to right."""
        if isinstance(tree, str):
            return by_name[tree].pop(0)
        return placed(tree[0]), placed(tree[1])

    def taken(tree: PlacedTree, outside: set[str]) -> Access:
        """The access of a part of the tree, of whose indices those ``outside`` are kept."""
        if isinstance(tree, Access):
            return tree
        expression, kept = product(tree, outside)
        result = Access(unused.pop() if unused else _name(program, made), kept)
        made.append(replace(statement, result=result, expression=expression, order=()))
        return result

    def product(tree: PlacedTree, outside: set[str]) -> tuple[EinsumExpression, tuple[str, ...]]:
        assert not isinstance(tree, Access)
        left = taken(tree[0], outside | _indices(tree[1]))
        right = taken(tree[1], outside | set(left.indices))
        used = tuple(dict.fromkeys((*left.indices, *right.indices)))
        kept = tuple(index for index in used if index in outside)
        summed = tuple(index for index in used if index not in outside)
        whole: EinsumExpression = Call("mul", (left, right))
        return (Reduction("sum", summed, whole) if summed else whole), kept

    root, _ = product(placed(tree), set(free_indices(chain.part)))
    last = replace(statement, expression=with_part(statement.expression, chain.part, root))
    statements: list[AnyStatement] = []
    for each in program.statements:
        if each.name == statement.name:
            statements += [*made, replace(last, order=())]
        elif each.name not in inner_names:
            statements.append(each)
    formats = {name: each for name, each in program.formats.items() if name not in inner_names}
    return replace(program, statements=tuple(statements), formats=formats)


def _indices(tree: PlacedTree) -> set[str]:
    if isinstance(tree, Access):
        return set(tree.indices)
    return _indices(tree[0]) | _indices(tree[1])


def _name(program: EinsumProgram, made: Sequence[Einsum]) -> str:
    taken = {*program.inputs, *(each.name for each in (*program.statements, *made))}
    return _fresh("product", taken)
