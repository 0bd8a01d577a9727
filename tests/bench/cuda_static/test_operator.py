"""The host time of PyTorch's operator, with nothing behind it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cuda_static import main
from bench.cuda_static_parts import operator, page
from bench.lib.records import Record, Setting, load, records, rows

SETTING = Setting("cuda_sm90", (), "", 0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, without the paper's models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    return tmp_path


def found_of(times: Sequence[tuple[str, int, dict[str, float]]]) -> list[Record]:
    return [
        record
        for model, features, values in times
        for record in records(
            operator.BENCH,
            {"model": model, "features": features},
            values,
            operator._METRICS,
            SETTING,
        )
    ]


@pytest.mark.slow
def test_calls_are_measured_with_launches_and_without(here: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("cuda.bindings", reason="needs gnarl[cuda]")
    if not shutil.which("c++"):
        pytest.skip("needs a C++ compiler")
    arguments = ["operator", "--quick", "--models", "example", "-o", "build/bench"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    found = load(here / "build/bench/cuda_static_operator.json")
    table = rows(found)
    assert [model for model, _ in table] == ["recommendation", "100_features"]
    for row in table.values():
        assert row["packed_us"] > 0 and row["launched_us"] > 0
    assert "torch" in found[0].tools

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert CliRunner().invoke(main, ["page"]).exit_code == 0
    text = Path("docs/results/cuda_static.md").read_text()
    assert page.INTROS["operator"].text in text
    assert "| 100_features | 100 | " in text


def test_nothing_is_measured_without_pytorch(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["operator", "--models", "example"])
    assert done.exit_code == 0, done.output
    assert "cuda_static.operator: left out: PyTorch is not installed" in done.output
    assert not list(here.rglob("*.json"))


def test_verdict_is_of_the_whole_call() -> None:
    found = found_of(
        [
            ("A", 1000, {"packed_us": 20.0, "launched_us": 30.5}),
            ("100_features", 100, {"packed_us": 20.0, "launched_us": 30.0}),
            ("10000_features", 10_000, {"packed_us": 22.0, "launched_us": 45.0}),
        ]
    )
    assert operator.verdict(found).splitlines() == [
        "host time for model A: 30.5 µs, goal 50 µs ✔",
        "10,000 features over 100: 1.5 times, goal 1.25 times ✘",
    ]
    (table,) = operator.tables(found).values()
    assert table.body[0] == ["A", "1000", "20.0", "30.5"]


def test_without_cuda_bindings_the_verdict_is_of_what_there_is() -> None:
    found = found_of([("A", 1000, {"packed_us": 60.0})])
    assert operator.verdict(found).splitlines() == [
        "host time for model A: 60 µs, goal 50 µs ✘",
        "10,000 features over 100: not measured",
    ]
    (table,) = operator.tables(found).values()
    assert table.body[0] == ["A", "1000", "60.0", ""]
