"""What the CUDA benchmark measures on a GPU, on a driver without one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bench.cuda_parts import bits, kernels, measure
from bench.cuda_parts import tuning as tuning_part
from bench.cuda_parts.measure import Job, Measured
from bench.cuda_parts.model_sources import ModelFolder
from bench.lib.records import Record, rows
from bench.lib.results import Results
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.workloads.embedding.model import INDEX_TYPES, POOLINGS, TABLE_TYPES
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from tests.support.cuda.bench import GPU, write_model
from tests.support.cuda.fake_cuda import Call, fake_gpus

BENCH = "cuda.kernels"


@pytest.fixture(scope="module")
def shared_call() -> Iterator[Call]:
    """Calls functions that leave their process as it was."""
    with fake_gpus() as call:
        yield call


def job_of(tmp_path: Path, *contenders: str, **changed: Any) -> Job:
    results = Results.begin(tmp_path / "results.json", resume=True)
    model = tmp_path / "A"
    source = ModelFolder(model if model.is_dir() else write_model(model))
    job = Job(BENCH, source, "9", 2, 5, tmp_path / "schedules", contenders, results)
    return replace(job, **changed)


def kernels_of(found: list[Record]) -> dict[str, dict[str, Any]]:
    table = rows(record for record in found if record.bench == BENCH)
    return {kernel: values for (_, _, kernel), values in table.items()}


@pytest.fixture
def side_by_side(tmp_path: Path, shared_call: Call) -> tuple[Job, Measured]:
    """All contenders, which are slow in the emulation."""
    job = job_of(tmp_path, *kernels.CONTENDERS, sizes=measure.VARYING, batches=3)
    return job, shared_call(measure.measure, job)


def test_contenders_are_measured_side_by_side(tmp_path: Path, side_by_side: tuple[Job, Measured]):
    job, measured = side_by_side
    assert measured.failed == []
    left_out = dict(text.split(": ", 1) for text in measured.left_out)
    assert set(left_out) == {measure.SEPARATE, measure.TORCHREC, measure.TORCH}
    assert left_out[measure.SEPARATE] == f"no {tmp_path}/schedules/A.separate.json"
    found = job.results.load()
    table = kernels_of(found)
    assert set(table) == {measure.OURS, *kernels.CONTENDERS} - set(left_out)
    for name, values in table.items():
        assert values["bit_exact"] is True, name
        assert values["kernel_ms"] > 0
        assert values["speedup"] == 1  # the driver's clock counts events
        if name != measure.BEST_UNIFORM:
            mapped = name in (measure.UNIFORM, measure.ON_DEVICE)
            assert (values["mapping_share"] is not None) == mapped, name
    of_model = rows(record for record in found if record.bench == f"{BENCH}.models")
    (values,) = of_model.values()
    assert list(of_model) == [("A", measure.VARYING, "cost model")]
    assert values["batches"] == 3
    assert values["samples"] == sum(job.batch_sizes())
    assert values["bound_ms"] >= 3e-3 * values["empty_us"] > 0
    assert {record.tools["gpu"] for record in found} == {"Fake H200"}


def order_of_calls(job: Job) -> list[str]:
    """Calls of the driver, while a batch is timed; kernels by their names."""
    from cuda.bindings import driver

    from bench.cuda_parts.field import Field, our_schedules
    from tests.support.cuda.fake_cuda import launches

    model = job.source.load()
    field = Field(model, [9], 5)
    contender = field.fused(our_schedules("A", job.schedules, model, field.config))
    ((batch, _),) = field.batches
    contender.outputs(batch)
    calls: list[str] = []
    patch = pytest.MonkeyPatch()

    def note(name: str) -> None:
        original = getattr(driver, name)

        def noted(*arguments: Any) -> Any:
            calls.append(name)
            return original(*arguments)

        patch.setattr(driver, name, noted)

    for name in ("cuMemcpyHtoDAsync", "cuCtxSynchronize", "cuLaunchKernel"):
        note(name)
    launches.clear()
    contender.time(batch)
    patch.undo()
    kernels = [launch["kernel"] for launch in launches]
    return [kernels.pop(0) if name == "cuLaunchKernel" else name for name in calls]


def test_caches_are_emptied_after_inputs_have_arrived(tmp_path: Path, shared_call: Call):
    *before, delay, read, kernel = shared_call(order_of_calls, job_of(tmp_path))
    assert before[-1] == "cuCtxSynchronize"
    assert "cuMemcpyHtoDAsync" in before[:-1]
    assert (delay, read) == ("gnarl_delay", "gnarl_read")
    assert kernel not in (delay, read)


@pytest.mark.slow
def test_what_is_there_is_not_measured_again(tmp_path: Path):
    with fake_gpus() as call:
        assert call(measure.measure, job_of(tmp_path, measure.AVERAGE)) == Measured()
        found = job_of(tmp_path).results.load()
        assert call(measure.measure, job_of(tmp_path, measure.AVERAGE)) == Measured()
        assert job_of(tmp_path).results.load() == found
        assert call(measure.measure, job_of(tmp_path, measure.AVERAGE, seed=6)) == Measured()
        again = job_of(tmp_path).results.load()
    assert {record.setting.seed for record in again} == {6}


def measure_broken(job: Job, kernel: str) -> Measured:
    """With a contender that cannot be made."""

    def ways(*arguments: Any) -> dict[str, Any]:
        def fail() -> Any:
            raise GnarlError("the kernel does not compile")

        return measure.layer_ways(*arguments) | {kernel: fail}

    return measure.measure(replace(job, ways=ways))


def test_a_contender_that_fails_takes_no_other_with_it(tmp_path: Path, shared_call: Call):
    job = job_of(tmp_path, measure.UNIFORM, measure.AVERAGE)
    measured = shared_call(measure_broken, job, measure.UNIFORM)
    assert measured == Measured(failed=[f"{measure.UNIFORM}: the kernel does not compile"])
    assert list(kernels_of(job.results.load())) == [measure.OURS, measure.AVERAGE]


def measure_until(job: Job, contender: str) -> Measured:
    """The deadline passes when it is this contender's turn."""
    deadline = time.time() + 10_000

    def ways(*arguments: Any) -> dict[str, Any]:
        found = measure.layer_ways(*arguments)

        def late() -> Any:
            patch.setattr(time, "time", lambda: deadline)
            return found[contender]()

        return found | {contender: late}

    with pytest.MonkeyPatch.context() as patch:
        return measure.measure(replace(job, ways=ways, deadline=deadline))


