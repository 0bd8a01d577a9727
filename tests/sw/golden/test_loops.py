"""Loop nests run as the source says: against an interpreter apart, and corners by name."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.lib.errors import WorkloadError
from sw.golden import loops
from sw.golden.loops import GoldenLoops
from sw.workloads.loops.binding import bind
from sw.workloads.loops.nest import Nest
from tests.support.loop_interpreter import Stopped, interpret
from tests.support.loop_nests import RandomNest, random_values

randoms = st.randoms(use_true_random=False)


def check(nest: Nest, values: dict[str, np.ndarray]) -> None:
    """Golden and interpreter give the same bits, or stop at the same place."""
    binding = bind(nest, values)
    before = {name: array.copy() for name, array in binding.arrays.items()}
    try:
        wanted = interpret(nest, binding)
    except Stopped as stopped:
        place = ":".join(str(stopped).split(":")[:3])
        with pytest.raises(WorkloadError, match=f"^{place}: "):
            GoldenLoops(nest).run(binding)
    else:
        found = GoldenLoops(nest).run(binding)
        assert found.keys() == wanted.keys()
        for name in wanted:
            assert found[name].dtype == wanted[name].dtype
            assert found[name].tobytes() == wanted[name].tobytes(), name
    for name, array in before.items():
        assert binding.arrays[name].tobytes() == array.tobytes()


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(randoms)
def test_random_nests_uncompiled(random: Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "njit", lambda **options: lambda function: function)
        check(RandomNest(random).nest(), random_values(random))


@pytest.mark.parametrize("seed", range(6))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    check(RandomNest(random).nest(3, 2), random_values(random))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 500))
def test_many_random_nests(seed: int) -> None:
    random = Random(seed)
    check(RandomNest(random).nest(6), random_values(random))
