"""Sparse accumulators (``gnarl.hw.sam.blocks.values.sparse_accumulator``), with the sums of each
bank in memory, and which keys have one."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.joins import READY, WAITS, WRONG, ones
from gnarl.sw.runtime.sam.simulator.layout import (
    AWAKE,
    DONE,
    GIVES,
    HAS,
    HAS_NEXT,
    IN,
    IS_DATA,
    KIND_SHIFT,
    LEVELS,
    NEXT_TOKEN,
    OPERATIONS,
    OWN,
    PARAMETER,
    SECOND,
    STAGES,
    STOP,
    TAKES,
    TOKEN,
    VALUE_WORDS,
)
from gnarl.sw.runtime.sam.simulator.memory import read
from gnarl.sw.runtime.sam.simulator.numbers import ADD, compute
from gnarl.sw.runtime.sam.simulator.steps import (
    give,
    is_data,
    is_stop,
    payload_or_zero,
    see,
    send,
    take,
)
from gnarl.sw.runtime.sam.simulator.value_blocks import new_place

ORDER, FULL0, FULL1, SIZE0, SIZE1, SHIFT = (PARAMETER + field for field in range(6))
"""Parameters and sizes; how many bits of a key are the inner coordinate."""

WORDS, BANK_SIZE, SUMS, DRAIN_CYCLES = (OWN + field for field in range(4))
"""Keys of a bank, its words in memory, where its sums begin; cycles from the end of what is summed
to its first sum."""
_BANK, _HOLDS, _DRAINED_BANK = (OWN + field for field in range(4, 7))
"""The bank that is filled, whether it holds sums, and the one that is drained."""
_DRAINING, _LEFT = OWN + 7, OWN + 9
"""By bank: the cycle of its first sum, or 0; how many sums it has."""
_FIBERS, _FIBER = OWN + 11, OWN + 12
"""Ends of what was summed that wait: how many, and two of them."""
_IN_ROW, _OUTER, _INNER, _IS_DRAINED = (OWN + field for field in range(14, 18))
"""What is open on the output side."""
_RECENT, _KEYS, _TIMES = OWN + 18, OWN + 19, OWN + 27
"""Keys that were taken last, and when."""
ACCUMULATOR = OWN + 35

_HOLDS_SUMS = LEVELS + 1
"""Bit of a waiting end: there are sums."""
_WORD_BITS = 32
_NONE = -1


@inner_integers
def accumulator(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> int:
    """A cycle of a sparse accumulator."""
    see(s, b)
    fibers = s[b + _FIBERS]
    _drain(s, m, b, cycle)
    s[b + TAKES] = 0
    action, token, key = _decide(s, b, cycle)
    if action == WRONG:
        return WRONG
    is_done = action == READY and (token == _NONE or fibers < 2)
    if is_done:
        s[b + AWAKE] = cycle + 1
        if key != _NONE:
            _add(s, m, b, key, cycle)
        if token != _NONE:
            _end(s, b, token, cycle)
    take(s, b, is_done, cycle)
    if s[b + _FIBERS] > fibers or s[b + _DRAINING] > cycle or s[b + _DRAINING + 1] > cycle:
        s[b + AWAKE] = cycle + 1
    return READY


@inner_integers
def _decide(s: np.ndarray, b: int, cycle: int) -> tuple[int, int, int]:
    """What the side that takes does: whether its step is possible, what it gives the other side,
    and the key to which it adds."""
    q0, q1 = s[b + IN], s[b + IN + 1]
    order = s[b + ORDER]
    val_queue = s[b + IN + order + 1]
    if not (s[q0 + HAS] and s[val_queue + HAS]):
        return WAITS, _NONE, _NONE
    crd, val = s[q0 + TOKEN], s[val_queue + TOKEN]
    both = 1 | 1 << order + 1
    if crd >> KIND_SHIFT == IS_DATA and is_data(val):
        if not s[q1 + HAS]:
            return WAITS, _NONE, _NONE
        key = _key(s, b, crd, s[q1 + TOKEN])
        if key == _NONE:
            return WRONG, _NONE, _NONE
        if s[b + _DRAINING + s[b + _BANK]] or _is_recent(s, b, key, cycle):
            s[b + AWAKE] = max(s[b + AWAKE], cycle + (s[STAGES] > 1))
            return WAITS, _NONE, _NONE
        s[b + TAKES] = both
        return READY, _NONE, key
    if crd == val and is_stop(crd):
        known = _take_ended(s, b, crd & LEVELS)
        s[b + TAKES] |= both
        level = crd & LEVELS
        if known != READY or level < order:
            return known, _NONE, _NONE
        return READY, STOP | (level - order) | s[b + _HOLDS] * _HOLDS_SUMS, _NONE
    if crd != DONE or val != DONE:
        return WRONG, _NONE, _NONE
    known = READY
    for place in range(1, order + 1):
        q = s[b + IN + place]
        if not s[q + HAS]:
            known = WAITS
        elif s[q + TOKEN] != DONE:
            return WRONG, _NONE, _NONE
    s[b + TAKES] = (1 << order + 2) - 1
    return known, DONE, _NONE


@inner_integers
def _key(s: np.ndarray, b: int, inner: int, outer: int) -> int:
    """The key of coordinates, -1 if they are out of bounds."""
    order = s[b + ORDER]
    if inner >= s[b + SIZE0] or inner >= s[b + WORDS]:
        return _NONE
    if order == 1:
        return inner if is_data(outer) else _NONE
    shift = s[b + SHIFT]
    if outer >= s[b + SIZE1] or outer >= s[b + WORDS] >> shift:
        return _NONE
    return outer << shift | inner


@inner_integers
def _is_recent(s: np.ndarray, b: int, key: int, cycle: int) -> bool:
    """The sum before this one of the same key is still in the adder."""
    for place in range(s[STAGES] - 1):
        if s[b + _KEYS + place] == key and s[b + _TIMES + place] > cycle - s[STAGES]:
            return True
    return False


@inner_integers
def _take_ended(s: np.ndarray, b: int, level: int) -> int:
    """Takes what a stop ends in the streams around: see the hardware's ``_end``."""
    known = READY
    for place in range(1, s[b + ORDER] + 1):
        if level < place - 1:
            continue
        q = s[b + IN + place]
        ending = STOP | level - place
        stops = level >= place
        if not s[q + HAS]:
            known = WAITS if known == READY else known
        elif is_data(s[q + TOKEN]):
            s[b + TAKES] |= 1 << place
            if stops and not s[q + HAS_NEXT]:
                known = WAITS if known == READY else known
            elif stops and s[q + NEXT_TOKEN] == ending:
                s[b + TAKES] |= 1 << place + SECOND
            elif stops:
                known = WRONG
        elif stops and s[q + TOKEN] == ending:
            s[b + TAKES] |= 1 << place
        else:
            known = WRONG
    return known


