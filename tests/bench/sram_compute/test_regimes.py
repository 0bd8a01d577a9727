"""The benchmark of regimes."""

from __future__ import annotations

from pathlib import Path

from bench.lib.records import records
from bench.sram_compute_parts import regimes


def made(name: str, **cycles: int):
    job = regimes.Job(name, {"n": 9}, 0, False)
    values = {**dict.fromkeys(regimes.METRICS), **cycles, "on_rtl": 3, "bit_exact": True}
    return records(regimes.BENCH, job.labels, values, regimes.METRICS, job.setting())


def test_places_in_each_regime(tmp_path: Path):
    found = made("mm", memory_stored=100, memory_stay=80, near_stored=200, near_stay=40, core=300)
    found += made("conv2d", near_stored=800, near_stay=400, near_resident=100, core=400)
    assert regimes.verdict(found).splitlines() == [
        "memory over near: loaded and stored 2.00 (1 workloads), loaded, results stay 0.50 "
        "(1 workloads); the paper's 2.1",
        "near over core: loaded and stored 0.87 (2 workloads), loaded, results stay 2.74 "
        "(2 workloads), resident 4.00 (1 workloads); the paper's 2.0",
        "best over core: loaded and stored 1.22 (2 workloads), loaded, results stay 2.74 "
        "(2 workloads), resident 4.00 (1 workloads); the paper's 5.1",
        "best over near: loaded and stored 1.41 (2 workloads), loaded, results stay 1.00 "
        "(2 workloads), resident 1.00 (1 workloads); the paper's 2.6",
        "bit-exact: 2 of 2 rows; 6 runs on RTL, too",
    ]
    (table,) = regimes.tables(found).values()
    assert table.body[0] == "mm|n 9|100|80||200|40||300|3|yes".split("|")
    regimes.draw(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_a_regime_on_the_rtl():
    found = regimes.measure(regimes.Job("vec_add", {"n": 16}, 0, True, "sram_b2"))
    assert found["bit_exact"] and found["on_rtl"] == 7
    assert found["memory_stored"] > found["memory_stay"] > found["memory_resident"]
