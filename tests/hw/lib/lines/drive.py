"""Drives a line port with requests, and a memory of lines in NumPy that tells what they mean."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Request:
    """As ``line_request``, its tag aside; ``data`` is repeated up to a line's words."""

    line: int
    write: int = 0
    data: tuple[int, ...] = (0,)
    cached: int = 1
    temporal: int = 1


class Traffic(NamedTuple):
    """What happened at a port.

    ``accepted``: the cycle of each request. ``answers``: cycle, tag and words, in the order in
    which they came. ``idle``: from which cycle on the port was idle for good.
    """

    accepted: list[int]
    answers: list[tuple[int, int, tuple[int, ...]]]
    idle: int


async def drive(
    ctx: Any,
    port: Any,
    requests: Iterable[Request],
    pauses: float = 0.0,
    stalls: float = 0.0,
    seed: int = 0,
    limit: int = 4000,
) -> Traffic:
    """Request n has tag n. Nothing is offered, and no answer taken, in these shares of cycles.

    What is offered must stay until it is taken; while something is under way the port isn't idle.
    """
    noise = random.Random(seed)
    left = list(enumerate(requests))
    expected = sum(not request.write for _, request in left)
    words = len(port.request.payload.data)
    accepted: list[int] = []
    answers: list[tuple[int, int, tuple[int, ...]]] = []
    offered = waits = None
    reads = cycle = quiet = idle = 0
    while quiet < 8:  # nothing more may come
        if offered is None and left and noise.random() >= pauses:
            tag, offered = left.pop(0)
            payload = {
                "line": offered.line,
                "tag": tag,
                "write": offered.write,
                "data": [offered.data[word % len(offered.data)] for word in range(words)],
                "cached": offered.cached,
                "temporal": offered.temporal,
            }
            ctx.set(port.request.payload, payload)
        ctx.set(port.request.valid, offered is not None)
        ctx.set(port.response.ready, noise.random() >= stalls)
        # As the clock sees them: what other ports do in this cycle counts.
        _, _, is_idle, accepts, answered, answer, takes = await ctx.tick().sample(
            port.idle,
            port.request.ready,
            port.response.valid,
            port.response.payload,
            port.response.ready,
        )
        assert not (is_idle and reads > len(answers))
        if not is_idle:
            idle, quiet = cycle + 1, 0
        seen = (answer.tag, tuple(answer.data)) if answered else None
        if waits is not None:
            assert seen == waits
        waits = None if takes else seen
        if seen is not None and takes:
            answers.append((cycle, *seen))
        if offered is not None and accepts:
            accepted.append(cycle)
            reads += not offered.write
            offered = None
        cycle += 1
        quiet += offered is None and not left and len(answers) == expected
        assert cycle < limit
    return Traffic(accepted, answers, idle)


def meaning(requests: Iterable[Request], memory: np.ndarray) -> dict[int, tuple[int, ...]]:
    """The answers to all reads, by tag; ``memory`` uint32 [lines, words] is left as written."""
    answers = {}
    bits = 1 << np.arange(memory.shape[1])
    for tag, request in enumerate(requests):
        if request.write:
            words = np.resize(np.array(request.data, np.uint32), memory.shape[1])
            memory[request.line] = np.where(request.write & bits, words, memory[request.line])
        else:
            answers[tag] = tuple(memory[request.line].tolist())
    return answers
