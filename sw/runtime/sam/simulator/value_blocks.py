"""Blocks of values: a token's payload says where in memory the words of a block are.

What computes a block puts it into a pool of places. When all have been taken, those that no record
mentions are free again: any number there that may be a place counts as one.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inlined_integers, inner_integers
from gnarl.sw.runtime.sam.simulator.functions import function
from gnarl.sw.runtime.sam.simulator.layout import (
    FIRST_PLACE,
    MARKS,
    NEXT_PLACE,
    ONE_WORD_INPUTS,
    PLACE_WORDS,
    PLACES,
    PLACES_OF,
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
    out = new_place(s, m)
    for word in range(words):
        one, other = word_at(s, m, b, 0, left, word), word_at(s, m, b, 1, right, word)
        m[out + word] = compute(s, operation, one, other)
    return out


@inlined_integers
def word_at(s: np.ndarray, m: np.ndarray, b: int, input: int, value: int, word: int) -> int:
    """The word of an input's value that a word of a result is made of."""
    if (s[b + ONE_WORD_INPUTS] >> input) & 1:
        return value
    places = s[b + PLACES_OF + input]
    return read(m, value + (s[places + word] if places else word))


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
def folded(s: np.ndarray, m: np.ndarray, b: int, operation: int, along: int, value: int) -> int:
    """The words of a block put together that lie along an index, neighbours in pairs, and pairs of
    pairs. ``PLACES_OF``: all words, those of each result next to each other."""
    words, out = s[b + VALUE_WORDS], new_place(s, m)
    for word in range(words):
        m[out + word] = word_at(s, m, b, 0, value, word)
    left = words // along
    while words > left:
        words >>= 1
        for word in range(words):
            one, other = read(m, out + 2 * word), read(m, out + 2 * word + 1)
            m[out + word] = compute(s, operation, one, other)
    return read(m, out) if left == 1 else out


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
