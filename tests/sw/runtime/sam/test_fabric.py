"""Programs for a fabric: the same hardware, another configuration for each expression."""

from __future__ import annotations

import numpy as np
import pytest

from hw.lib.errors import CapacityError
from sw.compiler.sam.suite import SUITE
from sw.runtime.device import Device
from tests.support.results import dense


def sparse(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.random(shape) < 0.4) * rng.integers(1, 9, shape).astype(float)


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("sam_fabric_small", backend="model")


@pytest.mark.parametrize(
    "kernel, shapes, means",
    [
        ("matmul_ijk", {"B": (5, 7), "C": (7, 6)}, lambda B, C: B @ C),
        ("matmul_ikj", {"B": (5, 7), "C": (7, 6)}, lambda B, C: B @ C),
        ("mat_elemmul", {"B": (5, 7), "C": (5, 7)}, lambda B, C: B * C),
        ("mat_elemadd", {"B": (5, 7), "C": (5, 7)}, lambda B, C: B + C),
        ("mat_vecmul_ij", {"B": (5, 7), "c": (7,)}, lambda B, c: B @ c),
        ("mat_vecmul_ji", {"B": (5, 7), "c": (7,)}, lambda B, c: B @ c),
        ("vec_elemmul", {"b": (9,), "c": (9,)}, lambda b, c: b * c),
        ("vec_sd_compression", {"b": (9,)}, lambda b: b),
    ],
)
def test_kernels_of_two_loops(device, kernel, shapes, means):
    rng = np.random.default_rng(len(kernel))
    operands = {name: sparse(rng, *shape) for name, shape in shapes.items()}
    result = device.run(device.compile(SUITE[kernel]), operands)
    expected = means(**operands)
    (output,) = result.outputs.values()
    assert np.array_equal(dense(output), expected)


def test_more_blocks_than_there_are(device):
    with pytest.raises(CapacityError) as caught:
        device.compile(SUITE["mat_elemadd3"])
    assert str(caught.value) == (
        "graph: needs 6 of union, the fabric has 2; 6 of fiberlookup, the fabric has 4"
    )
