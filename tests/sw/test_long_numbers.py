"""Whole numbers of more digits than Python's ``int`` reads: one line, in the project's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError, damaged_as, quoted, short
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.python import source as python_source
from tests.support.commands import refusal
from tests.support.errors import refused

DIGITS = "5" * 5000
SHOWN = f"{'5' * 40}…"
FEWER = "must have at most 4300"
C = "void f(int n, float a[n]) {{ for (int i = 0; i < n; i++) a[i] = {}; }}\n"
PYTHON = "def f(a: float32[n]):\n    for i in range(n):\n        a[i] = {}\n"
ONES = "must be an int, an unsigned or a float, as 1, 1u, 1.0f"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (C.format(DIGITS), f"1:64: {SHOWN}: {ONES}"),
        (f"#define N {DIGITS}\n" + C.format("N"), f"2:64: {SHOWN}: {ONES}"),
        (C.format(f"0{DIGITS}"), f"1:64: {f'0{DIGITS}'[:40]}…: {ONES}"),
        (C.format(f"0x{DIGITS}u"), f"1:64: {f'0x{DIGITS}'[:40]}…: {ONES}"),
        (
            C.format("1").replace("a[n]", f"a[{DIGITS}]"),
            "1:23: a size of a: must be made of int parameters, whole numbers, +, - and *",
        ),
    ],
)
def test_c(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "f.c"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        c_source.read_file(path)
    assert str(caught.value) == f"{path}:{error}"


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (DIGITS, f"3:1: a whole number has too many digits: {FEWER}"),
        (
            f"0x{DIGITS}",
            f"3:16: {f'0x{DIGITS}'[:40]}… is beyond float32: must be at most 3.4028235e+38",
        ),
    ],
)
def test_python(tmp_path: Path, number: str, error: str) -> None:
    path = tmp_path / "f.py"
    path.write_text(PYTHON.format(number))
    with refused(f"{path}:{error}"):
        python_source.read_file(path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'# {DIGITS}\ntarget = "dpu"\nbanks = {DIGITS}\n', 3),
        (f'target = "dpu"\nnote = "{DIGITS}"\nlist = [\n  1,\n  {DIGITS}]\nbanks = {DIGITS}\n', 5),
        (f"banks = [\n  {DIGITS},\n  1,\n]\n", 2),
    ],
)
def test_toml(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(GnarlError) as caught:
        load_configuration(path)
    assert str(caught.value) == f"{path}:{line}: a number has too many digits: {FEWER}"


def test_options(tmp_path: Path) -> None:
    nest = tmp_path / "f.c"
    nest.write_text(C.format("1"))
    for number in (DIGITS, "٦٤", "1_0", "0"):
        line = refusal(tmp_path, "run", "sram_b2", nest, "--size", f"n={number}")
        assert line == (
            f"gnarl run: Invalid value for '--size': {short(f'n={number}')}: must be NAME=NUMBER, "
            "a whole number of at least 1. See gnarl run --help"
        )
    line = refusal(tmp_path, "run", "sram_b2", nest, "--set", f"banks={DIGITS}")
    assert line.startswith("gnarl: --set: banks = '555")
    assert "Exceeds" not in line


def test_error_texts_write_them_in_hexadecimal() -> None:
    assert short(1 << 20000) == quoted(1 << 20000) == f"0x1{'0' * 37}…"
    with (
        refused(f"f: a whole number has too many digits: {FEWER}"),
        damaged_as(WorkloadError, "f"),
    ):
        int(DIGITS)
