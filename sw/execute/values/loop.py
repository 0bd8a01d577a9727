"""The execute unit's instructions one after the other, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import (
    ALL_LANES,
    LOOP_DEPTH,
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    Fault,
    Opcode,
)
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.sw.execute.arithmetic import compute_floats, compute_integers
from gnarl.sw.execute.trace import (
    ENDS_BODY,
    FAULTS,
    FLAGS,
    INSTRUCTION,
    MOST_LANES,
    REQUEST,
    TURNS,
)
from gnarl.sw.program.jit import compiled, compiled_inner, inner

VECTORS = 0
"""Rows of registers: first vectors, then scalars; 0; the immediate; what is dequeued; results, and
half of a reduction's operands."""
SCALARS = VECTORS + VECTOR_REGISTERS
ZERO = SCALARS + SCALAR_REGISTERS
IMMEDIATE, TAKEN, RESULT, HALF = range(ZERO + 1, ZERO + 5)
ROWS = HALF + 1

MASKS = ROWS
"""Results for mask register m go to row ``MASKS`` + m."""

NOWHERE = -1

(
    OPCODE,
    FAULT,
    WIDTH,
    TAKES,
    DST,
    MASK,
    A,
    B,
    C,
    INCREMENTED,
    INCREMENT,
    OFFSET,
) = range(12)
"""Columns of the table: the fault that its bits alone tell; the lanes it works on; the words it
takes from the queue; the row of its result, or ``NOWHERE``; its mask register; the rows of its
operands; the row of the register that it increments, or ``NOWHERE``, and by how much; its
immediate, unsigned."""

HALTED, FAULTED, NO_WORDS, NO_TOKEN, STOPPED, PAUSED, FULL = range(7)
"""Why a run ends: at ``HALT``; with a fault; for want of words or of a token; at its limit; because
what it needs, or else all that is left, lies behind what the queues have no room for. Or does not
end yet: its trace is full."""

_NOTHING = -1
"""What an instruction waits for that can be done."""

_NEVER = -1
"""When no trace is full that is none."""

READ, WRITE, PREFETCH = range(3)
"""What is done to a line."""

USES = 3

_FIRST, _LAST, _LEFT = range(3)
"""Columns of a loop that runs: first and last instruction, iterations left."""

_WORD = 0xFFFF_FFFF
_PLUS_INFINITY = FLOAT_FORMATS["float32"].infinity
_MINUS_INFINITY = 1 << 31 | _PLUS_INFINITY

# Plain numbers for compiled code, which knows no Amaranth enumerations.
_NONE, _CONTROL, _ADDRESS = Fault.NONE.value, Fault.CONTROL.value, Fault.ADDRESS.value
_HALT, _JUMP, _JUMP_TOKEN = Opcode.HALT.value, Opcode.JUMP.value, Opcode.JUMP_TOKEN.value
_BRANCH_EQ, _BRANCH_NE = Opcode.BRANCH_EQ.value, Opcode.BRANCH_NE.value
_BRANCH_LT, _BRANCH_GE = Opcode.BRANCH_LT.value, Opcode.BRANCH_GE.value
_LOOP, _SELECT, _EXTRACT = Opcode.LOOP.value, Opcode.SELECT.value, Opcode.EXTRACT.value
_FIRST_LANES, _LANES = Opcode.FIRST_LANES.value, Opcode.LANES.value
_TO_FLOAT, _FEQUAL = Opcode.TO_FLOAT.value, Opcode.FEQUAL.value
_FADD, _FMIN, _FMAX = Opcode.FADD.value, Opcode.FMIN.value, Opcode.FMAX.value
_LOAD, _STORE, _PREFETCH = Opcode.LOAD.value, Opcode.STORE.value, Opcode.PREFETCH.value
_REDUCE_MAX, _REDUCE_MIN = Opcode.REDUCE_MAX.value, Opcode.REDUCE_MIN.value


_DEPTH, _PC, _TAKEN_WORDS, _TAKEN_TOKENS, _DONE = range(5)
"""Places of ``State.at``: loops that run, the next instruction, and counts; ``_DONE`` leaves out
``JUMP_TOKEN``."""

_PUTS, _WORDS, _TOKENS = range(3)
"""What the access unit has put into the queues: in all, words, and tokens."""


class State(NamedTuple):
    """What a run has come to.

    rows
        uint32 [``ROWS``, lanes]: registers.
    masks
        int64 [masks]: their lanes.
    loops
        int64 [``LOOP_DEPTH``, 3]: that run, the innermost last.
    at
        int64: numbers.
    """

    rows: np.ndarray
    masks: np.ndarray
    loops: np.ndarray
    at: np.ndarray


