"""The benchmark of in-SRAM computing: what it measures, and what it says of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.lib.records import Record, records
from bench.lib.request import Request
from bench.sram_compute import PARTS
from bench.sram_compute_parts import (
    bitlines,
    cycles,
    lowering,
    operations,
    optimiser,
    page,
    placement,
    places,
    simulation,
    tiles,
)
from bench.sram_compute_parts.workloads import (
    IN_PARTS,
    OTHERS,
    SEVERAL,
    TABLE_3,
    WHOLE,
    names,
    nest,
    workload,
)
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine
from gnarl.sw.compiler.sram_compute.tdfg.plan import Repeat, plan, refusals, regions
from gnarl.sw.compiler.sram_compute.tiles import Tiling
from gnarl.sw.runtime.target.configuration import load_configuration


@pytest.fixture
def request_of_all(tmp_path: Path) -> Request:
    return Request(tmp_path, tmp_path, "rtl", 0, False, Console(file=StringIO()), {})


def made_operation(name: str, type: str, width: int, data: str, count: int, rows: int = 0):
    job = operations.Job(name, type, width, data, 0)
    values = {"cycles": count, "fewest": count - 1, "scratch_rows": rows, "bit_exact": True}
    return records(operations.BENCH, job.labels, values, operations.METRICS, job.setting())


def require_picture(draw: Any, found: list[Record], folder: Path) -> None:
    draw(found, folder / "picture.png")
    assert (folder / "picture.png").stat().st_size > 1000


def test_operations_beside_what_is_asked(tmp_path: Path):
    found = made_operation("add", "int", 8, operations.ANY, 8)
    found += made_operation("multiply", "int", 4, operations.ANY, 14)
    found += made_operation("multiply", "int", 8, operations.ANY, 49)
    found += made_operation("multiply_full", "int", 8, operations.ANY, 80)
    found += made_operation("add", "float32", 32, operations.NORMAL, 640, 49)
    found += made_operation("add", "float32", 32, operations.ANY, 721)
    assert operations.verdict(found) == (
        "results with the right bits: 6 of 6 operations\n"
        "integer add, n = 8: 8 cycles, limit 8 ✔\n"
        "integer multiply, n = 4, 8: 14, 49 cycles, limit 16, 48 ✘\n"
        "integer multiply_full, n = 8: 80 cycles, limit 80 ✔\n"
        "float32 add, cycles: 640 on normal data, limit 640 ✔; 721 on any bits, limit 720 ✘; "
        "PIMeval writes 685 rows\n"
        "scratch rows: at most 49, limit 48 ✘"
    )
    (table,) = operations.tables(found).values()
    assert table.body[2] == ["multiply", "int8", "any bits", "48 to 49", "48", "104", "0"]
    assert table.body[4][:4] == ["add", "float32", "normal data", "639 to 640"]
    require_picture(operations.draw, found, tmp_path)


def test_all_operations_are_different(request_of_all: Request):
    found = [tuple(job.labels.values()) for job in operations.jobs(request_of_all)]
    assert len(set(found)) == len(found) == 4 * 4 + 3 * 2


@pytest.mark.parametrize(
    "name, type, width, data, fewest, most",
    [
        ("multiply_full", "int", 4, operations.ANY, 21, 21),
        ("add", "float32", 32, operations.NORMAL, 482, 482),
        ("multiply", "float32", 32, operations.ANY, 699, 1400),
    ],
)
def test_operations_are_run(name: str, type: str, width: int, data: str, fewest: int, most: int):
    found = operations.measure(operations.Job(name, type, width, data, 3, sets=1))
    assert found["bit_exact"]
    assert fewest <= found["cycles"] <= most


def test_wrong_results_are_noticed(monkeypatch: pytest.MonkeyPatch):
    job = operations.Job("add", "int", 8, operations.ANY, 0, sets=1)
    monkeypatch.setattr(operations, "_expected", lambda job, a, b: a)
    assert not operations.measure(job)["bit_exact"]


def test_what_is_measured_can_be_read_and_has_a_plan():
    assert {*WHOLE} <= {*names()} and {*TABLE_3} <= {*names()} and {*OTHERS} <= {*names()}
    assert len(set(names())) == len(names())
    assert {"gauss_elim", "mm"} <= {*names()} and "scan" not in names()
    for name in names():
        steps = plan(nest(name), streams=False)
        assert regions(steps) and not refusals(steps), name


def test_sizes_and_scalars_of_workloads():
    given = workload("stencil1d", {"n": 40, "steps": 2}, 1)
    assert given.inputs["a"].shape == (40,)
    assert given.inputs["steps"] == 2
    assert workload("stencil1d", {}, 1).inputs["a"].shape == (16,)


def made_region(name: str, after: int, seconds: float, mib: float):
    job = optimiser.Job(name, 0, 0)
    values = dict.fromkeys(optimiser.METRICS, 7) | {
        "by_constant_before": 4,
        "by_constant": after,
        "seconds": seconds,
        "peak_mib": mib,
    }
    return records(optimiser.BENCH, job.labels, values, optimiser.METRICS, job.setting())


def test_figure_6_and_the_optimisers_limits(tmp_path: Path):
    found = made_region("conv2d", 1, 0.5, 2049) + made_region("mm", 3, 5.0, 100)
    assert optimiser.verdict(found) == (
        "figure 6, multiplications by C0: 4 → 1, asked 4 → 1 ✔\n"
        "slowest of 2 regions: 5.00 CPU s, limit 5 ✔\n"
        "largest peak memory: 2,049 MiB, limit 2,048 MiB ✘"
    )
    assert "4 → 2, asked 4 → 1 ✘" in optimiser.verdict(made_region("conv2d", 2, 1, 1))
    (table,) = optimiser.tables(found).values()
    assert table.body[0][:4] == ["conv2d", "0", "7", "7"]
    require_picture(optimiser.draw, found, tmp_path)


def test_multiplications_are_counted():
    (region,) = regions(plan(nest("conv2d")))
    assert optimiser.multiplications(region.graph) == 9
    assert optimiser.most_by_a_constant(region.graph) == 4
    (region,) = regions(plan(nest("vec_add")))
    assert optimiser.most_by_a_constant(region.graph) == 0


def test_every_region_is_optimised(request_of_all: Request):
    found = [job.labels for job in optimiser.jobs(request_of_all)]
    assert {each["workload"] for each in found} == {*names()}
    assert sum(each["workload"] == "gauss_elim" for each in found) == 3


def made_run(name: str, graphs: str, count: int, backend: str = "rtl", as_model: Any = True):
    job = cycles.Job(name, {}, graphs, backend, 0)
    values = dict.fromkeys(cycles.METRICS, count) | {
        "cycles": 2 * count + 100,
        "cycles_transfer": 100,
        "as_model": as_model,
        "bit_exact": True,
    }
    return records(cycles.BENCH, job.labels, values, cycles.METRICS, job.setting())


def test_cycles_before_and_after(tmp_path: Path):
    found = made_run("conv2d", cycles.BEFORE, 200) + made_run("conv2d", cycles.AFTER, 50)
    found += made_run("mm", cycles.BEFORE, 100, as_model=False) + made_run("mm", cycles.AFTER, 100)
    assert cycles.verdict(found) == (
        "bit-exact: 4 of 4 runs\n"
        "cycles, counters and results on RTL those of the model: 3 of 4 runs\n"
        "cycles after the optimiser over before, geometric mean of 2 workloads: 0.63, "
        "0.40 (conv2d) to 1.00 (mm); without main memory: 0.50, 0.25 (conv2d) to 1.00 (mm)"
    )
    runs, compared = cycles.tables(found).values()
    assert runs.body[2][:5] == ["mm", "16", "before", "rtl", "300"]
    assert runs.body[2][-2:] == ["NO", "yes"]
    assert compared.body == [
        ["conv2d", "0.40", "0.25", "0.25", "0.25"],
        ["mm", "1.00", "1.00", "1.00", "1.00"],
    ]
    require_picture(cycles.draw, found, tmp_path)
    on_model = made_run("mm", cycles.BEFORE, 9, "model", None)
    assert cycles.verdict(on_model) == "bit-exact: 1 of 1 runs"


def test_all_runs_are_different(request_of_all: Request):
    found = [tuple(job.labels.values()) for job in cycles.jobs(request_of_all)]
    assert len(set(found)) == len(found) == 2 * len(names())


def test_without_the_optimiser_a_workload_takes_more_cycles():
    pytest.importorskip("egglog")
    before, after = (
        cycles.measure(cycles.Job("stencil2d_int32", {}, graphs, "model", 0))
        for graphs in (cycles.BEFORE, cycles.AFTER)
    )
    assert before["bit_exact"] and after["bit_exact"]
    assert before["cycles"] > after["cycles"]
    assert after["as_model"] is None


def made_places(name: str, memory: int | None, core: int | None, auto: int):
    job = placement.Job(name, {"n": 9}, 0)
    found = {"memory": memory, "core": core, "auto": auto}
    values: dict[str, Any] = {f"cycles_{place}": count for place, count in found.items()}
    for place in placement.PLACES:
        count = found[place]
        values[f"estimate_{place}"] = None if count is None else count + 10
    values["bit_exact"] = True
    return records(placement.BENCH, job.labels, values, placement.METRICS, job.setting())


def test_auto_against_the_best_place(tmp_path: Path):
    found = made_places("mm", 100, 200, 100) + made_places("conv2d", 150, 100, 120)
    found += made_places("mm_int8", 500, None, 500)
    assert placement.verdict(found) == (
        "auto within 10 % of the best place: 2 of 3 runs ✘; at worst 1.20 (conv2d, n 9)\n"
        "estimate over cycles, memory: 1.020 to 1.100, geometric mean 1.062, of 3 runs\n"
        "estimate over cycles, core: 1.050 to 1.100, geometric mean 1.075, of 2 runs\n"
        "memory is the faster place in 1 of 2 runs that both take\n"
        "bit-exact: 3 of 3 runs"
    )
    assert "1 of 1 runs ✔" in placement.verdict(made_places("mm", 100, 109, 109))
    (table,) = placement.tables(found).values()
    assert table.body[1] == ["conv2d", "n 9", "150", "100", "120", "1.20", "1.07", "1.10", "yes"]
    assert table.body[2] == ["mm_int8", "n 9", "500", "", "500", "1.00", "1.02", "", "yes"]
    require_picture(placement.draw, found, tmp_path)


def made_three(name: str, n: int, **cycles: int | None):
    job = places.Job(name, {"n": n}, 0, False)
    values: dict[str, Any] = dict.fromkeys(places.METRICS)
    values |= {f"cycles_{place}": count for place, count in cycles.items()}
    values |= {"warm_memory": 50, "warm_near": 100, "least": 90, "least_warm": 70}
    values["bit_exact"] = True
    return records(places.BENCH, job.labels, values, places.METRICS, job.setting())


def test_auto_against_the_best_of_three(tmp_path: Path):
    found = made_three("vec_add", 9, memory=900, near=100, core=200, auto=100)
    found += made_three("vec_add", 99, memory=400, near=100, core=200, auto=100)
    found += made_three("mm", 9, memory=100, near=None, core=None, auto=120)
    assert places.verdict(found).splitlines() == [
        "auto within 10 % of the best of three: 2 of 3 runs ✘; at worst 1.20 (mm, n 9)",
        "memory over near, largest sizes: 0.25 (1 workloads), the paper's 2.1; were near at its "
        "bound: 0.23 (1 workloads)",
        "near over core, largest sizes: 2.00 (1 workloads), the paper's 2.0; were core at its "
        "bound: 0.90 (1 workloads)",
        "auto over core, largest sizes: 2.00 (1 workloads), the paper's 5.1; were core at its "
        "bound: 0.90 (1 workloads)",
        "auto over near, largest sizes: 1.00 (1 workloads), the paper's 2.6; were near at its "
        "bound: 0.90 (1 workloads)",
        "memory over near, warm: 2.00 (2 workloads)",
        "near, of what lanes or main memory allow, largest sizes, at least 80%: 1 of 1 ✔",
        "core, of what lanes or main memory allow, largest sizes, at least 80%: 0 of 1 ✘; below: "
        "vec_add 45%",
        "near, warm, of what lanes or banks allow, largest sizes, at least 80%: 0 of 2 ✘; below: "
        "vec_add 70%, mm 70%",
        "bit-exact: 3 of 3 runs, 0 of them on RTL, too",
    ]
    (table,) = places.tables(found).values()
    assert table.body[2] == "mm|n 9|100|||120|1.20|90|||70% ✘|50|100||yes".split("|")
    require_picture(places.draw, found, tmp_path)


def test_what_lanes_and_main_memory_allow():
    config = load_configuration("sram_b4").config
    least = places.least_cycles(workload("vec_add", {"n": 64}, 0), config)
    assert least == {"least": 64 * 3 * 4 * 10 // 8, "least_warm": 64 * 3 // 4}
    sizes = {"rows": 64, "columns": 64, "inner": 64}
    least = places.least_cycles(workload("mm", sizes, 0), config)
    assert least == dict.fromkeys(least, 2 * 64**3 // 4)


def made_bitlines(lane: int, memory: int, near: int):
    job = bitlines.Job("mm", lane, 0)
    values = {"cycles_memory": memory, "cycles_near": near, "bit_exact": True}
    values |= {"warm_memory": memory // 4, "warm_near": near // 2}
    return records(bitlines.BENCH, job.labels, values, bitlines.METRICS, job.setting())


def test_where_memory_and_stream_engines_break_even(tmp_path: Path):
    found = made_bitlines(256, 1000, 400) + made_bitlines(1024, 1000, 900)
    found += made_bitlines(4096, 1000, 2000)
    assert bitlines.break_even(found, "cycles") == {"mm": 4096}
    assert bitlines.break_even(found, "warm") == {"mm": 1024}
    assert "mm 4096" in bitlines.verdict(found)
    (table,) = bitlines.tables(found).values()
    sizes = "rows 64, columns 64, inner 16"
    assert table.body[1] == [
        "mm",
        "1024",
        sizes,
        "1,000",
        "900",
        "0.90",
        "250",
        "450",
        "1.80",
        "yes",
    ]
    require_picture(bitlines.draw, found, tmp_path)


def test_all_workloads_have_five_sizes(request_of_all: Request):
    assert {*SEVERAL} == {*names(), *IN_PARTS}
    for part in (placement, places):
        found = [tuple(job.labels.values()) for job in part.jobs(request_of_all)]
        assert len(set(found)) == len(found) == 5 * len(SEVERAL)
    on_rtl = [job for job in placement.jobs(request_of_all) if job.backend == "rtl"]
    assert len(on_rtl) == 4 * len(SEVERAL)
    on_rtl = [job for job in places.jobs(request_of_all) if job.is_on_rtl]
    assert len(on_rtl) == len(SEVERAL) + len(places.ON_RTL)


def made_tile(tile: tuple[int, ...], count: int | None, *flags: str):
    job = tiles.Job("mm", {"rows": 9}, tile, 0)
    values: dict[str, Any] = dict.fromkeys(tiles.METRICS, False)
    values |= {"cycles": count, "warm": None if count is None else count - 90}
    values |= dict.fromkeys(flags, True) | {"bit_exact": True}
    return records(tiles.BENCH, job.labels, values, tiles.METRICS, job.setting())


def test_the_rule_against_the_best_tile(tmp_path: Path):
    found = made_tile((16, 16), 110, tiles.PAPER) + made_tile((2, 128), 100)
    found += made_tile((4, 64), 101, tiles.RULE, tiles.SEARCHED) + made_tile((256, 1), None)
    found += made_tile((1, 256), 202, tiles.NONE)
    assert tiles.verdict(found) == (
        "rule over the best tile, geometric mean of 1: 1.010, limit 1.02 ✔; at worst 1.010 "
        "(mm, rows 9)\n"
        "search over the best tile, geometric mean of 1: 1.010; at worst 1.010 (mm, rows 9)\n"
        "paper's heuristics over the best tile, geometric mean of 1: 1.100; at worst 1.100 "
        "(mm, rows 9)\n"
        "no tiling over the rule, geometric mean of 1: 2.00, asked 1.34 ✔; 2.00 to 2.00\n"
        "no tiling over the rule, warm: 10.18\n"
        "bit-exact: 5 of 5 runs"
    )
    (table,) = tiles.tables(found).values()
    assert table.body == [
        ["mm", "rows 9", "2x128", "100", "4x64", "101", "4x64", "101", "16x16", "110"]
        + ["1x256", "202"]
    ]
    require_picture(tiles.draw, found, tmp_path)


def test_one_tile_is_the_rules_and_one_is_none(request_of_all: Request):
    pytest.importorskip("egglog")
    found = [job for job in tiles.jobs(request_of_all) if job.workload == "stencil2d_int32"]
    sizes = {"rows": 8, "columns": 32}
    values = [
        tiles.measure(tiles.Job("stencil2d_int32", sizes, tile, 0)) for tile in ((8, 32), (1, 256))
    ]
    assert len({tuple(job.labels.values()) for job in found}) == len(found) > 10
    assert [each[tiles.RULE] for each in values] == [True, False]
    assert [each[tiles.NONE] for each in values] == [False, True]
    assert all(each["bit_exact"] for each in values)
    assert values[0]["cycles"] < values[1]["cycles"]


def test_the_papers_tiles():
    tilings = [Tiling((64, 64, 1), (side, 256 // side, 1)) for side in (8, 16, 32, 64)]
    chosen = [
        tiles.paper_tile(plan(nest(name), streams=False), tilings)
        for name in ("stencil2d", "row_sums", "mm")
    ]
    assert chosen == [(16, 16, 1), (64, 4, 1), (8, 32, 1)]


def made_lowering(name: str, time: float):
    job = lowering.Job(name, {"n": 9}, 0)
    values = dict.fromkeys(lowering.METRICS, 3) | {"us_a_region": time}
    return records(lowering.BENCH, job.labels, values, lowering.METRICS, job.setting())


def test_time_of_lowering(tmp_path: Path):
    found = made_lowering("mm", 100.0) + made_lowering("stencil1d", 340.0)
    assert lowering.verdict(found) == (
        "fresh lowering, mean of 2 workloads: 220 CPU µs a region, limit 220 ✘\n"
        "slowest: stencil1d, 340 µs (the paper's: gauss_elim, 1,616)\n"
        "lowered before: at most 3.0 µs a nest, limit 10 ✔"
    )
    assert "limit 220 ✔" in lowering.verdict(made_lowering("mm", 219.0))
    (table,) = lowering.tables(found).values()
    assert table.body[0] == ["mm", "n 9", "3", "3", "100.0", "3", "3"]
    require_picture(lowering.draw, found, tmp_path)


def test_regions_that_are_run_are_counted():
    given = workload("stencil1d", {"n": 32, "steps": 7}, 0)
    steps = plan(given.nest, streams=False)
    assert lowering.regions_run(steps, given.binding, given.binding.sizes) == 2 * 7
    short = lowering.shortened(steps, 5)
    assert lowering.regions_run(short, given.binding, given.binding.sizes) == 2 * 5
    nested = (Repeat("k", Affine(1), Affine(9), 2, steps),)
    short = lowering.shortened(nested, 3)
    assert lowering.regions_run(short, given.binding, given.binding.sizes) == 3 * 2 * 3


def test_table_3_is_lowered_for_64_banks(request_of_all: Request):
    found = lowering.jobs(request_of_all)
    assert {job.workload for job in found} == {*TABLE_3}
    assert all(job.configuration().config.tiles == 64 * 256 for job in found)


def made_simulation(build: float, speed: int):
    job = simulation.Job(simulation.CONFIG, {}, 0)
    values = {
        "verilog_s": 20.0,
        "simulator_s": 79.0,
        "build_s": 99.0,
        "build_cpu_s": build,
        "host_s": 0.5,
    }
    setting = job.setting()
    labels = {"configuration": job.config}
    found = records(simulation.BUILD, labels, values, simulation.BUILD_METRICS, setting)
    run = {"cycles": speed, "seconds": 1.0, "cycles_a_second": speed}
    labels = {"workload": "mm", "sizes": "n 9"}
    return found + records(simulation.BENCH, labels, run, simulation.METRICS, setting)


def test_speed_of_the_simulator(tmp_path: Path):
    assert simulation.verdict(made_simulation(180.0, 19_999)) == (
        "sram_b4 built in 180 CPU s, limit 180 ✔; in 99 s on the clock ✔ (Verilog 20 s, "
        "simulator 79 s)\n"
        "slowest of 1 workloads: 19,999 cycles a CPU s, at least 20,000 ✘\n"
        "the host: 10,000,000 additions in Python take 0.50 CPU s"
    )
    found = made_simulation(181.0, 20_000)
    assert "limit 180 ✘" in simulation.verdict(found)
    assert "20,000 cycles a CPU s, at least 20,000 ✔" in simulation.verdict(found)
    (table,) = simulation.tables(found).values()
    assert table.body == [["mm", "n 9", "20,000", "1.00", "20,000"]]
    require_picture(simulation.draw, found, tmp_path)


def test_the_page_has_all_parts():
    assert [*page.INTROS] == [*PARTS]


@pytest.mark.slow
def test_rtl_is_built_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path))  # which the measurement changes
    found = cycles.measure(cycles.Job("vec_add", {}, cycles.AFTER, "rtl", 0, simulation.SMALL))
    assert found["bit_exact"] and found["as_model"]
    build, speeds = simulation.measure(simulation.Job(simulation.SMALL, {"vec_add": {}}, 0))
    assert 0 < build["verilog_s"] < build["build_s"]
    assert speeds["vec_add"]["cycles"] == found["cycles"]
