"""When the core's instructions issue, one after the other. Source:
``gnarl.hw.lib.execute.issue``."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.hw.lib.encoding.execute_times import WAITING
from gnarl.sw.execute.timing.lines import NEVER, first_free
from gnarl.sw.execute.timing.table import (
    ADD,
    COMPARED,
    DIVIDES,
    DST,
    HALTS,
    HOLDS,
    INTEGER,
    LATER,
    LOADS,
    MASK,
    MEMORY,
    MULTIPLY_ADD,
    NONE,
    PATH,
    RESULT,
    SLOTS,
    STEERS,
    VECTORS,
    A,
    B,
    C,
)
from gnarl.sw.execute.timing.unit import (
    BUS,
    COUNT,
    DIVIDER_FREE,
    NEXT,
    NOW,
    STEERED,
    Core,
    advance,
    await_release,
    begin_division,
    begin_request,
    drain,
)
from gnarl.sw.execute.trace import ENDS_BODY, FAULTS, FLAGS, INSTRUCTION, REQUEST, TURNS
from gnarl.sw.program.jit import in_place, inner

_STEERED = 3
"""Cycles from the issue of a branch to that of what follows at its target; and from one that is not
taken, or a ``LOOP``, to an instruction whose successor is not the next one."""

_ENDED = 2
"""Cycles from the issue of ``HALT`` until nothing more comes, and from that of what faults until
that is known."""

_OVERTAKEN = FLOAT_STAGES - 1
"""Cycles from an ``FMUL_ADD`` until an instruction issues that writes its c early."""


@in_place
def follow(core: Core, table: np.ndarray, trace: np.ndarray, limit: int) -> int:
    """Issues the instructions of a part of a trace (``trace``) of a program (``timing_table``), up
    to the first that may not issue by cycle ``limit``; the cycle in which all is done where the
    last is ``HALT``, or in which a fault is known that it ends with, else -1."""
    at = core.at
    for place in range(len(trace)):
        what = trace[place, INSTRUCTION]
        row = table[what // FLAGS % len(table)]
        cycle = at[NEXT]
        if cycle > limit:
            break
        if row[HOLDS] or what & ENDS_BODY:
            cycle = max(cycle, at[STEERED] + _STEERED)
        if not what & FAULTS or trace[place, REQUEST]:
            cycle = _issue(core, row, cycle)
        if what & FAULTS:
            return cycle + _ENDED
        _begin(core, row, cycle, trace[place, REQUEST])
        if row[STEERS]:
            at[STEERED] = cycle
        at[NEXT] = cycle + (_STEERED if what & TURNS else 1)
        if row[HALTS]:
            return drain(core, cycle + _ENDED)
    return -1


@inner
def _issue(core: Core, row: np.ndarray, cycle: int) -> int:
    """The first cycle from this one on in which an instruction may issue."""
    at = core.at
    while True:
        advance(core, cycle)
        ready = _ready(core, row)
        has_room = not row[MEMORY] or at[COUNT] < WAITING
        has_tag = row[MEMORY] != LOADS or first_free(core.loads) >= 0
        if ready == NEVER or not has_room or not has_tag:
            await_release(core)
            cycle = at[NOW]
        elif ready > cycle:
            cycle = ready
        elif _has_bus(core, row, cycle):
            return cycle
        else:
            cycle += 1


@inner
def _ready(core: Core, row: np.ndarray) -> int:
    """From when on an instruction finds its operands, its register and its unit."""
    a, c, dst, path = row[A], row[C], row[DST], row[PATH]
    ready = 0
    is_excused = False
    if a != NONE:
        adds = path == ADD and a >= VECTORS
        ready = max(ready, core.as_sum[a] if adds else core.ready[a])
        is_excused = adds and a == dst
    if row[B] != NONE:
        ready = max(ready, core.ready[row[B]])
    if c != NONE:
        reads_late = path == MULTIPLY_ADD and c >= VECTORS
        ready = max(ready, core.as_addend[c] if reads_late else core.ready[c])
        is_excused |= reads_late and c == dst
    if dst != NONE:
        ready = max(ready, _writable(core, dst, path, is_excused))
    if row[MASK] != NONE:
        ready = max(ready, core.mask_ready[row[MASK]])
    if row[DIVIDES]:
        ready = max(ready, core.at[DIVIDER_FREE])
    return ready


@inner
def _writable(core: Core, dst: int, path: int, is_excused: bool) -> int:
    """From when on a register can be written; an instruction ``is_excused`` from waiting for the
    value before that adds to it."""
    ready = 0 if is_excused else core.ready[dst]
    if dst >= VECTORS and path <= INTEGER:
        ready = max(ready, core.read_late[dst] + _OVERTAKEN)
    return ready


@inner
def _has_bus(core: Core, row: np.ndarray, cycle: int) -> bool:
    at = cycle + row[RESULT]
    for _ in range(row[SLOTS]):
        if core.bus[at % BUS] == at:
            return False
        at -= FLOAT_STAGES
    return True


@inner
def _begin(core: Core, row: np.ndarray, cycle: int, wanted: int) -> None:
    """What an instruction changes that issues."""
    dst, path, c = row[DST], row[PATH], row[C]
    if path != LATER:
        at = cycle + row[RESULT]
        if dst >= VECTORS:
            core.ready[dst] = core.as_sum[dst] = at - 1
            if path in (ADD, MULTIPLY_ADD):
                core.as_sum[dst] = at - 2
            core.as_addend[dst] = at - FLOAT_STAGES - 1
        else:
            core.ready[dst] = at
        for _ in range(row[SLOTS]):
            core.bus[at % BUS] = at
            at -= FLOAT_STAGES
        if path == MULTIPLY_ADD and c >= VECTORS:
            core.read_late[c] = cycle
    elif row[DIVIDES]:
        begin_division(core, cycle, row[DIVIDES], dst)
    elif row[MEMORY]:
        begin_request(core, cycle, wanted, row[MEMORY], dst)
    if row[COMPARED] != NONE:
        core.mask_ready[row[COMPARED]] = cycle + 2
