"""``expf`` and ``powf``: how far from the exact value, and where they may stand."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind

EXP = """
#include <math.h>
void e(int n, const float x[n], float y[n]) {
  for (int i = 0; i < n; i++) y[i] = expf(x[i]);
}
"""
POW = """
#include <math.h>
void p(int n, const float x[n], const float y[n], float r[n]) {
  for (int i = 0; i < n; i++) r[i] = powf(x[i], y[i]);
}
"""

SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 0.5, -0.5, 3, -3, 1e-40, -1e-40, 1e30]
SPECIAL += [3e38, 0.99999994, 1.0000001, 8388607, 8388609, 16777216, 1e11, -1e11, 2.5, -2.5]
EDGES = [88.72283, 88.72284, 89, -87.33, -103.27, -103.97, -103.98, -104, 0.34657359, -0.34657359]


def results(text: str, **given: np.ndarray) -> np.ndarray:
    nest = read_source(text, "e.c")
    with np.errstate(all="ignore"):
        (found,) = GoldenLoops(nest).run(bind(nest, given)).values()
    return found


def errors(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """In units in the last place; of what float32 does not have, whether it is something else."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32)
        far = np.abs(found.astype(np.float64) - exact) / np.spacing(np.abs(nearest))
    same = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
    return np.where(np.isfinite(nearest) & np.isfinite(found), far, ~same)


def test_exponentials():
    random = np.random.default_rng(0)
    drawn = (random.uniform(-106, 90, 100_000), random.standard_normal(50_000), SPECIAL, EDGES)
    x = np.concatenate(drawn).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
    assert errors(results(EXP, x=x), exact).max() <= 1


def test_powers():
    random = np.random.default_rng(1)
    large = np.exp(random.uniform(-85, 85, 50_000))
    near = random.uniform(0.5, 2, 100_000)
    a, b = np.meshgrid(np.array(SPECIAL), np.array(SPECIAL))
    x = np.concatenate([a.ravel(), large, near, random.uniform(0, 5, 20_000)]).astype(np.float32)
    y = np.concatenate(
        [
            b.ravel(),
            random.uniform(-100, 100, 50_000) / np.log(large),
            random.uniform(-95, 95, 100_000) / np.log(near),
            random.uniform(-5, 5, 20_000),
        ]
    ).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    found = results(POW, x=x, y=y)
    assert errors(found, exact).max() <= 3
    is_number = ~np.isnan(exact)
    assert (np.signbit(found) == np.signbit(exact))[is_number].all()


def read(body: str) -> None:
    head = "#include <math.h>\nstatic inline float sq(float x) { return expf(x) * x; }\n"
    read_source(f"{head}void f(int n, float s, float x[n]) {{ {body} }}", "f.c", "f")


def test_where_they_may_stand():
    read("float t = s > 0.0f ? expf(s) : powf(s, 2.0f); x[0] = t + sq(x[1]);")
    read("for (int i = 0; i < n; i++) if (expf(x[i]) > 1.0f) x[i] += expf(expf(x[i]));")
    for body, problem in (
        ("x[0] = s > 0.0f ? expf(x[1]) : s;", "f.c:3:56: expf of an element under a condition"),
        ("if (s > 0.0f && powf(x[0], s) > 1.0f) x[0] = s;", "powf of an element under a condition"),
        ("x[0] = expf(s, s);", "expf takes 1 values, not 2"),
    ):
        with pytest.raises(WorkloadError, match=problem):
            read(body)
