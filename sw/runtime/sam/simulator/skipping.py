"""What a lookup does about hints, and its galloping search: as
``gnarl.hw.sam.blocks.lookups.compressed_lookup`` and ``galloping_search`` have it.

Each cycle has two parts: ``notice`` finds what all signals are, ``note_answers`` changes registers.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.sam.blocks.lookups.galloping_search import WALKED_ROWS
from gnarl.hw.sam.blocks.ports import FIBER_BITS
from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.bypass import COUNT, HEAD, RING
from gnarl.sw.runtime.sam.simulator.layout import (
    IS_DATA,
    IS_EMPTY,
    KIND_SHIFT,
    PAYLOAD,
)
from gnarl.sw.runtime.sam.simulator.memory import NONE

HINT_VALID, HINT_STOP, HINT_CRD, HINT_FIBER = range(4)
"""The hint, fields beside each other."""
_WALKED, _ANSWERED = 4, 5
_OFFERED, _STALLED, _WORTH, _HAS_WORTH, _NEAR, _FLOOR = range(6, 12)
_ACTIVE, _BOUNDED, _SOUGHT, _LOW, _HIGH, _HIGH_CRD = range(12, 18)
_DISTANCE, _REACH, _LAST, _AT_END, _WAITING = range(18, 23)
_HOLDS, _HELD_ROW, _HELD_HALVES, _UNDER_WAY = range(23, 27)
"""Registers."""
_IS_WALKED, _IS_PROBED, _HINTED, _PASSED, _CRD = range(27, 32)
_BELOW, _RELEVANT, _NEW_LOW, _NEW_HIGH, _NOW_BOUNDED, _KNOWN = range(32, 38)
_OFFERS, _ROW, _HALVES, _GIVES_UP, _CUTS, _WORTH_BITS, _CHANGED = range(38, 45)
"""Signals of the cycle."""
SKIPS = 45

FIBERS = (1 << FIBER_BITS) - 1
"""Numbers of fibers wrap here."""
_FEW_BITS = 3
"""As ``_WORTH_BITS`` of the lookup."""


@inner_integers
def notice(s: np.ndarray, b: int, x: int, asked: int, is_read: bool, crd: int) -> None:
    """Finds this cycle's signals, from the coordinate ``crd`` that is read in it."""
    level = s[asked + COUNT]
    first = s[s[asked + RING] + s[asked + HEAD]]
    is_answer = level != 0 and is_read
    is_walked = is_answer and first >> KIND_SHIFT == IS_DATA
    is_probed = is_answer and first >> KIND_SHIFT == IS_EMPTY
    hinted = s[x + HINT_VALID] != 0 and s[x + HINT_FIBER] == s[x + _ANSWERED]
    s[x + _CRD], s[x + _IS_WALKED], s[x + _IS_PROBED] = crd, is_walked, is_probed
    s[x + _HINTED] = hinted
    s[x + _PASSED] = (
        hinted and (s[x + HINT_STOP] != 0 or crd < s[x + HINT_CRD]) and not s[x + _OFFERED]
    )
    bits, rest = _FEW_BITS, max(0, level - 1)
    while rest:
        bits, rest = bits + 1, rest >> 1
    s[x + _WORTH_BITS] = bits

    row = first & PAYLOAD
    is_below = crd < s[x + _SOUGHT]
    is_relevant = s[x + _ACTIVE] != 0 and is_probed and row < s[x + _HIGH]
    low = row + 1 if is_relevant and is_below else s[x + _LOW]
    high = row if is_relevant and not is_below else s[x + _HIGH]
    bounded = s[x + _BOUNDED] != 0 or (is_relevant and not is_below)
    is_known = is_relevant and (crd == s[x + _SOUGHT] or low == high)
    s[x + _BELOW], s[x + _RELEVANT], s[x + _KNOWN] = is_below, is_relevant, is_known
    s[x + _NEW_LOW], s[x + _NEW_HIGH], s[x + _NOW_BOUNDED] = low, high, bounded
    s[x + _GIVES_UP] = (
        s[x + _ACTIVE] != 0
        and s[x + _BOUNDED] != 0
        and s[x + _WAITING] != 0
        and not is_relevant
        and s[x + _HIGH] - s[x + _LOW] <= WALKED_ROWS
    )
    _probe(s, x, bounded, is_relevant, is_known)
    s[x + _CUTS] = 0


