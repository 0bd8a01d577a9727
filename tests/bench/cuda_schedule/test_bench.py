"""The benchmark of the scheduling model, on the example model."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cuda_schedule import main
from bench.cuda_schedule_parts import balance, calibration, page, times, untuned
from bench.lib.records import Record, Setting, records, save
from gnarl.sw.workloads.embedding.recflex import write_example

SETTING = Setting("cuda_sm90", (), "", 0)


def test_both_designs_on_the_example(tmp_path: Path) -> None:
    """Warps have less to wait for than blocks, and share the bytes more equally."""
    path = write_example(tmp_path)
    balanced = balance.measure(balance.Job(path, 34, 1, seed=0))
    assert 1 <= balanced["imbalance"] < balanced["imbalance_before"]
    timed = times.measure(times.Job(path, 2, seed=0))
    assert 0 < timed["of_memory"] <= timed["of_bound"] <= 1
    assert timed["of_bound_before"] < timed["of_bound"]
    found = calibration.measure(calibration.Job(path, 1, seed=0))
    assert found["recorded_us"] is None and found["error"] is None


def test_a_plan_at_random_has_all_samples(tmp_path: Path) -> None:
    values = untuned.measure(untuned.Job(write_example(tmp_path), 2, seed=0))
    assert values["best_us"] <= values["median_us"]
    assert values["over_best"] == values["us"] / values["best_us"]


def calibrated(errors: dict[str, float]) -> list[Record]:
    """Of batches of one sample, by model."""
    found = []
    for model, error in errors.items():
        values = {"recorded_us": 10.0, "model_us": 10.0 + error / 10, "error": error}
        labels = {"model": model, "samples": 1}
        found += records(calibration.BENCH, labels, values, calibration.METRICS, SETTING)
    return found


def test_verdict_of_calibration() -> None:
    """Rows that constants were fitted to are apart."""
    assert calibration.verdict(calibrated({"D": -9.0, "A": 18.0})).splitlines() == [
        "largest error of rows that constants were fitted to: 9 %, goal 15 % ✔",
        "largest error of rows that constants were not fitted to: 18 %, goal 15 % ✘",
    ]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("build/bench").mkdir(parents=True)
    save(Path("build/bench/cuda_schedule_calibration.json"), calibrated({"D": -9.0}))
    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert CliRunner().invoke(main, ["page"]).exit_code == 0
    text = Path("docs/results/cuda_schedule.md").read_text()
    assert page.INTROS["calibration"].text in text
    assert "| D | 1 | 10.00 | 9.10 | -9.00 |" in text
