"""Blocks that write results (``gnarl.hw.sam.blocks.writers``)."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.joins import READY
from gnarl.sw.runtime.sam.simulator.layout import (
    AWAKE,
    BANKS,
    BUFFER,
    BUFFER_WORDS,
    COUNT,
    DONE,
    FULL,
    GRANTED,
    IN,
    IS_DATA,
    IS_EMPTY,
    KIND_SHIFT,
    LAST_MOVE,
    LOADED,
    OWN,
    PARAMETER,
    PORT_OF,
    REQUESTS,
    ROW,
    ROW_WORDS,
    WANTS,
    WORDS,
    WRITING,
)
from gnarl.sw.runtime.sam.simulator.steps import front, is_data, is_stop, payload_or_zero, pop
from gnarl.sw.runtime.sam.simulator.value_blocks import word_at

KEEPS, SETTING = PARAMETER, PARAMETER + 1
"""Whether it keeps empty fibers; the words of a bitvector."""

IS_EMPTY_FIBER = OWN
"""Whether the fiber at hand has nothing so far."""
_WORD, _BITS = OWN + 1, OWN + 2
ENTRIES = OWN + 3
"""Coordinates in bitvectors."""
_WRITES, _PAYLOAD = OWN + 4, OWN + 5
"""The port that is written in this cycle, 0 for none, and the word."""
WRITER_END = OWN + 6


@inner_integers
def head(s: np.ndarray, b: int) -> int:
    """The first token, -1 if there is none."""
    q = s[b + IN]
    return front(s, q) if s[q + COUNT] else -1


@inner_integers
def _want(s: np.ndarray, b: int, port: int, word: int) -> bool:
    """Wants to write the array's next row; whether there is one."""
    s[b + _WRITES], s[b + _PAYLOAD] = port, word
    s[port + WANTS], s[port + ROW] = 1, s[port + WORDS]
    return s[port + WORDS] < s[port + LOADED]


@inner_integers
def _write(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> bool:
    """Whether what is wanted is written in this cycle, if something is."""
    port = s[b + _WRITES]
    if port == 0:
        return True
    s[b + AWAKE] = cycle + 1
    if s[BANKS] and s[port + GRANTED] != cycle:
        return False
    at, payload = s[port + BUFFER] + s[port + REQUESTS], s[b + _PAYLOAD]
    words = s[port + ROW_WORDS]
    for word in range(words):
        m[at + word] = word_at(s, m, b, 0, payload, word)
    s[port + REQUESTS] += words
    if s[port + REQUESTS] + words > s[port + BUFFER_WORDS]:
        s[FULL] = 1
    s[port + WORDS] += 1
    s[LAST_MOVE] = cycle
    return True


@inner_integers
def _begin(s: np.ndarray, b: int) -> None:
    s[b + _WRITES] = 0
    for place in range(2):
        if s[b + PORT_OF + place]:
            s[s[b + PORT_OF + place] + WANTS] = 0


@inner_integers
def begin_level(s: np.ndarray, b: int) -> bool:
    """What the writer of a compressed level, or of values, writes; whether all is right."""
    _begin(s, b)
    token = head(s, b)
    if token < 0 or token == DONE:
        return True
    ports = b + PORT_OF
    if s[ports] == 0:
        return True
    if s[ports + 1] == 0:
        return not is_data(token) or _want(s, b, s[ports], payload_or_zero(token))
    if token >> KIND_SHIFT == IS_DATA:
        return _want(s, b, s[ports + 1], token)
    if is_stop(token) and (s[b + KEEPS] or not s[b + IS_EMPTY_FIBER]):
        return _want(s, b, s[ports], s[s[ports + 1] + WORDS])
    return is_stop(token)


@inner_integers
def level(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> int:
    """A cycle of the writer of a dense or a compressed level, or of values."""
    token = head(s, b)
    if token >= 0 and _write(s, m, b, cycle):
        s[b + IS_EMPTY_FIBER] = is_stop(token)
        _take(s, b, token, cycle)
    return READY


@inner_integers
def _take(s: np.ndarray, b: int, token: int, cycle: int) -> None:
    pop(s, s[b + IN], cycle)
    s[WRITING] -= token == DONE


@inner_integers
def begin_bitvector(s: np.ndarray, b: int) -> bool:
    """What the writer of a bitvector level writes; whether all is right."""
    _begin(s, b)
    token = head(s, b)
    if token < 0 or token == DONE:
        return True
    port, bits, word, words = s[b + PORT_OF], s[b + _BITS], s[b + _WORD], s[b + SETTING]
    if token >> KIND_SHIFT == IS_EMPTY:
        return False
    if token >> KIND_SHIFT == IS_DATA:
        place = token >> 5
        is_after = place == word and bits >> (token & 31) != 0
        if place < word or is_after or place >= words:
            return False
        return place == word or _want(s, b, port, bits)
    if words and (s[b + KEEPS] or not s[b + IS_EMPTY_FIBER]):
        return _want(s, b, port, bits)
    return True


@inner_integers
def bitvector(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> int:
    """A cycle of the writer of a bitvector level."""
    token = head(s, b)
    if token < 0:
        return READY
    writes = s[b + _WRITES] != 0
    if not _write(s, m, b, cycle):
        return READY
    word = s[b + _WORD]
    is_taken = True
    if token >> KIND_SHIFT == IS_DATA:
        is_taken = token >> 5 <= word + writes
    elif writes:
        is_taken = word + 1 == s[b + SETTING]
    if writes:
        s[b + _WORD], s[b + _BITS] = word + 1, 0
    if is_taken:
        if token >> KIND_SHIFT == IS_DATA:
            s[b + _BITS] |= 1 << (token & 31)
            s[b + ENTRIES] += 1
        s[b + IS_EMPTY_FIBER] = is_stop(token)
        if is_stop(token):
            s[b + _WORD] = 0
        _take(s, b, token, cycle)
    return READY