@inner_integers
def _end(s: np.ndarray, b: int, token: int, cycle: int) -> None:
    """What is summed has ended: its bank is to be drained."""
    s[b + _FIBER + s[b + _FIBERS]] = token
    s[b + _FIBERS] += 1
    if token == DONE:
        return
    if s[b + _HOLDS]:
        s[b + _DRAINING + s[b + _BANK]] = cycle + s[b + DRAIN_CYCLES]
        if s[b + ORDER] == 1:
            s[b + _BANK] = 1 - s[b + _BANK]
    s[b + _HOLDS] = 0


@inner_integers
def _add(s: np.ndarray, m: np.ndarray, b: int, key: int, cycle: int) -> None:
    """Adds the value at hand to the sum of a key."""
    value = payload_or_zero(s[s[b + IN + s[b + ORDER] + 1] + TOKEN])
    bank = s[b + _BANK]
    sums = s[b + SUMS] + bank * s[b + BANK_SIZE]
    s[b + _HOLDS] = 1
    s[b + OPERATIONS] += 1
    recent = s[b + _RECENT]
    s[b + _KEYS + recent], s[b + _TIMES + recent] = key, cycle
    s[b + _RECENT] = (recent + 1) % max(1, s[STAGES] - 1)
    # Bitmaps lie behind the sums: a bit for each key, then one for each word that has some.
    words = s[b + VALUE_WORDS]
    at, rest, size = sums + s[b + WORDS] * words, key, s[b + WORDS]
    is_there = (read(m, at + (key >> 5)) >> (key & 31)) & 1
    for word in range(words):
        place = sums + key * words + word
        added = value if words == 1 else read(m, value + word)
        m[place] = compute(s, ADD, read(m, place), added) if is_there else added
    if is_there:
        return
    s[b + _LEFT + bank] += 1
    while size > 1:
        m[at + (rest >> 5)] = read(m, at + (rest >> 5)) | 1 << (rest & 31)
        size = (size + _WORD_BITS - 1) >> 5
        at += size
        rest >>= 5


@inner_integers
def _least(s: np.ndarray, m: np.ndarray, b: int) -> int:
    """The least key of the bank that is drained."""
    words = s[b + WORDS]
    at = s[b + SUMS] + s[b + _DRAINED_BANK] * s[b + BANK_SIZE] + words * s[b + VALUE_WORDS]
    levels, size = 0, words
    while size > 1:
        size = (size + _WORD_BITS - 1) >> 5
        at += size
        levels += 1
    key = 0
    for level in range(levels):
        size = words
        for _ in range(levels - level):
            size = (size + _WORD_BITS - 1) >> 5
        at -= size
        word = read(m, at + key)
        key = key << 5 | ones((word & -word) - 1)
    return key


