"""Statements that stream engines cannot do in the order of the source are refused."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.tensor_graphs import nest_of


def test_what_is_read_before_a_loop_writes_it_is_refused():
    """The loop's first iteration writes ``b[i, 0]``, of which all have what it was before."""
    body = "for i in range(n):\n    t = b[i, 0]\n    for j in range(m): b[i, j] = b[i, j] + t"
    workload = LoopWorkload("f", nest_of("b: int32[n, m]", body), {"b": np.ones((4, 5), np.int32)})
    with Device("sram_b2", "model") as device:
        with pytest.raises(WorkloadError, match=r"^f.py:3:13: b is written at f.py:4:28 by"):
            device.run(device.compile(workload, place="near"), workload.inputs)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(1, n): a[i, 0, 0] = a[i - 1, 0, 0] * 3 + b[i, 0, 0]",
        "for i in range(n):\n"
        "    for j in range(1, m): a[i, j, 0] = a[i, j - 1, 0] * 3 + a[i, j, 0]",
        "for i in range(n):\n    for j in range(m):\n"
        "        for k in range(1, o): a[i, j, k] = a[i, j, k - 1] * 3 + b[i, j, k]",
        "for i in range(n):\n    t = b[i, 0, 0] * 3\n    for j in range(m):\n"
        "        for k in range(1, o): a[i, j, k] = a[i, j, k - 1] * 3 + t",
    ],
)
def test_what_iterations_hand_on_is_done_in_the_order_of_the_source(body: str):
    """In one, two and three loops, once, and with a local of the outermost of three."""
    nest = nest_of("a: int32[n, m, o], b: int32[n, m, o]", body)
    numbers = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    workload = LoopWorkload("f", nest, {"a": numbers, "b": 7 - numbers})
    with Device("sram_b2", "model") as device:
        result = device.run(device.compile(workload, place="near"), workload.inputs)
        assert device.verify(result).bit_exact
