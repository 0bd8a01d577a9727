"""Random kernels in C: every place computes what the nest means, and ``auto`` is near the best that
it looks at: at most 10 % above it and a line of memory, as estimates of short programs may miss
one. It does not look at loops that memory runs in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.random_kernels import random_kernel

pytest.importorskip("egglog")

CONFIG = load_configuration("sram_b4")
QUICK, ALL, TOGETHER = 8, 2000, 50
"""Seeds, and how many are one test."""

PLACES = ("memory", "near", "core", "auto")


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device(CONFIG, "model") as device:
        yield device


def bits(values: Any) -> bytes:
    """NaNs are one."""
    found = np.array(values)
    if found.dtype.kind == "f":
        found[np.isnan(found)] = np.nan
    return found.tobytes()


def check(model: Device[Any], seed: int) -> None:
    try:
        kernel = random_kernel(seed)
        golden = GoldenLoops(kernel.nest).run(kernel.binding)
    except WorkloadError:
        return  # No nest, or what C leaves undefined.
    cycles = {}
    for place in PLACES:
        try:
            program = model.compile(kernel, place=place, reassociate=False)
            result = model.run(program, kernel.inputs)
        except GnarlError as error:
            assert "\n" not in str(error)
            continue
        cycles[place] = result.cycles
        if place == "auto" and any(each.refusal for each in result.program.meaning.parts):
            cycles.pop("memory", None)
        for name, wanted in golden.items():
            if name not in kernel.nest.temporaries:
                assert bits(result.outputs[name]) == bits(wanted), (place, name)
    if cycles:
        assert cycles["auto"] <= 1.1 * min(cycles.values()) + CONFIG.config.latency, cycles


@pytest.mark.parametrize("seed", range(QUICK))
def test_kernels(model: Device[Any], seed: int):
    check(model, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, TOGETHER))
def test_many_kernels(model: Device[Any], first: int):
    for seed in range(first, first + TOGETHER):
        check(model, seed)
