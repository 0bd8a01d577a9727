"""How fast GPUs of each architecture are, for the cost model.

An architecture has several products; each row names the one it is of. What the cost model compares
are schedules on one device, so that a relative of the one named ranks them nearly the same.

Sources: NVIDIA's data sheets (multiprocessors, boost clock, bandwidth). Latencies as measured with
dependent loads by Jia et al., arXiv 1903.07486 (Turing), Luo et al., arXiv 2402.13499 (Ampere, Ada,
Hopper), Jarmusch et al., arXiv 2507.10789 (Blackwell of sm_120). Where none are published, as for
sm_86 and sm_100, they are those of the nearest relative.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceRates:
    """One GPU.

    product
        which it is.
    multiprocessors
        of the whole device.
    clock
        of the multiprocessors, GHz.
    bandwidth
        of its memory, GB/s.
    cache_latency, memory_latency
        cycles of a load that hits in the L2 cache, or has to go to memory.
    """

    product: str
    multiprocessors: int
    clock: float
    bandwidth: float
    cache_latency: float
    memory_latency: float

    @property
    def memory_bytes_per_cycle(self) -> float:
        """One multiprocessor's share of the bandwidth."""
        return self.bandwidth / self.clock / self.multiprocessors


RATES: dict[str, DeviceRates] = {
    "sm_75": DeviceRates("T4", 40, 1.59, 320, 188, 600),
    "sm_80": DeviceRates("A100 SXM 80 GB", 108, 1.41, 2039, 262, 466),
    "sm_86": DeviceRates("A10", 72, 1.695, 600, 262, 466),
    "sm_87": DeviceRates("Jetson AGX Orin", 16, 1.3, 205, 262, 466),
    "sm_89": DeviceRates("L40S", 142, 2.52, 864, 273, 542),
    "sm_90": DeviceRates("H100 SXM", 132, 1.98, 3350, 263, 479),
    "sm_100": DeviceRates("B200", 148, 1.965, 8000, 263, 479),
    "sm_103": DeviceRates("B300", 148, 1.92, 8000, 263, 479),
    "sm_110": DeviceRates("Jetson T5000", 20, 1.575, 273, 263, 479),
    "sm_120": DeviceRates("RTX 5090", 170, 2.41, 1792, 358, 877),
    "sm_121": DeviceRates("GB10", 48, 2.4, 273, 358, 877),
}
"""Rates by the names of ``ARCHITECTURES``."""
