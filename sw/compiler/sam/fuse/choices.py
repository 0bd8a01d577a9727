"""What may be chosen of fusion by name; apart, as help needs no more."""

from __future__ import annotations

FUSIONS = ("none", "layer")
"""What shares a graph: nothing, or the statements of a layer."""

FACTORED, GLOBAL = "factored", "global"
ITERATIONS = (FACTORED, GLOBAL)
"""How products of sums are iterated: each in a space of its own, or all in one."""