@inner_integers
def _remove(s: np.ndarray, m: np.ndarray, b: int, key: int) -> None:
    """Takes the least key out of the bank that is drained."""
    bank = s[b + _DRAINED_BANK]
    size = s[b + WORDS]
    at = s[b + SUMS] + bank * s[b + BANK_SIZE] + size * s[b + VALUE_WORDS]
    while size > 1:
        word = read(m, at + (key >> 5)) & ~(1 << (key & 31))
        m[at + (key >> 5)] = word
        if word:
            break
        size = (size + _WORD_BITS - 1) >> 5
        at += size
        key >>= 5
    s[b + _LEFT + bank] -= 1
    if s[b + _LEFT + bank] == 0:
        s[b + _DRAINING + bank] = 0
        s[b + _IS_DRAINED] = 1
        if s[b + ORDER] == 1:
            s[b + _DRAINED_BANK] = 1 - bank


@inner_integers
def _drain(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> None:
    """A cycle of ``gnarl.hw.sam.blocks.values.drained_fibers``."""
    if s[b + _FIBERS] == 0:
        return
    order, fiber = s[b + ORDER], s[b + _FIBER]
    s[b + GIVES] = 0
    if fiber == DONE:
        for place in range(order + 1):
            give(s, b, place, DONE)
        if send(s, b, cycle):
            _take_fiber(s, b)
        return
    is_left = fiber & _HOLDS_SUMS != 0 and not s[b + _IS_DRAINED]
    key, bank = 0, s[b + _DRAINED_BANK]
    if is_left:
        if s[b + _DRAINING + bank] == 0 or s[b + _DRAINING + bank] > cycle:
            return
        key = _least(s, m, b)
    _drain_step(s, m, b, fiber & LEVELS, is_left, key, cycle)


@inner_integers
def _drain_step(
    s: np.ndarray, m: np.ndarray, b: int, level: int, is_left: bool, key: int, cycle: int
) -> None:
    """Gives a sum, a coordinate without one, or a stop."""
    two = s[b + ORDER] == 2
    outer, inner, in_row = s[b + _OUTER], s[b + _INNER], s[b + _IN_ROW] or not two
    sum_inner, row, is_here = key, outer, is_left
    another_row, is_row = False, True
    if two:
        sum_inner = key & (1 << s[b + SHIFT]) - 1
        sum_outer = key >> s[b + SHIFT]
        if not s[b + FULL1] and not in_row:
            row = sum_outer
        is_here = is_left and sum_outer == row
        another_row = outer + 1 < s[b + SIZE1] if s[b + FULL1] else is_left
        is_row = in_row or (outer < s[b + SIZE1] if s[b + FULL1] else is_left)
    has_sum = is_here and (not s[b + FULL0] or sum_inner == inner)
    has_element = inner < s[b + SIZE0] if s[b + FULL0] else is_here
    last = s[b + ORDER]
    if is_row and not in_row:
        give(s, b, 1, row)
    ends_row, ends_all = False, False
    if is_row and has_element:
        give(s, b, 0, inner if s[b + FULL0] else sum_inner)
        give(s, b, last, _sum_of(s, m, b, key) if has_sum else 0)
    elif is_row and another_row:
        ends_row = True
        give(s, b, 0, STOP)
        give(s, b, last, STOP)
    elif in_row or not is_row:
        ends_all = True
        give(s, b, 0, STOP | level + last - 1)
        if two:
            give(s, b, 1, STOP | level)
        give(s, b, last, STOP | level + last - 1)
    if not send(s, b, cycle):
        return
    if ends_all:
        _take_fiber(s, b)
    elif ends_row:
        s[b + _IN_ROW], s[b + _OUTER], s[b + _INNER] = 0, outer + 1, 0
    else:
        s[b + _IN_ROW], s[b + _OUTER] = 1, row
        if is_row and has_element:
            s[b + _INNER] += 1
            if has_sum:
                _remove(s, m, b, key)


@inner_integers
def _sum_of(s: np.ndarray, m: np.ndarray, b: int, key: int) -> int:
    """The sum of a key of the bank that is drained."""
    words = s[b + VALUE_WORDS]
    at = s[b + SUMS] + s[b + _DRAINED_BANK] * s[b + BANK_SIZE] + key * words
    if words == 1:
        return read(m, at)
    out = new_place(s, m)
    for word in range(words):
        m[out + word] = read(m, at + word)
    return out


@inner_integers
def _take_fiber(s: np.ndarray, b: int) -> None:
    s[b + _FIBER] = s[b + _FIBER + 1]
    s[b + _FIBERS] -= 1
    s[b + _IN_ROW] = s[b + _OUTER] = s[b + _INNER] = s[b + _IS_DRAINED] = 0
