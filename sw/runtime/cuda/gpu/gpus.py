"""GPUs of this machine: what they are, and whether kernels run on them."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.nvrtc import nvrtc_version
from gnarl.sw.runtime.cuda.gpu.driver import GpuError, call, device_attribute

_SYSTEMS_ON_CHIPS = {"sm_87", "sm_110"}
"""Chips of the Tegra line: Jetson Orin and Thor."""


@dataclass(frozen=True)
class GpuInfo:
    """A GPU.

    arch
        by its compute capability, such as ``sm_90``.
    multiprocessors, memory, l2
        how many; bytes.
    """

    name: str
    arch: str
    multiprocessors: int
    memory: int
    l2: int

    @property
    def kernel_arch(self) -> str | None:
        """The one of ``ARCHITECTURES`` whose kernels suit this GPU best; ``None``: none run."""
        fitting = [arch for arch in ARCHITECTURES if runs_on(arch, self.arch)]
        return max(fitting, key=_capability, default=None)


def gpus() -> list[GpuInfo]:
    """GPUs in the driver's order; none where there is no GPU, no driver, or no ``gnarl[cuda]``."""
    try:
        return _gpus()
    except GpuError:
        return []


def require_gpu(arch: str, device: int = 0) -> GpuInfo:
    """A GPU that kernels for ``arch`` run on.

    Raises ``GpuError`` where there is none: nothing installed, no driver, a driver older than the
    compiler, no such device, another architecture.
    """
    available = _gpus()
    if not 0 <= device < len(available):
        raise GpuError(
            f"device {device}: must be from 0 to {len(available) - 1}, one of the GPUs here"
        )
    driver, compiler = call("cuDriverGetVersion") // 10, nvrtc_version()
    if driver // 100 < compiler[0]:
        raise GpuError(
            f"the CUDA driver is of CUDA {driver // 100}.{driver % 100}, the compiler (NVRTC) of "
            f"{compiler[0]}.{compiler[1]}: the driver must be of CUDA {compiler[0]}.0 or later"
        )
    gpu = available[device]
    if not runs_on(arch, gpu.arch):
        raise GpuError(
            f"kernels are for {arch}, GPU {device} is a {gpu.name} ({gpu.arch}): {_remedy(gpu)}"
        )
    return gpu


def _remedy(gpu: GpuInfo) -> str:
    if gpu.kernel_arch is None:
        return f"must be one that runs kernels for {', '.join(ARCHITECTURES)}"
    return f"compile for cuda_{gpu.kernel_arch.replace('_', '')}"


def runs_on(arch: str, gpu: str) -> bool:
    """Whether machine code for ``arch`` runs on a GPU of architecture ``gpu``.

    It does where the major number is equal, the minor not smaller; to and from a system on a chip
    only where the two are equal (CUDA C++ Programming Guide, binary compatibility).
    """
    if {arch, gpu} & _SYSTEMS_ON_CHIPS:
        return arch == gpu
    (major, minor), (gpu_major, gpu_minor) = _capability(arch), _capability(gpu)
    return major == gpu_major and minor <= gpu_minor


def _capability(arch: str) -> tuple[int, int]:
    number = int(arch.removeprefix("sm_"))
    return number // 10, number % 10


def _gpus() -> list[GpuInfo]:
    return [_describe(number) for number in range(call("cuDeviceGetCount"))]


def _describe(number: int) -> GpuInfo:
    device = call("cuDeviceGet", number)
    major = device_attribute(number, "COMPUTE_CAPABILITY_MAJOR")
    minor = device_attribute(number, "COMPUTE_CAPABILITY_MINOR")
    return GpuInfo(
        name=call("cuDeviceGetName", 256, device).partition(b"\0")[0].decode(),
        arch=f"sm_{major}{minor}",
        multiprocessors=device_attribute(number, "MULTIPROCESSOR_COUNT"),
        memory=int(call("cuDeviceTotalMem", device)),
        l2=device_attribute(number, "L2_CACHE_SIZE"),
    )
