"""Truth tables as NumPy code: a few operations on words of 64 bitlines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

_ONES, _ZERO = np.uint64((1 << 64) - 1), np.uint64(0)

_NAMES = ("p", "c", "b", "a")

Formula = Callable[..., np.ndarray]
"""A function of words of a, b, c and p; may give one of them itself, or a number of all
bitlines."""


@cache
def formula(truth: int) -> Formula:
    """The function of a, b, c and p with a truth table of 16 values."""
    return _compiled(_text(truth, _NAMES), "a, b, c, p")


@cache
def start_formula(truth: int) -> Formula:
    """The function of c and p with a truth table of 4 values."""
    return _compiled(_text(truth, ("p", "c")), "c, p")


def _compiled(text: str, names: str) -> Formula:
    return eval(f"lambda {names}: {text}", {"ones": _ONES, "zero": _ZERO})


@cache
def _text(truth: int, names: tuple[str, ...]) -> str:
    """The shortest that splitting by the variables gives, in any order; ``names[0]`` is the
    highest bit of the case's number."""
    size = 1 << len(names)
    if truth == 0:
        return "zero"
    if truth == (1 << size) - 1:
        return "ones"
    choices = []
    for place, name in enumerate(names):
        rest = names[:place] + names[place + 1 :]
        low, high = _cofactors(truth, len(names) - 1 - place, size)
        choices.append(_split(name, low, high, rest))
    return min(choices, key=_operations)


def _cofactors(truth: int, bit: int, size: int) -> tuple[int, int]:
    """The tables of half the size where that bit of the case's number is 0, and where it is 1."""
    cofactors = [0, 0]
    places = [0, 0]
    for case in range(size):
        half = case >> bit & 1
        cofactors[half] |= (truth >> case & 1) << places[half]
        places[half] += 1
    return cofactors[0], cofactors[1]


def _split(name: str, low: int, high: int, rest: tuple[str, ...]) -> str:
    ones = (1 << (1 << len(rest))) - 1
    if low == high:
        return _text(low, rest)
    if low == 0 and high == ones:
        return name
    if low == ones and high == 0:
        return f"~{name}"
    if low == ones ^ high:
        return f"({name} ^ {_text(low, rest)})"
    if low == 0:
        return f"({name} & {_text(high, rest)})"
    if high == 0:
        return f"(~{name} & {_text(low, rest)})"
    if high == ones:
        return f"({name} | {_text(low, rest)})"
    if low == ones:
        return f"(~{name} | {_text(high, rest)})"
    return f"({_text(low, rest)} ^ {name} & {_text(low ^ high, rest)})"


def _operations(text: str) -> int:
    return sum(text.count(symbol) for symbol in "&|^~")
