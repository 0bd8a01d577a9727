"""Numbers of ``#define``: where C would put them, and where it would not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.printer import print_nest
from tests.support.errors import refused

BODY = "void f(int n, float a[n]) {{ for (int i = 0; i < n; i++) a[i] = {}; }}\n"
VANISHED = "must be 0, or at least 5e-324, the smallest number of float64"


def read(folder: Path, text: str) -> str:
    path = folder / "f.c"
    path.write_text(text)
    return print_nest(c_source.read_file(path))


@pytest.mark.parametrize(
    "definitions",
    ["#define N 8\n", "#define N 8\n#define N 8\n", "#define N 8\n# define N ( 8 )\n#define M 9\n"],
)
def test_a_number_may_be_defined_again(tmp_path: Path, definitions: str) -> None:
    assert read(tmp_path, definitions + BODY.format("N")) == read(tmp_path, BODY.format("8"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "#define N 8\n\n#define N 9\n" + BODY.format("N"),
            "3:1: #define N 9: is 8 by line 1: must be one number",
        ),
        (
            "#define N 8\n  #define N -8\n" + BODY.format("1"),
            "2:3: #define N -8: is 8 by line 1: must be one number",
        ),
        (
            "#define n 8\n" + BODY.format("1"),
            "2:12: n is 8 by the #define of line 1: must be another name",
        ),
        (
            "#define i 8\n" + BODY.format("1"),
            "2:38: i is 8 by the #define of line 1: must be another name",
        ),
        (
            "#define a 8\n" + BODY.format("1"),
            "2:21: a is 8 by the #define of line 1: must be another name",
        ),
        (
            "#define f 8\n" + BODY.format("1"),
            "2:6: f is 8 by the #define of line 1: must be another name",
        ),
        (
            "\n#define fmaxf 8\n" + BODY.format("fmaxf(1.0f, 2.0f)"),
            "3:64: fmaxf is 8 by the #define of line 2: must be another name",
        ),
        (
            "#define int32_t 8\n" + BODY.replace("int n", "int32_t n").format("1"),
            "2:8: int32_t is 8 by the #define of line 1: must be another name",
        ),
        (
            "#define float 8\n" + BODY.format("1"),
            "1:1: #define float: is a word of C: must be another name",
        ),
        (
            "#define const 8\n" + BODY.format("1"),
            "1:1: #define const: is a word of C: must be another name",
        ),
        (
            BODY.format("N") + "#define N 8\n",
            "1:64: N is defined later, by line 2",
        ),
    ],
)
def test_what_c_would_replace_otherwise_is_refused(tmp_path: Path, text: str, error: str) -> None:
    with refused(f"{tmp_path}/f.c:{error}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        ("1e-400", f"64: 1e-400: {VANISHED}"),
        ("-1e-400f", f"65: -1e-400f: {VANISHED}"),
        ("1e400", "64: 1e400: must be finite in float64"),
    ],
)
def test_numbers_that_float64_does_not_hold_are_refused(
    tmp_path: Path, number: str, error: str
) -> None:
    with refused(f"{tmp_path}/f.c:1:{error}"):
        read(tmp_path, BODY.format(number))
    with refused(f"{tmp_path}/f.c:2:64: {number}: {error.partition(': ')[2].partition(': ')[2]}"):
        read(tmp_path, f"#define N {number}\n" + BODY.format("N"))


def test_numbers_that_float32_makes_0_are_taken(tmp_path: Path) -> None:
    assert "0.0" in read(tmp_path, BODY.format("1e-60f"))
