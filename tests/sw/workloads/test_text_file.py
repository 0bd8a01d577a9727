"""Tables of numbers in text files, read at once or line by line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads import matrix_entries, text_file
from gnarl.sw.workloads.dag.triangular_matrix import parse_matrix
from gnarl.sw.workloads.tensor import fibertree_files, tensor_files, tns_file
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor
from gnarl.sw.workloads.text_file import (
    number_table,
    parse_json,
    read_table,
    real_number,
    whole_number,
)
from tests.support.errors import refused

NUMBERS = ["1", "2", "3", "0", "-1", "+1", "01", "1.0", "2.5", "-0", ".5", "5.", "1e3", "1e-400"]
ODD = ["1_0", "\u0661", "0x1", "1e400", "inf", "nan", "3x", "1.2.3", "1-2", "1e", "1D3", "9" * 19]
ODD += ["-9223372036854775808", "9007199254740993", "2\0", '"1"', "%", "#", "'", "(1)", "1j", "--1"]
SPACES = [" ", "  ", "\t", "\r", "\x0b", "\xa0", "\u2028"]
HEADERS = [
    f"%%MatrixMarket matrix {layout} {field} {symmetry}"
    for layout in ("coordinate", "array")
    for field in ("real", "integer", "pattern")
    for symmetry in ("general", "symmetric", "skew-symmetric")
]


@st.composite
def bodies(draw: st.DrawFn, width: int) -> str:
    """Lines of about so many numbers, most of which are good."""
    good = st.sampled_from(NUMBERS[:4] * 5 + NUMBERS)
    words = st.lists(good, min_size=width, max_size=width)
    rows = draw(st.lists(words, max_size=6))
    lines = [" ".join(row) for row in rows]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(lines)))
        row = draw(st.lists(st.sampled_from(NUMBERS + ODD), max_size=4))
        lines.insert(at, draw(st.sampled_from(SPACES)).join(row))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(
        st.sampled_from(["", "\n", "\n \n"])
    )


def outcome(read: Any, line_by_line: bool) -> object:
    """What ``read`` gives or refuses, with or without tables read at once."""
    with pytest.MonkeyPatch.context() as patch:
        if line_by_line:
            patch.setattr(text_file, "number_table", lambda lines, kinds: None)
        try:
            found = read()
        except WorkloadError as error:
            return str(error)
    if isinstance(found, Tensor):
        return found.shape, found.coordinates.tolist(), repr(found.values.tolist())
    return found.row.tolist(), found.column.tolist(), found.line.tolist(), repr(found.value)


def check(read: Any) -> None:
    assert outcome(read, False) == outcome(read, True)


@given(st.data())
def test_matrices_are_the_same_at_once_and_line_by_line(data: st.DataObject) -> None:
    first = data.draw(st.sampled_from(HEADERS))
    width = 1 if "array" in first else 2 if "pattern" in first else 3
    body = data.draw(bodies(width))
    rows = data.draw(st.integers(0, 3))
    columns = rows if "symmetric" in first else data.draw(st.integers(0, 3))
    count = data.draw(st.sampled_from([len(body.split("\n")) - 1, len(body.split("\n")), 2]))
    sizes = f"{rows} {columns}" if width == 1 else f"{rows} {columns} {count}"
    text = f"{first}\n% comment\n{sizes}\n{body}"
    lines = text.splitlines()

    def read() -> matrix_entries.Entries:
        header = matrix_entries.read_header(lines, "m.mtx")
        return matrix_entries.read_entries(lines, header, "m.mtx")

    check(read)


@given(st.integers(0, 3), st.data())
def test_tns_is_the_same_at_once_and_line_by_line(order: int, data: st.DataObject) -> None:
    heading = data.draw(st.sampled_from(["", "# shape 3 3\n", "\n# x\n", "# shape 2\n# shape 4\n"]))
    text = heading + data.draw(bodies(order + 1))
    check(lambda: tns_file.parse_tns(text, "t.tns"))


@given(bodies(1))
@example("1\n2 3")
def test_columns_are_the_same_at_once_and_line_by_line(body: str) -> None:
    lines = body.rstrip().split("\n")
    for kind, read in ((np.int64, whole_number), (np.float64, real_number)):
        table = number_table(lines, [kind])
        if table is not None:
            expected = [read(line.strip(), "") for line in lines]
            assert repr(table[0].tolist()) == repr(expected)


@given(st.lists(st.floats(), min_size=1))
def test_numbers_that_are_not_finite_are_refused_with_their_line(numbers: list[float]) -> None:
    lines = list(map(repr, numbers))
    wrong = next((at for at, number in enumerate(numbers) if not math.isfinite(number)), None)
    if wrong is None:
        (column,), _ = read_table(lines, 0, [np.float64], "f", "#", "VALUE")
        assert column.tolist() == numbers
        return
    with refused(f"f:{wrong + 1}: {numbers[wrong]!r}: must be finite in float64"):
        read_table(lines, 0, [np.float64], "f", "#", "VALUE")


@pytest.mark.parametrize("number", ["1e-400", "-2.4e-324", "0.001E-330", f"0.{'0' * 400}1"])
def test_numbers_that_float64_makes_0_are_refused_with_their_line(number: str) -> None:
    shown = number if len(number) <= 40 else f"{number[:40]}\u2026"
    right = "must be 0, or at least 5e-324, the smallest number of float64"
    with refused(f"f:2: {shown}: {right}"):
        read_table(["1", number, "0e-400", "-0.0E9"], 0, [np.float64], "f", "#", "VALUE")


@pytest.mark.parametrize("number", ["0e-400", "-0.0E9", "0", ".0", "5e-324"])
def test_zeros_and_the_smallest_numbers_are_read(number: str) -> None:
    (column,), _ = read_table([number], 0, [np.float64], "f", "#", "VALUE")
    assert column.tolist() == [float(number)]


def test_numbers_of_json_that_float64_makes_0_are_refused() -> None:
    with refused("f: 1e-400: must be 0, or at least 5e-324, the smallest number of float64"):
        parse_json('{"a": 1e-400}', "f")
    assert parse_json('{"a": [0e-400, -0.0, 5e-324]}', "f") == {"a": [0, 0, 5e-324]}


def test_good_files_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("read line by line")

    for module in (text_file, fibertree_files):
        monkeypatch.setattr(module, "READERS", dict.fromkeys((np.int64, np.float64), refuse))
    tensor = Tensor.from_any(np.array([[0, 1.5, 0], [0, 0, -2]]))
    for name in ("m.mtx", "m.tns"):
        tensor_files.save_tensor(tmp_path / name, tensor)
        assert load_tensor(tmp_path / name).to_dense().tolist() == tensor.to_dense().tolist()
    for part, text in {
        "shape": "3\n",
        "0_seg": "0\n2",
        "0_crd": "0\n2",
        "vals": "1e3\n-2\n",
    }.items():
        (tmp_path / f"tensor_x_mode_{part}").write_text(text)
    assert load_tensor(tmp_path, "x").to_dense().tolist() == [1e3, 0, -2]
    matrix = parse_matrix("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n", "")
    assert matrix.diagonal.tolist() == [2]
