"""What the runtime says of a machine's GPUs: one line for each reason that kernels cannot run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.runtime.cuda.gpu import driver, gpus
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo, require_gpu, runs_on
from tests.support.cuda.fake_cuda import Call, fake_gpus


def _message(arch: str, device: int = 0) -> str:
    with pytest.raises(driver.GpuError) as caught:
        require_gpu(arch, device)
    return str(caught.value)


def _found() -> list[GpuInfo]:
    return gpus.gpus()


def _no_driver() -> tuple[str, list[GpuInfo]]:
    return _message("sm_90"), gpus.gpus()


def _old_compiler(arch: str, version: tuple[int, int]) -> str:
    gpus.nvrtc_version = lambda: version  # type: ignore[assignment]
    return _message(arch)


@pytest.fixture
def unstarted(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """As in a new process."""
    cached = (driver.start, driver.bindings)
    for function in cached:
        function.cache_clear()
    yield monkeypatch
    for function in cached:
        function.cache_clear()


@pytest.fixture(scope="module")
def on_fake() -> Iterator[Call]:
    with fake_gpus() as call:
        yield call


def test_gpus_are_described(on_fake: Call):
    assert on_fake(_found) == [
        GpuInfo("Fake H200", "sm_90", 4, 2**28, 1 << 16),
        GpuInfo("Tesla T4", "sm_75", 4, 2**28, 1 << 16),
    ]
    assert on_fake(require_gpu, "sm_90").name == "Fake H200"
    assert on_fake(require_gpu, "sm_75", 1).name == "Tesla T4"


@pytest.mark.parametrize(
    ("arch", "device", "message"),
    [
        ("sm_90", 2, "device 2: must be from 0 to 1, one of the GPUs here"),
        ("sm_90", -1, "device -1: must be from 0 to 1, one of the GPUs here"),
        (
            *("sm_90", 1),
            "kernels are for sm_90, GPU 1 is a Tesla T4 (sm_75): compile for cuda_sm75",
        ),
        (
            *("sm_80", 0),
            "kernels are for sm_80, GPU 0 is a Fake H200 (sm_90): compile for cuda_sm90",
        ),
    ],
)
def test_a_gpu_that_cannot_be_used(arch: str, device: int, message: str, on_fake: Call):
    assert on_fake(_message, arch, device) == message


def test_a_driver_older_than_the_compiler():
    with fake_gpus(FAKE_CUDA_VERSION="12080") as call:
        assert call(_old_compiler, "sm_90", (13, 5)) == (
            "the CUDA driver is of CUDA 12.8, the compiler (NVRTC) of 13.5: "
            "the driver must be of CUDA 13.0 or later"
        )


def test_a_driver_without_gpus():
    with fake_gpus(FAKE_CUDA_DEVICES="0") as call:
        assert call(_message, "sm_90") == (
            "the CUDA driver finds no GPU: --backend emulation runs on the CPU"
        )
        assert call(_found) == []


def test_no_driver(unstarted: pytest.MonkeyPatch):
    bindings = pytest.importorskip("cuda.bindings.driver", reason="needs gnarl[cuda]")

    class Absent:
        CUresult = bindings.CUresult

        @staticmethod
        def cuInit(flags: int) -> Any:
            raise RuntimeError("libcuda.so.1 is missing")

    unstarted.setattr(driver, "bindings", lambda: Absent)
    assert _no_driver() == (
        "this machine has no CUDA driver: --backend emulation runs on the CPU",
        [],
    )


def test_a_driver_that_does_not_start(unstarted: pytest.MonkeyPatch):
    bindings = pytest.importorskip("cuda.bindings.driver", reason="needs gnarl[cuda]")

    class Mismatched:
        CUresult = bindings.CUresult

        @staticmethod
        def cuInit(flags: int) -> Any:
            return (bindings.CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,)

    unstarted.setattr(driver, "bindings", lambda: Mismatched)
    assert _message("sm_90") == (
        "the CUDA driver cannot be initialised: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: "
        "--backend emulation runs on the CPU"
    )


def test_nothing_installed(unstarted: pytest.MonkeyPatch):
    unstarted.setitem(sys.modules, "cuda.bindings", None)  # as if it were not there
    assert _message("sm_90") == (
        "the CUDA driver is called through cuda-bindings: pip install 'gnarl[cuda]'"
    )
    assert gpus.gpus() == []


def test_a_gpu_that_no_kernels_can_be_compiled_for():
    assert GpuInfo("Tesla V100", "sm_70", 80, 0, 0).kernel_arch is None
    assert GpuInfo("A10", "sm_86", 72, 0, 0).kernel_arch == "sm_86"
    assert GpuInfo("H20", "sm_90", 78, 0, 0).kernel_arch == "sm_90"
    assert GpuInfo("one of tomorrow", "sm_106", 0, 0, 0).kernel_arch == "sm_103"


def _on(name: str, arch: str) -> str:
    gpus._gpus = lambda: [GpuInfo(name, arch, 80, 0, 0)]  # type: ignore[assignment]
    return _message("sm_90")


def test_gpus_too_old_and_too_new():
    with fake_gpus() as call:
        assert call(_on, "Tesla V100", "sm_70") == (
            "kernels are for sm_90, GPU 0 is a Tesla V100 (sm_70): must be one that runs kernels "
            f"for {', '.join(ARCHITECTURES)}"
        )
        assert call(_on, "DGX Spark", "sm_121") == (
            "kernels are for sm_90, GPU 0 is a DGX Spark (sm_121): compile for cuda_sm121"
        )


@pytest.mark.parametrize(
    ("arch", "gpu", "runs"),
    [
        ("sm_80", "sm_80", True),
        ("sm_80", "sm_86", True),
        ("sm_86", "sm_80", False),
        ("sm_80", "sm_90", False),
        ("sm_90", "sm_100", False),
        ("sm_100", "sm_103", True),
        ("sm_100", "sm_120", False),
        ("sm_120", "sm_121", True),
        ("sm_87", "sm_87", True),
        ("sm_87", "sm_89", False),
        ("sm_86", "sm_87", False),
    ],
)
def test_machine_code_runs_on_its_major_architecture(arch: str, gpu: str, runs: bool):
    assert runs_on(arch, gpu) == runs


def _refused() -> str:
    with driver.Context(0), pytest.raises(driver.GpuError) as caught:
        driver.call("cuMemFree", 12345)
    return str(caught.value)


def test_what_the_driver_refuses_is_named(on_fake: Call):
    assert on_fake(_refused) == "CUDA driver: cuMemFree failed: CUDA_ERROR_INVALID_VALUE"
