"""The CUDA target from Python: on the emulation, and on a driver without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL
from sw.runtime.cuda.device import CudaDevice, EmbeddingResult
from sw.runtime.cuda.emulation.kernels import EmulatedKernels
from sw.runtime.cuda.verify import verify
from sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from tests.support import fake_cuda
from tests.support.fake_cuda import fake_gpus

MODEL = EmbeddingModel(
    "pair",
    (
        Feature("one", 100, 4),
        Feature("many", 50, 8, weighted=True, factors=PoolingFactors(20, 10)),
    ),
)
TABLES = synthesise_tables(MODEL)
BATCH = synthesise_batch(MODEL, 200)


def looked_up(backend: str, mapping: str) -> EmbeddingResult:
    device = CudaDevice("cuda_sm90", backend)
    return device.run(device.compile(MODEL), TABLES, BATCH, mapping)


def assert_golden(result: EmbeddingResult) -> None:
    assert verify(MODEL, TABLES, BATCH, result.outputs).bit_exact


@pytest.mark.parametrize(
    ("mapping", "expected"), [("contiguous", [KERNEL]), ("device", [MAP_KERNEL, KERNEL])]
)
def test_the_emulated_gpu_maps_threads_where_it_is_asked_to(
    mapping: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = []
    launch = EmulatedKernels.launch

    def recorded(self: EmulatedKernels, kernel: str, *arguments: Any, **options: Any) -> Any:
        kernels.append(kernel)
        return launch(self, kernel, *arguments, **options)

    monkeypatch.setattr(EmulatedKernels, "launch", recorded)
    assert_golden(looked_up("emulation", mapping))
    assert kernels == expected


def _on_gpu(mapping: str) -> tuple[EmbeddingResult, list[str]]:
    before = len(fake_cuda.launches)
    result = looked_up("cuda", mapping)
    return result, [launch["kernel"] for launch in fake_cuda.launches[before:]]


def test_a_gpu_maps_threads_where_it_is_asked_to(tmp_path: Path) -> None:
    with fake_gpus(tmp_path) as call:
        for mapping, expected in [("contiguous", [KERNEL]), ("device", [MAP_KERNEL, KERNEL])]:
            result, kernels = call(_on_gpu, mapping)
            assert_golden(result)
            assert kernels == expected
            assert result.counters["kernel_ns"] > 0


def test_tables_may_begin_anywhere_in_memory() -> None:
    skewed = np.frombuffer(bytearray(4 + TABLES[0].nbytes), np.float32, offset=4).reshape(100, 4)
    skewed[:] = TABLES[0]
    device = CudaDevice("cuda_sm90", "emulation")
    assert_golden(device.run(device.compile(MODEL), [skewed, TABLES[1]], BATCH))


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (TABLES[:1], "tables: there are 1: must be 2, one for each feature"),
        (
            [TABLES[0], TABLES[1].astype(np.float64)],
            "table of many: is float64 [50, 8]: must be float32 [50, 8]",
        ),
        (
            [TABLES[0][:99], TABLES[1]],
            "table of one: is float32 [99, 4]: must be float32 [100, 4]",
        ),
    ],
)
def test_tables_that_are_not_the_models(tables: list[np.ndarray], message: str) -> None:
    device = CudaDevice("cuda_sm90", "emulation")
    with pytest.raises(WorkloadError) as caught:
        device.run(device.compile(MODEL), tables, BATCH)
    assert str(caught.value) == message


def with_indices(indices: np.ndarray) -> Batch:
    first, second = BATCH.features
    return Batch(BATCH.size, [FeatureInputs(indices, first.offsets), second])


OUT_OF_RANGE = BATCH.features[0].indices.copy()
OUT_OF_RANGE[7] = 100


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            Batch(BATCH.size, BATCH.features[:1]),
            "batch: inputs of 1 features: must be 2, as model pair has",
        ),
        (
            with_indices(BATCH.features[0].indices.astype(np.int32)),
            "indices of one: int32 [200]: must be a NumPy vector of int64",
        ),
        (
            with_indices(BATCH.features[0].indices[:-1]),
            "offsets of one[200] = 200: must be 199, the number of indices",
        ),
        (with_indices(OUT_OF_RANGE), "indices of one[7] = 100: must be from 0 to 99"),
    ],
)
def test_inputs_that_are_not_the_models(batch: Batch, message: str) -> None:
    device = CudaDevice("cuda_sm90", "emulation")
    with pytest.raises(WorkloadError) as caught:
        device.run(device.compile(MODEL), TABLES, batch)
    assert str(caught.value) == message