def test_the_time_limit_ends_with_what_there_is(tmp_path: Path, shared_call: Call):
    job = job_of(tmp_path, measure.AVERAGE, measure.MAXIMUM)
    measured = shared_call(measure_until, job, measure.AVERAGE)
    assert measured == Measured(failed=[f"{measure.AVERAGE}: the time limit has passed"])
    assert list(kernels_of(job.results.load())) == [measure.OURS]


# The emulation against the GPU.


@pytest.mark.parametrize("name", templates())
def test_bits_are_of_every_pooling_and_type(name: str):
    for pooling in POOLINGS:
        features = bits.program_of(name, pooling, bits.configuration_for(GPU).config).model.features
        assert {each.pooling for each in features} == {pooling}
        types = {(each.table_type, each.output_type, each.weighted) for each in features}
        weights = (False,) if pooling == "max" else (False, True)
        assert types == {
            (table, output, weighted)
            for table in (*TABLE_TYPES, *ROWWISE_FORMATS)
            for output in TABLE_TYPES
            for weighted in weights
        }
        found = {(each.index_type, each.weighted) for each in features}
        assert found == set(product(INDEX_TYPES, weights))


def test_bits_are_compared(shared_call: Call):
    job = bits.Job("one_hot", "mean", GPU, 3)
    values = shared_call(bits.measure, job)
    assert values["equal"] is True
    assert values["kinds"] == 36
    assert values["elements"] > 36 * sum(bits.SIZES)


# Tuning.


def tune_late(job: tuning_part.Job) -> dict[str, Any]:
    return tuning_part.measure(replace(job, deadline=time.time()))


@pytest.mark.slow
def test_tuning_writes_schedules_that_the_kernels_take(tmp_path: Path):
    folder = tmp_path / "schedules"
    folder.mkdir()
    job = tuning_part.Job(
        write_model(tmp_path / "A"), "separate", tuning_part.QUICK, GPU, 5, folder, False, None
    )
    with fake_gpus(FAKE_CUDA_DEVICES="1") as call:
        with pytest.raises(GnarlError, match="^the time limit has passed$"):
            call(tune_late, job)
        values = call(tuning_part.measure, job)
        assert values["gpus"] == 1
        assert values["seconds"] > 0
        assert [each.name for each in folder.iterdir()] == ["A.separate.json"]
        assert call(measure.measure, job_of(tmp_path, measure.SEPARATE)) == Measured()
    assert set(kernels_of(job_of(tmp_path).results.load())) == {measure.OURS, measure.SEPARATE}
