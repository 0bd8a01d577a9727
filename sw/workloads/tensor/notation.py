"""Expressions as the notation writes them: with sums written out, and as text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction

SUM = "sum"
"""What sums are called."""

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
"""Signs of the functions that stand between their operands."""


@dataclass(frozen=True)
class Sum:
    """``sum(k,part)``, at its column."""

    index: str
    part: Written
    column: int = 1


Written: TypeAlias = "Access | Constant | Call[Written] | Sum | Reduction[Written]"
"""An expression, with the sums that are written out."""


class Binding(IntEnum):
    """How tightly an expression binds."""

    TERMS, PRODUCT, ATOM = range(3)


def binding(written: Written) -> Binding:
    """A sign changes no scope: terms under it are still terms."""
    match written:
        case Call("add" | "sub"):
            return Binding.TERMS
        case Call("mul" | "div"):
            return Binding.PRODUCT
        case Call("neg", (part,)) if binding(part) == Binding.TERMS:
            return Binding.TERMS
    return Binding.ATOM


def text_of(written: Written) -> str:
    """What ``parser`` reads as the same expression."""
    match written:
        case Access():
            return str(written)
        case Constant():
            return f"({written.tensor})" if written.tensor.startswith("-") else written.tensor
        case Sum(index, part):
            return f"{SUM}({index},{text_of(part)})"
        case Reduction(op, indices, part):
            return f"{op}[{','.join(indices)}]({text_of(part)})"
        case Call("neg", (part,)):
            return f"-{_text(part, Binding.ATOM)}"
        case Call(function, (left, right)) if function in SIGNS:
            own = binding(written)
            return f"{_text(left, own)}{SIGNS[function]}{_text(right, Binding(own + 1))}"
        case Call(function, arguments):
            return f"{function}({','.join(map(text_of, arguments))})"
    raise TypeError(written)


def _text(written: Written, least: Binding) -> str:
    """The text, in parentheses if it binds less tightly."""
    text = text_of(written)
    return text if binding(written) >= least else f"({text})"
