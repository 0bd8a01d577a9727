"""The cycles of a machine: each block that is awake, one after the other."""

from __future__ import annotations

from functools import cache

import numpy as np

from gnarl.sw.program.jit import elements, in_place, inlined_integers, inner_integers
from gnarl.sw.runtime.sam.simulator import coordinates, joins, kinds, lookups, writers
from gnarl.sw.runtime.sam.simulator.accumulator import accumulator
from gnarl.sw.runtime.sam.simulator.joins import READY, WAITS, WRONG
from gnarl.sw.runtime.sam.simulator.layout import (
    AT_FAULT,
    AWAKE,
    BANKS,
    BEGUN,
    BLOCKS,
    CHANNELS,
    CYCLE,
    CYCLES,
    DEADLOCK,
    EARLY,
    ENDED,
    FAULT,
    FIRST_BLOCK,
    FIRST_EARLY,
    FULL,
    GIVES,
    HAS,
    IN,
    IS_DATA,
    KIND,
    KIND_SHIFT,
    LAST_MOVE,
    NEEDS_ALL,
    NEXT,
    ONCE,
    PARAMETER,
    PATIENCE,
    PAYLOAD,
    RUNNING,
    SEEN,
    STALLED,
    STALLS,
    STATE,
    STATES,
    STATUS,
    TAKES,
    TOKEN,
    WITH_ALL_ELSE,
    WRITING,
)
from gnarl.sw.runtime.sam.simulator.line_memory import BEGIN, END, IS_SETTLED, lines
from gnarl.sw.runtime.sam.simulator.memory import arbitrate
from gnarl.sw.runtime.sam.simulator.skipping import (
    FIBERS,
    HINT_CRD,
    HINT_FIBER,
    HINT_STOP,
    HINT_VALID,
)
from gnarl.sw.runtime.sam.simulator.steps import commit, is_stop, see, send, take
from gnarl.sw.runtime.sam.simulator.values import pipeline, reduction

HINTED_LOOKUP, HINT = PARAMETER, PARAMETER + 2
"""Of an intersection, by lane: the lookup that its hint is for, 0 for none, and where it goes."""


@in_place
def run_cycles(records: np.ndarray, memory: np.ndarray, until: int) -> None:
    """Runs a machine up to a cycle, or to its end, or until words that it wrote have to be
    collected. ``records``: see ``layout``, which functions call s, and the memory m."""
    s, m = elements(records), elements(memory)
    cycle = s[CYCLE]
    blocks, first_block, early, first_early = s[BLOCKS], s[FIRST_BLOCK], s[EARLY], s[FIRST_EARLY]
    while cycle < until and s[STATUS] == RUNNING and not s[FULL]:
        for number in range(early):
            b = s[first_early + number]
            if s[b + AWAKE] >= cycle:
                s[b + BEGUN] = cycle
                if not _begin(s, m, b, cycle):
                    _fail(s, b)
        is_awake = False
        if s[CHANNELS]:
            is_awake = lines(s, cycle, BEGIN)
        elif s[BANKS]:
            arbitrate(s, cycle)
        for number in range(blocks):
            b = s[first_block + number]
            if s[b + AWAKE] < cycle:
                continue
            is_awake = True
            if s[b + BEGUN] >= cycle:
                _note_stalls(s, b, cycle)
                if _run(s, m, b, cycle) == WRONG:
                    _fail(s, b)
        if s[CHANNELS]:
            lines(s, cycle, END)
        cycle += 1
        s[CYCLE] = cycle
        if s[STATUS] != RUNNING:
            break
        if s[CYCLES]:
            # The hardware notices the end a cycle later; what moves until then counts.
            s[STATUS] = ENDED
        elif s[WRITING] == 0 and (not s[CHANNELS] or lines(s, cycle, IS_SETTLED)):
            s[CYCLES] = cycle
        elif not is_awake or cycle - s[LAST_MOVE] > s[PATIENCE]:
            s[STATUS] = DEADLOCK


@cache
def prepare() -> None:
    """Compiles ``run_cycles``, or loads what was compiled before: once in a process."""
    run_cycles(np.zeros(ONCE, np.int64), np.zeros(1, np.uint32), 0)


@inner_integers
def _fail(s: np.ndarray, b: int) -> None:
    if s[STATUS] == RUNNING:
        s[STATUS], s[AT_FAULT] = FAULT, b


@inner_integers
def _note_stalls(s: np.ndarray, b: int, cycle: int) -> None:
    """Counts the cycles in which a block stalled up to this one."""
    if s[b + STALLED]:
        s[b + STALLS] += cycle - s[b + SEEN]
        s[b + STALLED] = 0


