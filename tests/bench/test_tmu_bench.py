"""The TMU's benchmark: what it measures, and what it says of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.lib.records import records
from bench.lib.request import Request
from bench.tmu_parts import bags, coupled
from bench.tmu_parts.bags import Job


def made(job: Job, cycles: int, share: float):
    values = dict.fromkeys(bags.METRICS, 0) | {"cycles": cycles, "share": share, "bit_exact": True}
    return records(bags.BENCH, job.labels, values, bags.METRICS, job.setting())


@pytest.fixture
def found():
    given = {"backend": "rtl", "seed": 0}
    found = made(Job("rm2", "L0", 0, **given), 2000, 0.05)
    found += made(Job("rm2", "L0", 3, **given), 200, 0.5)
    found += made(Job("rm2", "L0", 4, **given), 100, 0.94)
    return found + made(Job("rm2", "L0", 4, changes=("latency=200",), **given), 106, 0.9)


def test_the_verdict(found):
    assert bags.verdict(found) == (
        "RM2, level 4: 94.0% of the bound, at least 95% ✘\n"
        "level 3 over level 0: RM2 10.0 ×\n"
        "RM2 at a latency of 200: 1.060 × the cycles, at most 1.05 ✘"
    )


def test_the_table_has_a_row_for_each_run(found):
    (table,) = bags.tables(found).values()
    assert [row[:4] for row in table.body] == [
        ["rm2", "L0", "0", "as shipped"],
        ["rm2", "L0", "3", "as shipped"],
        ["rm2", "L0", "4", "as shipped"],
        ["rm2", "L0", "4", "latency=200"],
    ]


def test_a_picture(found, tmp_path: Path):
    bags.draw(found, tmp_path / "bags.png")
    assert (tmp_path / "bags.png").stat().st_size > 1000


def test_all_runs_are_different(tmp_path: Path):
    request = Request(tmp_path, tmp_path, "rtl", 0, False, Console(file=StringIO()), {})
    labels = [tuple(job.labels.items()) for job in bags.jobs(request)]
    assert len(set(labels)) == len(labels)
    assert {job.model for job in bags.jobs(request)} == set(bags.MODELS)


def made_coupled(job: coupled.Job, cycles: int):
    values = dict.fromkeys(coupled.METRICS, 0) | {"cycles": cycles, "bit_exact": True}
    return records(coupled.BENCH, job.labels, values, coupled.METRICS, job.setting())


@pytest.fixture
def compared():
    found = []
    for workload, cycles in (("embedding_bag:rm1", (200, 100)), ("spmm:arxiv", (800, 100))):
        for program, count in zip(coupled.PROGRAMS, cycles, strict=True):
            found += made_coupled(coupled.Job(workload, program, "rtl", 0), count)
    for program, count in zip(coupled.PROGRAMS, (300, 100), strict=True):
        job = coupled.Job(coupled.MEMORY, program, "rtl", 0, ("latency=200", "loads=8"))
        found += made_coupled(job, count)
    return found


def test_decoupled_over_coupled(compared, tmp_path: Path):
    assert coupled.verdict(compared) == (
        "decoupled over coupled, geometric mean of 2 operations: 4.00 ×\n"
        "RM1 with latencies of 50 to 200 and 8 to 32 loads under way: 2.00 to 3.00 ×"
    )
    _, ratios = coupled.tables(compared).values()
    assert ratios.body == [
        ["embedding_bag:rm1", "as shipped", "2.00"],
        ["spmm:arxiv", "as shipped", "8.00"],
        ["embedding_bag:rm1", "latency=200 loads=8", "3.00"],
    ]
    coupled.draw(compared, tmp_path / "coupled.png")
    assert (tmp_path / "coupled.png").stat().st_size > 1000


def test_all_comparisons_are_different(tmp_path: Path):
    request = Request(tmp_path, tmp_path, "rtl", 0, False, Console(file=StringIO()), {})
    labels = [tuple(job.labels.items()) for job in coupled.jobs(request)]
    assert len(set(labels)) == len(labels)
    assert {job.workload for job in coupled.jobs(request)} == set(coupled.WORKLOADS)