@inner_integers
def _probe(s: np.ndarray, x: int, bounded: bool, is_relevant: bool, is_known: bool) -> None:
    offers, row, halves = False, 0, False
    if s[x + _HOLDS]:
        offers, row, halves = True, s[x + _HELD_ROW], s[x + _HELD_HALVES] != 0
    elif s[x + _ACTIVE] and not is_known:
        if bounded:
            offers = not s[x + _WAITING] or is_relevant
            row, halves = (s[x + _NEW_LOW] + s[x + _NEW_HIGH]) >> 1, True
        else:
            offers = not s[x + _AT_END]
            row = min(s[x + _REACH], s[x + _LAST] - 1)
    s[x + _OFFERS], s[x + _ROW], s[x + _HALVES] = offers, row, halves


@inner_integers
def probe_row(s: np.ndarray, x: int) -> int:
    """The row that a probe wants to read, -1 for no probe."""
    return s[x + _ROW] if s[x + _OFFERS] else NONE


@inner_integers
def is_passed(s: np.ndarray, x: int) -> bool:
    """Nobody needs the coordinate that was read."""
    return s[x + _PASSED] != 0


@inner_integers
def has_found(s: np.ndarray, x: int) -> bool:
    """The search ends with the answer of this cycle, and has found a coordinate."""
    return s[x + _KNOWN] != 0 and s[x + _NOW_BOUNDED] != 0


@inner_integers
def found_crd(s: np.ndarray, x: int) -> int:
    return s[x + _HIGH_CRD] if s[x + _BELOW] else s[x + _CRD]


@inner_integers
def found_row(s: np.ndarray, x: int) -> int:
    return s[x + _NEW_HIGH]


@inner_integers
def allows_walk(s: np.ndarray, x: int, has_rows: bool) -> bool:
    """Whether the walk goes on; its fiber is cut short where the hint says that nothing is
    needed."""
    is_free = not s[x + _ACTIVE] and not s[x + _OFFERS]
    s[x + _CUTS] = (
        is_free
        and not s[x + _STALLED]
        and has_rows
        and s[x + HINT_VALID] != 0
        and s[x + HINT_STOP] != 0
        and s[x + HINT_FIBER] == s[x + _WALKED]
    )
    return is_free and not s[x + _CUTS]


@inner_integers
def cuts(s: np.ndarray, x: int) -> bool:
    return s[x + _CUTS] != 0


@inner_integers
def goes_on(s: np.ndarray, x: int) -> bool:
    """Whether something may be otherwise in the next cycle, though no token moves."""
    return s[x + _CHANGED] != 0 or s[x + _ACTIVE] != 0 or s[x + _OFFERS] != 0 or s[x + _CUTS] != 0


