"""Compressed operands that no loop walks, stored densely first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    EinsumProgram,
    with_accesses,
)
from gnarl.sw.workloads.loops.expressions.program_arrays import Layout, layouts
from gnarl.sw.workloads.loops.expressions.statement_loops import walked
from gnarl.sw.workloads.tensor.expression import Access


def with_dense_operands(program: EinsumProgram) -> EinsumProgram:
    """A pure program, bit for bit the same, whose compressed operands are stored densely first
    where loops do not walk them."""
    own = layouts(program)
    names: dict[str, str] = {}
    statements: list[Einsum] = []
    for each in program.einsums:
        chosen = walked(each, own)
        for access in each.operands:
            if own[access.tensor].is_dense or access in chosen or access.tensor in names:
                continue
            names[access.tensor] = name = _free(f"{access.tensor}_dense", own)
            copied = _distinct(access)
            dense = Access(name, copied.indices)
            statements.append(replace(each, result=dense, expression=copied, order=()))
        taken = _with_tensors(each.expression, chosen, names)
        statements.append(replace(each, expression=taken))
    return replace(program, statements=tuple(statements))


def _free(name: str, taken: Mapping[str, Layout]) -> str:
    while name in taken:
        name += "_"
    return name


def _with_tensors(
    expression: EinsumExpression, kept: Sequence[Access], names: Mapping[str, str]
) -> EinsumExpression:
    """The expression with other tensors in place of those by ``names``, but for some accesses."""

    def changed(access: Access) -> Access:
        if access in kept:
            return access
        return replace(access, tensor=names.get(access.tensor, access.tensor))

    return with_accesses(expression, changed)


def _distinct(access: Access) -> Access:
    """The tensor at indices none of which is there twice."""
    return replace(access, indices=tuple(f"i{mode}" for mode in range(len(access.indices))))
