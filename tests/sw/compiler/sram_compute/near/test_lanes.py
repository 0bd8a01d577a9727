"""Sums by lanes have NumPy's bits, added up in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.sram_compute.isa import STRIP
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.tensor_graphs import nest_of

LANES = 2 * STRIP
"""Of two banks."""


def by_lanes(numbers: np.ndarray) -> np.float32:
    """Each lane's numbers one after the other, and then lanes by halves."""
    padded = np.zeros(-(-len(numbers) // LANES) * LANES, np.float32)
    padded[: len(numbers)] = numbers
    sums = np.zeros(LANES, np.float32)
    for strip in padded.reshape(-1, LANES):
        sums = sums + strip
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return sums[0]


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(n): to[0] += a[i]",
        "s = to[0]\nfor i in range(n): s += a[i]\nto[0] = s",
    ],
)
def test_a_sum_by_lanes(body: str):
    """Sums of an element, and of a local."""
    nest = nest_of("a: float32[n], to: float32[1]", body)
    a = np.random.default_rng(1).standard_normal(700, np.float32)
    values = {"a": a, "to": np.array([0.1], np.float32)}
    with Device("sram_b2", "model") as device:
        compiled = device.compile(LoopWorkload("f", nest, values), place="near", reassociate=True)
        result = device.run(compiled, values)
        assert device.verify(result).bit_exact
    assert result.outputs["to"] == np.float32(0.1) + by_lanes(a)


@pytest.mark.parametrize("function, sign", [("min", 1), ("max", -1)])
@pytest.mark.parametrize("type, largest", [("float32", 1e38), ("int32", 2**31 - 1)])
def test_an_extremum_by_lanes(function: str, sign: int, type: str, largest: float):
    """Extrema of elements beyond what other types hold; lanes that have none change nothing."""
    nest = nest_of(
        f"a: {type}[n], to: {type}[1]", f"for i in range(n): to[0] = {function}(to[0], a[i])"
    )
    a = np.linspace(sign * largest / 2, sign * largest, 37).astype(type)
    values = {"a": a, "to": a[-1:]}
    with Device("sram_b2", "model") as device:
        compiled = device.compile(LoopWorkload("f", nest, values), place="near", reassociate=True)
        assert device.run(compiled, values).outputs["to"] == a[0]
