"""The TMU's benchmark: what it measures, and what it says of it."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench.lib.records import records
from bench.lib.request import Request
from bench.tmu import main
from bench.tmu_parts import bags, by_hand, coupled, gathers, graphs, merging, merging_cells, rates
from bench.tmu_parts.bags import Job
from gnarl.sw.compiler.tmu.by_hand.written import PROGRAMS
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.sources import OPERATIONS, named_workload


def made(job: Job, cycles: int, share: float, instructions: float = 0.4, words: float = 1.0):
    values = dict.fromkeys(bags.METRICS, 0) | {
        "cycles": cycles,
        "share": share,
        "instructions_an_element": instructions,
        "words_an_element": words,
        "bit_exact": True,
    }
    return records(bags.BENCH, job.labels, values, bags.METRICS, job.setting())


@pytest.fixture
def found():
    given = {"backend": "rtl", "seed": 0}
    found = made(Job("rm2", "L0", 0, **given), 2000, 0.05, 6.0, 3.0)
    found += made(Job("rm2", "L0", 3, **given), 200, 0.5)
    found += made(Job("rm2", "L0", 4, **given), 100, 0.94)
    return found + made(Job("rm2", "L0", 4, changes=("latency=200",), **given), 106, 0.9)


def test_the_verdict(found):
    assert bags.verdict(found) == (
        "RM2, level 4: 94.0% of the bound, at least 95% ✘\n"
        "RM2, level 3 over level 0: 10.0 ×, 6.00 instructions an element before and 0.40 after, "
        "3.00 and 1.00 words\n"
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


def made_rates(level: int, access: int, execute: int):
    values = {
        "words": 1200,
        "tokens": 100,
        "access_cycles": access,
        "execute_cycles": execute,
        "access_rate": 1200 / access,
        "execute_rate": 1200 / execute,
        "bit_exact": True,
    }
    job = rates.Job("rm1", level, "rtl", 0)
    return records(rates.BENCH, job.labels, values, rates.METRICS, job.setting())


def test_rates_of_both_units(tmp_path: Path):
    found = made_rates(0, 1200, 4800) + made_rates(3, 300, 600) + made_rates(4, 300, 150)
    assert rates.verdict(found) == (
        "RM1, access / execute unit, words a cycle: 1.00 / 0.25 at level 0, 4.00 / 2.00 at level "
        "3, 4.00 / 8.00 at level 4; the access unit is the slower one at 4; "
        "the execute unit is the slower one at 0, 3"
    )
    (table,) = rates.tables(found).values()
    assert table.body[0] == ["rm1", "0", "1,200", "100", "1,200", "4,800", "1.00", "0.25"]
    rates.draw(found, tmp_path / "rates.png")
    assert (tmp_path / "rates.png").stat().st_size > 1000


def test_rates_of_all_models_and_levels(tmp_path: Path):
    request = Request(tmp_path, tmp_path, "rtl", 0, False, Console(file=StringIO()), {})
    found = [(job.model, job.level) for job in rates.jobs(request)]
    assert len(set(found)) == len(found)
    assert set(found) == {("rm1", 0)} | {
        (model, level) for model in bags.MODELS for level in (1, 2, 3, 4)
    }


@pytest.mark.slow
def test_units_run_apart(tmp_path: Path):
    """Each takes less than both together, and what it takes does not depend on what ran before."""
    request = Request(tmp_path, tmp_path, "rtl", 0, True, Console(file=StringIO()), {})
    first, last = rates.jobs(request)
    found = {job: rates.measure(job) for job in (last, first)}
    assert all(values["bit_exact"] for values in found.values())
    assert found[first]["words"] == 3 * found[last]["words"]
    assert found[first]["execute_rate"] < found[last]["execute_rate"] / 5
    assert rates.measure(last) == found[last]
    workload = named_workload("embedding_bag:tiny", 0)
    with Device("tmu_l2", "rtl") as device:
        for job, values in found.items():
            together = device.run(device.compile(workload, opt=job.level), workload.inputs)
            assert max(values["access_cycles"], values["execute_cycles"]) < together.cycles
            assert together.counters["tokens_queued"] == values["tokens"]


def made_coupled(job: coupled.Job, cycles: int):
    values = dict.fromkeys(coupled.METRICS, 0) | {"cycles": cycles, "bit_exact": True}
    return records(coupled.BENCH, job.labels, values, coupled.METRICS, job.setting())


@pytest.fixture
def compared():
    found = []
    for workload, cycles in (
        ("embedding_bag:rm1", (210, 200, 100)),
        ("spmm:arxiv", (800, 801, 100)),
    ):
        for program, count in zip(coupled.PROGRAMS, cycles, strict=True):
            found += made_coupled(coupled.Job(workload, program, "rtl", 0), count)
    for program, count in zip(coupled.PROGRAMS, (300, 310, 100), strict=True):
        job = coupled.Job(coupled.MEMORY, program, "rtl", 0, ("latency=200", "loads=8"))
        found += made_coupled(job, count)
    return found


def test_decoupled_over_coupled(compared, tmp_path: Path):
    assert coupled.verdict(compared) == (
        "decoupled over the best coupled, geometric mean of 2 operations: 4.00 ×\n"
        "RM1 with latencies of 50 to 200 and 8 to 32 loads under way: 2.00 to 3.00 ×"
    )
    _, ratios = coupled.tables(compared).values()
    assert ratios.body == [
        ["embedding_bag:rm1", "as shipped", "coupled, by hand", "2.00"],
        ["spmm:arxiv", "as shipped", "coupled", "8.00"],
        ["embedding_bag:rm1", "latency=200 loads=8", "coupled", "3.00"],
    ]
    coupled.draw(compared, tmp_path / "coupled.png")
    assert (tmp_path / "coupled.png").stat().st_size > 1000


def test_all_comparisons_are_different(tmp_path: Path):
    request = Request(tmp_path, tmp_path, "rtl", 0, False, Console(file=StringIO()), {})
    labels = [tuple(job.labels.items()) for job in coupled.jobs(request)]
    assert len(set(labels)) == len(labels)
    assert {job.workload for job in coupled.jobs(request)} == set(coupled.WORKLOADS)


def made_ref(workload: str, program: str, cycles: int):
    values = {"cycles": cycles, "instructions": 7, "share": 0.5, "bit_exact": True}
    job = coupled.Job(workload, program, "rtl", 0)
    return records(by_hand.BENCH, job.labels, values, by_hand.METRICS, job.setting())


def test_compiled_over_by_hand(tmp_path: Path):
    found = []
    for workload, counts in (("embedding_bag:rm1", (98, 196, 100)), ("spmm:arxiv", (100, 800, 98))):
        for program, cycles in zip(by_hand.PROGRAMS, counts, strict=True):
            found += made_ref(workload, program, cycles)
    found += made_ref("fused_mm:arxiv", by_hand.BY_HAND, 3)  # nothing to compare it with yet
    share = "share of the speed of programs by hand, geometric mean of"
    assert by_hand.verdict(found) == (
        f"level 3, {share} 2 operations of table I: 25.0%\n"
        f"level 4, {share} 2 operations of table I: 100.0%, at least 99% ✔"
    )
    merged = made_ref("matrix_sum:a", by_hand.BY_HAND, 30) + made_ref("matrix_sum:a", "level 4", 60)
    assert by_hand.verdict(merged) == (
        f"level 4, {share} 1 operations of merging: 50.0%, at least 99% ✘"
    )
    slower = made_ref("spmm:arxiv", by_hand.BY_HAND, 98) + made_ref("spmm:arxiv", "level 4", 100)
    assert by_hand.verdict(slower).endswith("98.0%, at least 99% ✘")
    runs, speeds = by_hand.tables(found).values()
    assert runs.body[0] == ["embedding_bag:rm1", "by hand", "98", "0.500", "7"]
    assert speeds.body == [
        ["embedding_bag:rm1", "0.500", "0.980"],
        ["spmm:arxiv", "0.125", "1.020"],
    ]
    by_hand.draw(found, tmp_path / "ref.png")
    assert (tmp_path / "ref.png").stat().st_size > 1000


def test_every_program_by_hand_is_compared(tmp_path: Path):
    console = Console(file=StringIO())
    request = Request(tmp_path, tmp_path, "rtl", 0, False, console, {})
    without_matrix = by_hand.jobs(request)
    assert "skipped" in console.file.getvalue()
    file = tmp_path / "sam" / f"{merging.MATRIX}.mtx"
    file.parent.mkdir()
    file.touch()
    found = by_hand.jobs(request)
    assert len(found) - len(without_matrix) == len(by_hand.MATRICES) * len(by_hand.PROGRAMS)
    assert found[-1].name == f"compressed_matrix_product:{file}"
    assert found[-1].workload == "compressed_matrix_product:lp_scsd1"
    assert len({(job.workload, job.program) for job in found}) == len(found)
    nests = {OPERATIONS[job.workload.partition(":")[0]].nest.name for job in found}
    assert nests == set(PROGRAMS)
    assert {job.program for job in found} == set(by_hand.PROGRAMS)


def test_the_model_which_has_no_cycles_is_refused():
    done = CliRunner().invoke(main, ["bags", "--quick", "--backend", "model"])
    assert done.exit_code == 2
    assert "No such option" in done.output and "--backend" in done.output


def test_merging_over_others(tmp_path: Path):
    found = []
    for operation, counts in (
        ("matrix_sum", (100, 400, 410, 50)),
        ("matrix_product", (100, 950, 900, 200)),
    ):
        for machine, cycles in zip(merging.MACHINES, counts, strict=True):
            job = merging.Job(operation, Path("a.mtx"), machine, "rtl", 0)
            values = {"cycles": cycles, "bit_exact": True}
            metrics = {metric: merging.METRICS[metric] for metric in values}
            found += records(merging.BENCH, job.labels, values, metrics, job.setting())
    assert merging.verdict(found) == (
        "cycles of the best coupled over merging's, geometric mean of 2 operations: 6.00 ×\n"
        "cycles of SAM over merging's, geometric mean of 2 operations: 1.00 ×"
    )
    assert merging.tables(found)["Merging"].body[0] == [
        "matrix_sum",
        "a",
        "TMU, level 4",
        "100",
        "",
        "",
    ]
    merging.draw(found, tmp_path / "merging.png")
    assert (tmp_path / "merging.png").stat().st_size > 1000


def test_cells_of_machines_that_merge(tmp_path: Path):
    console = Console(file=StringIO())
    request = Request(tmp_path, tmp_path, "rtl", 0, False, console, {})
    machines = merging.machines(request)
    assert [str(each) for each in machines] == [
        "tmu_l8 for all",
        "sam_fp32 for mat_elemmul",
        "sam_fp32 for mat_elemadd",
        "sam_fp32 for matmul_ijk",
    ]
    quick = merging.machines(replace(request, quick=True))
    assert quick == machines[1:2]
    found = []
    for job, gates in zip(machines, (900, 100, 200, 300), strict=True):
        values = dict.fromkeys(merging_cells.METRICS, 7) | {"gates": gates}
        found += records(
            merging_cells.BENCH, job.labels, values, merging_cells.METRICS, job.setting()
        )
    assert merging.verdict(found) == (
        "gates of the TMU over those of SAM's hardware for one operation: 3.0 to 9.0 ×; over those "
        "for all 3: 1.5 ×"
    )
    assert merging.tables(found)["Cells"].body[1] == [
        "SAM",
        "matrix_elementwise_product",
        "7",
        "7",
        "100",
        "7",
        "7",
    ]
    assert merging_cells.verdict(found[-5:]) == ""


def made_graph(job: graphs.Job, cycles: float):
    values = dict.fromkeys(graphs.METRICS, 0) | {"cycles_an_edge": cycles, "bit_exact": True}
    return records(graphs.BENCH, job.labels, values, graphs.METRICS, job.setting())


def test_graphs_of_two_sizes(tmp_path: Path):
    found = made_graph(graphs.Job("Cora", 0, "rtl", 0, Path("cora.mtx")), 50)
    for graph, costs in (("arxiv", (100, 104)), ("mag", (100, 106))):
        for vertices, cost in zip(graphs.SIZES, costs, strict=True):
            found += made_graph(graphs.Job(graph, vertices, "rtl", 0), cost)
    assert graphs.verdict(found) == (
        "arxiv, cycles an edge at two sizes: 4.0% apart, at most 5% ✔\n"
        "mag, cycles an edge at two sizes: 6.0% apart, at most 5% ✘"
    )
    (table,) = graphs.tables(found).values()
    assert [row[:2] for row in table.body[:2]] == [["Cora", "all"], ["arxiv", "1024"]]
    graphs.draw(found, tmp_path / "graphs.png")
    assert (tmp_path / "graphs.png").stat().st_size > 1000


def test_real_graphs_are_measured_where_there_are_files(tmp_path: Path):
    console = Console(file=StringIO())
    request = Request(tmp_path, tmp_path, "rtl", 0, False, console, {})
    assert len(graphs.jobs(request)) == len(graphs.POWER_LAW) * len(graphs.SIZES)
    assert "is absent: skipped" in console.file.getvalue()
    file = tmp_path / graphs.REAL["Cora"]
    file.parent.mkdir()
    file.touch()
    assert graphs.jobs(request)[0].workload == f"spmm:{file}"


def made_gather(name: str, misses: int, kept: float):
    job = gathers.Job(name, "rtl", 0)
    values = dict.fromkeys(gathers.METRICS, 0) | {
        "misses": misses,
        "model_misses": 100,
        "kept": kept,
        "kept_embeddings": kept / 2,
        "bit_exact": True,
    }
    return records(gathers.BENCH, job.labels, values, gathers.METRICS, job.setting())


def test_reads_kept_from_memory(tmp_path: Path):
    found = made_gather("block_gather:b1", 100, 0.5) + made_gather("block_gather:b2", 101, 0.75)
    assert gathers.verdict(found) == (
        "reads kept from memory, of embeddings: 25% to 38%, Ember's 67% to 74%\n"
        "reads kept from memory, of all: 50% to 75%, Ember's 50% to 65%\n"
        "misses at most 1.00% off those of a model of that L2, at most 0.1% ✘"
    )
    assert gathers.verdict(found[: len(gathers.METRICS)]).endswith("at most 0.1% ✔")
    (table,) = gathers.tables(found).values()
    assert [row[0] for row in table.body] == ["block_gather:b1", "block_gather:b2"]
    gathers.draw(found, tmp_path / "gathers.png")
    assert (tmp_path / "gathers.png").stat().st_size > 1000
