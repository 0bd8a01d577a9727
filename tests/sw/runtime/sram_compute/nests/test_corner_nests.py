"""Nests with corners: what each place computes is what the nest means, or it refuses the nest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from tests.support.errors import noted
from tests.support.nests.corner_nests import CornerNest, corner_nest
from tests.sw.runtime.sram_compute.nests.test_random_kernels import bits

pytest.importorskip("egglog")

COUNT, TOGETHER = 2000, 50
"""Seeds that ``make test-all`` runs, and how many are one test."""


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device("sram_b4", "model") as device:
        yield device


def has_run(model: Device[Any], case: CornerNest, place: str, **options: Any) -> bool:
    """Whether the place takes the nest; then results are right, to the bit where sums keep their
    order, NaNs aside."""
    try:
        result = model.run(
            model.compile(case.workload, place=place, **options), case.workload.inputs
        )
    except (CapacityError, WorkloadError) as error:
        assert "\n" not in str(error)
        return False
    assert model.verify(result).bit_exact
    if not options["reassociate"]:
        golden = GoldenLoops(case.workload.nest).run(case.workload.binding)
        for name, wanted in golden.items():
            assert bits(result.outputs[name]) == bits(wanted), name
    return True


def check_seeds(
    model: Device[Any], first: int, count: int, places: tuple[str, ...]
) -> Counter[str]:
    """How many nests each place has run. Those for stream engines and memory own what they write;
    of three of four sums keep their order."""
    found = Counter[str]()
    for seed in range(first, first + count):
        for place in places:
            owns, random = place != "core", Random(seed)
            case = corner_nest(seed, narrow=place in ("memory", "auto") and seed % 2 > 0, owns=owns)
            options = {"reassociate": random.random() < 0.25, "optimise": random.random() < 0.85}
            with noted(f"{seed=} {place=} {options}"):
                found[place] += has_run(model, case, place, **options)
    return found


def test_nests_with_corners(model: Device[Any]) -> None:
    found = check_seeds(model, 3, 5, ("memory", "near"))
    assert found["near"] > 1


def test_nests_with_corners_on_the_core(model: Device[Any]) -> None:
    assert check_seeds(model, 0, 2, ("core",))["core"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_nests_with_corners(model: Device[Any], first: int) -> None:
    found = check_seeds(model, first, TOGETHER, ("memory", "near", "core", "auto"))
    assert all(found.values())
