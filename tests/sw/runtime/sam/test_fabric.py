"""Programs for a fabric: the same hardware, another configuration for each expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.results import dense


def sparse(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.random(shape) < 0.4) * rng.integers(1, 9, shape).astype(float)


KERNELS: dict[str, tuple[dict[str, tuple[int, ...]], Callable[..., np.ndarray]]] = {
    "matmul_ijk": ({"B": (5, 7), "C": (7, 6)}, lambda B, C: B @ C),
    "matmul_ikj": ({"B": (5, 7), "C": (7, 6)}, lambda B, C: B @ C),
    "mat_elemmul": ({"B": (5, 7), "C": (5, 7)}, lambda B, C: B * C),
    "mat_elemadd": ({"B": (5, 7), "C": (5, 7)}, lambda B, C: B + C),
    "mat_vecmul_ij": ({"B": (5, 7), "c": (7,)}, lambda B, c: B @ c),
    "mat_vecmul_ji": ({"B": (5, 7), "c": (7,)}, lambda B, c: B @ c),
    "vec_elemmul": ({"b": (9,), "c": (9,)}, lambda b, c: b * c),
    "vec_sd_compression": ({"b": (9,)}, lambda b: b),
}
"""Shapes of the operands of each, and what it computes."""

POOL = (
    "fabric={root=1, fiberlookup=4, repsiggen=2, repeat=2, intersect=1, arrayvals=2, alu=1, "
    "reduce_add=1, spaccumulator_1=1, crddrop=1, valdrop=1, fiberwrite=2, valwrite=1}"
)
RTL = ("format=fixed16.0", "index_bits=8", POOL)
"""What makes a fabric small whose RTL is to be built."""


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("sam_fabric_small", backend="model")


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    with Device(load_configuration("sam_fabric_small", RTL), "rtl") as device:
        yield device


def check_kernel(device: Device, kernel: str) -> None:
    """What it gives for random operands is what it means."""
    shapes, means = KERNELS[kernel]
    rng = np.random.default_rng(len(kernel))
    operands = {name: sparse(rng, *shape) for name, shape in shapes.items()}
    result = device.run(device.compile(SUITE[kernel]), operands)
    (output,) = result.outputs.values()
    assert np.array_equal(dense(output), means(**operands))


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_of_two_loops(device, kernel):
    check_kernel(device, kernel)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["matmul_ijk", "matmul_ikj", "mat_vecmul_ij", "mat_vecmul_ji"])
def test_kernels_on_rtl(rtl, kernel):
    """An output's listeners, which these kernels have everywhere, are not equally fast."""
    check_kernel(rtl, kernel)


def test_more_blocks_than_there_are(device):
    with pytest.raises(CapacityError) as caught:
        device.compile(SUITE["mat_elemadd3"])
    assert str(caught.value) == (
        "graph: needs 6 of union, the fabric has 2; 6 of fiberlookup, the fabric has 4"
    )
