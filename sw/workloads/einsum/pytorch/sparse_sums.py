"""Products of sparse matrices that are sums or means of entries, as PyTorch Geometric has them."""

from __future__ import annotations

from gnarl.sw.workloads.einsum.pytorch.elementwise import Operator, call
from gnarl.sw.workloads.einsum.pytorch.products import matmul
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement, Stored
from gnarl.sw.workloads.tensor.expression import Access, Constant


def _reduced_product(step: Step, x: View, y: View, reduce: str) -> View:
    if reduce == "sum":
        return matmul(step, x, y)
    if reduce != "mean":
        step.refuse(f"reduce = {reduce!r}: must be 'sum' or 'mean'")
    counts = step.reduced("sum", _stored(step, x), [1], True, "counts")
    divisor = step.elementwise(lambda a: call("max", a, Constant(1.0)), counts, part="divisor")
    total = matmul(step, x, y, part="total")
    return step.elementwise(lambda a, b: call("div", a, b), total, divisor)


def _stored(step: Step, x: View) -> View:
    """1 where a sparse input has an entry."""
    statements = step.statements
    if x.is_dense:
        step.refuse(
            "a mean over entries of a matrix that was dense in between, which has lost those that "
            "are 0: must be of an input"
        )
    if any(each.name == x.tensor for each in statements.added):
        step.refuse("a mean over entries of a matrix that is computed: must be of an input")
    names = statements.names.indices()
    own = statements.shapes[x.tensor]
    indices = tuple(next(names) for _ in own)
    name = statements.names.claim(f"{x.tensor}_stored")
    result, operand = Access(name, indices), Access(x.tensor, indices)
    statements.added.append(Rearrangement(result, Stored(), (operand,), step.place))
    statements.shapes[name] = own
    return View(name, x.shape, x.modes)


SPARSE_SUMS: dict[str, Operator] = {"aten._sparse_mm.reduce": _reduced_product}
"""By their names in graphs."""
