"""Sums that arrays begin and stream engines finish, as workloads: cycles are counted apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.figures import figures
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.sw.runtime.sram_compute.nests.test_three_places import SMALL

pytest.importorskip("egglog")


SUM = "void sum(int n, int32_t a[n], int32_t s[1]) {\n for (int i = 0; i < n; i++) s[0] += a[i];\n}"


def test_rtl_counts_what_the_model_counts(tmp_path: Path):
    path = tmp_path / "sum.c"
    path.write_text(SUM)
    values = {"a": np.random.default_rng(5).integers(-(1 << 31), 1 << 31, 100).astype(np.int32)}
    given = LoopWorkload("sum", file_workload(str(path), {}).nest, values)
    config = load_configuration("sram_b2", SMALL)
    results = []
    for backend in ("model", "rtl"):
        with Device(config, backend) as device:
            result = device.run(device.compile(given, place="memory"), values)
            assert device.verify(result).bit_exact
            results.append(result)
    model, rtl = results
    assert (rtl.cycles, rtl.counters) == (model.cycles, model.counters)
    assert rtl.counters["cycles_final"] > rtl.counters["cycles_move"] > 0
    assert rtl.counters["cycles_near"] == 0
    assert rtl.outputs["s"].tolist() == [np.sum(values["a"], dtype=np.int32)]
    found = figures(rtl.program, rtl)
    assert ("final reduction", rtl.counters["cycles_final"]) in found.charts[0].bars
