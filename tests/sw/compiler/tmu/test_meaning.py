"""What launches say that they compute: read back, and refused where it is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from hw.lib.errors import WorkloadError
from hw.tmu.config import TmuConfig
from sw.compiler.passes import Trace
from sw.compiler.tmu.compile import compile
from sw.compiler.tmu.meaning import Meaning, meaning_of
from sw.compiler.tmu.sections import meaning
from sw.workloads.loops.python_source import read_source
from sw.workloads.loops.workload import LoopWorkload

SUMS = """
n, m = sizes('n', 'm')


@nest
def f(x: float32[m, 2], offsets: int32[n + 1], y: float32[n], z: float32[m]):
    for i in range(n):
        for j in range(offsets[i], offsets[i + 1]):
            y[i] += x[j, 0]
    for j in range(m):
        z[j] = x[j, 0] * x[j, 1]
"""


def test_offsets_of_bags_that_one_launch_of_two_reads() -> None:
    inputs = {"x": np.ones((5, 2), np.float32), "offsets": np.array([0, 2, 5], np.int32)}
    workload = LoopWorkload("f", read_source(SUMS, "file.py"), inputs, bag_offsets={"offsets": 5})
    program = compile(workload, TmuConfig(lanes=4), trace=Trace())
    program.check()
    bags, products = (meaning(launch.sections) for launch in program.launches)
    assert "offsets" in bags.specs and "offsets" not in products.specs
    assert bags.bag_offsets == products.bag_offsets == {"offsets": 5}
    products.check({"x": inputs["x"]})
    with pytest.raises(WorkloadError, match=r"^offsets\[2\] = 4: must be 5, the number of indices"):
        bags.check({"offsets": np.array([0, 2, 4], np.int32)})


@pytest.mark.parametrize(
    "offsets, message",
    [
        ({"x": 5}, "bag_offsets: x: must be of one dimension"),
        ({"offsets": 5.0}, "bag_offsets: offsets = 5.0: must be a number"),
    ],
)
def test_offsets_that_are_none(offsets: Mapping[str, Any], message: str) -> None:
    made = Meaning(read_source(SUMS, "file.py"), {"n": 2, "m": 5}, bag_offsets=offsets)
    with pytest.raises(ValueError) as caught:
        meaning_of(made.texts, made.numbers)
    assert str(caught.value) == message
