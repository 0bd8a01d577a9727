"""The benchmark of energy and traffic."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lib.records import records
from bench.sram_compute_parts import energy
from gnarl.hw.sram_compute.memory_map import EVENTS, TOTALS
from gnarl.sw.runtime.target.configuration import load_configuration


def made(name: str, **values: float):
    job = energy.Job(name, {"n": 9}, 0)
    found = {**dict.fromkeys(energy.METRICS), **values, "bit_exact": True}
    return records(energy.BENCH, job.labels, found, energy.METRICS, job.setting())


def test_ratios_beside_those_of_the_paper(tmp_path: Path):
    found = made("mm", energy_near=60.0, energy_auto=20.0, cycles_auto=50, network_near=4)
    found += made("mm_inner", energy_near=80.0, energy_auto=40.0, cycles_core=200, network_near=4)
    found += made("conv2d", network_core=100, network_near=50, network_auto=25, energy_near=9.0)
    lines = energy.verdict(found).splitlines()
    assert lines[0] == "energy, near over memory or core: none, the paper's 1.5"
    assert lines[1] == "energy, near over auto: 2.45 (2 workloads), the paper's 2.4"
    assert lines[2:5] == [
        "bytes on the network, near over core: 0.50 (1 workloads), the paper's 0.71",
        "bytes on the network, auto over core: 0.25 (1 workloads), the paper's 0.1",
        "bytes on the network, auto over near: 0.50 (1 workloads), the paper's 0.25",
    ]
    assert lines[6].endswith("where the compiler places them: 4.00 (1 workloads), the paper's 4.4")
    assert lines[7] == "bit-exact: 3 of 3 rows"
    tables = energy.tables(found)
    assert tables["Energy, nJ"].body[0] == ["mm", "n 9", "", "60", "", "", "20"]
    assert [row[0] for row in tables["Dataflows"].body] == ["mm", "mm_inner"]
    energy.draw(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "counted, wanted",
    [
        ({"lines_stored": 2}, 2 * (10400 + 32 * 256 * 0.054)),
        ({"cycles_compute": 3}, 3 * 64 * 256 * 0.054),
        ({"bits_between_banks": 100}, 100 * (0.4 + 0.108)),
        ({"core_instructions": 5}, 5 * (70 + 4 * 8.7)),
        ({"near_strips": 1}, 32 * (3.7 + 256 * 0.054)),
    ],
)
def test_events_have_their_energy(counted: dict[str, int], wanted: float):
    config = load_configuration("sram_b4").config
    counters = dict.fromkeys((*EVENTS, *TOTALS), 0) | counted
    assert energy.energy(config, counters) == pytest.approx(wanted)


def test_a_workload_in_all_places():
    found = energy.measure(energy.Job("vec_add", {"n": 16}, 0, "sram_b2"))
    assert found["bit_exact"]
    assert found["cycles_auto"] == min(found["cycles_core"], found["cycles_near"])
    assert found["network_core"] >= 3 * 64 and found["energy_memory"] > found["energy_auto"]
