"""Measuring for the tuner, on a driver without a GPU: its clock counts what blocks do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.tune.interference import select
from gnarl.sw.compiler.cuda.tune.measurer import (
    DeviceFailure,
    FusedJob,
    JobFailure,
    LocalJob,
)
from gnarl.sw.runtime.cuda.gpu import measure
from gnarl.sw.runtime.cuda.gpu.driver import GpuError
from gnarl.sw.runtime.cuda.gpu.measure import GpuMeasurer, find_measurer
from gnarl.sw.runtime.cuda.tuning import tune
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors
from tests.support.cuda.fake_cuda import Call, fake_gpus

MODEL = EmbeddingModel(
    "tuned",
    (
        Feature("colour", 20, 4),
        Feature("words", 30, 8, factors=PoolingFactors(5, 2)),
    ),
)
BATCHES = [synthesise_batch(MODEL, size, 0, number) for number, size in enumerate((40, 70))]
THREAD_EACH = Schedule.of("one_hot", vector=4, samples_per_thread=1)
WARP_EACH = Schedule.of("warp_per_sample", vector=4, rows=1, unroll=1, samples_per_warp=1)
LOCAL = LocalJob(
    feature=0,
    candidates=(THREAD_EACH, WARP_EACH, THREAD_EACH),
    padding=((1, WARP_EACH), (1, WARP_EACH)),
    arch="sm_90",
    block_threads=64,
    blocks_per_sm=2,
)
CONFIG = CudaConfig(arch="sm_90", block_threads=64, blocks_per_sm=1)


@pytest.fixture(scope="module")
def on_fake() -> Iterator[Call]:
    with fake_gpus() as call:
        yield call


def fused_job() -> FusedJob:
    schedules = ScheduleSet.of(
        [THREAD_EACH, WARP_EACH],
        model=select(MODEL, (0, 1)).digest,
        arch="sm_90",
        block_threads=64,
        blocks_per_sm=2,
        origin="",
    )
    return FusedJob((0, 1), schedules)


def _local_of(job: LocalJob) -> list[float]:
    with GpuMeasurer(MODEL, BATCHES, [0]) as measurer:
        return measurer.local(0, job)


def _local(*numbers: int) -> list[float]:
    with GpuMeasurer(MODEL, [BATCHES[number] for number in numbers], [0]) as measurer:
        return measurer.local(0, LOCAL)


BAGS = Schedule.of("pooled_bags", vector=4, rows=1)
WARPS = replace(LOCAL, candidates=(BAGS, BAGS), padding=((1, BAGS),) * 2)


def test_task_times_of_warps_are_summed_for_each_candidate(on_fake: Call):
    sums, longest = np.array(on_fake(_local_of, WARPS)).reshape(2, 2)
    assert (sums > longest).all()
    assert (longest > 0).all()


def test_block_times_are_summed_for_each_candidate(on_fake: Call):
    thread, warp, again, *longest = on_fake(_local, 0, 1)
    assert 0 < thread < warp
    assert again == thread
    assert longest[0] == longest[2]
    assert all(0 < each < total for each, total in zip(longest, (thread, warp), strict=False))


def test_block_times_of_batches_add_up(on_fake: Call):
    one, other, both = on_fake(_local, 0), on_fake(_local, 1), on_fake(_local, 0, 1)
    assert [a + b for a, b in zip(one, other, strict=True)] == both


def _fused() -> tuple[float, float]:
    with (
        GpuMeasurer(MODEL, BATCHES, [0]) as both,
        GpuMeasurer(MODEL, BATCHES[:1], [0]) as one,
    ):
        return both.fused(0, fused_job()), one.fused(0, fused_job())


def test_fused_kernels_are_timed_over_all_batches(on_fake: Call):
    both, one = on_fake(_fused)
    assert both > one > 0


def _ahead() -> list[str]:
    compiled: list[str] = []
    original = measure.compile_program

    def noting(program, **options):
        compiled.append(f"{len(program.model.features)} {options}")
        return original(program, **options)

    measure.compile_program = noting
    try:
        with GpuMeasurer(MODEL, BATCHES, [0]) as measurer:
            measurer.prepare([LOCAL, fused_job()])
            measurer.local(0, LOCAL)
            measurer.fused(0, fused_job())
    finally:
        measure.compile_program = original
    return sorted(compiled)


def test_kernels_are_compiled_ahead_with_block_times_where_they_are_needed(on_fake: Call):
    assert on_fake(_ahead) == ["2 {'timed': False}", "5 {'timed': True}"]


def _failing(error: str, lost: bool) -> tuple[str, str]:
    """Type and text of what becomes of an error while a kernel is loaded."""

    def fails(*_: object) -> None:
        raise GpuError(error)

    call, upload = measure.call, measure.upload
    measure.upload = fails  # type: ignore[assignment]
    if lost:
        measure.call = fails
    try:
        with GpuMeasurer(MODEL, BATCHES, [0]) as measurer:
            measurer.local(0, LOCAL)
    except GnarlError as failure:
        return type(failure).__name__, str(failure)
    finally:
        measure.call, measure.upload = call, upload
    raise AssertionError("nothing was raised")


def test_a_kernel_that_fails_on_a_sound_device_fails_alone(on_fake: Call):
    assert on_fake(_failing, "out of memory", False) == (JobFailure.__name__, "out of memory")


def test_a_device_that_answers_nothing_more_has_failed(on_fake: Call):
    assert on_fake(_failing, "it is gone", True) == (DeviceFailure.__name__, "it is gone")


def _uncompilable() -> tuple[str, str]:
    job = LocalJob(0, (Schedule.of("one_hot", vector=3, samples_per_thread=1),), (), "sm_90", 64, 2)
    try:
        with GpuMeasurer(MODEL, BATCHES, [0]) as measurer:
            measurer.prepare([job])
            measurer.local(0, job)
    except JobFailure as failure:
        return type(failure).__name__, str(failure)
    raise AssertionError("nothing was raised")


def test_a_kernel_that_does_not_compile_fails_alone(on_fake: Call):
    assert on_fake(_uncompilable)[0] == JobFailure.__name__


def _found(config: CudaConfig) -> int:
    measurer = find_measurer(MODEL, config, BATCHES)
    assert measurer is not None
    with measurer:
        return measurer.devices()


def test_gpus_of_other_architectures_are_not_measured_on(on_fake: Call):
    assert on_fake(_found, CudaConfig(arch="sm_90")) == 1
    assert on_fake(_found, CudaConfig(arch="sm_75")) == 1


def _unfit() -> str:
    with pytest.raises(GpuError) as caught:
        find_measurer(MODEL, CudaConfig(arch="sm_120"), BATCHES)
    return str(caught.value)


def test_no_gpu_of_the_architecture(on_fake: Call):
    assert on_fake(_unfit) == (
        "kernels are for sm_120, GPU 0 is a Fake H200 (sm_90): compile for cuda_sm90"
    )


def test_no_gpu_at_all():
    if measure.gpus():
        pytest.skip("this machine has a GPU")
    assert find_measurer(MODEL, CONFIG, BATCHES) is None


def _tune(output: Path, arch: str, strategy: str) -> str:
    one = EmbeddingModel("one", MODEL.features[:1])
    configuration = load_configuration("cuda_sm90", [f"arch={arch}", "block_threads=64"])
    try:
        return tune(configuration, one, output, strategy=strategy, batches=1, candidates=2, seed=0)
    except GpuError as error:
        return str(error)


def test_a_model_is_tuned_from_end_to_end(on_fake: Call, tmp_path: Path):
    assert on_fake(_tune, tmp_path / "schedules.json", "sm_90", "two-stage") == (
        "1 schedule for 1 feature: two-stage tuning of 2 candidates on 1 batch"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["schedules.json"]


def _tune_quickly(output: Path) -> str:
    configuration = load_configuration("cuda_sm90", ["block_threads=64"])
    return tune(
        configuration, MODEL, output, batches=1, quick=True, journal=output.parent / "j", seed=0
    )


@pytest.mark.slow
def test_a_model_is_tuned_quickly(on_fake: Call, tmp_path: Path):
    assert on_fake(_tune_quickly, tmp_path / "schedules.json") == (
        "2 schedules for 2 features: quick two-stage tuning of 3 candidates on 1 batch"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["schedules.json"]


def test_gpus_are_looked_for_only_to_measure_on(on_fake: Call, tmp_path: Path):
    output = tmp_path / "schedules.json"
    assert on_fake(_tune, output, "sm_120", "two-stage") == (
        "kernels are for sm_120, GPU 0 is a Fake H200 (sm_90): compile for cuda_sm90"
    )
    assert on_fake(_tune, output, "sm_120", "cost-model") == (
        "1 schedule for 1 feature: cost model, 1 batch"
    )
