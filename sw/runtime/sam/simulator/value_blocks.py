"""Blocks of values: a token's payload says where in memory the words of a block are.

What computes a block puts it into a pool of places. When all have been taken, those that no record
mentions are free again: any number there that may be a place counts as one.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.functions import function
from gnarl.sw.runtime.sam.simulator.layout import (
    FIRST_PLACE,
    MARKS,
    NEXT_PLACE,
    ONE_WORD_INPUTS,
    PLACE_WORDS,
    PLACES,
    RECORDS,
    VALUE_WORDS,
)
from gnarl.sw.runtime.sam.simulator.memory import read
from gnarl.sw.runtime.sam.simulator.numbers import compute


@inner_integers
def new_place(s: np.ndarray, m: np.ndarray) -> int:
    """A place for a block that no token means."""
    number = _next_free(s, m, s[NEXT_PLACE])
    if number == s[PLACES]:
        _mark(s, m)
        number = _next_free(s, m, 0)
    s[NEXT_PLACE] = number + 1
    return s[FIRST_PLACE] + number * s[PLACE_WORDS]


@inner_integers
def _next_free(s: np.ndarray, m: np.ndarray, number: int) -> int:
    while number < s[PLACES] and read(m, s[MARKS] + number):
        number += 1
    return number


@inner_integers
def _mark(s: np.ndarray, m: np.ndarray) -> None:
    """Marks the places that records mention; there are more places than records."""
    places, first, words, marks = s[PLACES], s[FIRST_PLACE], s[PLACE_WORDS], s[MARKS]
    for number in range(places):
        m[marks + number] = 0
    end = first + places * words
    for at in range(s[RECORDS]):
        if first <= s[at] < end:
            m[marks + (s[at] - first) // words] = 1


@inner_integers
def compute_value(
    s: np.ndarray, m: np.ndarray, b: int, operation: int, left: int, right: int
) -> int:
    """``left operation right`` of a block that computes, word by word."""
    words = s[b + VALUE_WORDS]
    if words == 1:
        return compute(s, operation, left, right)
    ones = s[b + ONE_WORD_INPUTS]
    out = new_place(s, m)
    for word in range(words):
        one = left if ones & 1 else read(m, left + word)
        other = right if ones & 2 else read(m, right + word)
        m[out + word] = compute(s, operation, one, other)
    return out


@inner_integers
def function_value(
    s: np.ndarray, m: np.ndarray, b: int, operation: int, numbers: int, value: int
) -> int:
    """A function of each word of a value."""
    words = s[b + VALUE_WORDS]
    if words == 1:
        return function(s, operation, numbers, value)
    out = new_place(s, m)
    for word in range(words):
        m[out + word] = function(s, operation, numbers, read(m, value + word))
    return out


@inner_integers
def folded(s: np.ndarray, m: np.ndarray, operation: int, words: int, value: int) -> int:
    """The words of a block put together, neighbours in pairs, and pairs of pairs."""
    scratch = new_place(s, m)
    for word in range(words):
        m[scratch + word] = read(m, value + word)
    while words > 1:
        words >>= 1
        for word in range(words):
            one, other = read(m, scratch + 2 * word), read(m, scratch + 2 * word + 1)
            m[scratch + word] = compute(s, operation, one, other)
    return read(m, scratch)


@inner_integers
def is_zero_value(s: np.ndarray, m: np.ndarray, b: int, value: int, magnitude: int) -> bool:
    """Whether all words of a value are 0 in the bits of ``magnitude``."""
    words = s[b + VALUE_WORDS]
    if words == 1:
        return value & magnitude == 0
    for word in range(words):
        if read(m, value + word) & magnitude:
            return False
    return True
