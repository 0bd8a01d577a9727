"""A GPU that does nothing, for the time that the host takes to launch."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from gnarl.sw.compiler.cuda.nvrtc import CompiledKernel
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.runtime.cuda.arguments import LaunchArguments
from gnarl.sw.runtime.cuda.gpu.driver import Context, GpuError, bindings
from gnarl.sw.runtime.cuda.gpu.loaded_kernel import LoadedKernel

STREAM = 7
MULTIPROCESSORS = 132

_DRIVER = r"""
#include <cstring>
static int succeed() { return 0; }
static int attribute(int* value) { *value = 1 << 20; return 0; }
extern "C" int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long,
                                   int* status) {
  const bool asks = !std::strcmp(name, "cuDeviceGetAttribute");
  *function = asks ? reinterpret_cast<void*>(attribute) : reinterpret_cast<void*>(succeed);
  if (status) *status = 0;
  return 0;
}
"""
"""All functions of a CUDA driver."""


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Parameters of glibc's ``mallopt``."""


def keep_freed_memory() -> None:
    """Makes this process keep freed memory for its next allocations, as PyTorch does with a GPU's,
    so that large allocations cost no more than small ones."""
    libc = ctypes.CDLL(None)
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, 0x7FFFFFFF)


class PackingKernel:
    """Takes the place of a ``LoadedKernel``: packs the arguments of launches, and calls no
    driver."""

    def map(self, arguments: LaunchArguments, stream: int) -> None:
        arguments.of_map_kernel()

    def launch(self, arguments: LaunchArguments, stream: int) -> None:
        arguments.of_kernel()


def bound_kernel(program: EmbeddingProgram) -> LoadedKernel | None:
    """Launched through cuda-bindings on a driver that does nothing, which this process has from now
    on. ``None`` without cuda-bindings or a C++ compiler."""
    try:
        bindings()
    except GpuError:
        return None
    if not shutil.which("c++"):
        return None
    with TemporaryDirectory() as folder:
        library = Path(folder, "libcuda.so.1")
        command = ["c++", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-x", "c++", "-"]
        subprocess.run([*command, "-o", str(library)], input=_DRIVER, text=True, check=True)
        # cuda-bindings takes a library of this name that is loaded already.
        ctypes.CDLL(str(library))
        arch = program.schedules.arch
        return LoadedKernel(Context(0), program, CompiledKernel(b"\0", 0, 0, 0, arch, "", False))


class _Memory:
    """Takes the place of a ``DeviceMemory``."""

    def __init__(self, owner: Any) -> None:
        self.address, self.size, self._owner = owner.data_ptr(), len(owner), owner


def pretend(torch: Any, launch: Any, kept: Any, kernel: PackingKernel | LoadedKernel) -> None:
    """Makes modules ``launch`` and ``kept`` take PyTorch's CPU for a GPU, for which ``kernel`` is
    compiled."""
    cpu = torch.device("cpu")
    cuda = SimpleNamespace(
        device=lambda device: nullcontext(),
        current_stream=lambda device: SimpleNamespace(cuda_stream=STREAM),
        is_current_stream_capturing=lambda: False,
    )
    launch.torch = SimpleNamespace(**{**vars(torch), "cuda": cuda, "device": lambda *_: cpu})
    kept.torch = launch.torch
    launch.Context = lambda device: None
    launch.DeviceMemory = lambda _, size, zeroed: _Memory(torch.zeros(size, dtype=torch.uint8))
    launch._loaded = lambda *_: (kernel, MULTIPROCESSORS)
