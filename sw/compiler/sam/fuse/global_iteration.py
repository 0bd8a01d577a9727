"""Global iteration: products of sums as sums of products, in one space of all their indices.

Source: FuseFlow, section 3, "the iteration space problem", figure 5a; the way of Custard and
Stardust, to compare with.
"""

from __future__ import annotations

from gnarl.sw.compiler.sam.iteration import (
    Formula,
    Named,
    operands,
    parts_of,
    with_parts,
)
from gnarl.sw.workloads.tensor.expression import Call, Reduction


def globally(formula: Formula) -> Formula:
    """The formula with sums taken out of products, as far out as they go: a sum over an index that
    the other factor has, too, stays inside."""
    if isinstance(formula, Named):
        return globally(formula.part)
    formula = with_parts(formula, tuple(map(globally, parts_of(formula))))
    match formula:
        case Call("mul", (left, right)):
            indices: tuple[str, ...] = ()
            factors = [left, right]
            for place, factor in enumerate(factors):
                others = _all_indices(factors[1 - place])
                if isinstance(factor, Reduction) and factor.op == "sum":
                    if not others & set(factor.indices):
                        indices += factor.indices
                        factors[place] = factor.part
            product: Formula = Call("mul", tuple(factors))
            return Reduction("sum", indices, product) if indices else product
        case Reduction("sum", indices, Reduction("sum", inner, part)):
            return Reduction("sum", (*indices, *inner), part)
    return formula


def _all_indices(formula: Formula) -> set[str]:
    """Those of all operands, reduced or not."""
    return {index for operand in operands(formula) for index in operand.indices}
