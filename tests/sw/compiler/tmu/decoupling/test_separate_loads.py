"""Loads at loaded indices, and bounds computed from loads, at any depth of a chain."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.programs import check

HEAD = "n, m, k = sizes('n', 'm', 'k')\n\n\n@nest\n"

NESTS = {
    "one index": """\
def f(x: float32[n], c: int32[m], y: float32[m]):
    for p in range(m):
        y[p] += x[c[p] + 1]
""",
    "a chain": """\
def f(x: float32[n], c: int32[m], y: float32[m]):
    for p in range(m - 1):
        y[p] = x[c[c[p] - 1] + 1] * x[p]
""",
    "outside of the innermost loop": """\
def f(x: float32[n], c: int32[m], v: float32[m, k], y: float32[m, k]):
    for p in range(m):
        for e in range(k):
            y[p, e] += x[c[p]] * v[p, e]
""",
    "a bound": """\
def f(x: float32[n], c: int32[m], y: float32[m]):
    for p in range(m):
        for e in range(c[p], c[p] + 2):
            y[p] += x[e]
""",
    "a bound at a loaded index": """\
def f(x: float32[n], c: int32[m], y: float32[m]):
    for p in range(m):
        for e in range(c[c[p]]):
            y[p] += x[e]
""",
    "bounds of the outermost loop": """\
def f(x: float32[n], c: int32[m], y: float32[n]):
    for p in range(c[1], c[0]):
        y[p] = x[p]
""",
    "a value that is stored before": """\
def f(x: float32[n], c: int32[m], y: float32[n], z: float32[m]):
    for p in range(m):
        z[p] = x[p]
        y[c[p]] += x[c[p]] * z[p]
""",
}


@pytest.mark.parametrize("opt", (0, 4))
@pytest.mark.parametrize("name", NESTS)
def test_loads_at_loaded_indices(name: str, opt: int) -> None:
    nest = read_source(HEAD + NESTS[name], "f.py")
    values = {
        "x": np.random.default_rng(0).standard_normal(11).astype(np.float32),
        "c": np.array([4, 1, 6, 3, 1, 2, 5], np.int32),
        "v": np.random.default_rng(1).standard_normal((7, 5)).astype(np.float32),
    }
    inputs = {each: values[each] for each in nest.arrays if each in values}
    # What is stored at loaded indices has a size that does not follow from the inputs.
    if "y: float32[n]" in NESTS[name]:
        inputs["y"] = np.zeros(11, np.float32)
    check(nest, inputs, TmuConfig(lanes=4, layers=6), opt)
