"""One of several values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence

from amaranth.hdl import Cat, Const, Mux, Value


def selected(choices: Iterable[tuple[Value, Value]]) -> Value:
    """The value whose condition is set, of which one at most is; 0 if none is."""
    values = [Mux(chosen, value, 0) for chosen, value in choices]
    return functools.reduce(operator.or_, values, Const(0, 0))


def at_index(values: Sequence[Value], index: Value) -> Value:
    """The value of that number, of which there are 2**len(index): a tree of multiplexers.

    An ``Array`` becomes a comparison for each value, which many bits of it then wait for. Of bits,
    synthesis makes the tree from a shift, which simulators take as one operation.
    """
    if len(values) == 1:
        return values[0]
    if len(values) != 1 << len(index):
        raise ValueError(f"{len(values)} values for an index of {len(index)} bits")
    if all(len(value) == 1 for value in values):
        return (Cat(values) >> index)[0]
    pairs = zip(values[::2], values[1::2], strict=True)
    return at_index([Mux(index[0], odd, even) for even, odd in pairs], index[1:])
