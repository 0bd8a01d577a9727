"""The DPU's benchmark: its parts on small workloads, and what it makes of the figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.dpu import main
from bench.dpu_parts import ladder, page, points, scaling, table
from bench.lib.records import Record, Setting, load, records
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.dag.generate import grid_factor, probabilistic_circuit

FIELDS = {
    *("name", "bench", "labels", "metric", "value", "unit", "direction", "spread", "config"),
    *("overrides", "digest", "seed", "runs", "commit", "tools"),
}

Run = Callable[..., Result]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in an empty folder, on small workloads that have the real ones' names."""
    folder = tmp_path / "workloads" / "dag"
    folder.mkdir(parents=True)
    (folder / "tretail.psdd").write_text(probabilistic_circuit(200, seed=1))
    (folder / "HB_bp_200_L.mtx").write_text(grid_factor(200, seed=1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNARL_WORKLOADS", "workloads")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


def results(part: str, folder: str = "build/bench/quick") -> list[Record]:
    return load(Path(folder) / f"dpu_{part}.json")


def test_table(bench: Run):
    done = bench("table", "--quick", "--backend", "model", "--json", "all.json", "--seed", "5")
    assert done.exit_code == 0, done.output
    assert "dpu.table: workloads/dag/mnist.psdd is absent: skipped" in done.stderr.splitlines()
    assert "bit-exact on model: 1 of 1 workloads" in done.stdout.splitlines()

    content = json.loads(Path("all.json").read_text())["records"]
    assert all(set(fields) == FIELDS for fields in content)
    assert [Record.from_json(fields) for fields in content] == results("table")
    values = {fields["metric"]: fields for fields in content}
    assert values["cycles"]["name"] == "dpu.table/tretail/model/cycles"
    assert values["cycles"]["seed"] == 5
    assert values["cycles"]["overrides"] == []
    assert values["reference_cycles"]["value"] == 494
    assert values["ratio"]["value"] == values["cycles"]["value"] / 494
    assert values["mean_ratio"]["value"] == pytest.approx(values["ratio"]["value"])
    assert values["bit_exact"]["value"] is True
    assert values["distance"]["value"] >= 1
    assert values["cycles_without_overlap"]["overrides"] == ["overlap=False"]
    assert values["bit_exact_without_overlap"]["value"] is True
    assert Path("build/bench/quick/dpu_table.png").read_bytes().startswith(b"\x89PNG")


def test_scaling(bench: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scaling, "QUICK_SIZES", (100,))
    done = bench("scaling", "--quick", "-o", "out")
    assert done.exit_code == 0, done.output
    values = {record.metric: record.value for record in results("scaling", "out")}
    assert values["operations"] >= 100
    assert 0 < values["compile_s"] < 60
    assert values["compile_us_per_operation"] == pytest.approx(
        1e6 * values["compile_s"] / values["operations"]
    )
    assert values["schedules"] >= 1
    assert 2**25 < values["peak_bytes"] < 2**32
    assert Path("out/dpu_scaling.png").read_bytes().startswith(b"\x89PNG")


def test_points(bench: Run):
    done = bench("points", "--quick", "--backend", "model")
    assert done.exit_code == 0, done.output
    labels = [record.labels for record in results("points") if record.metric == "cycles"]
    assert labels == [
        {"workload": "tretail", "depth": d, "banks": b, "registers": r, "backend": "model"}
        for d, b, r in points.QUICK_POINTS
    ]
    assert "bit-exact: 2 of 2 runs at 2 points, 0 of the points on RTL too" in done.stdout
    assert Path("build/bench/quick/dpu_points.png").read_bytes().startswith(b"\x89PNG")


def test_a_workload_that_fails_is_reported_and_the_others_run(bench: Run):
    Path("workloads/dag/mnist.psdd").write_text("psdd 1\nX 0 0 1\n")
    done = bench("table", "--quick", "--backend", "model")
    assert done.exit_code == 1
    assert (
        "dpu.table: mnist on dpu_d3_b64, model: "
        "workloads/dag/mnist.psdd:2: unknown node type 'X': must be L, T, F or D"
    ) in done.stderr.splitlines()
    assert {record.labels["workload"] for record in results("table")} == {"tretail", "all"}


def test_a_missing_folder_is_reported_before_anything_runs(bench: Run):
    done = bench("table", "--json", "absent/all.json")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == (
        "Error: Invalid value for --json: absent: no such folder"
    )
    assert not Path("build").exists()


def test_a_page_without_results_is_refused(bench: Run):
    done = bench("page")
    assert done.exit_code == 2
    assert done.stderr == "bench.dpu: build/bench: no results: bench.dpu makes some\n"


def test_the_page_has_the_results_and_the_readme_their_summary(bench: Run):
    assert bench("table", "--quick", "--backend", "model", "-o", "build/bench").exit_code == 0
    done = bench("page")
    assert done.exit_code == 2
    assert done.stderr == "bench.dpu: README.md: cannot be read: No such file or directory\n"
    assert not Path("docs").exists()

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert bench("page").exit_code == 0
    found = results("table", "build/bench")
    text = Path("docs/results/dpu.md").read_text()
    assert text.startswith("# Results: DPU\n")
    assert "\n| tretail | " in text
    assert page.INTROS["table"].text in text
    for cells in table.tables(found).values():
        assert cells.to_markdown() in text
    row = page.PAGE.row(
        Path("docs/results/dpu.md"), page.PAGE.headline.line_of(table.verdict(found))
    )
    assert f"\n{row}\n" in Path("README.md").read_text()


def test_there_are_48_points_and_six_of_them_on_rtl_with_few_banks():
    assert len(points.DEPTHS) * len(points.BANKS) * len(points.REGISTERS) == 48
    assert len(set(points.RTL_POINTS)) == 6
    assert {depth for depth, _, _ in points.RTL_POINTS} == set(points.DEPTHS)
    assert {registers for _, _, registers in points.RTL_POINTS} == set(points.REGISTERS)
    assert sum(banks <= 16 for _, banks, _ in points.RTL_POINTS) >= 5


def test_summary_is_over_workloads_with_a_reference():
    row = {"compile_s": 2.0, "ratio": 0.5, "ratio_without_overlap": 1.0}
    other = {"compile_s": 1.0, "ratio": 2.0, "ratio_without_overlap": 4.0}
    assert table.summarise([row, other, {"compile_s": 3.0}]) == {
        "slowest_compile_s": 3.0,
        "mean_ratio": pytest.approx(1.0),
        "worst_ratio": 2.0,
        "mean_ratio_without_overlap": pytest.approx(2.0),
    }
    assert table.summarise([{"compile_s": 3.0}]) == {"slowest_compile_s": 3.0}


def some_points() -> list[Record]:
    found = []
    for workload, scale in (("a", 1), ("b", 3)):
        for depth, banks, cycles, backend in ((1, 8, 40, "rtl"), (3, 16, 20, "model")):
            configuration = load_configuration("dpu_d3_b64", [f"depth={depth}", f"banks={banks}"])
            labels = {"workload": workload, "depth": depth, "banks": banks, "registers": 32}
            values = {"cycles": cycles * scale, "operations": 20, "bit_exact": workload == "a"}
            found += records(
                points.BENCH,
                labels | {"backend": backend},
                values,
                points.METRICS,
                Setting.of(configuration, 0),
            )
    return found


def test_points_are_compared_by_mean_cycles_an_operation():
    assert points.mean_cycles(some_points()) == {(1, 8, 32): 4.0, (3, 16, 32): 2.0}
    assert points.verdict(some_points()) == (
        "bit-exact: 2 of 4 runs at 2 points, 1 of the points on RTL too\n"
        "fewest cycles an operation: D = 3, B = 16, R = 32"
    )


def test_points_have_a_row_for_each_workload_d_and_r():
    cells = points.tables(some_points())["Cycles"]
    assert cells.header == ["workload", "D", "R", "B = 8", "B = 16"]
    assert cells.body == [
        ["a", "1", "32", "40 *", ""],
        ["a", "3", "32", "", "20"],
        ["b", "1", "32", "120 *", ""],
        ["b", "3", "32", "", "60"],
    ]


def test_limits_are_marked():
    setting = Setting.of(load_configuration(scaling.CONFIG, scaling.OVERRIDES), 0)
    values = {"operations": 1_000_100, "compile_s": 601.0, "peak_bytes": 8 * 2**30}
    found = records(scaling.BENCH, {"size": 10**6}, values, scaling._METRICS, setting)
    assert scaling.verdict(found) == (
        "1,000,100 operations compile in 601 s, limit 600 s for 1,000,000 ✘\n"
        "their peak memory is 8.00 GiB, limit 8 GiB ✔"
    )


def test_ladder(bench: Run):
    done = bench("ladder", "--quick", "--backend", "model")
    assert done.exit_code == 0, done.output
    found = [record for record in results("ladder") if record.metric == "ratio"]
    assert [record.labels["rung"] for record in found] == [rung.name for rung in ladder.RUNGS]
    first, *_, last = [record.value for record in found]
    assert last < first
    assert "bit-exact: 4 of 4 runs" in done.stdout.splitlines()
    assert Path("build/bench/quick/dpu_ladder.png").read_bytes().startswith(b"\x89PNG")


def test_rungs_are_compared_by_the_mean_ratio_of_all_workloads():
    found = []
    for workload, ratio in (("a", 0.5), ("b", 2.0)):
        for rung, factor in zip(ladder.RUNGS, (4, 3, 2, 1), strict=True):
            labels = {"workload": workload, "rung": rung.name, "backend": "model"}
            values = {"operations": 10 * factor, "reference_cycles": 100}
            values |= {"ratio": ratio * factor, "bit_exact": factor != 3}
            setting = Setting("dpu_d3_b64", (), "", 0)
            found += records(ladder.BENCH, labels, values, ladder.METRICS, setting)
    names = [rung.name for rung in ladder.RUNGS]
    means = dict(zip(names, (4.0, 3.0, 2.0, 1.0), strict=True))
    assert ladder.mean_ratios(found) == pytest.approx(means)
    ratios, operations = ladder.tables(found).values()
    assert ratios.body == [
        ["a", "100", "2.00", "1.50", "1.00", "0.50"],
        ["b", "100", "8.00", "6.00", "4.00", "2.00"],
        ["geometric mean", "", "4.00", "3.00", "2.00", "1.00"],
    ]
    assert operations.body == [["a", "40", "30", "20", "10"], ["b", "40", "30", "20", "10"]]
    assert ladder.verdict(found) == (
        "bit-exact: 6 of 8 runs\n"
        "cycles over reference, geometric means: the paper's DAG and instructions 4.00, "
        "with overlap 3.00, with merging 2.00, this project's DAG 1.00"
    )
