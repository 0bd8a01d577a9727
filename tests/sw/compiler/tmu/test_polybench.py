"""PolyBench's kernels on the TMU: what gcc makes of them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from tests.support.nests.dependent_runs import run_tmu
from tests.support.nests.polybench.nests import TEXTS
from tests.support.nests.polybench.run import compiled, results, workload
from tests.support.tmu.manners import MANNERS

CONFIG = TmuConfig(lanes=4)
MOST_ERROR = 1e-6
"""Of the largest element: sums by lanes are rounded elsewhere."""

COMMON = {
    ("jacobi-1d", "level 1"),
    ("jacobi-2d", "level 4"),
    ("seidel-2d", "level 3"),
    ("syrk", "level 4"),
    ("syr2k", "level 2"),
    ("symm", "level 4"),
    ("atax", "coupled"),
}
"""Cases that run each time."""

CASES = [
    pytest.param(name, manner, marks=[] if (name, manner) in COMMON else pytest.mark.slow)
    for name in TEXTS
    for manner in MANNERS
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled(tmp_path_factory.mktemp("polybench"))


@pytest.mark.parametrize("name, manner", CASES)
def test_kernels(library: ctypes.CDLL, name: str, manner: str):
    given = workload(name)
    found = run_tmu(given, CONFIG, **MANNERS[manner])
    for array, wanted in results(library, given).items():
        error = np.abs(found[array] - wanted).max() / np.abs(wanted).max()
        assert error <= MOST_ERROR, array


@pytest.mark.parametrize("name", [pytest.param("symm"), pytest.param("lu", marks=pytest.mark.slow)])
def test_in_the_order_of_the_source_all_bits_are_those_of_gcc(library: ctypes.CDLL, name: str):
    given = workload(name)
    found = run_tmu(given, CONFIG, reassociate=False)
    for array, wanted in results(library, given).items():
        assert np.asarray(found[array]).tobytes() == wanted.tobytes(), array
