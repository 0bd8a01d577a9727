"""The numbers behind the functions against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erfcx

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.functions import numerics
from gnarl.hw.lib.functions.tables import Table

FORMAT = FLOAT_FORMATS["float32"]


def starts(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Piece and position of each row's first position, and c0, the value there, as numbers."""
    rows = np.arange(len(table.rows))
    piece, segment = np.divmod(rows, 1 << table.segment_bits)
    position = segment / (1 << table.segment_bits)
    return np.stack([piece, position]), np.array([row[0] for row in table.rows]) / 2.0**table.unit


def octaves(piece: np.ndarray, position: np.ndarray) -> np.ndarray:
    return np.where(piece == 0, position, np.ldexp(1 + position, (piece - 1).astype(int)))


def test_tail_ratio() -> None:
    tail = numerics.tail(FORMAT)
    (piece, position), values = starts(tail.ratio)
    x = octaves(piece, position)
    exact = erfcx(x / np.sqrt(2)) / 2 * 2.0**piece
    assert np.abs(values - exact).max() < 2.0**-28
    assert tail.reach == 4 and piece.max() == 4
    assert values.min() >= 0.25 and values.max() <= 1


def test_tangent() -> None:
    tangent = numerics.tangent(FORMAT)
    (piece, position), values = starts(tangent.table)
    x = octaves(piece, position)
    exact = np.where(piece == 0, np.tanh(x) / np.where(x == 0, 1, x), np.tanh(x))
    exact[x == 0] = 1
    assert np.abs(values - exact).max() < 2.0**-27
    assert np.float32(np.tanh(2.0**tangent.reach)) == 1


def test_logarithm() -> None:
    logarithm = numerics.logarithm(FORMAT)
    (piece, position), values = starts(logarithm.ratio)
    distance = np.where(piece == 0, position / 2, (position - 1) / 4)
    exact = np.log1p(distance) / np.where(distance == 0, 1, distance)
    exact[distance == 0] = 1
    assert np.abs(values - exact).max() < 2.0**-29
    assert abs(logarithm.step / 2**logarithm.point - np.log(2)) < 2.0**-33
    assert logarithm.point == 33


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_no_logarithm_has_more_bits_before_the_point(name: str) -> None:
    format = FLOAT_FORMATS[name]
    most = (format.bias + format.fraction - 1) * np.log(2)
    assert 2.0 ** (numerics.logarithm(format).whole_bits - 1) <= most + np.log(2)
    assert most < 2.0 ** numerics.logarithm(format).whole_bits


@pytest.mark.parametrize(
    ("table", "function"),
    [
        (numerics.reciprocal_table(FORMAT), lambda piece, t: 1 / (1 + t)),
        (numerics.logistic_table(FORMAT), lambda piece, t: 1 / (1 + t)),
        (numerics.sqrt_table(FORMAT), lambda piece, t: np.sqrt((1 + piece) * (1 + t))),
        (numerics.exponential(FORMAT).power, lambda piece, t: np.exp2(t)),
    ],
    ids=["reciprocal", "logistic", "sqrt", "power"],
)
def test_other_tables(table, function) -> None:
    (piece, position), values = starts(table)
    assert np.abs(values - function(piece, position)).max() < 2.0**-25


def test_factors_are_binary_logarithms_of_e() -> None:
    exponential, tail = numerics.exponential(FORMAT), numerics.tail(FORMAT)
    assert abs(exponential.factor / 2**exponential.factor_bits - np.log2(np.e)) < 2.0**-36
    assert abs(tail.factor / 2**tail.factor_bits - np.log2(np.e) / 2) < 2.0**-36


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_beyond_the_reach_there_is_nothing_to_compute(name: str) -> None:
    format = FLOAT_FORMATS[name]
    least = 2.0 ** (1 - format.bias - format.fraction)
    x = 2.0 ** numerics.exponential(format).reach
    assert np.exp(x) > 2.0 ** (format.bias + 1) and np.exp(-x) < least / 2
    x = 2.0 ** numerics.tail(format).reach
    assert x * np.exp(-x * x / 2) < least / 2
