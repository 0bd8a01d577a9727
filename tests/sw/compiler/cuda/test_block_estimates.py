"""Estimates of blocks' times: what they wait for, issue and move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.block_estimates import Estimates, block_times, estimate
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.feature_groups import feature_candidates
from gnarl.sw.workloads.embedding.model import Feature, PoolingFactors
from gnarl.sw.workloads.embedding.statistics import from_factors

H100 = RATES["sm_90"]
NOTHING = np.zeros(1)
IDLE = Estimates((), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)


def ns(estimates: Estimates, cold: float, resident: float) -> float:
    times = block_times(
        estimates, H100, cold=cold, block_threads=128, registers_allowed=64, resident=resident
    )
    return float(times[0])


@pytest.mark.parametrize("resident", [1, 4])
def test_blocks_that_move_much_take_as_long_as_their_sectors_need(resident: float) -> None:
    sectors = 10_000_000
    time = ns(replace(IDLE, sectors=NOTHING + sectors), 1, resident)
    cycles = resident * sectors * 32 / H100.memory_bytes_per_cycle
    assert time == pytest.approx(cycles / H100.clock, rel=1e-3)


@pytest.mark.parametrize("resident", [1, 4])
def test_blocks_that_compute_much_take_as_long_as_their_instructions_need(resident: float) -> None:
    instructions = 400_000_000
    idle = ns(IDLE, 1, resident)
    time = ns(replace(IDLE, instructions=NOTHING + instructions), 1, resident)
    # Four schedulers issue one a cycle; the longest of four warps needs two cycles for each.
    cycles = np.hypot(resident * instructions / 4, instructions / 4 * 2)
    assert time - idle == pytest.approx(cycles / H100.clock, rel=1e-3)


def test_the_block_of_the_longest_bag_waits_longer() -> None:
    feature = Feature("f", 1000, 16, factors=PoolingFactors(20.0, 15.0, 100, 1.0))
    candidates = feature_candidates(feature, 128)
    found = estimate(feature, candidates, from_factors(feature.factors), 128, 4096)
    assert (found.longest_rounds >= found.rounds).all()
    assert (found.longest_rounds > found.rounds).any()
