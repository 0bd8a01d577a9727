"""Random nests as text: what the golden model makes of them is what Python itself does, and what
the interpreter of nests does."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.golden.loops import GoldenLoops
from tests.support.errors import noted
from tests.support.nests.loop_interpreter import interpret
from tests.support.nests.random_texts.drawn import draw

COUNT, TOGETHER = 2000, 100
"""Seeds that ``make test-all`` runs, and how many are one test."""


def check_seed(seed: int) -> None:
    """Two of three seeds have arrays of all types. NaNs may have other bits than Python's."""
    drawn = draw(seed, all_types=seed % 3 > 0)
    workload = drawn.workload
    found = GoldenLoops(workload.nest).run(workload.binding)
    python, interpreted = drawn.as_python(), interpret(workload.nest, workload.binding)
    assert found.keys() == interpreted.keys()
    for name, golden in found.items():
        assert golden.tobytes() == interpreted[name].tobytes(), name
        wanted = python[name]
        assert golden.dtype == wanted.dtype
        both = np.isnan(golden) & np.isnan(wanted)
        assert np.where(both, 0, golden).tobytes() == np.where(both, 0, wanted).tobytes(), name


@pytest.mark.parametrize("seed", range(30))
def test_random_texts(seed: int):
    check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_random_texts(first: int):
    for seed in range(first, first + TOGETHER):
        with noted(f"{seed=}"):
            check_seed(seed)
