"""How blocks take and give tokens: as ``gnarl.hw.lib.stream.step`` has it, with the queues and
forks of ``gnarl.hw.sam.graph_datapath`` around.

Whoever reads a queue is looked at before those that feed it, so in a cycle a queue still holds what
it held at the cycle's begin, but for what was taken: ``POPPED`` says whether that was so. A block
that changes nothing sleeps until a queue of its does.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inlined_integers, inner_integers
from gnarl.sw.runtime.sam.simulator.layout import (
    AWAKE,
    COUNT,
    DEPTH,
    EMPTY,
    FIRST_READER,
    GIVEN,
    GIVES,
    HAS,
    HAS_NEXT,
    HEAD,
    HELD,
    IN,
    INPUTS,
    IS_STOP,
    ITEM,
    KIND_SHIFT,
    LAST,
    LAST_MOVE,
    LEVELS,
    LOOKS,
    NEXT,
    NEXT_TOKEN,
    OFFER,
    OUT,
    OUTPUTS,
    POPPED,
    QUEUE,
    READER,
    READERS,
    RING,
    SECOND,
    SEEN,
    STALLED,
    STATE,
    STATES,
    STOP,
    TAIL,
    TAKES,
    TOKEN,
    TOKENS,
    WRITER,
)


@inner_integers
def is_data(token: int) -> bool:
    """Data or empty: kinds are even for these."""
    return (token >> KIND_SHIFT) & 1 == 0


@inner_integers
def is_stop(token: int) -> bool:
    return token >> KIND_SHIFT == IS_STOP


@inner_integers
def agree(left: int, right: int) -> bool:
    """As ``gnarl.hw.sam.blocks.agreement.agree``."""
    return left == right or (is_data(left) and is_data(right))


@inner_integers
def is_closed_by(outer: int, inner: int) -> bool:
    """As ``gnarl.hw.sam.blocks.agreement.is_closed_by``."""
    return is_stop(outer) and inner == outer + 1


@inner_integers
def raised(token: int) -> int:
    """The stop a level above a stop."""
    return STOP | (token + 1 & LEVELS)


@inlined_integers
def see(s: np.ndarray, b: int) -> bool:
    """Notes what a block sees of its inputs; whether each has a token."""
    all_there = True
    for place in range(s[b + INPUTS]):
        q = s[b + IN + place]
        if q == 0:
            continue
        is_there = s[q + COUNT] > 0
        first = front(s, q)
        if s[q + HELD]:
            s[q + HAS] = 1
            s[q + TOKEN] = s[q + ITEM]
            s[q + HAS_NEXT] = is_there
            s[q + NEXT_TOKEN] = first
        else:
            s[q + HAS] = is_there
            s[q + TOKEN] = first
            if s[q + LOOKS]:
                s[q + HAS_NEXT] = 0
            all_there &= is_there
    return all_there


@inner_integers
def wrap(place: int, size: int) -> int:
    """A place in a ring of ``size`` from one that is less than twice as far: a division takes
    longer than most blocks."""
    return place - size if place >= size else place


@inlined_integers
def _following(s: np.ndarray, q: int, place: int) -> int:
    """The place behind one of a queue's."""
    return s[q + RING] if place == s[q + LAST] else place + 1


@inlined_integers
def front(s: np.ndarray, q: int) -> int:
    """The oldest token of a queue, if it has one."""
    return s[s[q + HEAD]]


@inner_integers
def pop(s: np.ndarray, q: int, cycle: int) -> None:
    """Takes the oldest token out of a queue."""
    s[q + HEAD] = _following(s, q, s[q + HEAD])
    s[q + COUNT] -= 1
    s[q + POPPED] = cycle
    s[s[q + WRITER] + AWAKE] = cycle + 1
    s[s[q + READER] + AWAKE] = cycle + 1


@inner_integers
def give(s: np.ndarray, b: int, place: int, token: int) -> None:
    """The step gives ``token`` to an output."""
    s[s[b + OUT + place] + OFFER] = token
    s[b + GIVES] |= 1 << place


@inlined_integers
def send(s: np.ndarray, b: int, cycle: int) -> bool:
    """Offers what the step gives to all readers that have room; whether all of it is given."""
    gives = s[b + GIVES]
    left, at = gives, b + OUT
    while left:
        if left & 1 and not (s[s[at] + GIVEN] == 0 and _has_room(s, s[at], cycle)):
            return _send_some(s, b, cycle)
        left >>= 1
        at += 1
    left, at = gives, b + OUT
    while left:
        if left & 1:
            _give_all(s, s[at], cycle)
        left >>= 1
        at += 1
    s[b + AWAKE] = cycle + 1
    return True