@inner_integers
def _begin(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> bool:
    """The begin of a block's cycle; whether all is right."""
    kind = s[b + KIND]
    if kind == kinds.INTERSECT:
        see(s, b)
        _hint(s, b, 0, s[b + IN + 2], cycle)
        _hint(s, b, 1, s[b + IN], cycle)
    elif kind == kinds.LOOKUP:
        return lookups.begin_lookup(s, m, b, cycle)
    elif kind == kinds.VALUES:
        return lookups.begin_values(s, b)
    elif kind == kinds.WORDS:
        return lookups.begin_words(s, b)
    elif kind == kinds.LEVEL_WRITER:
        return writers.begin_level(s, b)
    elif kind == kinds.BITVECTOR_WRITER:
        return writers.begin_bitvector(s, b)
    return True


@inner_integers
def _hint(s: np.ndarray, b: int, lane: int, other: int, cycle: int) -> None:
    """Tells the lookup of a lane what the other lane is at."""
    block, x = s[b + HINTED_LOOKUP + lane], s[b + HINT + lane]
    if block == 0:
        return
    token, fiber = s[other + TOKEN], s[b + STATE]
    stops = is_stop(token)
    is_valid = s[other + HAS] != 0 and (stops or token >> KIND_SHIFT == IS_DATA)
    crd = token & PAYLOAD
    if (
        s[x + HINT_VALID] != is_valid
        or s[x + HINT_STOP] != stops
        or s[x + HINT_CRD] != crd
        or s[x + HINT_FIBER] != fiber
    ):
        s[x + HINT_VALID], s[x + HINT_STOP] = is_valid, stops
        s[x + HINT_CRD], s[x + HINT_FIBER] = crd, fiber
        s[block + AWAKE] = max(s[block + AWAKE], cycle)


@inlined_integers
def _run(s: np.ndarray, m: np.ndarray, b: int, cycle: int) -> int:
    """A block's cycle."""
    kind = s[b + KIND]
    if kind < kinds.STEPS:
        return _step(s, m, b, kind, cycle)
    if kind == kinds.PIPELINE:
        return pipeline(s, m, b, cycle)
    if kind == kinds.REDUCTION:
        return reduction(s, m, b, cycle)
    if kind == kinds.ACCUMULATOR:
        return accumulator(s, m, b, cycle)
    if s[b + BEGUN] == WITH_ALL_ELSE and not _begin(s, m, b, cycle):
        return WRONG
    if kind == kinds.LOOKUP:
        lookups.lookup(s, m, b, cycle)
    elif kind == kinds.VALUES:
        lookups.values(s, m, b, cycle)
    elif kind == kinds.WORDS:
        lookups.words(s, m, b, cycle)
    elif kind == kinds.LEVEL_WRITER:
        writers.level(s, m, b, cycle)
    elif kind == kinds.BITVECTOR_WRITER:
        writers.bitvector(s, m, b, cycle)
    return READY


@inlined_integers
def _step(s: np.ndarray, m: np.ndarray, b: int, kind: int, cycle: int) -> int:
    """A cycle of a block that makes steps."""
    s[b + GIVES] = s[b + TAKES] = 0
    is_done = False
    if see(s, b) or not s[b + NEEDS_ALL]:
        for place in range(s[b + STATES]):
            s[b + NEXT + place] = s[b + STATE + place]
        status = _decide(s, m, b, kind)
        if status == WRONG:
            return WRONG
        if status == READY:
            is_done = send(s, b, cycle)
            if is_done:
                commit(s, b)
    take(s, b, is_done, cycle)
    return READY


@inlined_integers
def _decide(s: np.ndarray, m: np.ndarray, b: int, kind: int) -> int:
    """What the step is that a block is at."""
    if kind == kinds.INTERSECT:
        return _intersect(s, b)
    if kind == kinds.DENSE_LOOKUP:
        return lookups.dense(s, b)
    if kind == kinds.REPEAT:
        return coordinates.repeat(s, b)
    if kind == kinds.REPEAT_SIGNALS:
        return coordinates.repeat_signals(s, b)
    if kind == kinds.UNION:
        return joins.union(s, b)
    if kind == kinds.LOCATE:
        return lookups.locate(s, b)
    if kind == kinds.DROP:
        return coordinates.drop(s, b)
    if kind == kinds.HOLD or kind == kinds.TO_POINTS:
        return coordinates.hold(s, b, kind == kinds.HOLD)
    if kind == kinds.BITVECTOR_EXPAND:
        return joins.bitvector_expand(s, b)
    if kind == kinds.BITVECTOR_INTERSECT or kind == kinds.BITVECTOR_UNION:
        return joins.bitvector_join(s, b, kind == kinds.BITVECTOR_UNION)
    return _decide_more(s, m, b, kind)


@inner_integers
def _decide_more(s: np.ndarray, m: np.ndarray, b: int, kind: int) -> int:
    if kind == kinds.ROOT:
        return coordinates.root(s, b)
    if kind == kinds.RELAY:
        return coordinates.relay(s, b)
    if kind == kinds.DEAL:
        return coordinates.deal(s, b)
    if kind == kinds.DEAL_BY_CRD:
        return coordinates.deal_by_crd(s, b)
    if kind == kinds.COLLECT:
        return coordinates.collect(s, b)
    if kind == kinds.COLLECT_VALUES:
        return coordinates.collect_values(s, b)
    if kind == kinds.DROP_VALUES:
        return coordinates.drop_values(s, m, b)
    if kind == kinds.FROM_POINTS:
        return coordinates.from_points(s, b)
    return WAITS


@inner_integers
def _intersect(s: np.ndarray, b: int) -> int:
    """A step of an intersection, which counts fibers for its hints."""
    status = joins.intersect(s, b)
    crd0, crd1 = s[s[b + IN] + TOKEN], s[s[b + IN + 2] + TOKEN]
    s[b + NEXT] = s[b + STATE] + (is_stop(crd0) and is_stop(crd1)) & FIBERS
    return status
