"""Loop nests run as the source says: against an interpreter apart, and corners by name."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.lib.errors import WorkloadError
from sw.golden import loops
from sw.golden.loop_code import Placement
from sw.golden.loops import GoldenLoops
from sw.workloads.loops.binding import bind
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.operations.embedding_bag import embedding_bag_mean, embedding_bag_sum
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


def test_the_reference_rounds_to_float64():
    nest = embedding_bag_mean
    rng = np.random.default_rng(0)
    table = rng.standard_normal((8, 3)).astype(np.float32)
    values = {
        "table": table,
        "indices": np.array([1, 2, 7, 7, 0], np.int32),
        "offsets": np.array([0, 3, 3, 5], np.int32),
    }
    golden, binding = GoldenLoops(nest), bind(nest, values)
    wide = table.astype(np.float64)
    expected = [wide[[1, 2, 7]].mean(0), np.zeros(3), wide[[7, 0]].mean(0)]
    found = golden.reference(binding)["out"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert (found.astype(np.float32) != golden.run(binding)["out"]).any()


def test_the_work_of_a_nest():
    """Per look-up: the lines of its index and of its row, where they are others than the last."""
    values = {
        "table": np.zeros((8, 24), np.float32),
        "indices": np.array([1, 2, 2, 7, 0], np.int32),
        "offsets": np.array([0, 3, 3, 5], np.int32),
    }
    bases = {"table": 32, "indices": 16, "offsets": 0, "out": 512}
    work = GoldenLoops(embedding_bag_sum).work(
        bind(embedding_bag_sum, values), Placement(bases, 16)
    )
    assert work.operations == 5 * 24
    # Rows 1, 2, 2 again, 7, 0.
    assert work.lines.tolist() == [0, 1, 3, 4, 5, 6, 5, 6, 12, 13, 2, 3]
