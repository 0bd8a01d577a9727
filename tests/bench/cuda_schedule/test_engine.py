"""The scheduling model of a GPU, against schedules computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cuda_schedule_parts.device import Device
from bench.cuda_schedule_parts.engine import Dealt, Needs, imbalance, simulate

ENOUGH = 1e12
SHARP = 4.0
WIDE = Device(2, issues=ENOUGH, port=ENOUGH, l2=ENOUGH, memory=ENOUGH, sharpness=SHARP)


def needs(
    alone: list[float], l2: float = 0.0, memory: float = 0.0, instructions: float = 0.0
) -> Needs:
    """Tasks that differ in the time that they take alone."""
    like = np.ones(len(alone))
    return Needs(np.array(alone), instructions * like, l2 * like, memory * like)


def one_list(tasks: int, workers: int = 2) -> Dealt:
    """Workers that take the next of all tasks."""
    none = np.full(workers, -1)
    return Dealt(none, np.zeros(0, np.int64), np.zeros(2, np.int64), np.arange(tasks))


def queues(lengths: list[int], *, steal: bool = False) -> Dealt:
    """A worker and a queue of neighbours for each of two multiprocessors."""
    return Dealt(np.arange(2), np.arange(sum(lengths)), np.cumsum(lengths), steal=steal)


def test_three_tasks_on_two_multiprocessors() -> None:
    """The third begins where the shorter of two ends: 1 + 2 of 3 µs, on the second."""
    run = simulate(needs([3.0, 1.0, 2.0]), one_list(3), WIDE)
    assert run.us == pytest.approx(3.0, abs=0.05)
    assert run.where.tolist() == [0, 1, 1]


def test_a_queue_is_a_multiprocessors_own() -> None:
    run = simulate(needs([3.0, 1.0, 2.0]), queues([2, 1]), WIDE)
    assert run.us == pytest.approx(4.0, abs=0.05)
    assert run.where.tolist() == [0, 0, 1]


def test_who_has_nothing_left_steals() -> None:
    run = simulate(needs([1.0] * 4), queues([4, 0], steal=True), WIDE)
    assert run.us == pytest.approx(2.0, abs=0.05)
    assert sorted(run.where.tolist()) == [0, 0, 1, 1]


@pytest.mark.parametrize("rate", ["l2", "memory", "port", "issues"])
def test_what_tasks_share_bounds_them(rate: str) -> None:
    """Eight tasks of 1,000 units each, where 1,000 a µs are to be had: of all, or of each of two
    multiprocessors."""
    rates = {"issues": ENOUGH, "port": ENOUGH, "l2": ENOUGH, "memory": ENOUGH} | {rate: 1000.0}
    work = needs([0.1] * 8, l2=1000.0, memory=1000.0, instructions=1000.0)
    run = simulate(work, one_list(8), Device(2, **rates, sharpness=SHARP))
    assert run.us == pytest.approx(4.0 if rate in ("port", "issues") else 8.0, rel=0.05)


def test_a_first_task_takes_longer() -> None:
    run = simulate(needs([1.0] * 4), one_list(4), WIDE, first_us=0.5)
    assert run.us == pytest.approx(2.5, abs=0.05)


def test_time_falls_with_bandwidth() -> None:
    random = np.random.default_rng(0)
    work = Needs(*(random.uniform(0.5, 2.0, 60) for _ in range(4)))
    times = [
        simulate(work, one_list(60, 6), Device(2, ENOUGH, ENOUGH, ENOUGH, memory, SHARP)).us
        for memory in (1.0, 2.0, 4.0, 8.0)
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(work.memory.sum(), rel=0.1)


def test_every_task_runs_once() -> None:
    run = simulate(needs([0.3] * 50), one_list(50, 6), WIDE)
    assert np.bincount(run.where, minlength=2).sum() == 50
    assert run.where.min() >= 0


def test_imbalance() -> None:
    values, where = np.array([3.0, 1.0, 2.0]), np.array([0, 1, 1])
    assert imbalance(values, where, 2) == 1.0
    assert imbalance(values, where, 3) == pytest.approx(1.5)
