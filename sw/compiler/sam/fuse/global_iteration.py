"""Global iteration: products of sums as sums of products, in one space of all their indices.

Source: FuseFlow, section 3, "the iteration space problem", figure 5a; the way of Custard and
Stardust, to compare with.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gnarl.sw.compiler.sam.fuse.views import Views
from gnarl.sw.workloads.einsum.program import EinsumExpression, accesses
from gnarl.sw.workloads.tensor.expression import Access, Call, Reduction


def globally(views: Views) -> Views:
    """The views with sums taken out of the products that they are factors of.

    A sum that is taken more than once, or over an index that the other factor has, too, stays
    inside.
    """
    expressions: dict[Access, EinsumExpression] = {}
    taken: set[Access] = set()
    uses = Counter(each for view in views.views for each in accesses(view.expression))

    def visited(expression: EinsumExpression) -> EinsumExpression:
        match expression:
            case Call("mul", (left, right)):
                return _product(factor(left, right), factor(right, left))
            case Call(function, arguments):
                return Call(function, tuple(map(visited, arguments)))
            case Reduction(op, indices, part):
                part = visited(part)
                if op == "sum" and isinstance(part, Reduction) and part.op == "sum":
                    indices, part = (*indices, *part.indices), part.part
                return Reduction(op, indices, part)
        return expression

    def factor(expression: EinsumExpression, other: EinsumExpression) -> EinsumExpression:
        if not isinstance(expression, Access):
            return visited(expression)
        inner = expressions.get(expression)
        is_alone = uses[expression] == 1 and expression not in views.results
        if not (is_alone and isinstance(inner, Reduction) and inner.op == "sum"):
            return expression
        if set(inner.indices) & _all_indices(other):
            return expression
        taken.add(expression)
        return inner

    for view in views.views:
        expressions[view.result] = visited(view.expression)
    left = (view for view in views.views if view.result not in taken)
    kept = tuple(replace(view, expression=expressions[view.result]) for view in left)
    return Views(kept, views.results)


def _product(left: EinsumExpression, right: EinsumExpression) -> EinsumExpression:
    """A product, with the sums of its factors outside."""
    indices: tuple[str, ...] = ()
    factors = [left, right]
    for place, factor in enumerate(factors):
        if isinstance(factor, Reduction) and factor.op == "sum":
            if not _all_indices(factors[1 - place]) & set(factor.indices):
                indices += factor.indices
                factors[place] = factor.part
    product: EinsumExpression = Call("mul", tuple(factors))
    return Reduction("sum", indices, product) if indices else product


def _all_indices(expression: EinsumExpression) -> set[str]:
    """Those of all operands, reduced or not."""
    return {index for access in accesses(expression) for index in access.indices}
