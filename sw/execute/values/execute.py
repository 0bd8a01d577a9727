"""The execute unit: an interpreter of its instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import Fault, Opcode
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.execute import trace
from gnarl.sw.execute.fields import fields_of_words
from gnarl.sw.execute.values.decode import decode
from gnarl.sw.execute.values.loop import (
    FAULTED,
    FULL,
    NO_TOKEN,
    NO_WORDS,
    OPCODE,
    PAUSED,
    PREFETCH,
    READ,
    STOPPED,
    TAKES,
    USES,
    WIDTH,
    WRITE,
    Ending,
    begin,
    follow,
)
from gnarl.sw.execute.values.output import Output, Room

__all__ = [
    "PREFETCH",
    "READ",
    "WRITE",
    "DeadlockError",
    "EndlessError",
    "ExecuteError",
    "ExecuteRun",
    "FaultError",
    "run",
]

MOST_INSTRUCTIONS = 1 << 27
"""A run of more is taken for one without end."""


@dataclass(frozen=True)
class ExecuteRun:
    """What a run did.

    executed
        int64 [instructions]: how often each instruction was done.
    words, tokens
        taken from the queues.
    lines, uses
        int64 and uint8 [n]: in the order of the program, each line of memory that a ``LOAD``,
        ``STORE`` or ``PREFETCH`` needs, once for the instruction, and whether ``READ``, ``WRITE``
        or ``PREFETCH``. Lines without a lane of the mask are none; nor are those outside memory.
    control, memory, vector, scalar
        instructions done, by kind, which make up ``instructions``: ``HALT`` to ``LOOP``;
        ``LOAD`` to ``PREFETCH``; of the others those that work on all lanes, and those on scalars.
    loads, stores, prefetches
        of these, by opcode.
    """

    executed: npt.NDArray[np.int64]
    words: int
    tokens: int
    lines: npt.NDArray[np.int64]
    uses: npt.NDArray[np.uint8]
    control: int
    memory: int
    vector: int
    scalar: int
    loads: int
    stores: int
    prefetches: int

    @cached_property
    def instructions(self) -> int:
        """Instructions done, with ``HALT``."""
        return int(self.executed.sum())


class ExecuteError(GnarlError):
    """A run that does not end as it must, at instruction ``pc``; ``run`` is what it did before."""

    def __init__(self, pc: int, problem: str, run: ExecuteRun) -> None:
        self.pc = pc
        self.run = run
        super().__init__(f"instruction {pc}: {problem}")


class FaultError(ExecuteError):
    """The unit ends the run with ``fault``."""

    def __init__(self, pc: int, fault: Fault, run: ExecuteRun) -> None:
        self.fault = fault
        super().__init__(pc, f"fault {fault.name}", run)


class EndlessError(ExecuteError):
    """The run is not over after as many instructions as it may have."""


class DeadlockError(ExecuteError):
    """The unit waits for ever for words or for a token, or the access unit for room in a queue."""


class LeftError(ExecuteError):
    """Words or tokens are left in the queues at ``HALT``."""


def run(
    instructions: npt.NDArray[np.uint32],
    memory: npt.NDArray[np.uint32],
    lanes: int,
    queued: Output | None = None,
    limit: int = MOST_INSTRUCTIONS,
    room: Room | None = None,
) -> ExecuteRun:
    """Runs ``instructions`` (uint32 [instructions, 3], ``Instruction.words`` of each, lowest word
    first) on ``memory`` (uint32 [words], writable, contiguous), which they write.

    ``instructions`` are all that the program's memory holds: 0, which is ``HALT``, has to be given
    where a larger memory matters. ``lanes``: words of a vector, a power of two from 2 to 16.
    ``queued``: all that the access unit gives; nothing for programs without one. ``room``: what the
    queues hold of it at once; any amount if it is not given. Registers are 0 at the start.

    Raises ``FaultError`` where the unit faults, which has written ``memory`` up to there;
    ``DeadlockError`` where it takes what is never queued; ``LeftError`` where it leaves words or
    tokens at ``HALT``; ``EndlessError`` after ``limit`` instructions other than ``JUMP_TOKEN``,
    which may take no cycle of its own.
    """
    table = decode(fields_of_words(instructions), lanes)
    executed = np.zeros(len(instructions), np.int64)
    no_trace = np.empty((0, trace.COLUMNS), np.int64)
    queues = _queues(queued, room)
    ending = follow(table, memory, *queues, lanes, limit, executed, begin(lanes), no_trace)
    done = _run_of(ending, table, executed)
    _check(ending, table, done, limit, len(queues[0]), len(queues[1]))
    return done


def traced(
    instructions: npt.NDArray[np.uint32],
    memory: npt.NDArray[np.uint32],
    lanes: int,
    limit: int = MOST_INSTRUCTIONS,
    queued: Output | None = None,
) -> Iterator[npt.NDArray[np.int64]]:
    """Runs as ``run`` does, with queues of any size, and yields what was done, part by part, as
    ``gnarl.sw.execute.trace`` has it. Each part is good until the next is asked for; what ``run``
    raises comes behind the last."""
    table = decode(fields_of_words(instructions), lanes)
    queues = _queues(queued, None)
    executed, state = np.zeros(len(instructions), np.int64), begin(lanes)
    part = np.empty((trace.LONGEST, trace.COLUMNS), np.int64)
    why = PAUSED
    while why == PAUSED:
        ending = follow(table, memory, *queues, lanes, limit, executed, state, part)
        why = ending.why
        yield part[: ending.filled]
    done = _run_of(ending, table, executed)
    _check(ending, table, done, limit, len(queues[0]), len(queues[1]))


def _queues(
    queued: Output | None, room: Room | None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64], tuple[int, int]]:
    """Words, tokens, the order in which they are put into the queues, and these queues' room."""
    output = Output() if queued is None else queued
    return (
        np.array(output.words, np.uint32),
        np.array(output.tokens, np.int64),
        np.array(output.puts if room else [], np.int64),
        (room.words, room.tokens) if room else (0, 0),
    )


