"""Local arrays that memory alone uses never reach main memory."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.sw.runtime.sram_compute.nests.test_three_places import SMALL

pytest.importorskip("egglog")

PIPELINE = """
#include <math.h>
void pipeline(int h, int w, const float in[h][w], float out[h][w]) {
  float blur[h][w], gx[h][w], gy[h][w];
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      float s = 0;
      for (int di = -1; di <= 1; di++) for (int dj = -1; dj <= 1; dj++) s += in[i + di][j + dj];
      blur[i][j] = s * (1.0f / 9.0f);
    }
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      gx[i][j] = blur[i][j + 1] - blur[i][j - 1];
      gy[i][j] = blur[i + 1][j] - blur[i - 1][j];
    }
  for (int i = 0; i < h; i++)
    for (int j = 0; j < w; j++) out[i][j] = fabsf(gx[i][j]) + fabsf(gy[i][j]) > 0.5f;
}
"""
"""Blurs, takes the gradient and compares: of the borders, zeros."""

SHARED = """
void shared(int n, const int a[n], const int at[n], int b[n], int c[n]) {
  int t[n], u[n];
  for (int i = 0; i < n; i++) t[i] = a[i] + 1;
  for (int i = 1; i < n; i++) u[i] = t[i - 1] * 3;
  for (int i = 0; i < n; i++) b[i] = t[i];
  for (int i = 0; i < n; i++) t[i] = t[i] + u[i];
  for (int i = 0; i < n; i++) c[i] = t[at[i]] + b[i];
}
"""
"""Of a and u memory alone knows; the last loop, which gathers, is for another place."""

UNTOUCHED = """
#include <stdint.h>
void untouched(int n, const int8_t a[n], int8_t b[n], int8_t c[n], int8_t d[n]) {
  int8_t t[n], z[n];
  for (int i = 1; i < n; i++) t[i] = a[i];
  for (int i = 0; i < n - 2; i++) b[i] = t[i] + z[i + 2];
  for (int i = 0; i < n; i++) c[i] = z[i];
  for (int i = 2; i < n; i++) z[i - 2] = b[i];
  for (int i = 0; i < n; i++) d[i] = z[i];
}
"""
"""Reads zeros of local arrays."""


def ran(text: str, sizes: dict[str, int], place: str, config: str = "sram_b4", **given: np.ndarray):
    nest = read_source(text, "t.c")
    with Device(load_configuration(config), "model") as device:
        program = device.compile(LoopWorkload(nest.name, nest, given, sizes), place=place)
        result = device.run(program, {**given, **sizes})
        assert device.verify(result).bit_exact
    return result


def test_a_pipeline_loads_and_stores_what_it_is_given_and_gives():
    image = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    result = ran(PIPELINE, {"h": 64, "w": 64}, "memory", **{"in": image})
    assert result.counters["lines_loaded"] == result.counters["lines_stored"] == 64 * 64 // 16
    assert result.cycles <= 60_000


def test_what_another_place_uses_is_in_main_memory():
    random = np.random.default_rng(1)
    given = {
        "a": random.integers(-9, 9, 40, np.int32),
        "at": random.integers(0, 40, 40).astype(np.int32),
    }
    assert ran(SHARED, {"n": 40}, "auto", **given).outputs.keys() == {"b", "c"}


@pytest.mark.parametrize("n", [2, 3, 31, 70])
def test_local_arrays_begin_as_zeros(n: int):
    given = np.random.default_rng(n).integers(-128, 128, n).astype(np.int8)
    result = ran(UNTOUCHED, {"n": n}, "memory", a=given)
    t = np.where(np.arange(n) > 0, given, 0)
    b = np.where(np.arange(n) < n - 2, t, 0)
    z = np.concatenate([b[2:], np.zeros(2, np.int8)])
    for name, wanted in (("b", b), ("c", np.zeros(n, np.int8)), ("d", z)):
        assert result.outputs[name].tolist() == wanted.tolist()


def test_on_rtl():
    nest = read_source(UNTOUCHED, "t.c")
    given = {"a": np.arange(-20, 20, dtype=np.int8)}
    workload, results = LoopWorkload("untouched", nest, given, {"n": 40}), []
    for backend in ("model", "rtl"):
        with Device(load_configuration("sram_b2", SMALL), backend) as device:
            program = device.compile(workload, place="memory")
            results.append(device.run(program, {**given, "n": 40}))
            assert device.verify(results[-1]).bit_exact
    model, rtl = results
    assert {name: rtl.counters[name] for name in model.counters} == model.counters
