"""Errors of outputs against float64, and which are not finite or lost."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.runtime.report.tally import Counted, Tally, max_relative_error

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("value", "reference", "error"),
    [
        (1.0, 1.0, 0.0),
        (-1.5, -1.0, 0.5),
        (0.0, 2.0, 1.0),
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, 0.0),
        (1e-30, 0.0, INF),
        (INF, INF, NAN),
        (INF, -INF, INF),
        (INF, 1.0, INF),
        (1.0, INF, INF),
        (NAN, NAN, NAN),
        (NAN, 1.0, INF),
        (1.0, NAN, INF),
        (INF, NAN, INF),
        (NAN, INF, INF),
        (1e308, -1e-308, INF),
    ],
)
@pytest.mark.filterwarnings("error")
def test_relative_errors(value: float, reference: float, error: float) -> None:
    found = max_relative_error(np.array([value]), np.array([reference]))
    assert found == error or np.isnan(found) and np.isnan(error)
    beside = max_relative_error(np.array([2.0, value]), np.array([2.0, reference]))
    assert beside == (0.0 if np.isnan(error) else error)


@pytest.mark.parametrize(
    ("value", "reference", "is_lost", "is_finite"),
    [
        (0.0, 4.4e-154, True, True),
        (-0.0, -1e-60, True, True),
        (0.0, 0.0, False, True),
        (-0.0, 0.0, False, True),
        (1e-45, 1e-60, False, True),
        (0.0, INF, True, True),
        (0.0, NAN, True, True),
        (INF, 1e60, True, False),
        (-INF, -1e60, True, False),
        (INF, INF, False, False),
        (-INF, INF, False, False),
        (INF, NAN, True, False),
        (NAN, 1.0, True, False),
        (NAN, INF, True, False),
        (NAN, NAN, False, False),
        (1.0, NAN, False, True),
        (1.0, INF, False, True),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_lost_and_what_is_not_finite(
    value: float, reference: float, is_lost: bool, is_finite: bool
) -> None:
    tally = Tally()
    tally.add(np.array([1.0]), np.array([1.0]), lambda at: f"a[{at}]")
    tally.add(np.array([1.0, value]), np.array([1.0, reference]), lambda at: f"b[{at}]")
    found = Counted(1, 3, f"b[1] = {value:g}, in float64 {reference:g}")
    assert tally.lost == (found if is_lost else None)
    assert tally.not_finite == (None if is_finite else found)


def test_nothing_has_no_error() -> None:
    tally = Tally()
    tally.add(np.zeros(0), np.zeros(0), str)
    assert (tally.max_rel_error, tally.not_finite, tally.lost) == (0.0, None, None)


def test_outputs_without_an_error_beside_others() -> None:
    tally = Tally()
    for value in (INF, NAN):
        tally.add(np.array([value]), np.array([value]), str)
        assert np.isnan(tally.max_rel_error)
    tally.add(np.array([1.5]), np.array([1.0]), str)
    tally.add(np.array([NAN]), np.array([NAN]), str)
    assert tally.max_rel_error == 0.5
    assert tally.not_finite == Counted(3, 4, "0 = inf, in float64 inf")


def test_counts_as_text() -> None:
    assert Counted(1, 1, "D = 0, in float64 1e-60").text("lost") == (
        "1 of 1 output lost: D = 0, in float64 1e-60"
    )
    assert Counted(1200, 3000, "x[0] = nan, in float64 nan").text("not finite") == (
        "1,200 of 3,000 outputs not finite; the first is x[0] = nan, in float64 nan"
    )
