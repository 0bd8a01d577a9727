"""Global iteration: products of sums as sums of products, in one space of all their indices.

Source: FuseFlow, section 3, "the iteration space problem", figure 5a; the way of Custard and
Stardust, to compare with.
"""

from __future__ import annotations

from gnarl.sw.compiler.sam.iteration import Formula, Named, parts_of, with_parts
from gnarl.sw.workloads.tensor.expression import Call, Reduction


def globally(formula: Formula) -> Formula:
    """The formula with sums taken out of products, as far out as they go. Indices of sums must be
    distinct from all others, as those of views are."""
    if isinstance(formula, Named):
        return globally(formula.part)
    formula = with_parts(formula, tuple(map(globally, parts_of(formula))))
    match formula:
        case Call("mul", (left, right)):
            indices: tuple[str, ...] = ()
            factors = []
            for factor in (left, right):
                if isinstance(factor, Reduction) and factor.op == "sum":
                    indices += factor.indices
                    factor = factor.part
                factors.append(factor)
            product: Formula = Call("mul", tuple(factors))
            return Reduction("sum", indices, product) if indices else product
        case Reduction("sum", indices, Reduction("sum", inner, part)):
            return Reduction("sum", (*indices, *inner), part)
    return formula
