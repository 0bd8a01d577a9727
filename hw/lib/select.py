"""One of several values, where at most one is wanted."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable

from amaranth.hdl import Const, Mux, Value


def selected(choices: Iterable[tuple[Value, Value]]) -> Value:
    """The value whose condition is set, of which one at most is; 0 if none is."""
    values = [Mux(chosen, value, 0) for chosen, value in choices]
    return functools.reduce(operator.or_, values, Const(0, 0))
