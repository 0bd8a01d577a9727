"""Steps of blocks that join two streams."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.layout import (
    EMPTY,
    HAS_NEXT,
    IN,
    IS_DATA,
    KIND_SHIFT,
    NEXT,
    NEXT_TOKEN,
    PAYLOAD,
    STATE,
    TAKES,
    TOKEN,
)
from gnarl.sw.runtime.sam.simulator.steps import agree, give, is_data, is_stop

READY, WAITS, WRONG = 1, 0, -1
"""What deciding on a step finds: all it needs is there, something is missing, a fault."""

BOTH = 0b1111

_WORD_BITS = 32


@inner_integers
def intersect(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.joins.intersect``."""
    q0, q1 = s[b + IN], s[b + IN + 2]
    crd0, ref0, crd1, ref1 = s[q0 + TOKEN], s[s[b + IN + 1] + TOKEN], s[q1 + TOKEN], _ref1(s, b)
    if not (agree(crd0, ref0) and agree(crd1, ref1)):
        return WRONG
    wanted0, wanted1 = crd0 >> KIND_SHIFT == IS_DATA, crd1 >> KIND_SHIFT == IS_DATA
    if wanted0 and wanted1 and crd0 != crd1:
        first0, first1 = crd0 < crd1, crd1 < crd0
        take0 = first0 or _is_passed(s, crd0, q1)
        take1 = first1 or _is_passed(s, crd1, q0)
        s[b + TAKES] = take0 * 0b0011 | take1 * 0b1100
    elif wanted0 and is_stop(crd1):
        s[b + TAKES] = 0b0011
    elif wanted1 and is_stop(crd0):
        s[b + TAKES] = 0b1100
    elif crd0 == crd1 and crd0 != EMPTY:
        give(s, b, 0, crd0)
        give(s, b, 1, ref0)
        give(s, b, 2, ref1)
        s[b + TAKES] = BOTH
    else:
        return WRONG
    return READY


@inner_integers
def _ref1(s: np.ndarray, b: int) -> int:
    return s[s[b + IN + 3] + TOKEN]


@inner_integers
def _is_passed(s: np.ndarray, crd: int, q: int) -> bool:
    following = s[q + NEXT_TOKEN]
    return s[q + HAS_NEXT] and (
        is_stop(following) or (following >> KIND_SHIFT == IS_DATA and following > crd)
    )


@inner_integers
def union(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.joins.union``."""
    crd0, ref0 = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN]
    crd1, ref1 = s[s[b + IN + 2] + TOKEN], _ref1(s, b)
    if not (agree(crd0, ref0) and agree(crd1, ref1)):
        return WRONG
    is0, is1 = crd0 >> KIND_SHIFT == IS_DATA, crd1 >> KIND_SHIFT == IS_DATA
    first0 = is0 and (is_stop(crd1) or (is1 and crd0 < crd1))
    first1 = is1 and (is_stop(crd0) or (is0 and crd1 < crd0))
    if not first0 and not first1 and (crd0 != crd1 or crd0 == EMPTY):
        return WRONG
    give(s, b, 0, crd1 if first1 else crd0)
    give(s, b, 1, EMPTY if first1 else ref0)
    give(s, b, 2, EMPTY if first0 else ref1)
    s[b + TAKES] = 0b0011 if first0 else (0b1100 if first1 else BOTH)
    return READY


@inner_integers
def ones(word: int) -> int:
    """How many of 32 bits are set."""
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    return (((word + (word >> 4)) & 0x0F0F0F0F) * 0x01010101 & 0xFFFFFFFF) >> 24


@inner_integers
def bitvector_expand(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.joins.bitvector_expand``."""
    bv, ref = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN]
    if not agree(bv, ref):
        return WRONG
    if not is_data(bv):
        give(s, b, 0, ref)
        give(s, b, 1, ref)
        s[b + TAKES] = 0b11
        s[b + NEXT + 1] = 0
        return READY
    word = bv & PAYLOAD
    bit, is_last, crd = _walk(s, b, word)
    if bit:
        give(s, b, 0, crd)
        give(s, b, 1, (ref & PAYLOAD) + ones(word & (bit - 1)) & PAYLOAD)
    if is_last:
        s[b + TAKES] = 0b11
    return READY


@inner_integers
def bitvector_join(s: np.ndarray, b: int, is_union: bool) -> int:
    """A step of ``gnarl.hw.sam.blocks.joins.bitvector_join``."""
    bv0, ref0 = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN]
    bv1, ref1 = s[s[b + IN + 2] + TOKEN], _ref1(s, b)
    some_word = is_data(bv0) or is_data(bv1)
    is_right = agree(bv0, bv1) or (some_word and (is_stop(bv0) or is_stop(bv1)))
    if not (agree(bv0, ref0) and agree(bv1, ref1) and is_right):
        return WRONG
    if not some_word:
        give(s, b, 0, ref0)
        give(s, b, 1, ref0)
        give(s, b, 2, ref1)
        s[b + TAKES] = BOTH
        s[b + NEXT + 1] = 0
        return READY
    word0 = bv0 & PAYLOAD if is_data(bv0) else 0
    word1 = bv1 & PAYLOAD if is_data(bv1) else 0
    bit, is_last, crd = _walk(s, b, word0 | word1 if is_union else word0 & word1)
    if bit:
        give(s, b, 0, crd)
        give(s, b, 1, _located(ref0, word0, bit))
        give(s, b, 2, _located(ref1, word1, bit))
    if is_last:
        s[b + TAKES] = is_data(bv0) * 0b0011 | is_data(bv1) * 0b1100
    return READY


@inner_integers
def _located(ref: int, word: int, bit: int) -> int:
    return (ref & PAYLOAD) + ones(word & (bit - 1)) & PAYLOAD if word & bit else EMPTY


@inner_integers
def _walk(s: np.ndarray, b: int, word: int) -> tuple[int, bool, int]:
    """The next one of a word, 0 if there is none, whether it is the last, and its coordinate;
    ``gnarl.hw.sam.blocks.joins.bit_walk``. States are the bits done and the word's number."""
    done, number = s[b + STATE], s[b + STATE + 1]
    rest = word & ~done
    bit = rest & -rest
    is_last = rest == bit
    s[b + NEXT] = 0 if is_last else done | bit
    s[b + NEXT + 1] = number + is_last
    return bit, is_last, number * _WORD_BITS + ones(bit - 1) & PAYLOAD
