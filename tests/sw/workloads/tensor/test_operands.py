"""Operands of statements from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.workloads.tensor.operands import load_operands
from gnarl.sw.workloads.tensor.storage import TensorFormat

HEADER = "%%MatrixMarket matrix"
VECTOR, MATRIX = TensorFormat(("compressed",), (0,)), TensorFormat(("dense",) * 2, (0, 1))


@pytest.mark.parametrize(
    ("text", "coordinates", "values"),
    [
        ("coordinate real general\n4 1 3\n3 1 0\n1 1 2.5\n4 1 -1\n", [0, 2, 3], [2.5, 0, -1]),
        ("coordinate pattern general\n4 1 1\n2 1\n", [1], [1]),
        ("coordinate integer general\n4 1 0\n", [], []),
        ("array real general\n4 1\n0\n1\n0\n2\n", [1, 3], [1, 2]),
    ],
    ids=["coordinate", "pattern", "empty", "array"],
)
def test_a_matrix_of_one_column_is_a_vector(
    tmp_path: Path, text: str, coordinates: list[int], values: list[float]
) -> None:
    path = tmp_path / "c.mtx"
    path.write_text(f"{HEADER} {text}")
    operand = load_operands({"c": str(path)}, {"c": VECTOR})["c"]
    assert operand.tensor.shape == (4,)
    assert not operand.grows
    assert operand.tensor.coordinates.tolist() == [[at] for at in coordinates]
    assert operand.tensor.values.tolist() == values


@pytest.mark.parametrize(
    ("sizes", "format", "shape"),
    [("4 1 0", MATRIX, (4, 1)), ("1 4 0", VECTOR, (1, 4)), ("4 2 0", VECTOR, (4, 2))],
    ids=["as a matrix", "one row", "two columns"],
)
def test_other_matrices_stay_what_they_are(
    tmp_path: Path, sizes: str, format: TensorFormat, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "c.mtx"
    path.write_text(f"{HEADER} coordinate real general\n{sizes}\n")
    assert load_operands({"c": str(path)}, {"c": format})["c"].tensor.shape == shape
