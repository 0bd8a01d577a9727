"""How far tunings are, and how long they still take."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.tune import tuning
from gnarl.sw.compiler.cuda.tune.measurer import LocalJob
from gnarl.sw.compiler.cuda.tune.tuning import Tuning
from tests.support.cuda.simulated_gpu import SimulatedGpus, small_model

ONE_HOT = Schedule.of("one_hot", vector=4, samples_per_thread=1)


def test_the_time_left_is_that_of_as_many_kernels_as_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Clock:
        now = 100.0

        @classmethod
        def monotonic(cls) -> float:
            cls.now += 2
            return cls.now

    monkeypatch.setattr(tuning, "time", Clock)
    model, calls = small_model(), []
    one = Tuning(
        model,
        sizes=[],
        candidates=1,
        origin="",
        measurer=cast(Any, SimulatedGpus(model)),
        journal=None,
        progress=lambda *event: calls.append(event),
        note=print,
    )
    one.expect(4)  # and two seconds a kernel
    jobs = [LocalJob(0, (ONE_HOT,), (), "sm_90", 128, blocks + 1) for blocks in range(3)]
    one.measure(jobs)
    assert calls == [(0, 4, None), (1, 4, 6), (2, 4, 4), (3, 4, 2)]
    one.measure(jobs)
    assert calls[4:] == [(3, 4, 8 / 3)]  # nothing was measured, and time has passed
