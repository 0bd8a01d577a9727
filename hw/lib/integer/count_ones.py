"""How many bits of a number are set."""

from __future__ import annotations

from amaranth.hdl import Value


def count_ones(value: Value) -> Value:
    """A tree of adders."""
    sums: list[Value] = list(value)
    while len(sums) > 1:
        odd = [sums[-1]] if len(sums) % 2 else []
        sums = [low + high for low, high in zip(sums[::2], sums[1::2], strict=False)] + odd
    return sums[0]
