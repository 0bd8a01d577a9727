"""The lowest bit of a wide number that is set, by trees of look-up tables instead of carries."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from gnarl.hw.lib.cut_points import named

_RADIX = 4
"""Inputs of a look-up table."""


def first_one(m: Module, value: Value, name: str) -> Value:
    """``value`` with its lowest 1 alone; 0 for 0. As ``lowest_one``, O(log n) tables deep."""
    return named(m, f"{name}_first", value & ~_any_below(m, value, name))


def has_several(m: Module, value: Value, name: str) -> Value:
    """Whether at least two bits are set. O(log n) tables deep."""
    some, several = value, Const(0, 1)
    while len(some) > 1:
        groups = _groups(some)
        pairs = Cat(
            Cat(bit & group[:place].any() for place, bit in enumerate(group)).any()
            for group in groups
        )
        several = named(m, f"{name}_several_{len(some)}", several | pairs.any())
        some = named(m, f"{name}_some_{len(some)}", Cat(group.any() for group in groups))
    return several


def _any_below(m: Module, value: Value, name: str) -> Value:
    """For each bit, whether one below it is set."""
    if len(value) == 1:
        return Const(0, 1)
    groups = _groups(value)
    some = named(m, f"{name}_any_{len(value)}", Cat(group.any() for group in groups))
    below = _any_below(m, some, name)
    bits = (
        below[number] | group[:place].any()
        for number, group in enumerate(groups)
        for place in range(len(group))
    )
    return named(m, f"{name}_below_{len(value)}", Cat(bits))


def _groups(value: Value) -> list[Value]:
    return [value[begin : begin + _RADIX] for begin in range(0, len(value), _RADIX)]
