"""Statements that stream engines cannot do in the order of the source are refused."""

from __future__ import annotations

import numpy as np
import pytest

from hw.lib.errors import WorkloadError
from sw.runtime.device import Device
from sw.workloads.loops.workload import LoopWorkload
from tests.support.tensor_graphs import nest_of


def test_what_is_read_before_a_loop_writes_it_is_refused():
    """The loop's first iteration writes ``b[i, 0]``, of which all have what it was before."""
    body = "for i in range(n):\n    t = b[i, 0]\n    for j in range(m): b[i, j] = b[i, j] + t"
    workload = LoopWorkload("f", nest_of("b: int32[n, m]", body), {"b": np.ones((4, 5), np.int32)})
    with Device("sram_b2", "model") as device:
        with pytest.raises(WorkloadError, match=r"^f.py:3:13: b is written at f.py:4:28 by"):
            device.run(device.compile(workload, place="near"), workload.inputs)
