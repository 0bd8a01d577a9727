"""The GPU that is modelled: an H200, as measured, and what is fitted to recorded times."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cuda_parts.traffic import Traffic


@dataclass(frozen=True)
class Device:
    """Rates, per µs.

    issues
        warp instructions of a multiprocessor.
    port
        bytes of a multiprocessor from the L2 cache.
    l2, memory
        bytes of all multiprocessors.
    sharpness
        how suddenly tasks slow down as they ask for all that there is: with u times as much they
        have (1 + u ** sharpness) ** (-1 / sharpness) of it.
    """

    multiprocessors: int
    issues: float
    port: float
    l2: float
    memory: float
    sharpness: float


CYCLES_PER_US = 1980.0
MULTIPROCESSORS = 132
L2_BYTES_PER_US = 8.3e6
MEMORY_BYTES_PER_US = 4.26e6
EMPTY_US = 2.7
"""An H200: the clock, and what ``bench.cuda`` measured: reads from the L2 cache, a copy, an empty
kernel."""
L1_BYTES = 200_000


def bound_us(moved: Traffic) -> float:
    """``Limits.bound_ms`` of this device."""
    return EMPTY_US + max(moved.least / MEMORY_BYTES_PER_US, moved.without_cache / L2_BYTES_PER_US)


def memory_bound_us(moved: Traffic) -> float:
    """Without the part of ``bound_us`` that the L2 cache sets."""
    return EMPTY_US + moved.least / MEMORY_BYTES_PER_US
