"""Queues inside of blocks that let a token through in the same cycle
(``gnarl.hw.lib.stream.bypass_queue``)."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.steps import wrap

DEPTH, RING, HEAD, COUNT, OFFERED, OFFER, SENT = range(7)
"""Fields: its room, where its tokens lie, the oldest, how many; whether one is offered, and this;
whether the step at hand has put in its own."""

BYPASS = 7


@inner_integers
def offer(s: np.ndarray, queue: int, token: int) -> None:
    """The step at hand offers a token, unless it has given it."""
    s[queue + OFFERED] = not s[queue + SENT]
    s[queue + OFFER] = token


@inner_integers
def has_token(s: np.ndarray, queue: int) -> bool:
    return s[queue + COUNT] > 0 or s[queue + OFFERED] > 0


@inner_integers
def token_of(s: np.ndarray, queue: int) -> int:
    return s[s[queue + RING] + s[queue + HEAD]] if s[queue + COUNT] else s[queue + OFFER]


@inner_integers
def pass_through(s: np.ndarray, queue: int, is_taken: bool) -> bool:
    """Ends the cycle of a queue, whose first token is taken or not; whether the step at hand has
    given its token, if it has one."""
    count = s[queue + COUNT]
    is_accepted = s[queue + OFFERED] and count < s[queue + DEPTH]
    is_through = not s[queue + OFFERED] or is_accepted
    if is_taken and count:
        s[queue + HEAD] = wrap(s[queue + HEAD] + 1, s[queue + DEPTH])
        s[queue + COUNT] -= 1
    if is_accepted:
        s[queue + SENT] = 1
        if count or not is_taken:
            tail = wrap(s[queue + HEAD] + s[queue + COUNT], s[queue + DEPTH])
            s[s[queue + RING] + tail] = s[queue + OFFER]
            s[queue + COUNT] += 1
    s[queue + OFFERED] = 0
    return is_through
