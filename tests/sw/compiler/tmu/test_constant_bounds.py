"""Loops whose ends are computed from numbers that are known: no stream computes them."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.values import FOLDED
from gnarl.sw.compiler.tmu.passes.decouple import STREAM_OPERATIONS
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.dependent_runs import run_tmu
from tests.support.tmu.manners import MANNERS

CONFIG = TmuConfig(lanes=4, memory_bytes=1 << 14, l1_bytes=1 << 10, l2_bytes=1 << 11)
TEXT = """\
n = sizes('n')


@nest
def f(x: float32[n], y: float32[n], z: float32[n]):
    for i in range({end}):
        y[i] = x[i]
    for i in range(n):
        for j in range({begin}, {end}):
            z[i] += x[j]
"""


@pytest.mark.parametrize(
    ("begin", "end"),
    (
        ("0", "1 << 2"),
        ("0", "n << 0"),
        ("1 << 0", "1 + (1 << 1)"),
        ("n - 3", "1 << 1 << 1"),
        ("n >> n", "2 * (1 << 1)"),
    ),
)
def test_ends_that_are_known(begin: str, end: str):
    nest = read_source(TEXT.format(begin=begin, end=end), "f.py")
    x = np.array([1, 2, 4, 8], np.float32)
    last, first = eval(end, {"n": 4}), eval(begin, {"n": 4})
    for options in MANNERS.values():
        found = run_tmu(LoopWorkload("f", nest, {"x": x}), CONFIG, **options)
        assert found["y"].tolist() == [*x[:last], *[0] * (4 - last)]
        assert found["z"].tolist() == [x[first:last].sum()] * 4


LOCAL = """\
n = sizes('n')


@nest
def f(x: float32[n], y: float32[n], z: float32[n]):
    k = n
    for i in range(k):
        z[i] += x[i]
    for i in range(k):
        if x[i] > 7.0:
            k = 1
        z[i] += x[i]
    y[k] = 1.0
"""


@pytest.mark.parametrize("name", MANNERS)
def test_a_local_that_bounds_two_loops(name: str):
    """The first one's iterations overlap, so that hardware counts fewer: for it alone."""
    x = np.array([1, 2, 4, 8], np.float32)
    workload = LoopWorkload("f", read_source(LOCAL, "f.py"), {"x": x})
    found = run_tmu(workload, CONFIG, **MANNERS[name])
    assert found["z"].tolist() == [2, 4, 8, 16]
    assert found["y"].tolist() == [0, 1, 0, 0]


def test_all_that_streams_do_is_known_of_known_numbers():
    assert {*STREAM_OPERATIONS} <= {*FOLDED}