def begin(lanes: int) -> State:
    """The state before the first instruction: all registers are 0, and have no lanes but
    ``ALL_LANES``."""
    rows = np.zeros((ROWS, lanes), np.uint32)
    masks = np.zeros(MASK_REGISTERS, np.int64)
    masks[ALL_LANES] = (1 << lanes) - 1
    return State(rows, masks, np.zeros((LOOP_DEPTH, 3), np.int64), np.zeros(_DONE + 1, np.int64))


class Ending(NamedTuple):
    """Why and where a run ended, and how many words and tokens it had taken.

    ``used``, int64, up to ``filled``: each line that it needed, times ``USES``, plus the use. Where
    there is a trace, it is filled so far instead.
    """

    why: int
    pc: int
    fault: int
    words: int
    tokens: int
    used: np.ndarray
    filled: int


@compiled
def follow(
    table: np.ndarray,
    memory: np.ndarray,
    words: np.ndarray,
    tokens: np.ndarray,
    puts: np.ndarray,
    room: tuple[int, int],
    lanes: int,
    limit: int,
    executed: np.ndarray,
    state: State,
    trace: np.ndarray,
) -> Ending:
    """Runs instructions until ``HALT``, or until one that cannot be done, and has no effect then;
    or until the ``trace`` (``gnarl.sw.execute.trace``) is full, and goes on from there when called
    again. One of length 0 is none.

    ``puts``, int64, says in which order the access unit puts ``words`` and ``tokens`` into queues
    of ``room`` for so many of them, as ``Output`` does; if it is empty, they are there from the
    start. Writes ``memory`` (uint32), and counts in ``executed`` how often each instruction is
    done. Stops after ``limit`` instructions other than ``JUMP_TOKEN``.
    """
    rows, masks, loops, at = state
    used, filled = np.empty(1024, np.int64), 0
    depth, pc, word, token, done = at
    full_at = len(trace) if len(trace) > 0 else _NEVER
    there = _begin_queues(puts, len(words), len(tokens))
    while True:
        if filled == full_at:
            at[_DEPTH], at[_PC], at[_TAKEN_WORDS], at[_TAKEN_TOKENS] = depth, pc, word, token
            at[_DONE] = done
            return Ending(PAUSED, pc, _NONE, word, token, used, filled)
        ends_body = ENDS_BODY * (depth > 0 and pc == loops[depth - 1, _LAST])
        fault = _fault_of_place(table, pc, loops, depth)
        if fault != _NONE:
            filled = _note(trace, filled, pc, FAULTS + ends_body, 0)
            return Ending(FAULTED, pc, fault, word, token, used, filled)
        fields = table[pc]
        opcode, target, following = fields[OPCODE], fields[OFFSET], pc + 1
        flags, request = 0, 0
        why = STOPPED if done == limit else _want(fields, puts, room, word, token, there)
        if why != _NOTHING:
            return Ending(why, pc, _NONE, word, token, used, filled)
        for lane in range(lanes):
            rows[IMMEDIATE, lane] = target
            if fields[TAKES]:
                rows[TAKEN, lane] = words[word + lane if fields[TAKES] > 1 else word]

        if opcode < _LOOP:
            following, flags = _steered(fields, pc, tokens, token, rows)
            if opcode == _JUMP_TOKEN and following >= len(table):
                return Ending(FAULTED, pc, _CONTROL, word, token, used, filled)
        elif opcode == _LOOP:
            if _enters(fields, pc, rows, loops, depth):
                depth += 1
            else:
                following, flags = target, TURNS
        elif opcode >= _LOAD:
            mask = masks[fields[MASK]]
            address = (np.int64(rows[fields[A], 0]) + target) & _WORD
            is_inside = _is_inside(address, fields[WIDTH], mask, len(memory))
            if not is_inside and opcode != _PREFETCH:
                filled = _note(trace, filled, pc, FAULTS + ends_body, 1)
                return Ending(FAULTED, pc, _ADDRESS, word, token, used, filled)
            if is_inside and len(trace) > 0:
                request = address << MOST_LANES | mask & (1 << fields[WIDTH]) - 1
            elif is_inside:
                if filled + lanes > len(used):
                    used = _grown(used)
                filled = _use_lines(opcode, address, fields[WIDTH], mask, used, filled)
            _access(fields, address, mask, memory, rows)
        else:
            _compute(fields, lanes, masks[fields[MASK]], rows)
        _write_result(fields[DST], lanes, rows, masks)

        flags |= ends_body * (opcode != _LOOP)
        filled = _note(trace, filled, pc, flags, request)
        executed[pc] += 1
        done += opcode != _JUMP_TOKEN
        token += opcode == _JUMP_TOKEN
        word += fields[TAKES]
        if opcode == _HALT:
            why = _or_full(HALTED, puts, there)
            return Ending(why, pc, _NONE, word, token, used, filled)
        pc, depth = _next(opcode, flags, following, loops, depth)


