"""Small kernels that measure a GPU, or make it ready for a measurement."""

from __future__ import annotations

import ctypes

import numpy as np

from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
from gnarl.sw.runtime.cuda.gpu.driver import (
    Context,
    DeviceMemory,
    Event,
    Stream,
    call,
    free_with,
    store,
)
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

_THREADS = 256
_RANDOM_BYTES = 1 << 26
_CYCLES = 3_000_000
"""A millisecond of the fastest clock; of any other it is more."""

_SOURCE = """
extern "C" __global__ void gnarl_read(const uint4* memory, long long words, long long passes,
                                      unsigned* found) {
  unsigned sum = 0;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long pass = 0; pass < passes; ++pass) {
#pragma unroll 4
    for (long long i = first; i < words; i += step) {
      const uint4 word = __ldcg(memory + i);
      sum ^= word.x ^ word.y ^ word.z ^ word.w;
    }
  }
  // No sum is an address, which the compiler cannot know.
  if (sum == reinterpret_cast<unsigned long long>(found)) *found = sum;
}

extern "C" __global__ void gnarl_delay(const uint4* memory, long long cycles, long long passes,
                                       unsigned* found) {
  const long long end = clock64() + cycles;
  while (clock64() < end) {
  }
}

extern "C" __global__ void gnarl_nothing(const uint4* memory, long long words, long long passes,
                                         unsigned* found) {}
"""


class Probes:
    """These kernels on a GPU, with random memory of twice its L2 cache for them to read."""

    def __init__(self, context: Context, gpu: GpuInfo) -> None:
        self._context = context
        self._blocks = 8 * gpu.multiprocessors
        self._memory = random_memory(context, 2 * gpu.l2)
        self._found = DeviceMemory(context, 4)
        assert gpu.kernel_arch is not None
        compiled = compile_kernel(_SOURCE, gpu.kernel_arch, kernel="gnarl_read")
        image = np.frombuffer(compiled.cubin, np.uint8)
        with context:
            module = call("cuModuleLoadData", image.ctypes.data)
            free_with(self, context, "cuModuleUnload", module)
            self._functions = {
                name: call("cuModuleGetFunction", module, f"gnarl_{name}".encode())
                for name in ("read", "delay", "nothing")
            }

    def read(self, stream: int, size: int, passes: int = 1) -> None:
        """Puts so many passes over ``size`` bytes into a stream, past the L1 caches."""
        self._put("read", self._blocks, stream, size // 16, passes)

    def empty_caches(self, stream: int) -> None:
        """Replaces all cached lines by reading unused memory, so that none must be written back."""
        self.read(stream, self._memory.size)

    def delay(self, stream: int, ms: float) -> None:
        """Keeps a stream busy for at least so long."""
        self._put("delay", 1, stream, int(ms * _CYCLES), 0)

    def clock_mhz(self) -> int:
        """The clock of a multiprocessor, as it is now: cycles over a time by events."""
        stream, begin, end = Stream(self._context), Event(self._context), Event(self._context)
        with self._context:
            begin.record(stream.handle)
            self.delay(stream.handle, 1.0)
            end.record(stream.handle)
            end.synchronise()
            return round(_CYCLES / (1e3 * end.ms_since(begin)))

    def nothing(self, stream: int) -> None:
        """Puts an empty kernel into a stream."""
        self._put("nothing", 1, stream, 0, 0)

    def _put(self, name: str, blocks: int, stream: int, count: int, passes: int) -> None:
        threads = 1 if name == "delay" else _THREADS
        values = (self._memory.address, count, passes, self._found.address)
        types = (ctypes.c_void_p, ctypes.c_longlong, ctypes.c_longlong, ctypes.c_void_p)
        with self._context:
            call(
                "cuLaunchKernel",
                *(self._functions[name], blocks, 1, 1, threads, 1, 1, 0, stream),
                *((values, types), 0),
            )


def random_memory(context: Context, size: int) -> DeviceMemory:
    """Memory that hardware cannot compress."""
    memory = DeviceMemory(context, size)
    octets = np.frombuffer(np.random.default_rng(0).bytes(min(size, _RANDOM_BYTES)), np.uint8)
    with context:
        for begin in range(0, size, len(octets)):
            store(memory.address + begin, octets[: size - begin])
    return memory
