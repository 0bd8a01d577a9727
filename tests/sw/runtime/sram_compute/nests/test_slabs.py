"""Arrays that banks have no room for, from source to RTL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.sw.runtime.sram_compute.nests.test_three_places import SMALL

pytest.importorskip("egglog")

THERE_AND_BACK = """
void stencil(int n, int m, int steps, int16_t a[n][m], int16_t b[n][m]) {
  for (int step = 0; step < steps; step++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m; j++) b[i][j] = a[i - 1][j] + a[i + 1][j] - a[i][j - 1];
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m; j++) a[i][j] = b[i - 1][j] - b[i + 1][j] + b[i][j];
  }
}
"""


def test_slabs_of_a_stencil_on_rtl(tmp_path: Path):
    path = tmp_path / "stencil.c"
    path.write_text(THERE_AND_BACK)
    chance = np.random.default_rng(0)
    values = {name: chance.integers(-99, 99, (11, 32), np.int16) for name in "ab"}
    given = LoopWorkload("stencil", file_workload(str(path), {}).nest, {**values, "steps": 2})
    config = load_configuration("sram_b2", SMALL)
    results = []
    for backend in ("model", "rtl"):
        with Device(config, backend) as device:
            result = device.run(device.compile(given, place="memory"), given.inputs)
            assert device.verify(result).bit_exact
            results.append(result)
    model, rtl = results
    assert {name: rtl.counters[name] for name in model.counters} == model.counters
    assert rtl.counters["cycles_compute"] > 0
    assert rtl.counters["cycles_core"] == 0
