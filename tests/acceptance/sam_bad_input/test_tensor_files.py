"""Files and folders of tensors that are damaged, hostile or missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import gnarl
from tests.support.program_files import array_bytes
from tests.support.sam.files import CONFIG, COPY, HEADER, write_fibertree
from tests.support.sam.refusals import refused

FILES: dict[str, tuple[str, str | bytes, str]] = {
    "entry twice": (
        "b.mtx",
        HEADER + "2 2 2\n1 1 1e308\n1 1 1e308\n",
        ": the sum of entry (1, 1) in line 3 and others = inf: must be finite in float64",
    ),
    "outside": (
        "b.mtx",
        HEADER + "2 2 1\n3 1 1\n",
        ":3: entry (3, 1): row and column must be 1 to 2",
    ),
    "no number": ("b.mtx", HEADER + "2 2 1\n1 1 one\n", ":3: 'one' is not a number"),
    "NaN": ("b.mtx", HEADER + "2 2 1\n1 1 nan\n", ":3: nan: must be finite in float64"),
    "number of 5000 digits": (
        "b.mtx",
        HEADER + "2 2 1\n1 1 " + "9" * 5000 + "\n",
        f":3: {'9' * 40}…: must be finite in float64",
    ),
    "complex": (
        "b.mtx",
        HEADER.replace("real", "complex") + "1 1 1\n1 1 1 1\n",
        ":1: field 'complex': must be real, integer or pattern",
    ),
    "less than no rows": (
        "b.mtx",
        HEADER + "-1 0 0\n",
        ":2: -1 x 0: must not be negative",
    ),
    "empty .mtx": (
        "b.mtx",
        "",
        ":1: the first line must be '%%MatrixMarket matrix coordinate real general'",
    ),
    "binary": (
        "b.mtx",
        bytes(range(256)),
        ":3: not valid UTF-8: only comments may be in another encoding",
    ),
    "empty .tns": (
        "b.tns",
        "",
        ": the file has no entries: must have at least one, or a comment '# shape SIZES'",
    ),
    "index 0": ("b.tns", "0 1 1\n", ":1: index 0: must be at least 1"),
    "index is not a whole number": ("b.tns", "1.5 1 1\n", ":1: '1.5' is not a whole number"),
    "index of 5000 digits": (
        "b.tns",
        "9" * 5000 + " 1 1\n",
        f":1: '{'9' * 40}…' is not a whole number",
    ),
    "index of 30 digits": ("b.tns", "9" * 30 + " 1 1\n", f":1: {'9' * 30} has more than 63 bits"),
    "entry twice in .tns": (
        "b.tns",
        "1 1 1e308\n1 1 1e308\n",
        ": the sum of entry (1, 1) in line 1 and others = inf: must be finite in float64",
    ),
    "field is missing": ("b.tns", "1 1 1\n1 1\n", ":2: 2 fields: must be 3, as in line 1"),
    "beyond the shape": (
        "b.tns",
        "# shape 2 2\n3 1 1\n",
        ":2: entry (3, 1): index 1 must be at most 2, the size in {path}:1",
    ),
    "infinity": ("b.tns", "1 1 inf\n", ":1: inf: must be finite in float64"),
    "zero byte": ("b.tns", "1 1 1\0\n", ":1: '1\\x00' is not a number"),
    "no zip file": ("b.npz", b"", ": not a .npz file, or damaged: File is not a zip file"),
    "cut .npy": (
        "b.npy",
        b"\x93NUMPY\x01\x00",
        ": not a .npy file, or damaged: ends 2 bytes too early",
    ),
    "objects": (
        "b.npy",
        array_bytes(np.zeros(0)).replace(b"'<f8'", b"'|O' "),
        ": not a .npy file, or damaged: header \"{'descr': '|O' , 'fortran_order': False, "
        "'shape': (0,), }\": must be that of plain numbers",
    ),
    "NaN in .npy": (
        "b.npy",
        array_bytes(np.array([[1, np.nan]])),
        ": entry 1: the value at (0, 1) = nan: must be finite in float64",
    ),
    "complex array": (
        "b.npy",
        array_bytes(np.array([[1j]])),
        ": an array of complex128 is not a tensor: must be an array of real numbers",
    ),
    "suffix": (
        "b.csv",
        "1,1\n",
        ": suffix '.csv': a tensor must be .mtx, .ttx, .tns, .npz, .npy, a fibertree folder or "
        "folder/tensor_NAME",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    file, content, text = FILES[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refused(tmp_path, COPY, "--tensor", f"B={path}")
    assert line == f"{path}{text.replace('{path}', str(path))}"


def test_files_that_are_not_there_or_no_tensors(tmp_path: Path) -> None:
    for name, text in (("no.mtx", "No such file or directory"), ("no", "no such file or folder")):
        path = tmp_path / name
        assert refused(tmp_path, COPY, "--tensor", f"B={path}") == f"{path}: {text}"
    program = tmp_path / "copy.npz"
    assert gnarl("compile", CONFIG, COPY, "-o", program).exit_code == 0
    assert refused(tmp_path, COPY, "--tensor", f"B={program}") == (
        f"{program}: a compiled program: must be a sparse matrix of SciPy"
    )


FIBERTREES: dict[str, tuple[dict[str, str | None], str]] = {
    "unsorted": (
        {"crd1": "2\n0\n1\n3\n"},
        "/tensor_B_mode_1_crd:2: the coordinate is 0 after 2 in the same fiber: must ascend",
    ),
    "duplicate": (
        {"crd0": "0\n1\n1\n"},
        "/tensor_B_mode_0_crd:3: the coordinate is 1 after 1 in the same fiber: must ascend",
    ),
    "negative": (
        {"crd1": "-1\n2\n1\n3\n"},
        "/tensor_B_mode_1_crd:1: the coordinate is -1: must be 0 to 3",
    ),
    "descending segments": (
        {"seg1": "0\n3\n2\n4\n"},
        "/tensor_B_mode_1_seg:3: the segment is 2, below 3 before it: must not descend",
    ),
    "segments end early": (
        {"seg1": "0\n1\n2\n3\n"},
        "/tensor_B_mode_1_seg:4: the segment is 3: must be 4, the number of coordinates",
    ),
    "a fiber too few": (
        {"seg1": "0\n2\n4\n"},
        ": tensor B: modes (0, 1) misfit: mode 0 has 1 fibers with 3 coordinates, mode 1 has 2 "
        "fibers with 4 coordinates; the outermost level must have one fiber, each further one a "
        "fiber for each position of the level above",
    ),
    "value is not a number": (
        {"vals": "2\n1\nx\n5\n"},
        "/tensor_B_mode_vals:3: 'x' is not a number",
    ),
    "value is NaN": (
        {"vals": "2\nnan\n4\n5\n"},
        "/tensor_B_mode_vals:2: nan: must be finite in float64",
    ),
    "a value too few": ({"vals": "2\n1\n4\n"}, "/tensor_B_mode_vals: 3 values: must be 4"),
    "no values": ({"vals": None}, ": no file tensor_B_mode_vals: the folder has no tensors"),
    "no shape": ({"shape": None}, "/tensor_B_mode_shape: No such file or directory"),
    "size -1": ({"shape": "-1\n4\n"}, "/tensor_B_mode_shape:1: size -1: must not be negative"),
    "no coordinates": ({"crd1": None}, "/tensor_B_mode_1_crd: No such file or directory"),
    "empty segments": (
        {"seg0": ""},
        "/tensor_B_mode_0_seg: the file is empty: must have at least one line",
    ),
}


@pytest.mark.parametrize("name", FIBERTREES)
def test_fibertree_folders(tmp_path: Path, name: str) -> None:
    changes, text = FIBERTREES[name]
    folder = write_fibertree(tmp_path / "folder", "B", **changes)
    assert refused(tmp_path, COPY, "--tensor", f"B={folder}") == f"{folder}{text}"


def test_folders_without_the_tensor(tmp_path: Path) -> None:
    folder = write_fibertree(tmp_path / "folder", "C")
    line = refused(tmp_path, COPY, "--tensor", f"B={folder}")
    assert line == f"{folder}: no file tensor_B_mode_vals: there are C"
    empty = tmp_path / "empty"
    empty.mkdir()
    line = refused(tmp_path, COPY, "--tensor", f"B={empty}")
    assert line == f"{empty}: no file tensor_B_mode_vals: the folder has no tensors"