class InstructionKinds(NamedTuple):
    """Of each instruction of a program, whether it steers, works on memory, or else computes, and
    how many lanes it works on."""

    control: npt.NDArray[np.bool_]
    memory: npt.NDArray[np.bool_]
    lanes: npt.NDArray[np.int64]


def instruction_kinds(instructions: npt.NDArray[np.uint32], lanes: int) -> InstructionKinds:
    """The kinds by which an ``ExecuteRun`` counts, of instructions as ``run`` takes them."""
    return _kinds(decode(fields_of_words(instructions), lanes))


def _kinds(table: npt.NDArray[np.int64]) -> InstructionKinds:
    opcode = table[:, OPCODE]
    return InstructionKinds(opcode <= Opcode.LOOP, opcode >= Opcode.LOAD, table[:, WIDTH])


def _check(
    ending: Ending,
    table: npt.NDArray[np.int64],
    done: ExecuteRun,
    limit: int,
    words: int,
    tokens: int,
) -> None:
    """Raises where a run, which was given so many ``words`` and ``tokens``, ended otherwise than it
    must."""
    left_words, left_tokens = words - done.words, tokens - done.tokens
    pc = ending.pc
    if ending.why == FAULTED:
        raise FaultError(pc, Fault(ending.fault), done)
    if ending.why == STOPPED:
        raise EndlessError(pc, f"not at HALT after {limit} instructions", done)
    if ending.why == FULL:
        raise DeadlockError(pc, f"deadlock: no room in the queues {_behind(done)}", done)
    if ending.why == NO_TOKEN:
        raise DeadlockError(pc, f"deadlock: no token, after {done.tokens} of them", done)
    if ending.why == NO_WORDS:
        taken = f"{table[pc, TAKES]} of {left_words} words, after {done.words}"
        raise DeadlockError(pc, f"deadlock: takes {taken}", done)
    if left_words or left_tokens:
        left = f"{left_words} words and {left_tokens} tokens"
        raise LeftError(pc, f"HALT leaves {left} in the queues", done)


def _behind(done: ExecuteRun) -> str:
    return f"for what comes behind {done.words} words and {done.tokens} tokens"


def _run_of(
    ending: Ending, table: npt.NDArray[np.int64], executed: npt.NDArray[np.int64]
) -> ExecuteRun:
    used = ending.used[: ending.filled]
    opcode = table[:, OPCODE]
    is_control, is_memory, width = _kinds(table)
    is_vector = width > 1

    def count(which: npt.NDArray[np.bool_]) -> int:
        return int(executed[which].sum())

    return ExecuteRun(
        executed,
        ending.words,
        ending.tokens,
        used // USES,
        (used % USES).astype(np.uint8),
        control=count(is_control),
        memory=count(is_memory),
        vector=count(~is_control & ~is_memory & is_vector),
        scalar=count(~is_control & ~is_memory & ~is_vector),
        loads=count(opcode == Opcode.LOAD),
        stores=count(opcode == Opcode.STORE),
        prefetches=count(opcode == Opcode.PREFETCH),
    )
