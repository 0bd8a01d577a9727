"""What work costs: constants, fitted once to recorded times of the design with blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.cuda_schedule_parts.device import (
    CYCLES_PER_US,
    L2_BYTES_PER_US,
    MEMORY_BYTES_PER_US,
    MULTIPROCESSORS,
    Device,
)
from bench.cuda_schedule_parts.engine import Needs
from bench.cuda_schedule_parts.today import BlockWork
from bench.cuda_schedule_parts.warps import WarpWork


@dataclass(frozen=True)
class Constants:
    """What is fitted; times in µs.

    l1_us, l2_us, memory_us
        of a round of loads of which none leaves the first-level cache, some go to the L2 cache,
        and some to memory.
    start_us
        from a block's task to its first round of rows: loads that need each other.
    first_us
        of a launch besides: code and arguments that nothing has loaded before.
    fresh_us
        of a block's task besides that is its feature's first on its multiprocessor.
    barrier_us
        of a block's barrier.
    steal_us
        to take a task from another multiprocessor's queue.
    instruction_us
        of one warp's instructions, one after the other.
    issues_per_cycle
        of a multiprocessor, warp instructions.
    port_bytes_per_cycle
        of a multiprocessor, from the L2 cache.
    sharpness
        see ``Device``.
    memory_share
        of a copy's bandwidth that rows at random get.
    """

    l1_us: float
    l2_us: float
    memory_us: float
    start_us: float
    first_us: float
    fresh_us: float
    barrier_us: float
    steal_us: float
    instruction_us: float
    issues_per_cycle: float
    port_bytes_per_cycle: float
    sharpness: float
    memory_share: float

    def device(self) -> Device:
        """An H200 with these rates."""
        return Device(
            MULTIPROCESSORS,
            self.issues_per_cycle * CYCLES_PER_US,
            self.port_bytes_per_cycle * CYCLES_PER_US,
            L2_BYTES_PER_US,
            MEMORY_BYTES_PER_US * self.memory_share,
            self.sharpness,
        )

    def round_us(self, rounds: np.ndarray, requests: np.ndarray, misses: np.ndarray) -> np.ndarray:
        """A round takes as long as the slowest of its loads; float64 [tasks].

        ``rounds`` of all warps of a task; ``requests`` and ``misses``: its rows that go to the L2
        cache and to memory.
        """
        rounds = np.maximum(1, rounds)
        to_l2 = np.minimum(1, requests / rounds)
        to_memory = np.minimum(1, misses / rounds)
        return (
            self.l1_us
            + (self.l2_us - self.l1_us) * to_l2
            + (self.memory_us - self.l2_us) * to_memory
        )


BLOCK_INSTRUCTIONS = 1.41
WARP_INSTRUCTIONS = 215.0
"""Warp instructions of machine code over those that templates count, and of a warp's task besides:
with these batches of 512 samples take what was counted in machine code, within 5 %."""


@dataclass(frozen=True)
class Counts:
    """Warp instructions of the design with warps: of eight loads, of bags side by side and of a
    task. They give what the machine code of B, D and E executes for 512 samples within 14 %
    (``cuda_static instructions``); rounds that are not full take more than 64."""

    round: float = 92.0
    bags: float = 75.0
    task: float = 190.0


def needs_of_blocks(work: BlockWork, warps: int, constants: Constants) -> Needs:
    """Of blocks of so many warps."""
    instructions = BLOCK_INSTRUCTIONS * work.instructions + WARP_INSTRUCTIONS * warps
    longest = BLOCK_INSTRUCTIONS * work.longest + WARP_INSTRUCTIONS
    round_us = constants.round_us(work.rounds * warps, work.requests, work.misses)
    alone = (
        constants.start_us
        + work.rounds * round_us
        + work.barriers * constants.barrier_us
        + work.fresh * constants.fresh_us
        + longest * constants.instruction_us
    )
    return Needs(alone, instructions, work.l2, work.memory)


def needs_of_warps(work: WarpWork, constants: Constants, counts: Counts) -> Needs:
    """Of warps that have the next task's offsets and indices on their way: a task takes a round at
    least, and what comes before the rows of a first one is in ``first_us`` and ``start_us``."""
    instructions = counts.task + counts.bags * work.sets + counts.round / 8 * work.loads
    round_us = constants.round_us(work.rounds, work.requests, work.misses)
    alone = np.maximum(1, work.rounds) * round_us + instructions * constants.instruction_us
    return Needs(alone, instructions, work.l2, work.memory)
