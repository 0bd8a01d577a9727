"""Files of commands, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.command_program import compile, read
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.errors import refused

TEXT = "input a int32 64 line=64\noutput b int32 64,1 line=96  # of a\nfill d=8\nend\n"
FORM = (
    "must be a name, one of int8, uint8, int16, uint16, int32, uint32, float16, bfloat16, float32, "
    "its sizes and line=, as a float32 64,16 line=64"
)


def written(folder: Path, text: str) -> Path:
    path = folder / "p.sram"
    path.write_text(text, encoding="utf-8")
    return path


def test_arrays_and_commands_are_read(tmp_path: Path) -> None:
    found = read(written(tmp_path, TEXT))
    assert [(spec.name, spec.shape, spec.dtype, line) for spec, line in found.inputs] == [
        ("a", (64,), "int32", 64)
    ]
    assert [(spec.name, spec.shape, line) for spec, line in found.outputs] == [("b", (64, 1), 96)]
    assert found.lines == ((3, "fill d=8"), (4, "end"))


def test_an_array_may_be_an_input_and_an_output(tmp_path: Path) -> None:
    found = read(written(tmp_path, TEXT.replace("output b", "output a")))
    assert [spec.name for spec, _ in (*found.inputs, *found.outputs)] == ["a", "a"]


NOT_WHOLE = ["6_4", "٦٤", "64\v", "\v64", "64\f", "6\u20034", "0x40", "6.0", ""]


@pytest.mark.parametrize("number", NOT_WHOLE)
@pytest.mark.parametrize("old", ["int32 64 ", "line=64", ",1"])
def test_numbers_of_arrays_are_plain_decimals(tmp_path: Path, old: str, number: str) -> None:
    if not number and old == "int32 64 ":
        return  # a word less
    path = written(tmp_path, TEXT.replace(old, old.replace("64", number).replace("1", number), 1))
    line = 2 if old == ",1" else 1
    with refused(f"{path}:{line}: {number!r} is not a whole number"):
        read(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a int32", "int32"),
        ("a int32", "a b int32"),
        ("a int32", "a\v int32"),
        ("a int32", "../a int32"),
        ("int32", "int64"),
        ("line=64", "line:64"),
        ("line=64", "lines=64"),
        ("line=64", "line=-1"),
        ("line=64", "64"),
        ("32 64 ", "32 0 "),
        ("32 64 ", "32 -4,-16 "),
    ],
)
def test_arrays_that_are_none_are_refused(tmp_path: Path, old: str, new: str) -> None:
    path = written(tmp_path, TEXT.replace(old, new, 1))
    with refused(f"{path}:1: input: {FORM}"):
        read(path)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_a_name_given_twice_is_refused(tmp_path: Path, kind: str) -> None:
    first = TEXT.splitlines()[kind == "output"]
    path = written(tmp_path, TEXT + first.replace("64", "32") + "\n")
    name = "ab"[kind == "output"]
    with refused(f"{path}:5: {kind} {name} is given twice: must be given once"):
        read(path)


@pytest.mark.parametrize("number", ["3_2", "٣٢", "\v32", "32\f", "", "2,", "3.0"])
def test_numbers_of_commands_are_plain(tmp_path: Path, number: str) -> None:
    config = load_configuration("sram_b2").config
    path = written(tmp_path, TEXT.replace("d=8", f"d={number}"))
    shown = number.rpartition(",")[2] if "," in number else number
    with refused(f"{path}:3: d={shown}: must be whole numbers"):
        compile(read(path), config, seed=0, trace=Trace())
