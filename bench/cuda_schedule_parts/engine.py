"""A GPU that runs tasks: a fluid model in steps of time, compiled by numba.

Each worker, a block or a warp, runs one task after the other. A task has a time that it takes
alone, and needs bytes of its multiprocessor's port, of the L2 cache and of memory, and instructions
of its multiprocessor: tasks that run at a time slow each other down where they ask for more than
there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bench.cuda_schedule_parts.device import Device
from gnarl.sw.program.jit import compiled, inner

STEP_US = 0.02
_NOBODY = -1


@dataclass(frozen=True)
class Needs:
    """What tasks need: float64 [tasks].

    alone
        µs with nothing else on the device.
    instructions
        warp instructions.
    l2, memory
        bytes that cross the L2 cache, and that come from memory.
    """

    alone: np.ndarray
    instructions: np.ndarray
    l2: np.ndarray
    memory: np.ndarray


@dataclass(frozen=True)
class Dealt:
    """How workers come by tasks. Worker w is on multiprocessor ``w % multiprocessors``.

    home
        queue of each worker, or -1: int64 [workers].
    queue, ends
        tasks of all queues, one after the other, and where each queue ends.
    common
        what workers take whose queue is empty, in this order.
    steal
        whether they take from the fullest queue then.
    steal_us
        what finding that queue takes.
    """

    home: np.ndarray
    queue: np.ndarray
    ends: np.ndarray
    common: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    steal: bool = False
    steal_us: float = 0.0


@dataclass(frozen=True)
class Run:
    """What a simulation finds.

    us
        from the first task's begin to the last one's end.
    where
        the multiprocessor of each task: int64 [tasks].
    """

    us: float
    where: np.ndarray


def simulate(
    needs: Needs, dealt: Dealt, device: Device, *, first_us: float = 0.0, step_us: float = STEP_US
) -> Run:
    """Runs all tasks. ``first_us``: what a worker's first task takes besides.

    O(workers * time / step).
    """
    us, where = _simulate(
        dealt.home,
        dealt.queue,
        dealt.ends,
        dealt.common,
        dealt.steal,
        dealt.steal_us,
        needs.alone,
        needs.instructions,
        needs.l2,
        needs.memory,
        device.multiprocessors,
        np.array([device.issues, device.port, device.l2, device.memory]),
        device.sharpness,
        first_us,
        step_us,
    )
    return Run(us, where)


def imbalance(values: np.ndarray, where: np.ndarray, multiprocessors: int) -> float:
    """The most that a multiprocessor has of the tasks' ``values``, over the mean."""
    sums = np.bincount(where, weights=values, minlength=multiprocessors)
    return float(sums.max() / sums.mean()) if sums.any() else 1.0


@inner
def _share(asked, sharpness):  # type: ignore[no-untyped-def]
    """What is had of what is asked for, of a resource that is asked for so many times what it has:
    at most one part of as many, and less before, as in queues."""
    if asked < 0.05:
        return 1.0
    return (1.0 + asked**sharpness) ** (-1.0 / sharpness)


@inner
def _fullest(taken, ends):  # type: ignore[no-untyped-def]
    """The queue with most tasks left, or -1."""
    most = 0
    found = _NOBODY
    for queue in range(len(ends)):
        if ends[queue] - taken[queue] > most:
            most = ends[queue] - taken[queue]
            found = queue
    return found


@inner
def _start(  # type: ignore[no-untyped-def]
    mine, queue, ends, taken, common, common_taken, steal, steal_us, running, done, alone, needed
):
    """Gives tasks to workers that have none, and notes what these take alone. Returns how many
    tasks of ``common`` are taken."""
    for worker in range(len(running)):
        if done[worker] or running[worker] >= 0:
            continue
        task = _NOBODY
        extra = 0.0
        own = mine[worker]
        if own >= 0 and taken[own] >= ends[own] and steal:
            own = _fullest(taken, ends)
            mine[worker] = own
            extra = steal_us
        if own >= 0 and taken[own] < ends[own]:
            task = queue[taken[own]]
            taken[own] += 1
        elif common_taken < len(common):
            task = common[common_taken]
            common_taken += 1
        running[worker] = task
        if task < 0:
            done[worker] = True
        else:
            needed[worker] += alone[task] + extra
    return common_taken


@inner
def _share_out(  # type: ignore[no-untyped-def]
    running, needed, instructions, l2, memory, rates, sharpness, issued, carried, share
):
    """Fills ``share``: what workers of each multiprocessor have of their speed. Returns the shares
    of those that need the L2 cache alone, and memory as well."""
    multiprocessors = len(share)
    issued[:] = 0.0
    carried[:] = 0.0
    for worker in range(len(running)):
        task = running[worker]
        if task >= 0:
            issued[worker % multiprocessors] += instructions[task] / needed[worker]
            carried[worker % multiprocessors] += l2[task] / needed[worker]
    for at in range(multiprocessors):
        share[at] = _share(max(issued[at] / rates[0], carried[at] / rates[1]), sharpness)
    from_l2 = 0.0
    from_memory = 0.0
    for worker in range(len(running)):
        task = running[worker]
        if task >= 0:
            speed = share[worker % multiprocessors] / needed[worker]
            from_l2 += speed * l2[task]
            from_memory += speed * memory[task]
    l2_share = _share(from_l2 / rates[2], sharpness)
    return l2_share, min(l2_share, _share(from_memory / rates[3], sharpness))


@compiled
def _simulate(  # type: ignore[no-untyped-def]
    home,
    queue,
    ends,
    common,
    steal,
    steal_us,
    alone,
    instructions,
    l2,
    memory,
    multiprocessors,
    rates,
    sharpness,
    first_us,
    step,
):
    workers = len(home)
    mine = home.copy()
    taken = np.zeros(len(ends), np.int64)
    taken[1:] = ends[:-1]
    common_taken = 0
    running = np.full(workers, _NOBODY)
    done = np.zeros(workers, np.bool_)
    needed = np.full(workers, first_us)
    left = np.ones(workers)
    issued, carried = np.zeros(multiprocessors), np.zeros(multiprocessors)
    share = np.ones(multiprocessors)
    where = np.full(len(alone), _NOBODY)
    us = 0.0
    last = 0.0
    while True:
        common_taken = _start(
            mine,
            queue,
            ends,
            taken,
            common,
            common_taken,
            steal,
            steal_us,
            running,
            done,
            alone,
            needed,
        )
        if done.all():
            return last, where
        l2_share, memory_share = _share_out(
            running, needed, instructions, l2, memory, rates, sharpness, issued, carried, share
        )
        for worker in range(workers):
            task = running[worker]
            if task < 0:
                continue
            where[task] = worker % multiprocessors
            of_all = memory_share if memory[task] > 0 else l2_share
            speed = share[worker % multiprocessors] * of_all / needed[worker]
            if left[worker] <= speed * step:
                last = us + left[worker] / speed
                left[worker] = 1.0
                needed[worker] = 0.0
                running[worker] = _NOBODY
            else:
                left[worker] -= speed * step
        us += step
