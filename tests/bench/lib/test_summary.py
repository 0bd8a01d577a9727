"""Figures in words, and what tables and pictures make of records."""

from __future__ import annotations

import pytest

from bench.lib.records import Metric, Setting, records
from bench.lib.summary import cell, cells, geometric_mean, mark, split


def test_geometric_mean():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "NO"),
        (0, "0"),
        (1234567, "1,234,567"),
        (0.126, "0.13"),
        (12345.0, "12,345.00"),
    ],
)
def test_a_value_in_a_table(value, text):
    assert cell(value) == text


def test_a_row_has_names_then_metrics():
    row = {"ratio": 0.5, "cycles": 7, "other": 1}
    assert cells(row, ["a", 3], ["cycles", "bound", "ratio"], places=1) == [
        "a",
        "3",
        "7",
        "",
        "0.5",
    ]


def test_a_summary_is_what_is_not_of_the_bench_itself():
    metrics = {"cycles": Metric("cycles", "lower"), "mean": Metric("cycles", "lower")}
    setting = Setting("dpu_d1_b8", (), "", 0)
    found = records("x", {"workload": "a"}, {"cycles": 3}, metrics, setting)
    found += records("x", {"workload": "b"}, {"cycles": 5}, metrics, setting)
    found += records("x.summary", {"workload": "all"}, {"mean": 4}, metrics, setting)
    assert split(found, "x") == ({("a",): {"cycles": 3}, ("b",): {"cycles": 5}}, {"mean": 4})


def test_marks():
    assert [mark(True), mark(False)] == ["✔", "✘"]
