"""Triangular matrices in Matrix Market files."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.dag.triangular_matrix import parse_matrix
from tests.support.errors import refused

HEADER = "%%MatrixMarket matrix coordinate real general\n"


def test_entries_are_sorted_by_row_and_column() -> None:
    matrix = parse_matrix(
        HEADER + "% comment\n\n3 3 5\n3 2 5\n1 1 1.0\n3 1 -4e-1\n3 3 2\n2 2 .5\n", "f"
    )
    assert matrix.size == 3
    assert not matrix.upper
    assert not matrix.unit
    assert matrix.row.tolist() == [2, 2]
    assert matrix.column.tolist() == [0, 1]
    assert matrix.value.tolist() == [-0.4, 5.0]
    assert matrix.line.tolist() == [7, 5]
    assert matrix.diagonal.tolist() == [1.0, 0.5, 2.0]
    assert matrix.diagonal_line.tolist() == [6, 9, 8]


def test_integers_and_any_case_in_the_header() -> None:
    matrix = parse_matrix(
        "%%matrixmarket MATRIX Coordinate Integer General\n2 2 3\n1 1 1\n1 2 7\n2 2 1\n", "f"
    )
    assert matrix.upper
    assert matrix.unit
    assert matrix.value.tolist() == [7.0]


def test_a_diagonal_matrix_counts_as_lower() -> None:
    assert not parse_matrix(HEADER + "1 1 1\n1 1 3\n", "f").upper


def test_an_explicit_zero_off_the_diagonal_is_an_entry() -> None:
    assert parse_matrix(HEADER + "2 2 3\n1 1 1\n2 1 0\n2 2 1\n", "f").value.tolist() == [0.0]


TWO_BY_TWO = HEADER + "2 2 3\n1 1 1\n2 2 1\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f:1: the first line must be '%%MatrixMarket matrix coordinate real general'"),
        (
            "MatrixMarket matrix coordinate real general\n",
            "f:1: the first line must be '%%MatrixMarket matrix coordinate real general'",
        ),
        (
            "%%MatrixMarket matrix coordinate real\n",
            "f:1: the first line must be '%%MatrixMarket matrix coordinate real general'",
        ),
        (
            "%%MatrixMarket matrix array real general\n",
            "f:1: format 'array': must be coordinate",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n",
            "f:1: field 'pattern': must be real or integer",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 1\n2 2 1\n",
            "f:1: symmetry 'symmetric': a triangular matrix must be general, or diagonal",
        ),
        (HEADER + "% no size\n", "f: the file ends before the line 'ROWS COLUMNS ENTRIES'"),
        (HEADER + "2 2\n", "f:2: 2 fields: must be 'ROWS COLUMNS ENTRIES'"),
        (HEADER + "2 x 1\n", "f:2: 'x' is not a whole number"),
        (HEADER + "2 3 1\n", "f:2: 2 x 3: a triangular matrix must be square"),
        (HEADER + "0 0 0\n", "f:2: 0 x 0: a triangular matrix must have at least one row"),
        (TWO_BY_TWO, "f: the file ends after 2 of 3 entries"),
        (TWO_BY_TWO + "2 1 1\n2 1 1\n", "f:6: more entries than the 3 announced"),
        (TWO_BY_TWO + "2 1\n", "f:5: 2 fields: must be 'ROW COLUMN VALUE'"),
        (TWO_BY_TWO + "2 1 1e\n", "f:5: '1e' is not a number"),
        (TWO_BY_TWO + "0 1 1\n", "f:5: entry (0, 1): row and column must be 1 to 2"),
        (TWO_BY_TWO + "2 3 1\n", "f:5: entry (2, 3): row and column must be 1 to 2"),
        (TWO_BY_TWO + "2 1 nan\n", "f:5: nan: must be finite in float64"),
        (TWO_BY_TWO + "2 1 1e999\n", "f:5: 1e999: must be finite in float64"),
        (
            TWO_BY_TWO + "2 2 inf\n",
            "f:5: inf: must be finite in float64",
        ),
        (
            HEADER + "2 2 2\n1 1 1\n2 1 1\n",
            "f: row 2 has no entry on the diagonal: must have one, not zero",
        ),
        (HEADER + "1 1 1\n1 1 0.0\n", "f:3: the diagonal of row 1 is 0.0: must not be zero"),
        (
            HEADER + "1 1 1\n1 1 1e-310\n",
            "f:3: the diagonal of row 1 is 1e-310: its reciprocal must be finite",
        ),
        (
            HEADER + "3 3 5\n1 1 1\n3 1 2\n2 2 1\n2 3 1\n3 3 1\n",
            "f:6: not triangular: entry (2, 3) is above the diagonal, entry (3, 1) in line 4 "
            "below it",
        ),
        (
            HEADER + "3 3 5\n1 1 1\n1 3 2\n2 2 1\n3 2 1\n3 3 1\n",
            "f:6: not triangular: entry (3, 2) is below the diagonal, entry (1, 3) in line 4 "
            "above it",
        ),
    ],
)
def test_refusals(text: str, error: str) -> None:
    with refused(error):
        parse_matrix(text, "f")