@compiled_inner
def _begin_queues(puts: np.ndarray, words: int, tokens: int) -> np.ndarray:
    there = np.zeros(_TOKENS + 1, np.int64)
    if len(puts) == 0:
        there[_WORDS], there[_TOKENS] = words, tokens
    return there


@inner
def _note(trace: np.ndarray, filled: int, pc: int, flags: int, request: int) -> int:
    """Adds an instruction to the trace, if there is one; what is filled then."""
    if len(trace) == 0:
        return filled
    trace[filled, INSTRUCTION], trace[filled, REQUEST] = pc * FLAGS + flags, request
    return filled + 1


@inner
def _fault_of_place(table: np.ndarray, pc: int, loops: np.ndarray, depth: int) -> int:
    """The fault that an instruction's bits tell, and where it lies."""
    if pc >= len(table):
        return _CONTROL
    opcode, target = table[pc, OPCODE], table[pc, OFFSET]
    last = loops[depth - 1, _LAST] if depth > 0 else len(table)
    is_misplaced = False
    if opcode == _LOOP:
        is_misplaced = depth == LOOP_DEPTH or target < pc + 2 or target > last
    elif _JUMP <= opcode <= _BRANCH_GE:
        is_misplaced = pc == last
    if table[pc, FAULT] == _NONE and is_misplaced:
        return _CONTROL
    return table[pc, FAULT]


@inner
def _put(puts: np.ndarray, room: tuple[int, int], word: int, token: int, there: np.ndarray) -> None:
    """Puts all that there is room for, when so many words and tokens have been taken."""
    while there[_PUTS] < len(puts):
        width = puts[there[_PUTS]]
        if width == 0 and there[_TOKENS] - token == room[1]:
            return
        if there[_WORDS] + width - word > room[0]:
            return
        there[_WORDS] += width
        there[_TOKENS] += width == 0
        there[_PUTS] += 1


@inner
def _want(
    fields: np.ndarray,
    puts: np.ndarray,
    room: tuple[int, int],
    word: int,
    token: int,
    there: np.ndarray,
) -> int:
    """What an instruction has to wait for that takes words, a token or the end of all of them;
    ``_NOTHING``."""
    opcode, takes = fields[OPCODE], fields[TAKES]
    if len(puts) > 0 and (takes or opcode == _JUMP_TOKEN or opcode == _HALT):
        _put(puts, room, word, token, there)
    if word + takes > there[_WORDS]:
        return _or_full(NO_WORDS, puts, there)
    if opcode == _JUMP_TOKEN and token == there[_TOKENS]:
        return _or_full(NO_TOKEN, puts, there)
    return _NOTHING


@inner
def _or_full(why: int, puts: np.ndarray, there: np.ndarray) -> int:
    """Why a run ends, or that the queues are full, where not all has been put."""
    return FULL if there[_PUTS] < len(puts) else why


@inner
def _steered(
    fields: np.ndarray, pc: int, tokens: np.ndarray, token: int, rows: np.ndarray
) -> tuple[int, int]:
    """What follows on an instruction that may jump, and its flags."""
    opcode = fields[OPCODE]
    if opcode == _JUMP_TOKEN:
        return int(tokens[token]), 0
    if not _jumps(opcode, rows[fields[A], 0], rows[fields[B], 0]):
        return pc + 1, 0
    return fields[OFFSET], TURNS * (opcode != _JUMP)


@inner
def _enters(fields: np.ndarray, pc: int, rows: np.ndarray, loops: np.ndarray, depth: int) -> bool:
    """Whether the body of a loop is run, which is the innermost then."""
    iterations = np.int32(rows[fields[A], 0])
    if iterations < 1:
        return False
    loops[depth, _FIRST], loops[depth, _LAST] = pc + 1, fields[OFFSET] - 1
    loops[depth, _LEFT] = iterations
    return True


@inner
def _next(
    opcode: int, flags: int, following: int, loops: np.ndarray, depth: int
) -> tuple[int, int]:
    """The instruction that comes next, and the loops that run there."""
    if opcode < _LOOP:
        while depth > 0 and not _has(loops[depth - 1], following):
            depth -= 1
    elif flags & ENDS_BODY:
        loops[depth - 1, _LEFT] -= 1
        if loops[depth - 1, _LEFT] > 0:
            return loops[depth - 1, _FIRST], depth
        depth -= 1
    return following, depth


