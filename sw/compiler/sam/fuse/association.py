"""Association: products of several tensors, multiplied in another order.

``A*(X*W)`` says that X and W are multiplied first. The products of a program that have just these
factors are replaced; what rounding makes of them changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression, EinsumProgram, Reduction
from gnarl.sw.workloads.tensor.expression import Access, Call

Tree: TypeAlias = "str | tuple[Tree, Tree]"
"""A tensor, or the product of two."""


@dataclass(frozen=True)
class _Chain:
    """A product of more than two factors: the statements that compute it, the last one its
    result's, and the factors at indices of that one."""

    statements: tuple[Einsum, ...]
    factors: tuple[Access, ...]


def associate(program: EinsumProgram, text: str, names: dict[str, str]) -> EinsumProgram:
    """The program with the product ``text`` multiplied as its parentheses say.

    names
        of tensors, by what users call them.

    Raises ``WorkloadError`` for what is no product of tensors by name, and for one that the program
    does not have.
    """
    tree = _parse(text, names)
    leaves = sorted(_leaves(tree))
    found = False
    for statement in program.statements:
        if statement.name not in program:
            continue
        chain = _chain(program, statement, set(leaves))
        if chain is None or sorted(each.tensor for each in chain.factors) != leaves:
            continue
        program = _replaced(program, chain, tree)
        found = True
    if not found:
        raise WorkloadError(
            f"associate {quoted(text)}: the model has no product of just {', '.join(leaves)}"
        )
    return program


def _parse(text: str, names: dict[str, str]) -> Tree:
    problem = f"associate {quoted(text)}: must be a product of tensors, as A*(X*W)"
    try:
        node: ast.AST = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WorkloadError(problem) from error

    def tree(node: ast.AST) -> Tree:
        match node:
            case ast.BinOp(left, ast.Mult(), right):
                return tree(left), tree(right)
            case ast.Name() | ast.Attribute():
                name = ast.unparse(node)
                return names.get(name, name)
        raise WorkloadError(problem)

    whole = tree(node)
    if isinstance(whole, str):
        raise WorkloadError(problem)
    return whole


def _leaves(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)


def _chain(program: EinsumProgram, statement: Einsum, leaves: set[str]) -> _Chain | None:
    """The product that ends in a statement, followed back to ``leaves``."""
    factors = _factors(statement.expression)
    if factors is None:
        return None
    statements: list[Einsum] = []
    found: list[Access] = []
    taken = set(statement.indices)
    for factor in factors:
        inner = program[factor.tensor] if factor.tensor in program else None
        is_leaf = factor.tensor in leaves or inner is None
        if is_leaf or program.consumers[factor.tensor] != (statement.name,):
            found.append(factor)
            continue
        assert inner is not None
        chain = _chain(program, inner, leaves)
        if chain is None:
            return None
        renamed = dict(zip(inner.result.indices, factor.indices, strict=True))
        for index in sorted({i for each in chain.factors for i in each.indices} - {*renamed}):
            renamed[index] = _fresh(index, taken)
            taken.add(renamed[index])
        statements.extend(chain.statements)
        found.extend(
            Access(each.tensor, tuple(renamed[index] for index in each.indices))
            for each in chain.factors
        )
    return _Chain((*statements, statement), tuple(found))


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


def _replaced(program: EinsumProgram, chain: _Chain, tree: Tree) -> EinsumProgram:
    """The program with the statements of a chain replaced by those of a tree of products."""
    *inner_names, _ = [each.name for each in chain.statements]
    last = chain.statements[-1]
    unused = list(reversed(inner_names))
    by_name: dict[str, list[Access]] = {}
    for factor in chain.factors:
        by_name.setdefault(factor.tensor, []).append(factor)
    made: list[Einsum] = []

    def product(tree: Tree, outside: set[str], result: Access | None) -> Access:
        if isinstance(tree, str):
            return by_name[tree].pop(0)
        left_out = outside | _indices(tree[1], by_name)
        left = product(tree[0], left_out, None)
        right = product(tree[1], outside | set(left.indices), None)
        used = tuple(dict.fromkeys((*left.indices, *right.indices)))
        kept = tuple(index for index in used if index in outside)
        access = result or Access(unused.pop() if unused else _name(program, made), kept)
        summed = tuple(index for index in used if index not in access.indices)
        expression: EinsumExpression = Call("mul", (left, right))
        if summed:
            expression = Reduction("sum", summed, expression)
        made.append(replace(last, result=access, expression=expression, order=()))
        return access

    product(tree, set(last.result.indices), last.result)
    statements: list[Einsum] = []
    for statement in program.statements:
        if statement.name == last.name:
            statements.extend(made)
        elif statement.name not in inner_names:
            statements.append(statement)
    return replace(program, statements=tuple(statements))


def _indices(tree: Tree, by_name: dict[str, list[Access]]) -> set[str]:
    return {i for name in _leaves(tree) for each in by_name[name] for i in each.indices}


def _name(program: EinsumProgram, made: Sequence[Einsum]) -> str:
    taken = {*program.inputs, *(each.name for each in (*program.statements, *made))}
    return _fresh("product", taken)
