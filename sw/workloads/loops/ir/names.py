"""Names that nests may use."""

from __future__ import annotations

import keyword

from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME

FUNCTIONS = ("abs", "inf", "intersect", "max", "min", "range", "sqrt", "union")
"""Names that mean something in the notation, besides the types'."""

RESERVED = frozenset((*FUNCTIONS, *BY_NAME, "nest", "sizes"))


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a nest or of anything in it, if anything is."""
    if not (name.isidentifier() and name.isascii()):
        return f"{name!r} is not a name: must be letters, digits and _ of ASCII"
    if keyword.iskeyword(name) or name in RESERVED:
        return f"{name} is a word of the notation: must be another name"
    return None
