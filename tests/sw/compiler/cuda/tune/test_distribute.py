"""Jobs on several devices: all are measured once, whatever fails."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.tune import tune
from gnarl.sw.compiler.cuda.tune.distribute import Outcome, distribute
from gnarl.sw.compiler.cuda.tune.measurer import DeviceFailure, Job, LocalJob, job_key
from tests.support.cuda.simulated_gpu import SimulatedGpus, batches, small_model

MODEL = small_model()
ONE_HOT = Schedule.of("one_hot", vector=4, samples_per_thread=1)


def jobs(count: int) -> list[Job]:
    return [LocalJob(0, (ONE_HOT,), (), "sm_90", 128, blocks + 1) for blocks in range(count)]


class BothAtWork(SimulatedGpus):
    """Two devices that call ``then`` with their numbers once both have measured a job."""

    def __init__(self, then: Callable[[int], None]) -> None:
        super().__init__(MODEL, devices=2, together=True)
        self._then = then

    def local(self, device, job):
        times = super().local(device, job)
        self._then(device)
        return times


def collect(gpus: SimulatedGpus, given: list[Job]) -> tuple[dict[str, Outcome], list[str]]:
    """Outcomes by keys of jobs, and notes."""
    outcomes: dict[str, Outcome] = {}
    notes: list[str] = []

    def finished(job: Job, outcome: Outcome) -> None:
        assert job_key(job) not in outcomes
        outcomes[job_key(job)] = outcome

    distribute(given, gpus, finished, {}, notes.append)
    return outcomes, notes


def test_every_job_is_measured_once():
    gpus = SimulatedGpus(MODEL, devices=3)
    outcomes, notes = collect(gpus, jobs(50))
    assert sorted(outcomes) == sorted(map(job_key, jobs(50)))
    assert len(gpus.measured) == 50
    assert not notes


def test_all_devices_work_and_each_on_one_job_at_a_time():
    gpus = SimulatedGpus(MODEL, devices=4, together=True)
    collect(gpus, jobs(24))
    assert set(gpus.on_device) == {0, 1, 2, 3}


def test_nothing_to_do():
    gpus = SimulatedGpus(MODEL)
    assert collect(gpus, []) == ({}, [])
    assert not gpus.prepared


def test_the_order_of_devices_changes_nothing():
    config = CudaConfig(arch="sm_90")
    found = [
        tune(MODEL, config, batches(MODEL), SimulatedGpus(MODEL, devices=count))
        for count in (1, 2, 7)
    ]
    assert found[0] == found[1] == found[2]


def test_others_do_the_jobs_of_a_device_that_fails():
    gpus = SimulatedGpus(MODEL, devices=3, lost={1: 0}, together=True)
    outcomes, notes = collect(gpus, jobs(40))
    assert len(outcomes) == 40
    assert set(gpus.on_device) <= {0, 2}
    assert notes == ["GPU 1: it has fallen off the bus"]


def test_the_last_job_is_done_by_another_when_its_device_fails():
    gpus = SimulatedGpus(MODEL, devices=2, lost={0: 0}, together=True)
    outcomes, _ = collect(gpus, jobs(2))
    assert len(outcomes) == 2


def test_no_device_is_left():
    gpus = SimulatedGpus(MODEL, devices=2, lost={0: 1, 1: 2})
    text = (
        "no GPU to measure 7 kernels on: GPU 0: it has fallen off the bus; "
        "GPU 1: it has fallen off the bus"
    )
    with pytest.raises(DeviceFailure, match=f"^{text}$"):
        collect(gpus, jobs(10))


def test_a_device_that_was_lost_before_is_not_asked_again():
    gpus = SimulatedGpus(MODEL, devices=2)
    notes: list[str] = []
    distribute(jobs(10), gpus, lambda job, outcome: None, {0: "too hot"}, notes.append)
    assert dict(gpus.on_device) == {1: 10}
    assert not notes
    with pytest.raises(DeviceFailure, match="^no GPU to measure 10 kernels on: GPU 0: too hot$"):
        distribute(jobs(10), SimulatedGpus(MODEL), print, {0: "too hot"}, notes.append)


def test_a_job_that_fails_is_an_outcome():
    gpus = SimulatedGpus(MODEL, fails=lambda job: "it hangs" * (job == jobs(3)[1]))
    outcomes, notes = collect(gpus, jobs(3))
    assert outcomes[job_key(jobs(3)[1])] == Outcome((), "it hangs")
    assert len(gpus.measured) == 2
    assert not notes


def test_anything_else_that_a_measurer_raises_ends_the_tuning():
    def fails(job):
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="^a bug$"):
        collect(SimulatedGpus(MODEL, devices=2, fails=fails), jobs(9))


def test_what_goes_wrong_when_an_outcome_is_noted_ends_the_tuning():
    def finished(job, outcome):
        raise OSError("disk full")

    gpus = SimulatedGpus(MODEL, devices=2)
    with pytest.raises(OSError, match="^disk full$"):
        distribute(jobs(9), gpus, finished, {}, print)
    assert len(gpus.measured) <= 3


def test_after_an_outcome_that_cannot_be_noted_no_other_is_noted():
    first = threading.Event()

    def second(device):
        if device == 0:
            first.wait(60)

    def finished(job, outcome):
        noted.append(job)
        first.set()
        raise OSError("disk full")

    noted: list[Job] = []
    with pytest.raises(OSError, match="^disk full$"):
        distribute(jobs(2), BothAtWork(second), finished, {}, print)
    assert len(noted) == 1


def test_outcomes_of_jobs_under_way_are_kept_when_the_tuning_ends():
    failed = threading.Event()

    def fails(device):
        if device == 0:
            failed.set()
            raise ZeroDivisionError("a bug")
        failed.wait(60)

    kept: list[Job] = []
    gpus = BothAtWork(fails)
    with pytest.raises(ZeroDivisionError):
        distribute(jobs(2), gpus, lambda job, outcome: kept.append(job), {}, print)
    assert len(kept) == 1
