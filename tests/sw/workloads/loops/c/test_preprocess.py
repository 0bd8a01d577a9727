"""Macros, conditions and headers: what gcc makes of them, places, and what never ends."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from random import Random

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.machine.tools import run_tool
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.c.conditions import is_true
from gnarl.sw.workloads.loops.c.preprocess import preprocess
from gnarl.sw.workloads.loops.ir.printer import print_nest
from tests.support.errors import noted, refused

BODY = "void f(int n, float a[n]) {{ for (int i = 0; i < n; i++) a[i] = {}; }}\n"
VANISHED = "must be 0, or at least 5e-324, the smallest number of float64"

with_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")


def read(folder: Path, text: str) -> str:
    path = folder / "f.c"
    path.write_text(text)
    return print_nest(c_source.read_file(path))


def words(text: str, folder: Path | None = None) -> str:
    return " ".join(word for word, _ in preprocess(text, "f.c", folder))


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("#define N 8\n#define N  8\nN", "8"),
        ("#define N -1\nx-N - -N", "x - - 1 - - - 1"),
        ("#define MAX(a,b) ((a)>(b)?(a):(b))\nMAX(x[i], MAX(1, 2))",
         "( ( x [ i ] ) > ( ( ( 1 ) > ( 2 ) ? ( 1 ) : ( 2 ) ) ) ? ( x [ i ] ) : "
         "( ( ( 1 ) > ( 2 ) ? ( 1 ) : ( 2 ) ) ) )"),
        ("#define F(x) x##f\n#define V(x) F(x)\n#define Z 2.5\nF(0.0) V(Z) F(1e5)",
         "0.0f 2.5f 1e5f"),
        ("#define G(...) g(__VA_ARGS__)\nG(1, (2, 3))", "g ( 1 , ( 2 , 3 ) )"),
        ("#define A /* one\ntwo */ 1 /* three\n */ + 2 // four\nA", "1 + 2"),
        ("#define A 1 \\\n  + 2 /* x\n y */ + 3\nA", "1 + 2 + 3"),
        ("#ifdef X\n1\n#elif defined(Y) || !defined Z && 3 > 2u\n2\n#else\n3\n#endif", "2"),
        ("#if 0\n#error no\n#include <nothing>\n#else\n1\n#endif", "1"),
        ("#define A A + B\n#define B A\nA B", "A + A A + B"),
        ("#undef N\n#define N 1\n#undef N\nN", "N"),
        ("a^=b<<=1>>=c->d...x", "a ^= b <<= 1 >>= c -> d . . . x"),
        ("1.f .5e-3f 0x1Fu 1E5 0x1p-3f", "1.f .5e-3f 0x1Fu 1E5 0x1p-3f"),
        ("#include <limits.h>\n#include <stdint.h>\nINT_MAX UINT8_MAX",
         "2147483647 255"),
        ("# 1 \"a.c\"\n#pragma scop\n__LINE__", "3"),
        ("#define S(x) #x\nS(a + \"b\")", '"a + \\"b\\""'),
    ],
)  # fmt: skip
def test_what_macros_make(text: str, wanted: str):
    assert words(text) == wanted


def test_headers_of_the_folder(tmp_path: Path):
    (tmp_path / "n.h").write_text('#pragma once\n#include "m.h"\n#define N M\nint from_n;\n')
    (tmp_path / "m.h").write_text("#ifndef M_H\n#define M_H\n#define M 4\n#endif\n")
    (tmp_path / "math.h").write_text("int own;\n")
    text = (
        '#include "n.h"\n#include <n.h>\n#include "m.h"\n#include <math.h>\nN\n#include "math.h"\n'
    )
    found = preprocess(text, str(tmp_path / "f.c"), tmp_path)
    assert " ".join(word for word, _ in found) == "int from_n ; 4 int own ;"
    assert [str(place).removeprefix(f"{tmp_path}/") for _, place in found] == [
        *("n.h:4:1", "n.h:4:5", "n.h:4:11"), "f.c:5:1", *("math.h:1:1", "math.h:1:5", "math.h:1:8")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text, error",
    [
        ("#define N 8\n\n#define N 9\n", "3:9: #define N: is another macro by f.c:1:9: must be the "
         "same, or undefined before"),
        ("#define 8\n", "1:2: #define: must have a name"),
        ("#define M(a) a\nM(1, 2)", "2:1: Macro M requires 1 arguments but was passed 2"),
        ("  #if X\n", "1:1: Unterminated #if X"),
        ("#if\n#endif", "1:2: #if: must have a condition"),
        ("#ifdef 3\n#endif", "1:2: #ifdef: must have a name"),
        ("#if 1 / 0\n#endif", "1:2: #if: / 0: must not be 0"),
        ("#if 1 +\n#endif", "1:2: #if: must have a number before the end"),
        ("#if f(3)\n#endif", "1:2: #if: f: must be a whole number of at most 64 …"),
        ("#if 1\n#else\n#else\n#endif", "3:2: #else: stands behind #else: must be before it"),
        ("#else\n", "1:2: Misplaced #else"),
        ("\n #error no  way\n", "2:3: #error no  way"),
        ("#line 7\n", "1:2: #line: is no directive of C that is known"),
        ("int x; /* ", "1:8: a comment has no end: must have a */"),
        ("int x??(3??);", "1:6: ??(: a trigraph: must be its character"),
        ('#include "x.h"\n', "1:2: #include x.h: must be a file in the folder of f.c, or a header "
         "of C's library"),
        ("#define H </etc/passwd>\n#include H\n", "2:2: #include /etc/passwd: must be a file in "
         "the folder of f.c, or a header of C's library"),
        ("#include H\n", '1:2: #include: must be as "name.h" or <name.h>'),
        ("#define M_PI 3\n#include <math.h>\n", "2:2: #include: M_PI is another macro by f.c:1:9: "
         "must be defined behind it"),
        ("x\n\\", "2:1: the file ends with a backslash: must end with a line"),
    ],
)  # fmt: skip
def test_refusals(text: str, error: str):
    with refused(f"f.c:{error}"):
        preprocess(text, "f.c", None)


def test_what_never_ends(tmp_path: Path):
    (tmp_path / "a.h").write_text('\n#include "b.h"\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')
    deep = "headers include each other without end: must be at most 40 deep and 1,000"
    with refused(f"{tmp_path}/b.h:1:2: #include a.h: {deep}"):
        preprocess('#include "a.h"', str(tmp_path / "f.c"), tmp_path)
    (tmp_path / "w0.h").write_text("")
    for at in range(1, 12):
        (tmp_path / f"w{at}.h").write_text(f'#include "w{at - 1}.h"\n' * 3)
    with pytest.raises(WorkloadError, match=deep):
        preprocess('#include "w11.h"', str(tmp_path / "f.c"), tmp_path)
    lines = ["#define a0 1 + 1"] + [f"#define a{at} a{at - 1} + a{at - 1}" for at in range(1, 40)]
    many = "macros make more than 500,000 tokens: must be fewer"
    with pytest.raises(WorkloadError, match=rf"^f\.c:\d+:\d+: {many}$"):
        preprocess("\n".join([*lines, "a39"]), "f.c", None)
    with pytest.raises(WorkloadError, match=rf"^f\.c:2:\d+: {many}$"):
        preprocess("#define D(x) x x x x\n" + "D(" * 30 + "1" + ")" * 30, "f.c", None)
    lines = [f"#define r{at} r{at + 1}" for at in range(9999)]
    with pytest.raises(WorkloadError, match="macros are in each other more than 100 deep"):
        preprocess("\n".join([*lines, "r0"]), "f.c", None)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (BODY.format("N") + "#define N 8\n", "1:64: N is not defined"),
        ("#define n 8\n" + BODY.format("1"), "2:12: not C: before: 8"),
        ("#define MAX(a,b) ((a)>(b)?(a):(c))\n" + BODY.format("MAX(a[i], 0)"),
         "2:64: c is not defined"),
        ("#define LOOP for (int i = 0; i != n; i++)\nvoid f(int n, float a[n]) {\n  LOOP ; }",
         "3:3: a loop must be as for (int i = 0; i < n; i++) or for (int i = n - 1; i >= 0; i--)"),
    ],
)  # fmt: skip
def test_places_of_what_macros_make(tmp_path: Path, text: str, error: str) -> None:
    with refused(f"{tmp_path}/f.c:{error}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        ("1e-400", f"64: 1e-400: {VANISHED}"),
        ("-1e-400f", f"64: -1e-400f: {VANISHED}"),
        ("1e400", "64: 1e400: must be finite in float64"),
    ],
)
def test_numbers_that_float64_does_not_hold_are_refused(
    tmp_path: Path, number: str, error: str
) -> None:
    for line, text in ((1, BODY.format(number)), (2, f"#define N {number}\n" + BODY.format("N"))):
        column = 65 if line == 1 and number.startswith("-") else 64
        with refused(f"{tmp_path}/f.c:{line}:{column}:{error.removeprefix('64:')}"):
            read(tmp_path, text)


def test_numbers_that_float32_makes_0_are_taken(tmp_path: Path) -> None:
    assert "0.0" in read(tmp_path, BODY.format("1e-60f"))


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("1 ? 0 : 1 ? 2 : 3", False),
        ("-1 < 0u", False),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("0x7fffffffffffffff + 1 < 0", True),
        ("18446744073709551615u / 3 == 6148914691236517205u", True),
        ("1 || 1 / 0", True),
        ("0 && 1 << 99", False),
        ("010 == 8 && 'a' == 97 && ~0 == -1 && !3 == 0", True),
        ("1 | 2 ^ 3 & 4", True),
        ("true", False),
    ],
)
def test_conditions(text: str, wanted: bool):
    assert is_true(re.findall(r"'.'|\w+|<<|>>|[<>=!]=|&&|\|\||.", text.replace(" ", ""))) is wanted


@with_gcc
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))]
)
def test_macros_are_what_gcc_takes_them_for(tmp_path: Path, first: int):
    for seed in range(40 * first, 40 * first + 40):
        text = _macros(Random(seed))
        path = tmp_path / "m.c"
        path.write_text(text)
        made = run_tool(["gcc", "-E", "-P", "-w", str(path)], tmp_path, "macros", WorkloadError)
        assert made.returncode == 0, made.stdout
        with noted(f"{seed=}\n{text}"):
            assert words(text) == words(made.stdout)


def _macros(random: Random) -> str:
    """Definitions that name each other, conditions, and lines that use all of them."""
    plain, called = [f"P{at}" for at in range(4)], [f"F{at}" for at in range(4)]

    def text(depth: int, names: str = "") -> str:
        parts = []
        for _ in range(random.randint(1, 4)):
            match random.randrange(6):
                case 0:
                    parts.append(random.choice(plain))
                case 1 if depth:
                    inner = ", ".join(text(depth - 1, names) for _ in range(2))
                    parts.append(f"{random.choice(called)}({inner})")
                case 2 if names:
                    parts.append(random.choice(names))
                case 3:
                    parts.append(random.choice(("1", "2.5f", "x", "-", "+", "- 1", "[i]")))
                case _:
                    parts.append(random.choice(("y", "7u", "<", "*")))
        return random.choice((" ", "  ", "")).join(f" {each}" for each in parts)

    lines = []
    for name in plain:
        lines.append(f"#define {name}{text(1)}")
    for name in called:
        lines.append(f"#define {name}(a, b){text(1, 'ab')} J(z, 1)")
    lines += ["#define J(a, b) a##b K(a) #b", f"#define K(a) a ## 2{text(1, 'a')}"]
    for _ in range(6):
        condition = f"{random.randint(-3, 9)} {random.choice(('<', '==', '&&', '-', '%'))} 3"
        lines += [f"#if {condition} || defined({random.choice((*plain, 'Q'))})", text(2), "#else"]
        lines += [text(2), "#endif", text(2)]
    return "\n".join(lines) + "\n"
