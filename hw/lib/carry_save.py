"""Sums of several numbers with one chain of carries."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Value
from gnarl.hw.lib.cut_points import named


def sum_of(m: Module, values: Sequence[Value], name: str) -> Value:
    """The sum of two unsigned values or more, modulo 2**n for n bits of the widest.

    Of three numbers the sums of their digits and the carries are left, until there are two numbers
    to add. Source: Wallace, "A Suggestion for a Fast Multiplier", 1964.
    """
    width = max(map(len, values))
    step = 0
    while len(values) > 2:
        one, two, three, *rest = (Cat(each, Const(0, width - len(each))) for each in values)
        differ = named(m, f"{name}_differ_{step}", one ^ two)
        digits = named(m, f"{name}_digits_{step}", differ ^ three)
        carries = named(m, f"{name}_carries_{step}", (differ & three) | (one & two))
        values = [*rest, digits, Cat(Const(0, 1), carries)[:width]]
        step += 1
    one, two = values
    return (one + two)[:width]
