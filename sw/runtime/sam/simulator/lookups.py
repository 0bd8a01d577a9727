"""Blocks that read memories: lookups of levels, arrays of values."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.bypass import (
    BYPASS,
    OFFERED,
    has_token,
    offer,
    pass_through,
    token_of,
)
from gnarl.sw.runtime.sam.simulator.bypass import SENT as PASSED
from gnarl.sw.runtime.sam.simulator.joins import READY, WAITS, WRONG
from gnarl.sw.runtime.sam.simulator.layout import (
    AWAKE,
    COUNT,
    EMPTY,
    GIVES,
    HAS,
    IN,
    INDEX_MASK,
    IS_DATA,
    IS_DONE,
    IS_EMPTY,
    KIND_SHIFT,
    NEXT,
    OWN,
    PARAMETER,
    PORT_OF,
    REQUESTS,
    ROW,
    ROW_WORDS,
    SECOND,
    SENT,
    STATE,
    TAKES,
    TOKEN,
    WANTS,
)
from gnarl.sw.runtime.sam.simulator.memory import (
    NONE,
    advance_port,
    answer,
    is_loaded,
    read,
    request,
    want,
)
from gnarl.sw.runtime.sam.simulator.skipping import (
    SKIPS,
    allows_walk,
    cuts,
    found_crd,
    found_row,
    goes_on,
    has_found,
    is_passed,
    note_answers,
    notice,
    probe_row,
)
from gnarl.sw.runtime.sam.simulator.steps import (
    agree,
    fiber_end,
    front,
    give,
    is_data,
    is_stop,
    pop,
    raised,
    see,
    send,
    take,
)

ASKED = OWN
"""What was read, and stops, until they are given: a bypass queue."""
PARENTS = ASKED + BYPASS
"""References whose segments were read: a bypass queue."""
_HELD = PARENTS + BYPASS
_ITEM, _BEGUN, _NEXT_ROW = _HELD + 1, _HELD + 2, _HELD + 3
"""The first of ``PARENTS`` in a register; the walk of its segment."""
_WALK, _ROW, _END, _HEADS = (_HELD + field for field in (4, 5, 6, 7))
"""What the walk does in this cycle; the row and the end of the segment; which parents it takes."""
_SEGMENT, _COORDINATE, _IS_DONE = (_HELD + field for field in (8, 9, 10))
"""Answers in this cycle; whether done is what the walk passes."""
SKIPPING = _HELD + 11
LOOKUP = SKIPPING + SKIPS

_RESTS, _WALKS, _ENDS, _PROBES = range(4)
"""Values of ``_WALK``."""


@inner_integers
def dense(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.lookups.dense_lookup``. States: coordinate and reference."""
    q = s[b + IN]
    token, size, crd = s[q + TOKEN], s[b + PARAMETER], s[b + STATE]
    if token >> KIND_SHIFT == IS_DATA and crd != size:
        ref = token * size & s[INDEX_MASK] if crd == 0 else s[b + STATE + 1]
        give(s, b, 0, crd)
        give(s, b, 1, ref)
        s[b + NEXT], s[b + NEXT + 1] = crd + 1, ref + 1 & s[INDEX_MASK]
        return READY
    end, taken = fiber_end(q, s)
    if end < 0:
        return WAITS
    give(s, b, 0, end)
    give(s, b, 1, end)
    s[b + NEXT] = 0
    s[b + TAKES] = taken & 1 | (taken >> 1) << SECOND
    return READY


