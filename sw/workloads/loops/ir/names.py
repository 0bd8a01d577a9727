"""Names that nests may use."""

from __future__ import annotations

import keyword

from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME

FUNCTIONS = ("abs", "inf", "intersect", "max", "min", "range", "sqrt", "union")
"""Names that mean something in the notation, besides the types'."""

RESERVED = frozenset((*FUNCTIONS, *BY_NAME, "nest", "sizes"))


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a nest or of anything in it in the notation, if anything
    is."""
    if problem := identifier_problem(name):
        return problem
    return f"{name} is a word of the notation: must be another name" if _is_word(name) else None


def identifier_problem(name: str) -> str | None:
    """What is wrong with a name wherever it comes from."""
    if not (name.isidentifier() and name.isascii()):
        return f"{name!r} is not a name: must be letters, digits and _ of ASCII"
    return None


def spelled(name: str) -> str:
    """A name as printed nests have it: words of the notation have one _ more."""
    return f"{name}_" if _is_word(name.rstrip("_")) else name


def unspelled(text: str) -> str:
    """Inverse of ``spelled``."""
    return text[:-1] if text.endswith("_") and _is_word(text.rstrip("_")) else text


def _is_word(name: str) -> bool:
    return keyword.iskeyword(name) or name in RESERVED
