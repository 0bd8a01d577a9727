"""Which steps of a session are run, and when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.cuda_parts.session import runner
from bench.cuda_parts.session.outcome import (
    DONE,
    FAILED,
    NOT_POSSIBLE,
    UNFINISHED,
    WRONG,
    Outcome,
)
from bench.cuda_parts.session.processes import Ended, call
from bench.cuda_parts.session.runner import Limits, Report
from bench.cuda_parts.session.state import State
from bench.cuda_parts.session.steps import Plan, Step, all_steps
from bench.cuda_parts.stored_batches import StoredBatches
from gnarl.sw.compiler.cuda.templates import templates
from tests.support.cuda.bench import GPU, write_model

MODELS = ("A", "B", "C", "D", "E", "F")


def plan_of(folder: Path, quick: bool = False) -> Plan:
    models = [folder / name for name in MODELS]
    for model in models:
        if not model.exists():
            write_model(model)
    state = State.open(folder / "state")
    return Plan(models, state, folder / "schedules", StoredBatches(folder), 0, quick, 60.0)


# The order.


def test_what_is_worth_most_comes_first(tmp_path: Path):
    names = [step.name for step in all_steps(plan_of(tmp_path))]
    assert len(names) == len(set(names))
    assert names[:6] == [f"outputs: {model}" for model in "DEABCF"]
    assert names[6:12] == [f"launches: {model}" for model in "DEABCF"]
    counted = [f"counters of {size}: {model}" for model in "DEA" for size in (1, 512)]
    assert names[12:18] == counted
    assert names[18:24] == [f"kernels: {model}" for model in "EDACBF"]
    kinds = list(dict.fromkeys(name.partition(":")[0] for name in names[24:]))
    assert kinds == [
        *("variants", "tuning, two-stage", "tuned", "batches of 2560", "static mappings"),
        *("tuning, separate", "separate", "TorchRec"),
        *(f"scale, {each}" for each in ("uniform, warp per sample", "TorchRec")),
        *(f"end to end, {each}" for each in ("uniform, warp per sample", "TorchRec")),
        *("end to end, embedding_bag", "128 batches", "embedding_bag", "bits"),
    ]
    assert sum(name.startswith("bits: ") for name in names) == 3 * len(templates())


def test_a_quick_session_has_a_little_of_each_kind(tmp_path: Path):
    steps = all_steps(plan_of(tmp_path, quick=True))
    assert {step.name.partition(": ")[2] for step in steps} == {"A", "20_features", "mlperf"}
    assert len(steps) == 21


def test_no_step_takes_longer_than_a_minute(tmp_path: Path):
    assert max(step.seconds for step in all_steps(plan_of(tmp_path))) == 60.0


# What is run.


class FakeSupplies:
    """Nothing is made ahead."""

    def __init__(self, *_: Any) -> None:
        self.gpu = None

    def __enter__(self) -> FakeSupplies:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def keys(self, gpu: Any) -> FakeSupplies:
        return self

    def ask(self, subject: Any) -> None:
        pass

    def of(self, subject: Any, until: float) -> dict[str, str]:
        return {"gpu": GPU.name}

    def begin(self, items: Any) -> None:
        list(items)

    def wait(self, items: Any, until: float) -> None:
        pass

    def drop(self, items: Any) -> None:
        list(items)


class Clock:
    """Seconds that pass while steps run."""

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return self.now


Run = Callable[..., tuple[Report, list[str], list[str]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a quick session of so many seconds; what was run, and what was said."""
    plan_of(tmp_path, quick=True)

    def run(
        seconds: float,
        each: float = 10.0,
        outcomes: Callable[[str], Outcome] = lambda name: Outcome(DONE),
    ) -> tuple[Report, list[str], list[str]]:
        clock, ran, said = Clock(), list[str](), list[str]()
        steps: dict[int, str] = {}

        def known(plan: Plan) -> list[Step]:
            found = all_steps(plan)
            steps.update({id(step.task): step.name for step in found})
            return found

        def answer(function: Any, *arguments: Any, seconds: float) -> Any:
            if function in (runner.require_gpu_of, runner.tasks.look_at_card):
                return GPU
            clock.now += each
            ran.append(steps[id(arguments[0])])
            return outcomes(ran[-1])

        monkeypatch.setattr(runner, "time", clock)
        monkeypatch.setattr(runner, "call", answer)
        monkeypatch.setattr(runner, "Supplies", FakeSupplies)
        monkeypatch.setattr(runner, "all_steps", known)
        report = runner.run(
            [tmp_path / "A"],
            State.open(tmp_path / "state"),
            tmp_path / "schedules",
            0,
            True,
            30.0,
            Limits(clock.now + seconds, 2, 1 << 30),
            said.append,
        )
        assert clock.now <= 1000.0 + seconds
        return report, ran, said

    return run


def test_it_begins_nothing_that_may_not_fit_and_goes_on(run: Run):
    """Three calls for what one has no time for."""
    report, first, _ = run(100.0)
    assert first == [
        *("outputs: A", "launches: A", "counters of 1: A"),
        *("kernels: A", "variants: A", "tuning, two-stage: A", "tuned: A"),
    ]
    assert not report.well
    assert report.left[0] == "batches of 16: A"
    assert len(report.left) == 14
    report, second, said = run(100.0)
    assert "7 of 21 steps were done before" in said
    assert second[0] == "batches of 16: A"
    report, third, _ = run(1000.0)
    assert report.well
    assert len({*first, *second, *third}) == len([*first, *second, *third]) == 21
    report, none, _ = run(1000.0)
    assert (report.well, none) == (True, [])


def test_what_a_machine_lacks_is_said_once(run: Run, tmp_path: Path):
    lacking = Outcome(NOT_POSSIBLE, "torch is not installed")

    def outcomes(name: str) -> Outcome:
        return lacking if name.startswith(("end to end", "embedding_bag")) else Outcome(DONE)

    report, ran, said = run(1000.0, outcomes=outcomes)
    assert report.well
    assert sum("torch is not installed" in line for line in said) == 2  # PyTorch's, and FBGEMM's
    assert report.statuses["embedding_bag: A"] == lacking
    assert "embedding_bag: A" not in ran
    assert State.open(tmp_path / "state").entries["embedding_bag: A"].reason == lacking.reason


def test_what_has_failed_comes_last(run: Run):
    failed = {"outputs: A": Outcome(FAILED, "why"), "launches: A": Outcome(UNFINISHED)}
    report, ran, said = run(1000.0, outcomes=lambda name: failed.get(name, Outcome(DONE)))
    assert not report.well
    assert "outputs: A: failed in 10.0 s: why" in said
    report, ran, _ = run(1000.0)
    assert ran == ["launches: A", "outputs: A"]
    assert report.well


def test_wrong_results_are_wrong_ever_after(run: Run):
    wrong = {"outputs: A": Outcome(WRONG, "not bit-exact: 8")}
    assert not run(1000.0, outcomes=lambda name: wrong.get(name, Outcome(DONE)))[0].well
    report, ran, _ = run(1000.0)
    assert (report.well, ran) == (False, [])
    assert report.statuses["outputs: A"] == wrong["outputs: A"]


# Processes.


def test_a_process_that_takes_too_long_is_ended():
    begin = time.monotonic()
    with pytest.raises(Ended, match="^took more than 1 s$"):
        call(time.sleep, 60.0, seconds=1.0)
    assert time.monotonic() - begin < 30
    with pytest.raises(ZeroDivisionError):
        call(divmod, 1, 0, seconds=30.0)
    assert call(divmod, 7, 2, seconds=30.0) == (3, 1)
