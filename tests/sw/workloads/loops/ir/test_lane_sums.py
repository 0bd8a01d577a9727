"""Sums by lanes: the nest's order is that of partial sums and a tree."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.lane_sums import loops_of_sums, sum_by_lanes
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.nests.loop_interpreter import interpret

NEST = read_source(
    "n, m = sizes('n', 'm')\n\n\n@nest\n"
    "def f(x: float32[n, m], y: float32[n]):\n"
    "    for i in range(n):\n"
    "        total = 1.0\n"
    "        for j in range(m):\n"
    "            total += x[i, j]\n"
    "        y[i] = total\n",
    "file.py",
)
INNER = 2
"""The number of its statement."""


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 40), st.sampled_from((2, 4, 8)), st.integers(0, 99))
def test_partial_sums_and_a_tree(columns: int, lanes: int, seed: int):
    x = np.random.default_rng(seed).standard_normal((2, columns)).astype(np.float32)
    sizes = {"n": 2, "m": columns}
    nest = sum_by_lanes(NEST, sizes, [INNER], lanes)
    found = interpret(nest, bind(nest, {"x": x}, sizes))["y"]
    for row, result in zip(x, found, strict=True):
        sums = np.zeros(lanes, np.float32)
        for place, element in enumerate(row):
            sums[place % lanes] += element
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        assert np.float32(1) + sums[0] == result


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 40), st.sampled_from((2, 4)), st.sampled_from((2, 4)), st.integers(0, 99))
def test_sums_of_lanes_in_vectors_side_by_side(columns: int, lanes: int, count: int, seed: int):
    """As with so many times the lanes."""
    x = np.random.default_rng(seed).standard_normal((2, columns)).astype(np.float32)
    sizes = {"n": 2, "m": columns}
    wide, narrow = (sum_by_lanes(NEST, sizes, [INNER], each) for each in (lanes * count, lanes))
    (loop,) = loops_of_sums(narrow)
    split = sum_by_lanes(narrow, sizes, [loop], count)
    found, wanted = (interpret(nest, bind(nest, {"x": x}, sizes))["y"] for nest in (split, wide))
    assert found.tobytes() == wanted.tobytes()


def test_other_loops_keep_their_order():
    assert sum_by_lanes(NEST, {"n": 2, "m": 8}, [], 4) == NEST
