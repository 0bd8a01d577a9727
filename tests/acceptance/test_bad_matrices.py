"""Bad triangular matrices in Matrix Market files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dpu.dag_files import HEADER, refused_file

MATRIX = {
    "neither lower nor upper": (
        HEADER + "3 3 5\n1 1 1\n2 2 1\n3 3 1\n2 1 1\n1 3 1\n",
        ":7: not triangular: entry (1, 3) is above the diagonal, entry (2, 1) in line 6 below it",
    ),
    "zero on the diagonal": (
        HEADER + "2 2 2\n1 1 1\n2 2 0\n",
        ":4: the diagonal of row 2 is 0.0: must not be zero",
    ),
    "gap on the diagonal": (
        HEADER + "2 2 2\n1 1 1\n2 1 3\n",
        ": row 2 has no entry on the diagonal: must have one, not zero",
    ),
    "reciprocal overflows": (
        HEADER + "1 1 1\n1 1 1e-320\n",
        ":3: the diagonal of row 1 is 1e-320: its reciprocal must be finite",
    ),
    "NaN": (
        HEADER + "2 2 3\n1 1 1\n2 2 1\n2 1 nan\n",
        ":5: nan: must be finite in float64",
    ),
    "infinity": (HEADER + "1 1 1\n1 1 inf\n", ":3: inf: must be finite in float64"),
    "not square": (
        HEADER + "2 3 1\n1 1 1\n",
        ":2: 2 x 3: a triangular matrix must be square",
    ),
    "no rows": (
        HEADER + "0 0 0\n",
        ":2: 0 x 0: a triangular matrix must have at least one row",
    ),
    "cut between entries": (
        HEADER + "2 2 3\n1 1 1\n2 2 1\n",
        ": the file ends after 2 of 3 entries",
    ),
    "cut in an entry": (
        HEADER + "2 2 2\n1 1 1\n2 2",
        ":4: 2 fields: must be 'ROW COLUMN VALUE'",
    ),
    "cut after the header": (
        HEADER,
        ": the file ends before the line 'ROWS COLUMNS ENTRIES'",
    ),
    "too many entries": (
        HEADER + "1 1 1\n1 1 1\n1 1 1\n",
        ":4: more entries than the 1 announced",
    ),
    "entry twice, beyond float64": (
        HEADER + "1 1 2\n1 1 1e308\n1 1 1e308\n",
        ": the sum of entry (1, 1) in line 3 and others = inf: must be finite in float64",
    ),
    "outside": (
        HEADER + "1 1 1\n2 1 1\n",
        ":3: entry (2, 1): row and column must be 1 to 1",
    ),
    "row is not a whole number": (HEADER + "1 1 1\n1.0 1 1\n", ":3: '1.0' is not a whole number"),
    "value is not a number": (HEADER + "1 1 1\n1 1 one\n", ":3: 'one' is not a number"),
    "symmetric": (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 1\n2 2 1\n",
        ":1: symmetry 'symmetric': a triangular matrix must be general, or diagonal",
    ),
    "without values": (
        "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n",
        ":1: field 'pattern': must be real or integer",
    ),
    "dense": (
        "%%MatrixMarket matrix array real general\n1 1\n1\n",
        ":1: format 'array': must be coordinate",
    ),
    "empty": (
        "",
        ":1: the first line must be '%%MatrixMarket matrix coordinate real general'",
    ),
    "binary": (bytes(range(256)), ":3: not valid UTF-8: only comments may be in another encoding"),
}


@pytest.mark.parametrize("name", MATRIX)
def test_matrix(tmp_path: Path, name: str) -> None:
    content, text = MATRIX[name]
    assert refused_file(tmp_path, "x.mtx", content) == text


HOSTILE = {
    "matrix of 10^12 rows": ("x.mtx", HEADER + f"{10**12} {10**12} 1\n1 1 1\n"),
    "negative number of entries": ("x.mtx", HEADER + "1 1 -1\n1 1 1\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tmp_path: Path, name: str) -> None:
    file, content = HOSTILE[name]
    refused_file(tmp_path, file, content)
