"""Sections of program files that are missing, unknown, no arrays or out of range."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.program.npz import Npz
from tests.support.dpu.example_program import program, refuses
from tests.support.program_files import array_bytes, with_member


def test_a_missing_section_is_refused(file: Path):
    with_member(file, "tree_op.npy", None)
    refuses(file, "section 'tree_op' is missing")


def test_an_unknown_section_is_refused(file: Path):
    with zipfile.ZipFile(file) as archive:
        content = archive.read("tree_op.npy")
    with_member(file, "tree_up.npy", content)
    refuses(file, "unknown section 'tree_up'")


def test_a_section_that_is_no_array_is_refused(file: Path):
    with_member(file, "tree_op.npy", b"text")
    refuses(file, "'tree_op.npy' is damaged: not an array of NumPy")


def test_programs_that_expand_too_far_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["instructions.npy"] = array_bytes(np.zeros(10**7, np.uint8))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    monkeypatch.setattr(Npz.__init__, "__defaults__", (10**6,))
    total = sum(map(len, members.values()))
    refuses(
        file,
        f"not a program file, or damaged: expands to {total:,} bytes: must be at most 1,000,000, "
        "or not compressed",
    )


def test_pickles_are_refused(file: Path, tmp_path: Path):
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with_member(file, "tree_op.npy", (tmp_path / "objects.npy").read_bytes())
    refuses(
        file,
        "'tree_op.npy' is damaged: header \"{'descr': '|O', 'fortran_order': False, "
        "'shape': (1,), }\": must be that of plain numbers",
    )


@pytest.mark.parametrize(
    ("name", "values", "dtype", "text"),
    [
        ("tree_op", [2, 2], np.int64, "section 'tree_op' is int64 [2]: must be uint8 [2]"),
        ("tree_left", [[0]], np.int32, "section 'tree_left' is int32 [1, 1]: must be int32 [2]"),
        ("word_row", [0, 0, 16], np.int32, "word_row[2] = 16: must be from 0 to 15"),
        ("word_bank", [0, 8, 0], np.int32, "word_bank[1] = 8: must be from 0 to 7"),
        ("word_value", [-1, 0, 0], np.int32, "word_value[0] = -1: must be from 0 to 2"),
        ("output_row", [-2, 0], np.int32, "output_row[0] = -2: must be from -1 to 15"),
        ("output_bank", [8, 0], np.int32, "output_bank[0] = 8: must be below banks = 8"),
        (
            "output_bank",
            [0, 3],
            np.int32,
            "output_bank[1] = 3: must be an input or a constant",
        ),
        ("output_bank", [0, -1], np.int32, "output_bank[1] = -1: must be at least 0"),
        ("output_value", [0, 5], np.int32, "output_value[1] = 5: must be from 0 to 4"),
        ("tree_op", [4, 1], np.uint8, "tree_op[1] = 1: must be from 2 to 6"),
        ("tree_right", [2, 4], np.int32, "tree_right[1] = 4: must be an earlier value"),
        ("dag_op", [0, 0, 1, 3, 6], np.uint8, "dag_op[4] = 6: must be from 0 to 5"),
        (
            "dag_offsets",
            [0, 0, 0, 0, 2],
            np.int64,
            "section 'dag_offsets' is int64 [5]: must be int64 [6]",
        ),
        ("dag_offsets", [0, 0, 0, 3, 2, 4], np.int64, "dag_offsets[4] = 2: must be ascending"),
        (
            "dag_offsets",
            [0, 0, 0, 0, 2, 3],
            np.int64,
            "dag_offsets goes from 0 to 3: must go from 0 to 4",
        ),
        (
            "instructions",
            np.zeros(2**20 + 1),
            np.uint8,
            "section 'instructions' has 1,048,577 bytes: must be at most 131,072, the instruction "
            "memory",
        ),
        ("dag_operands", [1, 3, 0, 3], np.int32, "dag_operands[1] = 3: must be an earlier node"),
    ],
)
def test_bad_sections_are_refused(name: str, values: list[int], dtype: type[np.generic], text: str):
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        program(**{name: np.array(values, dtype)}).check()
