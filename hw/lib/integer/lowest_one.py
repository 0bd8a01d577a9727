"""Priority encoding: the lowest bit of a number that is set."""

from __future__ import annotations

from amaranth.hdl import Cat, Value


def lowest_one(value: Value) -> Value:
    """``value`` with its lowest 1 alone; 0 for 0. A carry chain, as wide as ``value``."""
    return (value & (~value + 1))[: len(value)]


def position(one_hot: Value) -> Value:
    """The number of the bit that is set; 0 if none is. ``one_hot`` has at most one."""
    width = len(one_hot)
    return Cat(
        Cat(one_hot[place] for place in range(width) if place >> bit & 1).any()
        for bit in range(max(1, (width - 1).bit_length()))
    )
