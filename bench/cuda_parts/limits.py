"""What a GPU can do at best, measured: bandwidths of memory and L2 cache, and an empty kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.cuda_parts.cold_start import ColdStart
from bench.cuda_parts.probes import Probes, random_memory
from bench.cuda_parts.traffic import Traffic
from gnarl.sw.runtime.cuda.gpu.driver import Context, DeviceMemory, Event, Stream, call
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

_COPY_BYTES = 1 << 31
_TIMES = 10
_PASSES = 256
_L2_SHARE = 4
"""What is read again and again is one of so many parts of the L2 cache: it fits even where each
half of the cache keeps lines of the other. Of many passes the first, from memory, hardly counts."""


@dataclass(frozen=True)
class Limits:
    """Bytes a second of a copy, read and written ones, and of reads from the L2 cache;
    milliseconds of an empty kernel."""

    memory: float
    l2: float
    empty_ms: float

    def bound_ms(self, moved: Traffic) -> float:
        """No kernel that finds caches empty moves a batch's bytes in less time.

        The larger of what memory takes for each row once, and what the L2 cache takes for every
        look-up; and a launch besides.
        """
        return self.empty_ms + 1e3 * max(moved.least / self.memory, moved.without_cache / self.l2)


def measure_limits(context: Context, gpu: GpuInfo, probes: Probes, cold: ColdStart) -> Limits:
    """The best of several runs each; copies are of random data."""
    stream, begin, end = Stream(context), Event(context), Event(context)

    def best_ms(launch: Callable[[int], object]) -> float:
        def put() -> None:
            begin.record(stream.handle)
            launch(stream.handle)
            end.record(stream.handle)

        times = []
        for _ in range(_TIMES):
            with context:
                cold.put(stream.handle, put)
                end.synchronise()
                times.append(end.ms_since(begin))
        return min(times)

    size = min(_COPY_BYTES, gpu.memory // 8)
    source, target = random_memory(context, size), DeviceMemory(context, size)
    copy = ("cuMemcpyDtoDAsync", target.address, source.address, size)
    copy_ms = best_ms(lambda handle: call(*copy, handle))
    kept = gpu.l2 // _L2_SHARE
    l2_ms = best_ms(lambda handle: probes.read(handle, kept, _PASSES))
    return Limits(
        memory=2 * size / (1e-3 * copy_ms),
        l2=kept * _PASSES / (1e-3 * l2_ms),
        empty_ms=best_ms(probes.nothing),
    )
