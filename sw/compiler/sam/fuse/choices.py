"""What may be chosen of fusion by name; apart, as help needs no more."""

from __future__ import annotations

FUSIONS = ("none", "layer", "full")
"""What shares a graph: nothing, the statements of a layer, or all."""

FACTORED, GLOBAL = "factored", "global"
ITERATIONS = (FACTORED, GLOBAL)
"""How products of sums are iterated: each in a space of its own, or all in one."""

PROGRAM_PASSES = {
    "pure": "each reduction becomes a statement of its own",
    "inline": "what is element-wise and taken once goes where it is taken",
    "associate=A*(B*C)": "this product is multiplied as its parentheses say",
    "views": "an index means the same in all statements; what is taken at different indices is "
    "computed for each",
    "global": "views, and sums go out of the products that they are factors of",
    "order": "views, and all loops in one order, which suits how tensors are stored",
}
"""What ``gnarl opt`` can do to a program of Einsums, by the pass."""