@inlined_integers
def _has_room(s: np.ndarray, o: int, cycle: int) -> bool:
    """All readers of an output have room."""
    q = s[o + FIRST_READER]
    for _ in range(s[o + READERS]):
        if s[q + COUNT] + (s[q + POPPED] == cycle) >= s[q + DEPTH]:
            return False
        q += QUEUE
    return True


@inlined_integers
def _give_all(s: np.ndarray, o: int, cycle: int) -> None:
    """Gives a token to all readers of an output."""
    q, token = s[o + FIRST_READER], s[o + OFFER]
    for _ in range(s[o + READERS]):
        _push(s, q, token, cycle)
        q += QUEUE
    _count(s, o, cycle)


@inner_integers
def _send_some(s: np.ndarray, b: int, cycle: int) -> bool:
    """``send``, where something is given already or has no room."""
    gives = s[b + GIVES]
    waits = False
    for place in range(s[b + OUTPUTS]):
        if (gives >> place) & 1:
            waits |= not _give_some(s, b, s[b + OUT + place], cycle)
    if waits:
        s[b + STALLED], s[b + SEEN] = 1, cycle
        return False
    for place in range(s[b + OUTPUTS]):
        if (gives >> place) & 1:
            s[s[b + OUT + place] + GIVEN] = 0
    s[b + AWAKE] = cycle + 1
    return True


@inlined_integers
def _push(s: np.ndarray, q: int, token: int, cycle: int) -> None:
    tail = s[q + TAIL]
    s[tail] = token
    s[q + TAIL] = _following(s, q, tail)
    s[q + COUNT] += 1
    s[s[q + READER] + AWAKE] = cycle + 1


@inlined_integers
def _count(s: np.ndarray, o: int, cycle: int) -> None:
    s[o + TOKENS] += 1
    s[LAST_MOVE] = cycle


@inner_integers
def _give_some(s: np.ndarray, b: int, o: int, cycle: int) -> bool:
    """Gives a token to those readers of an output that lack it and have room; whether all have
    it."""
    given, readers = s[o + GIVEN], s[o + READERS]
    whole = (1 << readers) - 1
    if given == whole and readers:
        return True
    q, token = s[o + FIRST_READER], s[o + OFFER]
    for reader in range(readers):
        has_room = s[q + COUNT] + (s[q + POPPED] == cycle) < s[q + DEPTH]
        if has_room and not (given >> reader) & 1:
            _push(s, q, token, cycle)
            s[b + AWAKE] = cycle + 1
            given |= 1 << reader
        q += QUEUE
    s[o + GIVEN] = given
    if given == whole:
        _count(s, o, cycle)
    return given == whole


@inlined_integers
def take(s: np.ndarray, b: int, is_done: bool, cycle: int) -> None:
    """Takes what a step uses up, once it is done, and moves tokens up into registers."""
    takes = s[b + TAKES] if is_done else 0
    for place in range(s[b + INPUTS]):
        q = s[b + IN + place]
        if q == 0:
            continue
        is_taken = (takes >> place) & 1
        if not s[q + LOOKS]:
            if is_taken:
                pop(s, q, cycle)
        elif s[q + HELD]:
            if is_taken:
                s[q + HELD] = s[q + HAS_NEXT] and not (takes >> (SECOND + place)) & 1
                s[q + ITEM] = s[q + NEXT_TOKEN]
                if s[q + HAS_NEXT]:
                    pop(s, q, cycle)
        elif s[q + HAS]:
            s[q + HELD] = not is_taken
            s[q + ITEM] = s[q + TOKEN]
            pop(s, q, cycle)


@inlined_integers
def commit(s: np.ndarray, b: int) -> None:
    """The state becomes what the step makes of it."""
    for place in range(s[b + STATES]):
        s[b + STATE + place] = s[b + NEXT + place]


@inner_integers
def fiber_end(q: int, s: np.ndarray) -> tuple[int, int]:
    """The token that ends the fiber of a queue's first token, -1 if it is not known yet, and which
    tokens go with it: 1, or 3 for both. As ``gnarl.hw.sam.blocks.lookups.fiber_end``."""
    token = s[q + TOKEN]
    if not is_data(token):
        return raised(token) if is_stop(token) else token, 1
    if not s[q + HAS_NEXT]:
        return -1, 0
    following = s[q + NEXT_TOKEN]
    if is_stop(following):
        return raised(following), 3
    return STOP, 1


@inner_integers
def payload_or_zero(token: int) -> int:
    """The word of data or of an empty token."""
    return 0 if token == EMPTY else token
