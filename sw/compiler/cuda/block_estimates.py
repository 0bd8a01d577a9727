"""How long blocks take, estimated from what their templates say that they do.

A block's time is the larger of three, softly (the root of their squares' sum): what its longest
warp waits for, what its multiprocessor's schedulers have to issue, and what its multiprocessor's
share of cache and memory has to move; the last two for all blocks that are resident with it, taken
to be like it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import NormalDist

import numpy as np

from gnarl.sw.compiler.cuda.architectures import SECTOR_BYTES, WARP_THREADS
from gnarl.sw.compiler.cuda.device_rates import DeviceRates
from gnarl.sw.compiler.cuda.layouts import block_shared_bytes
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.warp_template import WarpTemplate
from gnarl.sw.workloads.embedding.model import Feature
from gnarl.sw.workloads.embedding.statistics import FeatureStatistics

_ISSUES_PER_CYCLE = 4.0
"""Schedulers of a multiprocessor, on every architecture here."""
_CACHE_BYTES_PER_CYCLE = 32.0
"""What a multiprocessor gets of the L2 cache when all ask: half of its port of 64 bytes a cycle."""
_INSTRUCTION_CYCLES = 2.0
"""Cycles of one warp's instructions, which partly depend on each other (4 cycles where they do)."""
_BARRIER_CYCLES = 30.0
_IN_FLIGHT = ("vector", "unroll", "samples_per_thread")
"""Parameters of templates that multiply what a thread waits for at a time."""
_START_CYCLES = 300.0
"""From one block's end to the next one's first instruction."""
_START_LOADS = 3
"""Loads that depend on each other before a block's first row: task, arguments, offsets."""


@dataclass(frozen=True)
class Estimates:
    """What a feature's candidates do: arrays [candidates], for one batch.

    blocks
        of the grid; of warps that do tasks by themselves as many as their tasks fill.
    rounds, longest_rounds
        dependent loads that an average block waits for, and the one with the longest bag.
    instructions, sectors, barriers
        of an average block.
    registers
        of a thread, about.
    shared_bytes
        of a block.
    """

    candidates: tuple[Schedule, ...]
    blocks: np.ndarray
    rounds: np.ndarray
    longest_rounds: np.ndarray
    instructions: np.ndarray
    sectors: np.ndarray
    barriers: np.ndarray
    registers: np.ndarray
    shared_bytes: np.ndarray


def estimate(
    feature: Feature,
    candidates: Sequence[Schedule],
    statistics: FeatureStatistics,
    block_threads: int,
    batch: int,
) -> Estimates:
    """Asks the templates. O(candidates)."""
    values = batch * statistics.mean
    longest_of_batch = longest_bag(statistics, batch)
    longest_of = cache(partial(longest_bag, statistics))
    longest_of_block: dict[float, float] = {}  # by the grid's blocks: few schedules differ in these
    rows = []
    for schedule in candidates:
        kind = template(schedule.template)
        count = kind.block_count(schedule, feature, block_threads)
        blocks = float(count.blocks(batch, math.ceil(values)))
        if blocks not in longest_of_block:
            longest_of_block[blocks] = longest_bag(statistics, max(1.0, batch / blocks))
        longest = longest_of_block[blocks]
        if isinstance(kind, WarpTemplate):
            blocks = kind.parts_of_blocks(schedule, feature, block_threads, batch)
            average = kind.work_of(schedule, feature, block_threads, batch, values, longest_of)
        else:
            average = kind.work(schedule, feature, block_threads, batch, values, longest)
        worst = average
        if longest_of_batch > longest:
            worst = kind.work(schedule, feature, block_threads, batch, values, longest_of_batch)
        rows.append(
            (
                blocks,
                average.warp_loads,
                worst.warp_loads,
                average.instructions,
                average.sectors,
                average.barriers,
                registers(schedule),
                block_shared_bytes(kind.shared_bytes(schedule, feature, block_threads)),
            )
        )
    return Estimates(tuple(candidates), *np.array(rows, np.float64).reshape(-1, 8).T)


def longest_bag(statistics: FeatureStatistics, samples: float) -> float:
    """Expected indices of the longest bag among so many samples.

    The bags that are not empty are taken to be normally distributed; their expected maximum is
    Blom's approximation of order statistics (1958).
    """
    coverage = statistics.coverage
    if coverage == 0:
        return 0.0
    present = samples * coverage
    mean = statistics.mean / coverage
    if present <= 1:
        return present * mean
    variance = (statistics.std**2 + statistics.mean**2) / coverage - mean**2
    deviations = NormalDist().inv_cdf((present - 0.375) / (present + 0.25))
    expected = mean + deviations * math.sqrt(max(0.0, variance))
    return max(mean, min(expected, statistics.longest))


def registers(schedule: Schedule) -> int:
    """About how many registers a thread needs: its template's, and more for each value in flight.

    Values in flight are the product of the parameters ``vector``, ``unroll`` and
    ``samples_per_thread``. By themselves most of 171 schedules of all templates, compiled for sm_90
    by NVRTC 13, took within 16 of 8 less: that is about what lives from task to task besides.
    """
    in_flight = math.prod(value for name, value in schedule.parameters if name in _IN_FLIGHT)
    return template(schedule.template).registers + round(1.5 * in_flight)


def cold_share(feature: Feature, statistics: FeatureStatistics, batch: int) -> float:
    """Share of a batch's look-ups that are the first of their row, if rows are equally likely.

    Those come from memory, the others from the cache: few tables outlive a batch there.
    """
    values = batch * statistics.mean
    if values == 0:
        return 1.0
    return feature.rows * -math.expm1(-values / feature.rows) / values


def block_times(
    estimates: Estimates,
    rates: DeviceRates,
    *,
    cold: float,
    block_threads: int,
    registers_allowed: int,
    resident: float,
    longest: bool = False,
) -> np.ndarray:
    """ns [candidates]: an average block's time, or the time of the one with the longest bag.

    ``resident`` blocks share its multiprocessor, itself included. A register beyond what is allowed
    is stored and loaded once for each round of loads.
    """
    rounds = estimates.longest_rounds if longest else estimates.rounds
    warps = block_threads / WARP_THREADS
    spilled = np.maximum(0, estimates.registers - registers_allowed)
    instructions = estimates.instructions + 2 * spilled * warps * np.maximum(1, rounds)
    load = cold * rates.memory_latency + (1 - cold) * rates.cache_latency
    waiting = (
        _START_CYCLES
        + _START_LOADS * rates.cache_latency
        + rounds * load
        + estimates.barriers * _BARRIER_CYCLES
        + instructions / warps * _INSTRUCTION_CYCLES
    )
    issuing = resident * instructions / _ISSUES_PER_CYCLE
    cycles_per_byte = cold / rates.memory_bytes_per_cycle + (1 - cold) / _CACHE_BYTES_PER_CYCLE
    moving = resident * estimates.sectors * SECTOR_BYTES * cycles_per_byte
    return np.sqrt(waiting**2 + issuing**2 + moving**2) / rates.clock
