"""Operators of nests, through scf, in programs of both kinds."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.dependent_runs import check_tmu

INT32 = np.iinfo(np.int32)
INPUTS = {
    "x": np.array([0, 1, -1, 7, 7, INT32.min, INT32.max, -12], np.int32),
    "y": np.array([0, 2, 31, 7, -8, 1, INT32.max, 3], np.int32),
    "a": np.array([0.0, -0.0, 1.5, -2.25, np.inf, 3.0, np.nan, 1e-40], np.float32),
    "b": np.array([-0.0, 2.0, 1.5, 8.5, -np.inf, np.nan, 0.0, 2e-40], np.float32),
}

RESULTS = {
    "int32": (
        "-x[i]",
        "x[i] - y[i]",
        "x[i] * y[i]",
        "x[i] << 3",
        "x[i] >> 3",
        "min(x[i], y[i])",
        "max(x[i], y[i])",
        "1 if not x[i] < y[i] else 2",
        "1 if not (x[i] <= y[i] or a[i] != b[i]) else 2",
        "1 if a[i] >= b[i] and not a[i] == b[i] else 2",
    ),
    "float32": (
        "-a[i]",
        "abs(a[i])",
        "sqrt(b[i])",
        "a[i] / b[i]",
        "min(a[i], b[i])",
        "max(a[i], b[i])",
        "float32(x[i])",
    ),
}


def nest_of(type: str, result: str) -> Nest:
    return read_source(
        "n = sizes('n')\n\n\n@nest\n"
        f"def f(x: int32[n], y: int32[n], a: float32[n], b: float32[n], out: {type}[n]):\n"
        f"    for i in range(n):\n        out[i] = {result}\n",
        "file.py",
    )


@pytest.mark.parametrize("coupled", (False, True), ids=("decoupled", "coupled"))
@pytest.mark.parametrize(
    "type, result", [(type, each) for type, results in RESULTS.items() for each in results]
)
def test_operators(type: str, result: str, coupled: bool):
    workload = LoopWorkload("f", nest_of(type, result), INPUTS)
    check_tmu(workload, TmuConfig(lanes=4), coupled=coupled, reassociate=False)


@pytest.mark.parametrize(
    "type, result, lacks",
    [("int32", "abs(x[i])", "abs of int32"), ("int32", "int32(a[i])", "float32 as int32")],
)
def test_what_has_no_operation(type: str, result: str, lacks: str):
    with pytest.raises(WorkloadError) as caught:
        to_scf(nest_of(type, result), {"n": 8})
    assert str(caught.value) == f"file.py:7:18: {lacks}: not supported by the execute unit"
