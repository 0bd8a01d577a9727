"""How steps of a session end, and what is made for them ahead."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cuda_parts import kernels, measure
from bench.cuda_parts.contenders import LeftOut
from bench.cuda_parts.measure import Measured
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.session import tasks
from bench.cuda_parts.session.outcome import (
    DONE,
    FAILED,
    NOT_POSSIBLE,
    UNFINISHED,
    WRONG,
    Outcome,
)
from bench.cuda_parts.session.subjects import ModelSubject
from bench.cuda_parts.session.supplies import BatchItem, Supplies
from bench.cuda_parts.stored_batches import synthesise
from bench.lib.jobs import TimeLimit
from bench.lib.results import Results
from gnarl.hw.lib.errors import GnarlError
from tests.support.cuda.bench import GPU, kernel_records, write_model

BENCH = kernels.BENCH


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TimeLimit("late"), Outcome(UNFINISHED, "late")),
        (LeftOut("no such\nthing"), Outcome(NOT_POSSIBLE, "no such thing")),
        (GnarlError("wrong"), Outcome(FAILED, "wrong")),
        (ZeroDivisionError("by zero"), Outcome(FAILED, "ZeroDivisionError: by zero")),
    ],
)
def test_whatever_ails_a_task_is_its_outcome(error: Exception, outcome: Outcome):
    def task(gpu: Any, deadline: float) -> Outcome:
        raise error

    assert tasks.do(task, GPU, 0.0) == outcome


Compare = Callable[..., Outcome]


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """How a comparison ends that measures this, and has these results for A."""
    source = ModelFolder(tmp_path / "A")

    def compare(
        measured: Measured | None,
        *contenders: str,
        late: bool = False,
        exact: bool = True,
        **needs: Any,
    ) -> Outcome:
        results = Results.begin(tmp_path / "r.json", resume=False)
        for name in (measure.OURS, *contenders):
            results.add(kernel_records(BENCH, "A", name, 1.0, bit_exact=exact))
        results.add(kernel_records(BENCH, "A", measure.MAXIMUM, 1.0, bit_exact=False))
        results.add(kernel_records(BENCH, "B", measure.OURS, 1.0, bit_exact=False))
        job = measure.Job(BENCH, source, measure.VARYING, 2, 0, tmp_path, contenders, results)

        def found(job: measure.Job) -> Measured:
            assert measured is not None, "nothing is to be measured"
            return measured

        monkeypatch.setattr(measure, "measure", found)
        deadline = time.time() + (-1 if late else 1000)
        return tasks.Comparison(job, **needs)(GPU, deadline)

    return compare


def test_a_comparison_is_done_or_wrong(compare: Compare):
    """Whatever is wrong elsewhere."""
    assert compare(Measured(), measure.UNIFORM) == Outcome(DONE)
    wrong = f"not bit-exact: {measure.OURS}, {measure.UNIFORM}"
    assert compare(Measured(), measure.UNIFORM, exact=False) == Outcome(WRONG, wrong)


def test_a_comparison_that_is_not_whole(compare: Compare):
    failed = Measured(failed=["uniform: it does not compile"])
    assert compare(failed, measure.UNIFORM) == Outcome(FAILED, failed.failed[0])
    assert compare(failed, measure.UNIFORM, late=True) == Outcome(UNFINISHED, failed.failed[0])
    left_out = Measured(left_out=["TorchRec: dim a multiple of 4"])
    assert compare(left_out, measure.TORCHREC) == Outcome(NOT_POSSIBLE, left_out.left_out[0])
    found = compare(left_out, measure.UNIFORM, measure.TORCHREC)
    assert found == Outcome(DONE, left_out.left_out[0])


def test_what_is_lacking_is_not_tried(compare: Compare, tmp_path: Path):
    found = compare(None, measure.TORCHREC, module="no_such_module")
    assert found.status == NOT_POSSIBLE
    assert found.reason in ("no_such_module is not installed", "torch is installed for the CPU")
    file = tmp_path / "A.json"
    reason = "A.json is not there: it was not tuned"
    assert compare(None, measure.SEPARATE, file=file) == Outcome(NOT_POSSIBLE, reason)
    file.write_text("{}")
    assert compare(Measured(), measure.SEPARATE, file=file) == Outcome(DONE)


def test_bits_need_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    results = Results.begin(tmp_path / "r.json", resume=False)
    reason = "the emulation needs a C++ compiler: no-such-compiler"
    found = tasks.Bits("one_hot", "mean", 0, results)(GPU, 0.0)
    assert found == Outcome(NOT_POSSIBLE, reason)


def test_batches_are_made_ahead(tmp_path: Path):
    source = ModelFolder(write_model(tmp_path / "A"))
    folder = tmp_path / "made"
    folder.mkdir()
    items = [BatchItem(source, size, 3, number) for number, size in enumerate((5, 2))]
    with Supplies(folder, 2, 1 << 30) as supplies:
        supplies.begin(items)
        supplies.wait(items, time.time() + 60)
        files = [item.path(supplies.stored) for item in items]
        assert set(folder.iterdir()) == set(files)
        model = source.load()
        batch, moved = supplies.stored.load(model, 2, 3, 1)
        wanted, wanted_moved = synthesise(model, 2, 3, 1)
        assert moved == wanted_moved
        for one, other in zip(batch.features, wanted.features, strict=True):
            assert np.array_equal(one.indices, other.indices)
            assert np.array_equal(one.offsets, other.offsets)
        supplies.drop(items[:1])
        assert set(folder.iterdir()) == set(files[1:])
        subject = ModelSubject(source, tmp_path)
        missing = replace(subject, source=ModelFolder(tmp_path / "none"))
        keys = supplies.keys(GPU)
        assert keys.of(subject, time.time() + 60) == subject.key(GPU)
        assert keys.of(missing, time.time() + 60) == {}


def test_nothing_is_made_that_there_is_no_room_for(tmp_path: Path):
    source = ModelFolder(write_model(tmp_path / "A"))
    folder = tmp_path / "made"
    folder.mkdir()
    items = [BatchItem(source, 5, 3, 0)]
    with Supplies(folder, 2, 0) as supplies:
        supplies.begin(items)
        supplies.wait(items, time.time() + 60)
        assert not list(folder.iterdir())
        assert supplies.stored.load(source.load(), 5, 3, 0)[0].size == 5