@inner_integers
def note_answers(
    s: np.ndarray,
    x: int,
    steps: bool,
    walks: bool,
    ends: bool,
    row: int,
    end: int,
    is_answered: bool,
    gives: bool,
    is_stop: bool,
) -> int:
    """Ends the cycle; where the walk goes on, if a search ends with it, else -1.

    ``steps``: the walk's step is done, in which it ``walks`` to ``row`` before ``end``, or ``ends``
    a fiber; ``is_answered``: the answer's is, which ``gives`` a coordinate or, if ``is_stop``, ends
    a fiber.
    """
    found = has_found(s, x)
    is_taken = is_answered and s[x + _IS_PROBED] != 0
    is_over = (s[x + _KNOWN] != 0 and is_taken) or s[x + _GIVES_UP] != 0
    resume = NONE
    if is_over:
        resume = s[x + _NEW_HIGH] + (s[x + _NOW_BOUNDED] != 0)
        if s[x + _GIVES_UP]:
            resume = s[x + _LOW]
    begins = (
        s[x + _HINTED] != 0
        and s[x + HINT_STOP] == 0
        and s[x + _HAS_WORTH] != 0
        and s[x + HINT_CRD] > s[x + _WORTH]
        and end - row >> s[x + _WORTH_BITS] != 0
        and s[x + _WALKED] == s[x + _ANSWERED]
        and s[x + _ACTIVE] == 0
        and s[x + _UNDER_WAY] == 0
        and walks
        and steps
    )
    is_stalled, is_offered = walks and not steps, gives and not is_answered
    s[x + _CHANGED] = (
        is_over or begins or s[x + _STALLED] != is_stalled or s[x + _OFFERED] != is_offered
    )
    s[x + _STALLED], s[x + _OFFERED] = is_stalled, is_offered
    if ends:
        s[x + _WALKED] = s[x + _WALKED] + 1 & FIBERS
    _note_worth(s, x, is_answered, gives, is_stop, found)
    if is_over and not found:
        s[x + _HAS_WORTH], s[x + _NEAR] = 0, 1
    _note_search(s, x, is_over, is_taken, s[x + _OFFERS] and not steps)
    if begins:
        _begin(s, x, row + 1, end)
    return resume


@inner_integers
def _note_worth(
    s: np.ndarray, x: int, is_answered: bool, gives: bool, is_stop: bool, found: bool
) -> None:
    """Whether a search would be worth it, from the last two coordinates."""
    if not is_answered:
        return
    if is_stop:
        s[x + _ANSWERED] = s[x + _ANSWERED] + 1 & FIBERS
        s[x + _HAS_WORTH] = s[x + _NEAR] = s[x + _FLOOR] = 0
    elif s[x + _IS_WALKED]:
        crd = s[x + _CRD]
        s[x + _WORTH] = crd + (crd + 1 - s[x + _FLOOR] << s[x + _WORTH_BITS])
        s[x + _HAS_WORTH] = gives or not s[x + _NEAR]
        s[x + _FLOOR] = crd + 1
        if gives:
            s[x + _NEAR] = 0
    elif found:
        s[x + _HAS_WORTH] = 0
        s[x + _FLOOR] = found_crd(s, x) + 1


@inner_integers
def _note_search(s: np.ndarray, x: int, is_over: bool, is_taken: bool, holds: bool) -> None:
    is_below = s[x + _BELOW] != 0
    if s[x + _ACTIVE] and not s[x + _KNOWN]:
        s[x + _LOW], s[x + _HIGH] = s[x + _NEW_LOW], s[x + _NEW_HIGH]
        if s[x + _RELEVANT] and not is_below:
            s[x + _HIGH_CRD] = s[x + _CRD]
        if not s[x + _HOLDS] and not s[x + _NOW_BOUNDED] and s[x + _OFFERS]:
            s[x + _AT_END] = s[x + _REACH] >= s[x + _LAST]
            s[x + _REACH] += s[x + _DISTANCE]
            s[x + _DISTANCE] <<= 1
        s[x + _BOUNDED] = s[x + _NOW_BOUNDED]
    if is_over or (s[x + _IS_WALKED] and not is_below):
        s[x + _ACTIVE] = 0
    s[x + _UNDER_WAY] += (s[x + _OFFERS] and not s[x + _HOLDS]) - is_taken
    if s[x + _OFFERS] and s[x + _HALVES]:
        s[x + _WAITING] = 1
    s[x + _HOLDS], s[x + _HELD_ROW], s[x + _HELD_HALVES] = holds, s[x + _ROW], s[x + _HALVES]


@inner_integers
def _begin(s: np.ndarray, x: int, first: int, end: int) -> None:
    s[x + _ACTIVE], s[x + _BOUNDED], s[x + _WAITING], s[x + _AT_END] = 1, 0, 0, 0
    s[x + _SOUGHT], s[x + _LOW], s[x + _HIGH] = s[x + HINT_CRD], first, end
    s[x + _DISTANCE], s[x + _REACH], s[x + _LAST] = 4, first + 3, end
