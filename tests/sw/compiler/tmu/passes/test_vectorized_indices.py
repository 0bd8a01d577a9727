"""Lanes of a vector have different induction variables, which are no vectors: what is made of one
is not computed once for all lanes."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.dependent_runs import check_tmu

CONFIG = load_configuration("tmu_l2").config

STATEMENTS = {
    "stored": "y[i] = i",
    "stored shifted": "y[i] = i + t",
    "stored scaled": "y[i] = 3 * i - t",
    "stored as a real number": "b[i] = float32(i)",
    "chosen": "y[i] = i if t > 0 else x[i]",
    "chosen otherwise": "y[i] = x[i] if t > 3 else i",
    "chosen by itself": "y[i] = x[i] if i > 2 else t",
    "chosen of two": "y[i] = i if t > 0 else i + 1",
    "largest": "y[i] = max(x[i], i)",
    "least": "y[i] = min(i, x[i])",
    "added": "y[i] = x[i] + i",
    "summed": "r[0] += i",
    "summed shifted": "r[0] += i + t",
    "product": "b[i] = c[i] * float32(i)",
    "compared": "y[i] = 1 if i == t else 0",
    "its own place": "y[i] = x[i] - (y[i] - i)",
}

NEST = """
from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

n, m = sizes("n", "m")


@nest
def indices(
    b: float32[n], c: float32[n], x: int32[n], y: int32[n], r: int32[4], t: int32, k: int32[m]
):
    for o in range(m):
        for i in range(o, n):
            b[i] = c[i]
            {}
"""


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_lanes_have_their_own_index(statement: str) -> None:
    nest = read_source(NEST.format(statement), "indices.py")
    for n in (1, 2, 5, 8):
        inputs = {
            "b": np.zeros(n, np.float32),
            "c": np.arange(n, dtype=np.float32) / 4,
            "x": np.arange(n, dtype=np.int32)[::-1].copy(),
            "y": np.full(n, 9, np.int32),
            "r": np.zeros(4, np.int32),
            "t": np.array(2, np.int32),
            "k": np.zeros(2, np.int32),
        }
        workload = LoopWorkload("indices", nest, inputs)
        for options in ({"coupled": True}, *({"opt": level} for level in range(5))):
            check_tmu(workload, CONFIG, **options)
