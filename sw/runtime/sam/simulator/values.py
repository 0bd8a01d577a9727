"""Blocks that compute: pipelines of ALUs and functions, reductions."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sam.blocks.values.interleaved_sums import WAITING_TOKENS
from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.joins import READY, WAITS, WRONG
from gnarl.sw.runtime.sam.simulator.layout import (
    AWAKE,
    COUNT,
    DONE,
    EMPTY,
    GIVES,
    IN,
    INPUTS,
    IS_DATA,
    IS_EMPTY,
    IS_STOP,
    KIND_SHIFT,
    LEVELS,
    OPERATIONS,
    OWN,
    PARAMETER,
    STAGES,
    STOP,
)
from gnarl.sw.runtime.sam.simulator.steps import (
    agree,
    front,
    give,
    is_closed_by,
    is_data,
    is_stop,
    payload_or_zero,
    pop,
    send,
    wrap,
)
from gnarl.sw.runtime.sam.simulator.value_blocks import compute_value, folded, function_value

OPERATION, LATENCY, RINGS, NUMBERS, FOLDS = (PARAMETER + field for field in range(5))
"""What is computed, how many registers there are, where they lie, and where the numbers of a
function do; the words along an index that are folded, or 0."""

_NOTHING = -1
"""In place of a token: there is none."""


@inner_integers
def _first(s: np.ndarray, b: int, place: int) -> int:
    """The first token of an input, ``_NOTHING`` if there is none."""
    q = s[b + IN + place]
    return front(s, q) if q and s[q + COUNT] else _NOTHING


_AT, _FILLED = OWN, OWN + 1
"""The last register of a pipeline, and how many hold a token."""
PIPELINE = OWN + 2


@inner_integers
def pipeline(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> int:
    """A cycle of ``gnarl.hw.sam.blocks.values.alu``, ``function_block`` or ``fold``."""
    at = s[b + RINGS] + s[b + _AT]
    if s[at] != _NOTHING:
        s[b + GIVES] = 0
        give(s, b, 0, s[at])
        if not send(s, b, cycle):
            return WAITS
        s[b + _FILLED] -= 1
        s[b + OPERATIONS] += is_data(s[at])
    token = _first(s, b, 0)
    if s[b + INPUTS] == 2 and token != _NOTHING:
        other = _first(s, b, 1)
        if other == _NOTHING:
            token = _NOTHING
        elif not agree(token, other):
            return WRONG
        elif is_data(token):
            left, right = payload_or_zero(token), payload_or_zero(other)
            token = compute_value(s, m, b, s[b + OPERATION], left, right)
    elif token != _NOTHING and is_data(token):
        value = payload_or_zero(token)
        if s[b + FOLDS]:
            token = folded(s, m, b, s[b + OPERATION], s[b + FOLDS], value)
        else:
            token = function_value(s, m, b, s[b + OPERATION], s[b + NUMBERS], value)
    s[at] = token
    s[b + _AT] = wrap(s[b + _AT] + 1, s[b + LATENCY])
    if token != _NOTHING:
        s[b + _FILLED] += 1
        for place in range(s[b + INPUTS]):
            pop(s, s[b + IN + place], cycle)
    if s[b + _FILLED]:
        s[b + AWAKE] = cycle + 1
    return READY


_HAS_VALUES, _LEVEL, _CLOSES = OWN, OWN + 1, OWN + 2
"""Of a reduction: of the step before."""
_SUM, _STARTED, _STOP_FOLLOWS = OWN + 3, OWN + 4, OWN + 5
"""Of its adder of one stage; a stop that follows the sum, or 0."""
_NEWEST, _OLDEST, _IN_QUEUE, _STOPS, _ENDED = (OWN + field for field in range(6, 11))
"""Of an adder of several: fibers at work; how many sums have ended; whether the first of
these is given; the sums with their stops."""
REDUCTION = _ENDED + 6


@inner_integers
def reduction(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> int:
    """A cycle of ``gnarl.hw.sam.blocks.values.reduce``."""
    val, crd = _first(s, b, 0), _first(s, b, 1)
    token, takes, adds, closes = _step_of_reduction(s, b, val, crd)
    if takes == WRONG:
        return WRONG
    if s[STAGES] == 1:
        is_taken = _running_sum(s, m, b, token, cycle)
    else:
        is_taken = _interleaved_sums(s, m, b, token, cycle)
    if takes and (token == _NOTHING or is_taken):
        s[b + _HAS_VALUES] = adds
        s[b + OPERATIONS] += adds
        s[b + _LEVEL] = (val & LEVELS) - 1 & LEVELS
        s[b + _CLOSES] = closes
        for place in range(2):
            if (takes >> place) & 1:
                pop(s, s[b + IN + place], cycle)
    return READY


@inner_integers
def _step_of_reduction(s: np.ndarray, b: int, val: int, crd: int) -> tuple[int, int, bool, bool]:
    """What the adder is given, what is taken with it, whether that is a value, and whether a fiber
    of ``crd`` ends with it. The kind of a stop that ends no fiber is that of an empty token."""
    closing = s[b + _CLOSES] != 0
    has_crd = s[b + IN + 1] != 0
    owes, is_bare, is_closed, ends = not has_crd, False, False, not has_crd
    if crd != _NOTHING:
        owes, ends = is_data(crd), crd == DONE
        is_bare = val != _NOTHING and is_closed_by(crd, val) and not s[b + _HAS_VALUES]
        is_closed = crd == STOP | s[b + _LEVEL]
        if closing:
            if not is_closed:
                return _NOTHING, WRONG, False, False
        elif (val == DONE and not ends) or (_is_stop(val) and not owes and not is_bare):
            return _NOTHING, WRONG, False, False
    takes = 0b10 if closing and is_closed else 0
    both = 0b11 if has_crd else 0b01
    if val == _NOTHING:
        return _NOTHING, takes, False, False
    if is_data(val):
        if closing and not is_closed:
            return _NOTHING, takes, False, False
        return payload_or_zero(val), takes | 0b01, True, False
    if closing:
        return _NOTHING, takes, False, False
    if is_stop(val) and (owes or is_bare):
        closes = has_crd and owes and val & LEVELS != 0
        return val if owes else EMPTY | val & LEVELS, both, False, closes
    return (val, both, False, False) if val == DONE and ends else (_NOTHING, 0, False, False)


@inner_integers
def _is_stop(token: int) -> bool:
    return token != _NOTHING and is_stop(token)


@inner_integers
def _running_sum(s: np.ndarray, m: np.ndarray, b: int, token: int, cycle: int) -> bool:
    """``gnarl.hw.sam.blocks.values.running_sum``; whether ``token`` is taken."""
    follows = s[b + _STOP_FOLLOWS]
    s[b + GIVES] = 0
    kind = token >> KIND_SHIFT
    is_value = token != _NOTHING and kind == IS_DATA
    if follows:
        give(s, b, 0, follows)
    elif token == _NOTHING:
        return False
    elif kind == IS_STOP:
        give(s, b, 0, s[b + _SUM] if s[b + _STARTED] else 0)
    elif kind == IS_EMPTY:
        give(s, b, 0, STOP | (token & LEVELS) - 1 & LEVELS)
    elif not is_value:
        give(s, b, 0, DONE)
    if not send(s, b, cycle):
        return False
    if is_value:
        if s[b + _STARTED]:
            token = compute_value(s, m, b, s[b + OPERATION], s[b + _SUM], token)
        s[b + _SUM] = token
    s[b + _STARTED] = is_value
    s[b + _STOP_FOLLOWS] = 0
    if not follows and token != _NOTHING and kind == IS_STOP and token & LEVELS:
        s[b + _STOP_FOLLOWS] = token - 1
    return is_value or not follows


_COUNT, _FIRST, _TOTAL, _HAS_TOTAL, _WAITING = range(5)
"""Of a fiber at work: tokens that wait, the first of them, the sum so far, if there is one; then
the tokens and the cycles in which they came."""
FIBER = _WAITING + 2 * WAITING_TOKENS


@inner_integers
def _interleaved_sums(s: np.ndarray, m: np.ndarray, b: int, token: int, cycle: int) -> bool:
    """``gnarl.hw.sam.blocks.values.interleaved_sums``; whether ``token`` is taken."""
    stages = s[STAGES]
    newest = s[b + RINGS] + s[b + _NEWEST] * FIBER
    is_taken = token != _NOTHING and s[newest + _COUNT] != WAITING_TOKENS
    ended = s[b + _IN_QUEUE]
    _give_ended(s, b, cycle)
    # Its turn was looked up some cycles ago.
    was_read = cycle - (1 if stages == 2 else 2)
    turn = was_read % stages
    fiber = s[b + RINGS] + turn * FIBER
    at = fiber + _WAITING + 2 * s[fiber + _FIRST]
    if s[fiber + _COUNT] and s[at + 1] < was_read:
        _sum(s, m, b, fiber, s[at], turn == s[b + _OLDEST], ended)
    if is_taken:
        tail = (s[newest + _FIRST] + s[newest + _COUNT]) % WAITING_TOKENS
        s[newest + _WAITING + 2 * tail], s[newest + _WAITING + 2 * tail + 1] = token, cycle
        s[newest + _COUNT] += 1
        if token >> KIND_SHIFT != IS_DATA:
            s[b + _NEWEST] = wrap(s[b + _NEWEST] + 1, stages)
    for number in range(stages):
        if s[s[b + RINGS] + number * FIBER + _COUNT]:
            s[b + AWAKE] = cycle + 1
    if s[b + _IN_QUEUE] > ended:
        s[b + AWAKE] = cycle + 1
    return is_taken


@inner_integers
def _sum(
    s: np.ndarray, m: np.ndarray, b: int, fiber: int, token: int, is_oldest: bool, ended: int
) -> None:
    """Adds the first token of a fiber to its sum, or ends the sum, where there is room."""
    if token >> KIND_SHIFT == IS_DATA:
        if s[fiber + _HAS_TOTAL]:
            token = compute_value(s, m, b, s[b + OPERATION], s[fiber + _TOTAL], token)
        s[fiber + _TOTAL] = token
        s[fiber + _HAS_TOTAL] = 1
    elif is_oldest and ended < 2:
        at = b + _ENDED + 2 * s[b + _IN_QUEUE]
        s[at] = s[fiber + _TOTAL] if s[fiber + _HAS_TOTAL] else 0
        s[at + 1] = token
        s[b + _IN_QUEUE] += 1
        s[fiber + _HAS_TOTAL] = 0
        s[b + _OLDEST] = wrap(s[b + _OLDEST] + 1, s[STAGES])
    else:
        return
    s[fiber + _FIRST] = (s[fiber + _FIRST] + 1) % WAITING_TOKENS
    s[fiber + _COUNT] -= 1


@inner_integers
def _give_ended(s: np.ndarray, b: int, cycle: int) -> None:
    """A sum and the stop behind it are two tokens."""
    if not s[b + _IN_QUEUE]:
        return
    total, token = s[b + _ENDED], s[b + _ENDED + 1]
    kind, level = token >> KIND_SHIFT, token & LEVELS
    ends = True
    s[b + GIVES] = 0
    if token == DONE:
        give(s, b, 0, DONE)
    elif kind == IS_EMPTY or s[b + _STOPS]:
        give(s, b, 0, STOP | level - 1 & LEVELS)
    else:
        give(s, b, 0, total)
        ends = level == 0
    if send(s, b, cycle):
        s[b + _STOPS] = not ends
        if ends:
            s[b + _ENDED], s[b + _ENDED + 1] = s[b + _ENDED + 2], s[b + _ENDED + 3]
            s[b + _IN_QUEUE] -= 1
