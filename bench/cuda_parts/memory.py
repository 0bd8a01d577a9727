"""What a GPU's memory can do: its bandwidth by a copy; and caches that hold nothing of use."""

from __future__ import annotations

import ctypes

import numpy as np

from sw.compiler.cuda.nvrtc import compile_kernel
from sw.runtime.cuda.gpu.driver import Context, DeviceMemory, Event, Stream, call, free_with
from sw.runtime.cuda.gpu.gpus import GpuInfo

_COPY_BYTES = 1 << 31
_COPIES = 10

_READ = """
extern "C" __global__ void gnarl_read(const uint4* memory, long long words,
                                      unsigned long long wanted, unsigned* found) {
  unsigned sum = 0;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += step) {
    const uint4 word = memory[i];
    sum ^= word.x ^ word.y ^ word.z ^ word.w;
  }
  if (sum == wanted) *found = sum;
}
"""
"""``wanted`` is no possible sum, which the compiler cannot know."""


def copy_bandwidth(context: Context, gpu: GpuInfo) -> float:
    """Bytes a second of a copy from device to device, read and written ones, best of several."""
    size = min(_COPY_BYTES, gpu.memory // 8)
    source, target = (DeviceMemory(context, size, zeroed=True) for _ in range(2))
    stream, begin, end = Stream(context), Event(context), Event(context)
    times = []
    with context:
        for _ in range(_COPIES):
            begin.record(stream.handle)
            call("cuMemcpyDtoDAsync", target.address, source.address, size, stream.handle)
            end.record(stream.handle)
            end.synchronise()
            times.append(end.ms_since(begin))
    return 2 * size / (1e-3 * min(times))


class ColdCache:
    """Empties a GPU's caches by reading other memory, so that no line must be written back."""

    def __init__(self, context: Context, gpu: GpuInfo) -> None:
        self._context = context
        self._memory = DeviceMemory(context, 2 * gpu.l2, zeroed=True)
        self._found = DeviceMemory(context, 4)
        self._blocks = 8 * gpu.multiprocessors
        assert gpu.kernel_arch is not None
        image = np.frombuffer(
            compile_kernel(_READ, gpu.kernel_arch, kernel="gnarl_read").cubin, np.uint8
        )
        with context:
            module = call("cuModuleLoadData", image.ctypes.data)
            free_with(self, context, "cuModuleUnload", module)
            self._function = call("cuModuleGetFunction", module, b"gnarl_read")

    def put(self, stream: int) -> None:
        """Into a stream, given by its handle."""
        words = self._memory.size // 16
        values = (self._memory.address, words, 1 << 32, self._found.address)
        types = (ctypes.c_void_p, ctypes.c_longlong, ctypes.c_ulonglong, ctypes.c_void_p)
        with self._context:
            call(
                "cuLaunchKernel",
                *(self._function, self._blocks, 1, 1, 256, 1, 1, 0, stream),
                *((values, types), 0),
            )
