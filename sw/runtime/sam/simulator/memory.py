"""Ports of memories: reads that are under way, and turns at a memory that is shared."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.layout import (
    ARRAY,
    AWAKE,
    BANK,
    BANK_FIRST,
    BANK_LAST,
    BANK_LATER,
    BANKS,
    BASE,
    CAPACITY,
    FIRST_BANK,
    FIRST_PORT,
    FIRST_REQUEST,
    FRONT,
    GRANTED,
    LAST_MOVE,
    LATENCY,
    LOADED,
    PORT_HEAD,
    PORTS,
    READS,
    REQUESTS,
    ROW,
    ROW_WORDS,
    SENT,
    WANTS,
)
from gnarl.sw.runtime.sam.simulator.steps import wrap

_RING = 2
"""Fields of a request: its row, and the cycle of its answer."""

NONE = -1


@inner_integers
def read(m: np.ndarray, at: int) -> int:
    """A word of memory."""
    word: Any = np.int64(m[at])
    return word


@inner_integers
def want(s: np.ndarray, port: int, row: int) -> None:
    """The step at hand wants to read, or write, a row, unless it has done so."""
    s[port + WANTS] = not s[port + SENT]
    s[port + ROW] = row


@inner_integers
def arbitrate(s: np.ndarray, cycle: int) -> None:
    """Each bank of a shared memory grants one request, as ``gnarl.hw.lib.arbiter`` does."""
    banks = s[BANKS]
    first_bank = s[FIRST_BANK]
    for bank in range(first_bank, first_bank + banks * BANK, BANK):
        s[bank + BANK_FIRST] = s[bank + BANK_LATER] = NONE
    for number in range(s[PORTS]):
        port = s[s[FIRST_PORT] + number]
        if not s[port + WANTS] or s[port + REQUESTS] == s[port + CAPACITY]:
            continue
        bank = first_bank + (s[port + BASE] + s[port + ROW] & banks - 1) * BANK
        if s[bank + BANK_FIRST] == NONE:
            s[bank + BANK_FIRST] = number
        if s[bank + BANK_LATER] == NONE and number > s[bank + BANK_LAST]:
            s[bank + BANK_LATER] = number
    for bank in range(first_bank, first_bank + banks * BANK, BANK):
        number = s[bank + BANK_FIRST]
        if s[bank + BANK_LATER] != NONE:
            number = s[bank + BANK_LATER]
        if number != NONE:
            s[bank + BANK_LAST] = number
            s[s[s[FIRST_PORT] + number] + GRANTED] = cycle


@inner_integers
def request(s: np.ndarray, b: int, port: int, cycle: int) -> bool:
    """Whether what the step at hand wants of a read port is under way, if it wants something."""
    if not s[port + WANTS]:
        return True
    requests = s[port + REQUESTS]
    if s[BANKS]:
        s[b + AWAKE] = cycle + 1
        if s[port + GRANTED] != cycle:
            return False
    elif requests - s[port + FRONT] == s[port + CAPACITY]:
        return False
    s[b + AWAKE] = cycle + 1
    size = 2 * s[port + CAPACITY]
    at = s[port + FIRST_REQUEST] + wrap(s[port + PORT_HEAD] + requests, size) * _RING
    s[at] = s[port + ROW]
    s[at + 1] = cycle + s[port + LATENCY]
    s[port + REQUESTS] = requests + 1
    s[port + READS] += 1
    s[port + SENT] = 1
    s[port + WANTS] = 0
    s[LAST_MOVE] = cycle
    return True


@inner_integers
def answer(s: np.ndarray, port: int, cycle: int) -> int:
    """Where in memory the row lies that is answered in this cycle; -1 if none is."""
    if s[port + REQUESTS] == 0 or (s[port + LATENCY] == 0 and s[port + FRONT] == 0):
        return NONE
    at = s[port + FIRST_REQUEST] + s[port + PORT_HEAD] * _RING
    if s[at + 1] > cycle:
        return NONE
    return s[port + ARRAY] + s[at] * s[port + ROW_WORDS]


@inner_integers
def advance_port(s: np.ndarray, b: int, port: int, is_taken: bool, before: int, cycle: int) -> None:
    """Takes an answer, and moves the next one up; ``before``: the requests at the cycle's begin."""
    front, registers = s[port + FRONT], s[port + LATENCY] == 0
    if registers and before > front and front < s[port + CAPACITY]:
        s[port + FRONT] += 1
        s[b + AWAKE] = cycle + 1
    if is_taken:
        s[port + PORT_HEAD] = wrap(s[port + PORT_HEAD] + 1, 2 * s[port + CAPACITY])
        s[port + REQUESTS] -= 1
        s[port + FRONT] -= registers
    # An answer that is there already is taken once something else moves.
    if s[port + REQUESTS]:
        due = s[s[port + FIRST_REQUEST] + s[port + PORT_HEAD] * _RING + 1]
        moves = registers and s[port + FRONT] < min(s[port + REQUESTS], s[port + CAPACITY])
        if due > cycle or moves:
            s[b + AWAKE] = cycle + 1


@inner_integers
def is_loaded(s: np.ndarray, port: int, row: int) -> bool:
    return row < s[port + LOADED]
