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
        device.issues,
        device.port,
        device.l2,
        device.memory,
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
    issues,
    port,
    l2_rate,
    memory_rate,
    sharpness,
    first_us,
    step,
):
    workers = len(home)
    queues = len(ends)
    taken = np.zeros(queues, np.int64)
    for at in range(1, queues):
        taken[at] = ends[at - 1]
    mine = home.copy()
    common_taken = 0
    running = np.full(workers, -1)
    left = np.zeros(workers)
    rate = np.zeros(workers)
    fresh = np.ones(workers, np.bool_)
    done = np.zeros(workers, np.bool_)
    where = np.full(len(alone), -1)
    us = 0.0
    last = 0.0
    while True:
        issued = np.zeros(multiprocessors)
        carried = np.zeros(multiprocessors)
        active = False
        for worker in range(workers):
            if done[worker]:
                continue
            if running[worker] < 0:
                task = -1
                at = mine[worker]
                extra = 0.0
                if at >= 0 and taken[at] >= ends[at] and steal:
                    most = 0
                    at = -1
                    for other in range(queues):
                        if ends[other] - taken[other] > most:
                            most = ends[other] - taken[other]
                            at = other
                    mine[worker] = at
                    extra = steal_us
                if at >= 0 and taken[at] < ends[at]:
                    task = queue[taken[at]]
                    taken[at] += 1
                elif common_taken < len(common):
                    task = common[common_taken]
                    common_taken += 1
                if task < 0:
                    done[worker] = True
                    continue
                where[task] = worker % multiprocessors
                running[worker] = task
                left[worker] += 1.0
                needed = alone[task] + extra
                if fresh[worker]:
                    needed += first_us
                    fresh[worker] = False
                rate[worker] = 1.0 / needed
            active = True
            task = running[worker]
            issued[worker % multiprocessors] += rate[worker] * instructions[task]
            carried[worker % multiprocessors] += rate[worker] * l2[task]
        if not active:
            return last, where
        share = np.ones(multiprocessors)
        for at in range(multiprocessors):
            share[at] = _share(max(issued[at] / issues, carried[at] / port), sharpness)
        from_l2 = 0.0
        from_memory = 0.0
        for worker in range(workers):
            if not done[worker]:
                speed = rate[worker] * share[worker % multiprocessors]
                from_l2 += speed * l2[running[worker]]
                from_memory += speed * memory[running[worker]]
        l2_share = _share(from_l2 / l2_rate, sharpness)
        memory_share = min(l2_share, _share(from_memory / memory_rate, sharpness))
        for worker in range(workers):
            if done[worker]:
                continue
            of_all = memory_share if memory[running[worker]] > 0 else l2_share
            speed = rate[worker] * share[worker % multiprocessors] * of_all
            if left[worker] <= speed * step:
                last = us + max(0.0, left[worker]) / speed
                # What is left of the step goes to the next task, in its own measure.
                left[worker] = 0.0
                running[worker] = -1
            else:
                left[worker] -= speed * step
        us += step