@inner_integers
def locate(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.lookups.locate``."""
    crd, ref, size = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN], s[b + PARAMETER]
    if not agree(crd, ref):
        return WRONG
    if crd >> KIND_SHIFT == IS_DATA and ref >> KIND_SHIFT == IS_DATA:
        if crd >= size:
            return WRONG
        give(s, b, 0, ref * size + crd & s[INDEX_MASK])
    else:
        give(s, b, 0, EMPTY if is_data(crd) else crd)
    s[b + TAKES] = 0b11
    return READY


@inner_integers
def _fetch(s: np.ndarray, b: int, port: int, passed: int) -> bool:
    """Asks for the row of the reference at hand (``gnarl.hw.sam.blocks.lookups.fetch``); whether
    there is one."""
    q = s[b + IN]
    s[port + WANTS] = s[passed + OFFERED] = 0
    if s[q + COUNT] == 0:
        return True
    token = front(s, q)
    if token >> KIND_SHIFT == IS_DATA:
        if not is_loaded(s, port, token):
            return False
        want(s, port, token)
    offer(s, passed, token)
    return True


@inner_integers
def _end_fetch(s: np.ndarray, b: int, port: int, passed: int, is_taken: bool, cycle: int) -> None:
    """Ends the cycle of ``_fetch``; ``is_taken``: a token is taken from ``passed``."""
    is_there = s[s[b + IN] + COUNT] > 0
    has_asked = request(s, b, port, cycle)
    has_passed = pass_through(s, passed, is_taken)
    if is_there and has_asked and has_passed:
        s[port + SENT] = s[passed + PASSED] = 0
        pop(s, s[b + IN], cycle)


@inner_integers
def begin_values(s: np.ndarray, b: int) -> bool:
    """What an array of values wants of its memory; whether all is right."""
    return _fetch(s, b, s[b + PORT_OF], b + ASKED)


@inner_integers
def values(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> None:
    """A cycle of ``gnarl.hw.sam.blocks.lookups.array_vals``."""
    port = s[b + PORT_OF]
    before = s[port + REQUESTS]
    at = answer(s, port, cycle)
    is_done, is_read = False, False
    s[b + GIVES] = 0
    if has_token(s, b + ASKED):
        token = token_of(s, b + ASKED)
        kind = token >> KIND_SHIFT
        is_read = kind == IS_DATA
        if not is_read or at != NONE:
            if is_read:
                # Of a block of values it is said where its words are.
                token = read(m, at) if s[port + ROW_WORDS] == 1 else at
            give(s, b, 0, 0 if kind == IS_EMPTY else token)
            is_done = send(s, b, cycle)
    _end_fetch(s, b, port, b + ASKED, is_done, cycle)
    advance_port(s, b, port, is_done and is_read, before, cycle)


@inner_integers
def begin_words(s: np.ndarray, b: int) -> bool:
    """What a lookup of bitvectors wants of its memory; whether all is right. States: the number of
    the word, and its row."""
    port, q = s[b + PORT_OF], s[b + IN]
    s[port + WANTS] = s[b + ASKED + OFFERED] = 0
    s[b + TAKES] = 0
    see(s, b)
    s[b + _WALK] = _RESTS
    if not s[q + HAS]:
        return True
    token, number, words = s[q + TOKEN], s[b + STATE], s[b + PARAMETER]
    if token >> KIND_SHIFT == IS_DATA and number != words:
        row = s[b + STATE + 1] if number else token * words & s[INDEX_MASK]
        if not is_loaded(s, port, row):
            return False
        want(s, port, row)
        offer(s, b + ASKED, 0)
        s[b + _WALK] = _WALKS
        return True
    end, taken = fiber_end(q, s)
    if end >= 0:
        offer(s, b + ASKED, end)
        s[b + TAKES] = taken & 1 | (taken >> 1) << SECOND
        s[b + _WALK] = _ENDS
    return True


@inner_integers
def words(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> None:
    """A cycle of ``gnarl.hw.sam.blocks.lookups.bitvector_lookup``."""
    port = s[b + PORT_OF]
    before = s[port + REQUESTS]
    at = answer(s, port, cycle)
    is_done, is_read = False, False
    s[b + GIVES] = 0
    if has_token(s, b + ASKED):
        token = token_of(s, b + ASKED)
        is_read = token >> KIND_SHIFT == IS_DATA
        if not is_read or at != NONE:
            give(s, b, 0, read(m, at) if is_read else token)
            give(s, b, 1, read(m, at + 1) if is_read else token)
            is_done = send(s, b, cycle)
    has_asked = request(s, b, port, cycle)
    has_passed = pass_through(s, b + ASKED, is_done)
    steps = s[b + _WALK] != _RESTS and has_asked and has_passed
    if steps:
        s[port + SENT] = s[b + ASKED + PASSED] = 0
        s[b + STATE] = s[b + STATE] + 1 if s[b + _WALK] == _WALKS else 0
        s[b + STATE + 1] = s[port + ROW] + 1
        s[b + AWAKE] = cycle + 1
    take(s, b, steps, cycle)
    advance_port(s, b, port, is_done and is_read, before, cycle)


@inner_integers
def begin_lookup(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> bool:
    """What a lookup of a compressed level wants of its memories; whether all is right."""
    segments, crds = s[b + PORT_OF], s[b + PORT_OF + 1]
    if not _fetch(s, b, segments, b + PARENTS):
        return False
    s[crds + WANTS] = s[b + ASKED + OFFERED] = 0
    s[b + _SEGMENT], s[b + _COORDINATE] = answer(s, segments, cycle), answer(s, crds, cycle)
    s[b + _WALK] = _RESTS
    is_held = s[b + _HELD]
    if s[b + PARAMETER]:
        at = s[b + _COORDINATE]
        notice(s, b, b + SKIPPING, b + ASKED, at != NONE, read(m, at) if at != NONE else 0)
        row = probe_row(s, b + SKIPPING)
        if row != NONE:
            want(s, crds, row)
            offer(s, b + ASKED, EMPTY | row)
            s[b + _WALK] = _PROBES
            return True
    if not is_held and not has_token(s, b + PARENTS):
        return True
    parent = s[b + _ITEM] if is_held else token_of(s, b + PARENTS)
    is_fiber = parent >> KIND_SHIFT == IS_DATA
    if is_fiber and s[b + _SEGMENT] == NONE:
        return True
    return _walk(s, m, b, parent, is_fiber)


@inner_integers
def _walk(s: np.ndarray, m: np.ndarray, b: int, parent: int, is_fiber: bool) -> bool:
    """Reads the next row of the segment, or ends the fiber."""
    crds = s[b + PORT_OF + 1]
    if is_fiber:
        at = s[b + _SEGMENT]
        start, end = read(m, at), read(m, at + 1)
        row = s[b + _NEXT_ROW] if s[b + _BEGUN] else start
        s[b + _ROW], s[b + _END] = row, end
        if s[b + PARAMETER] and not allows_walk(s, b + SKIPPING, row != end):
            return True
        if start > end or (end > start and not is_loaded(s, crds, end - 1)):
            return False
        if row != end:
            want(s, crds, row)
            offer(s, b + ASKED, row)
            s[b + _WALK] = _WALKS
            return True
    elif s[b + PARAMETER] and not allows_walk(s, b + SKIPPING, False):
        return True
    end_token, heads = _fiber_end(s, b, parent)
    if end_token >= 0:
        offer(s, b + ASKED, end_token)
        s[b + _HEADS] = heads
        s[b + _IS_DONE] = parent >> KIND_SHIFT == IS_DONE
        s[b + _WALK] = _ENDS
    return True


@inner_integers
def _fiber_end(s: np.ndarray, b: int, parent: int) -> tuple[int, int]:
    """As ``fiber_end``, of the parents."""
    if not is_data(parent):
        return raised(parent) if is_stop(parent) else parent, 1
    if not s[b + _HELD] or not has_token(s, b + PARENTS):
        return -1, 0
    following = token_of(s, b + PARENTS)
    if is_stop(following):
        return raised(following), 3
    return 1 << KIND_SHIFT, 1


@inner_integers
def lookup(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> None:
    """A cycle of ``gnarl.hw.sam.blocks.lookups.compressed_lookup``."""
    segments, crds = s[b + PORT_OF], s[b + PORT_OF + 1]
    segments_before, crds_before = s[segments + REQUESTS], s[crds + REQUESTS]
    skips = s[b + PARAMETER]
    gives, is_read, is_answered = _answer(s, m, b)
    token = token_of(s, b + ASKED)
    if is_answered:
        is_answered = send(s, b, cycle)
    has_asked = request(s, b, crds, cycle)
    has_passed = pass_through(s, b + ASKED, is_answered)
    walk = s[b + _WALK]
    steps = walk != _RESTS and has_asked and has_passed
    is_fiber = walk == _ENDS and s[b + _SEGMENT] != NONE and _is_fiber(s, b)
    if steps:
        s[crds + SENT] = s[b + ASKED + PASSED] = 0
        s[b + AWAKE] = cycle + 1
        if walk == _WALKS:
            s[b + _BEGUN], s[b + _NEXT_ROW] = 1, s[b + _ROW] + 1
        elif walk == _ENDS:
            s[b + _BEGUN] = 0
    heads = s[b + _HEADS] if steps and walk == _ENDS else 0
    _advance_parents(s, b, segments, heads, cycle)
    advance_port(s, b, segments, steps and is_fiber, segments_before, cycle)
    advance_port(s, b, crds, is_answered and is_read, crds_before, cycle)
    if skips:
        ends = steps and walk == _ENDS and not s[b + _IS_DONE]
        resume = note_answers(
            s,
            b + SKIPPING,
            steps,
            walk == _WALKS,
            ends,
            s[b + _ROW],
            s[b + _END],
            is_answered,
            gives,
            is_stop(token),
        )
        if resume >= 0:
            s[b + _NEXT_ROW] = resume
        elif cuts(s, b + SKIPPING):
            s[b + _BEGUN], s[b + _NEXT_ROW] = 1, s[b + _END]
        if goes_on(s, b + SKIPPING):
            s[b + AWAKE] = cycle + 1


@inner_integers
def _is_fiber(s: np.ndarray, b: int) -> bool:
    parent = s[b + _ITEM] if s[b + _HELD] else token_of(s, b + PARENTS)
    return parent >> KIND_SHIFT == IS_DATA


@inner_integers
def _answer(s: np.ndarray, m: np.ndarray, b: int) -> tuple[bool, bool, bool]:
    """Whether a coordinate that was walked to is given, whether an answer is used up, and whether
    there is a step at all."""
    s[b + GIVES] = 0
    if not has_token(s, b + ASKED):
        return False, False, False
    token = token_of(s, b + ASKED)
    kind = token >> KIND_SHIFT
    at = s[b + _COORDINATE]
    if kind == IS_DATA:
        if at == NONE:
            return False, True, False
        gives = not (s[b + PARAMETER] and is_passed(s, b + SKIPPING))
        if gives:
            give(s, b, 0, read(m, at))
            give(s, b, 1, token)
        return gives, True, True
    if kind == IS_EMPTY:
        if at == NONE:
            return False, True, False
        if has_found(s, b + SKIPPING):
            give(s, b, 0, found_crd(s, b + SKIPPING))
            give(s, b, 1, found_row(s, b + SKIPPING))
        return False, True, True
    give(s, b, 0, token)
    give(s, b, 1, token)
    return False, False, True


@inner_integers
def _advance_parents(s: np.ndarray, b: int, segments: int, heads: int, cycle: int) -> None:
    """Takes parents, as ``gnarl.hw.lib.stream.lookahead`` does, and fetches further ones."""
    is_there = has_token(s, b + PARENTS)
    token = token_of(s, b + PARENTS)
    is_taken = is_there and (not s[b + _HELD] or heads != 0)
    if s[b + _HELD]:
        if heads:
            s[b + _HELD] = is_there and heads != 3
            s[b + _ITEM] = token
    elif is_there and not heads:
        s[b + _HELD] = 1
        s[b + _ITEM] = token
    if is_taken:
        s[b + AWAKE] = cycle + 1
    _end_fetch(s, b, segments, b + PARENTS, is_taken, cycle)