@inner
def _jumps(opcode: int, a: int, b: int) -> np.bool_ | bool:
    left, right = np.int32(a), np.int32(b)
    if opcode == _BRANCH_EQ:
        return left == right
    if opcode == _BRANCH_NE:
        return left != right
    if opcode == _BRANCH_LT:
        return left < right
    if opcode == _BRANCH_GE:
        return left >= right
    return opcode == _JUMP


@inner
def _has(loop: np.ndarray, pc: int) -> bool:
    return loop[_FIRST] <= pc <= loop[_LAST]


@inner
def _is_inside(address: int, width: int, mask: int, size: int) -> bool:
    """Whether the words of all lanes of ``mask`` are in a memory of ``size`` words."""
    for lane in range(width):
        if mask >> lane & 1 and address + lane >= size:
            return False
    return True


@inner
def _use_lines(
    opcode: int, address: int, width: int, mask: int, used: np.ndarray, filled: int
) -> int:
    """Notes the lines that an access needs, each once; how many there are then."""
    before = -1
    for lane in range(width):
        line = (address + lane) // LINE_WORDS
        if mask >> lane & 1 and line != before:
            used[filled] = line * USES + (opcode - _LOAD)
            filled += 1
            before = line
    return filled


@compiled_inner
def _grown(used: np.ndarray) -> np.ndarray:
    longer = np.empty(2 * len(used), np.int64)
    for place in range(len(used)):
        longer[place] = used[place]
    return longer


@inner
def _access(
    fields: np.ndarray, address: int, mask: int, memory: np.ndarray, rows: np.ndarray
) -> None:
    for lane in range(fields[WIDTH]):
        is_used = mask >> lane & 1
        if fields[OPCODE] == _LOAD:
            rows[RESULT, lane] = memory[address + lane] if is_used else 0
        elif fields[OPCODE] == _STORE and is_used:
            memory[address + lane] = rows[fields[C], lane]
    if fields[INCREMENTED] != NOWHERE:
        increased = rows[fields[INCREMENTED], 0] + fields[INCREMENT]
        for lane in range(rows.shape[1]):
            rows[fields[INCREMENTED], lane] = increased


@inner
def _compute(fields: np.ndarray, lanes: int, mask: int, rows: np.ndarray) -> None:
    """All but control and memory."""
    opcode, width = fields[OPCODE], fields[WIDTH]
    a, b, c = fields[A], fields[B], fields[C]
    if opcode <= _TO_FLOAT:
        compute_integers(opcode, width, rows, RESULT, a, b)
    elif opcode <= _FEQUAL:
        compute_floats(opcode, width, rows, RESULT, a, b, c)
    elif opcode > _SELECT and opcode != _EXTRACT:
        _reduce(opcode, lanes, mask, rows, a)
    else:
        for lane in range(lanes):
            if opcode == _FIRST_LANES:
                rows[RESULT, lane] = lane < np.int32(rows[a, 0])
            elif opcode == _LANES:
                rows[RESULT, lane] = rows[a, 0] >> np.uint32(lane) & np.uint32(1)
            elif opcode == _EXTRACT:
                rows[RESULT, lane] = rows[a, fields[OFFSET] % lanes]
            else:
                takes_a = mask >> lane & 1 if width > 1 else rows[c, 0] != 0
                rows[RESULT, lane] = rows[a if takes_a else b, lane]


@inner
def _write_result(dst: int, lanes: int, rows: np.ndarray, masks: np.ndarray) -> None:
    if dst == NOWHERE:
        return
    if dst >= MASKS:
        masks[dst - MASKS] = 0
    for lane in range(lanes):
        if dst >= MASKS:
            masks[dst - MASKS] |= np.int64(rows[RESULT, lane]) << lane
        elif dst >= SCALARS:
            rows[dst, lane] = rows[RESULT, 0]
        else:
            rows[dst, lane] = rows[RESULT, lane]


@inner
def _reduce(opcode: int, lanes: int, mask: int, rows: np.ndarray, a: int) -> None:
    """``REDUCE_ADD``, ``REDUCE_MAX`` or ``REDUCE_MIN`` of row a into lane 0 of ``RESULT``."""
    operation, neutral = _FADD, 0
    if opcode == _REDUCE_MAX:
        operation, neutral = _FMAX, _MINUS_INFINITY
    elif opcode == _REDUCE_MIN:
        operation, neutral = _FMIN, _PLUS_INFINITY
    for lane in range(lanes):
        rows[RESULT, lane] = rows[a, lane] if mask >> lane & 1 else neutral
    half = lanes // 2
    while half:
        for lane in range(half):
            rows[HALF, lane] = rows[RESULT, half + lane]
        compute_floats(operation, half, rows, RESULT, RESULT, HALF, RESULT)
        half //= 2
