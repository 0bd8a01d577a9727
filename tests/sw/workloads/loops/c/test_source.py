"""C as a notation of loop nests: what it means, and every refusal with its whole text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.python import source as python_source
from gnarl.sw.workloads.loops.sources import file_workload

EXAMPLES = Path(__file__).parents[5] / "examples"
NAMES = ("vec_add", "array_sum", "stencil1d", "stencil2d", "conv2d", "mm")
READERS = (
    lambda name: c_source.read_file(EXAMPLES / f"{name}.c"),
    lambda name: python_source.read_file(EXAMPLES / f"{name}.py"),
)

HEAD = """#include <stdint.h> // types
#define K 3
#define F (-0.5f)
/* two
lines */
void f(int n, float x[n], int32_t i[n], uint8_t u[n][K], float s, int t, unsigned w) {
"""

STATEMENT = "statements must be for loops, if, declarations, assignments and calls"
LONG = "-2147483648 is a long: must be (int)-2147483648"
LOOP = "a loop must be as for (int i = 0; i < n; i++) or for (int i = n - 1; i >= 0; i--)"


def printed(body: str) -> str:
    """The body as it was understood."""
    text = print_nest(c_source.read_source(HEAD + body + "\n}", "f.c"))
    return text.partition("w: uint32):\n")[2].replace("\n    ", "; ").strip()


@pytest.mark.parametrize(
    "source, wanted",
    [
        # Numbers.
        ("x[0] = 1;", "x[0] = 1.0"),
        ("x[0] = 0.1;", "x[0] = 0.1"),
        ("x[0] = F * K;", "x[0] = (-0.5) * 3.0"),
        ("i[0] = 0x10 + 010;", "i[0] = 16 + 8"),
        ("i[0] = -2147483648;", "i[0] = -2147483648"),
        ("if (t < -2147483648) i[0] = 1;", "if t < (-2147483648):;     i[0] = 1"),
        ("i[0] = (int)-2147483648 + t;", "i[0] = (-2147483648) + t"),
        ("i[0] = w < -1u;", "i[0] = 1 if (w < uint32(4294967295)) else 0"),
        ("i[0] = t < -0x80000000;", "i[0] = 1 if (uint32(t) < uint32(2147483648)) else 0"),
        ("i[0] = t < 0x80000000;", "i[0] = 1 if (uint32(t) < uint32(2147483648)) else 0"),
        ("i[0] = t < - -1;", "i[0] = 1 if (t < 1) else 0"),
        ("if (s > 0.5) x[0] = -s;", "if s > 0.5:;     x[0] = -s"),
        # Integer promotions and the usual arithmetic conversions.
        ("i[0] = u[0][1] + 1;", "i[0] = int32(u[0, 1]) + 1"),
        ("u[0][0] = u[0][0] + u[0][1];", "u[0, 0] = uint8(int32(u[0, 0]) + int32(u[0, 1]))"),
        ("u[0][0] += t;", "u[0, 0] += uint8(t)"),
        ("u[0][0] >>= t;", "u[0, 0] = uint8(int32(u[0, 0]) >> t)"),
        ("i[0] = t + w;", "i[0] = int32(uint32(t) + w)"),
        ("x[0] = s + t;", "x[0] = s + float32(t)"),
        ("x[0] += t; x[0] /= 2;", "x[0] += float32(t); x[0] /= 2.0"),
        ("i[0] += s;", "i[0] = int32(float32(i[0]) + s)"),
        ("i[0] = t < K;", "i[0] = 1 if (t < 3) else 0"),
        (
            "bool b = t; if (!b && s) x[0] = 0;",
            "b = t != 0; if (not b) and (s != 0.0):;     x[0] = 0.0",
        ),
        ("u[0][0] = (uint8_t)s;", "u[0, 0] = uint8(s)"),
        # C cuts quotients towards zero.
        ("i[0] = t / 1;", "i[0] = t"),
        ("i[0] = t / 4;", "i[0] = (t + (3 if (t < 0) else 0)) // 4"),
        ("i[0] = w / 4;", "i[0] = int32(w // uint32(4))"),
        # Calls.
        ("x[0] = sqrtf(fabsf(s)); i[0] = abs(t);", "x[0] = sqrt(abs(s)); i[0] = abs(t)"),
        ("x[0] = fmaximumf(s, 0);", "x[0] = max(s, 0.0)"),
        ("x[0] = fminf(s, 1);", "x[0] = 1.0 if (s != s) else min(s, 1.0)"),
        # Statements.
        (";", "pass"),
        ("int a = 2; a++; --a;", "a = 2; a = a + 1; a = a - 1"),
        ("float a, b; a = 1; b = a;", "a = 1.0; b = a"),
        ("if (t) x[0] = 1; else x[0] = 2;", "if t != 0:;     x[0] = 1.0; else:;     x[0] = 2.0"),
        ("for (int j = 0; j <= 3; ++j) i[j]++;", "for j in range(4):;     i[j] += 1"),
        (
            "for (int j = n - 1; j >= 0; j--) i[j] = j;",
            "for j in range(n):;     i[(n - 1) - j] = (n - 1) - j",
        ),
        (
            "for (int j = 9; t < j; j -= 2) i[j] = 0;",
            "for j in range(t, 9, 2):;     i[(9 + t) - j] = 0",
        ),
        (
            "int b = t; for (int j = b; j > 0; --j) { b = j; }",
            "b = t; j_bound = b; for j in range(j_bound):;     b = j_bound - j",
        ),
        (
            "for (size_t j = 0; j < n; j++) if (j + 1 < n && j / 2) x[j - 1] = j;",
            "for j in range(n):;     if ((j + 1) < n) and ((j // 2) != 0):;         "
            "x[j - 1] = float32(j)",
        ),
        ("i[0] = i[1] = t;", "i[1] = t; i[0] = t"),
        ("i[0] = t & 1 | ~t; i[0] ^= w;", "i[0] = (t & 1) | (t ^ (-1)); i[0] ^= int32(w)"),
        (
            "u[0][0] = u[0][1] & ~w; u[0][0] |= t;",
            "u[0, 0] = uint8(uint32(int32(u[0, 1])) & (w ^ uint32(4294967295))); "
            "u[0, 0] |= uint8(t)",
        ),
        (
            "int k; u[0][0] = i[1] = t + 300; x[0] = k = s;",
            "value = t + 300; i[1] = value; value_2 = uint8(value); u[0, 0] = value_2; "
            "value_3 = int32(s); k = value_3; value_4 = float32(value_3); x[0] = value_4",
        ),
        ("x[0] = s * 0.1;", "x[0] = s * 0.1"),
        ("char c = 200; i[0] = c;", "c = int8(-56); i[0] = int32(c)"),
        (
            "x[0] = 1.0000000596046447754f; x[1] = 1.0000000596046447754;",
            "x[0] = 1.0000001; x[1] = 1.0000001",
        ),
        ("for (int j = 1; n > j; j += 2) i[j] = j;", "for j in range(1, n, 2):;     i[j] = j"),
        ("int j; for (j = 0; j <= t; j = j + 1) ;", "for j in range(t + 1):;     pass"),
    ],
)
def test_meanings(source: str, wanted: str):
    assert printed(source) == wanted


@pytest.mark.parametrize(
    "source, refusal",
    [
        ("x[0] = s * 1e39;", "7:12: 1e+39 is beyond float: must be at most 3.4e38"),
        ("x[0] = y;", "7:8: y is not defined"),
        ("x[0] = x;", "7:8: x is an array: must have indices"),
        ("x[0][1] = 0;", "7:1: x has 2 indices: must have 1"),
        ("x[s] = 0;", "7:3: an index is float32: must be an integer"),
        ("s[0] = 0;", "7:1: s is not an array of the function"),
        ("i[0] = s & 1;", "7:8: float32 & int32: must be integers"),
        ("i[0] = ~s;", "7:9: ~ of float32: must be an int or an unsigned"),
        ("i[0] = &t;", "7:9: &: in an expression, signs must be + - ~ or !"),
        ("i[0] = s % 2;", "7:8: float32 % int32: must be integers"),
        (
            "i[0] = 3000000000000;",
            "7:8: 3000000000000: must be an int, an unsigned or a float, as 1, 1u, 1.0f",
        ),
        (
            "i[0] = t < 2147483648;",
            "7:12: 2147483648: must be an int, an unsigned or a float, as 1, 1u, 1.0f",
        ),
        ("i[0] = t - 2147483648u < w * -2147483648;", "7:31: " + LONG),
        ("i[0] = (t > 0 ? -2147483648 : t) / -1;", "7:18: " + LONG),
        ("i[0] = w < -2147483648;", "7:8: -2147483648 is a long: must be compared with an int"),
        (
            "x[0] = exp(s);",
            "7:8: call of exp: only fabsf, sqrtf, abs, fminf, fmaxf, fminimumf, "
            "fmaximumf, __builtin_popcount, expf, powf may be called",
        ),
        ("x[0] = fminf(s);", "7:8: fminf takes 2 values, not 1"),
        (
            "double d = 1;",
            "7:1: double: a type must be float, int, unsigned, short, char, signed char, "
            "unsigned char, bool, int8_t to uint32_t, or size_t of loops and sizes",
        ),
        ("float *d;", "7:7: d: a local must be a number or an array"),
        ("float d[3]; x[0] = d[1];", "7:7: d is never written: must be"),
        ("int t = 1;", "7:5: t is declared at f.c:6:71 already: must be another name"),
        ("while (t) t--;", f"7:1: While: {STATEMENT}"),
        ("return;", "7:1: return: results must be written to arrays"),
        ("x[0] &= 1;", "7:1: float32 & float32: must be integers"),
        ("for (int j = 9; j != 0; j--) ;", f"7:17: {LOOP}"),
        ("for (int j = 0; j < 9; j *= 2) ;", f"7:24: {LOOP}, its step a number other than 0"),
        ("for (int j = 0; j < 9; j += t) ;", f"7:24: {LOOP}, its step a number other than 0"),
        (
            "for (int j = t; j <= n; j--) ;",
            "7:17: j goes down and <= does not end the loop: must be > or >=",
        ),
        (
            "for (int j = t; 9 >= j; j -= 2) ;",
            "7:17: j goes down and <= does not end the loop: must be > or >=",
        ),
        (
            "for (int j = 0; j > n; j -= -1) ;",
            "7:17: j goes up and > does not end the loop: must be < or <=",
        ),
        (
            "for (size_t j = n; j >= 0; j--) ;",
            "7:20: j is size_t, which is never below 0: must be > or an int",
        ),
        (
            "for (int j = 9; j > 0; j--) j = 2;",
            "7:1: j is assigned within its loop: must change by its step",
        ),
        (
            "for (size_t j = 0; j < n; j++) if (j - 1 < 4) x[j] = 0;",
            "7:36: arithmetic of size_t is of 64 bits: must be of int, but for indices",
        ),
        (
            "for (size_t j = 0; j < n; j++) x[j] = j * 2;",
            "7:39: arithmetic of size_t is of 64 bits: must be of int, but for indices",
        ),
        ("size_t j = 3;", "7:8: j is size_t: a local must be int but in its loop"),
        ("for (int j = 0; j < s; j++) ;", "7:21: a bound is float32: must be int"),
        ("for (unsigned j = 0; j < 4; j++) ;", "7:1: j is uint32: a loop's variable must be int"),
        (
            "int m = 3; for (int j = 0; j < m; j++) m = 2;",
            "7:28: m changes within the loop that it bounds: must stay the same",
        ),
        (
            "for (int j = 0; j < 9; j++) j = 2;",
            "7:1: j is assigned within its loop: must change by its step",
        ),
        ("x[0] = ;", "7:8: not C: Invalid expression"),
    ],
)
def test_refusals(source: str, refusal: str):
    with pytest.raises(WorkloadError) as caught:
        printed(source)
    assert str(caught.value) == f"f.c:{refusal}"


@pytest.mark.parametrize(
    "source, refusal",
    [
        ("int x; /* ", "f.c:1:8: a comment has no end: must have a */"),
        ("int x;", "f.c: has no function: must have one"),
        ("void f(){} void g(){}", "f.c: has 2 functions, f, g: one must be named"),
        ("int f(){}", "f.c:1:5: f gives a value: must be void"),
        (
            "void f(float **a){}",
            "f.c:1:14: PtrDecl: a type must be float, int, unsigned, short, char, "
            "signed char, unsigned char, bool, int8_t to uint32_t, or size_t of loops and sizes",
        ),
        (
            "void f(float a[]){}",
            "f.c:1:14: a lacks a size: must be a number, as int n, or an array with "
            "all sizes, as float a[n][m]",
        ),
        (
            "void f(float a[n], int n){}",
            "f.c:1:16: n: a size must be an int parameter before the array",
        ),
        ("void f(float n, float a[n]){}", "f.c:1:14: n is float32: an array's size must be int"),
        (
            "void f(int n, float a[n / 2]){}",
            "f.c:1:23: a size of a: must be made of int parameters, whole numbers, +, - and *",
        ),
        (
            "void f(int n, const float a[n]){ for (int i = 0; i < n; i++) a[i] += 1; }",
            "f.c:1:62: a is const: must not be written",
        ),
        ("void f(", "f.c:1:7: not C: At end of input"),
    ],
)
def test_refused_files(source: str, refusal: str):
    with pytest.raises(WorkloadError) as caught:
        c_source.read_source(source, "f.c")
    assert str(caught.value) == refusal


@pytest.mark.parametrize("name", NAMES)
def test_c_and_python_are_the_same_nests(name: str):
    found = [read(name) for read in READERS]
    assert print_nest(found[0]).splitlines()[1:] == print_nest(found[1]).splitlines()[1:]
    assert {size.name for size in found[0].sizes} == {size.name for size in found[1].sizes}


def test_c_and_python_give_the_same_bits():
    chance = np.random.default_rng(3)
    matrix = chance.standard_normal((9, 11), np.float32)
    given = {"a": matrix, "corner": 0.1, "edge": 0.2, "middle": -0.3}
    nests = [read("conv2d") for read in READERS]
    found = [GoldenLoops(nest).run(bind(nest, given))["b"] for nest in nests]
    assert found[0].tobytes() == found[1].tobytes()


def test_a_file_is_a_workload(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.ones(4, np.float32))
    workload = file_workload(str(EXAMPLES / "vec_add.c"), {"a": str(tmp_path / "a.npy")})
    assert workload.nest.results == ("c",)


def test_quotients_and_remainders_are_those_of_c():
    statements = "i[j] = i[j] / d[j]; r[j] %= d[j]; c[j] = c[j] % 4 + c[j] / 4;"
    body = f"for (int j = 0; j < n; j++) {{ {statements} }}"
    nest = c_source.read_source(
        f"void f(int n, int i[n], int r[n], int c[n], int d[n]) {{ {body} }}", "f.c"
    )
    values = np.array([7, -7, 7, -7, 8, -8, 0, -1, 5], np.int32)
    by = np.array([2, 2, -2, -2, 4, 4, 3, 5, -5], np.int32)
    found = GoldenLoops(nest).run(bind(nest, {"i": values, "r": values, "c": values, "d": by}))
    cut = np.trunc(values / by).astype(np.int32)
    assert found["i"].tolist() == cut.tolist()
    assert found["r"].tolist() == (values - cut * by).tolist()
    fours = np.trunc(values / 4).astype(np.int32)
    assert found["c"].tolist() == (values - 4 * fours + fours).tolist()


CALLED = """
void scale(int n, float by, float a[n]) {
    for (int i = 0; i < n; i++) {
        float product = by * a[i];
        a[i] = product;
    }
}

void plane(int rows, int columns, float a[rows * columns], int t[2]) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            a[i * columns + j] += (float)t[1];
}

void again(int n, float a[n], int t[2]) {
    again(n, a, t);
}

"""


def called(body: str) -> str:
    head = "void f(int n, float a[n], float b[3 + n], float c[6], int t[2], int k) {\n"
    return CALLED + head + body + "\n}"


def test_what_is_called_stands_in_place_of_the_call():
    body = "int i = k; scale(n, 2.0f, a); scale(n + 3, a[i], b); plane(2, 3, c, t);"
    text = print_nest(c_source.read_source(called(body), "f.c", "f"))
    assert text.partition("k: int32):\n")[2] == (
        "    i = k\n"
        "    for i_2 in range(n):\n"
        "        product = 2.0 * a[i_2]\n"
        "        a[i_2] = product\n"
        "    by = a[i]\n"
        "    for i_3 in range(n + 3):\n"
        "        product_2 = by * b[i_3]\n"
        "        b[i_3] = product_2\n"
        "    for i_4 in range(2):\n"
        "        for j in range(3):\n"
        "            c[(i_4 * 3) + j] += float32(t[1])\n"
    )


def test_a_call_means_what_it_does():
    nest = c_source.read_source(called("scale(n, 2, a); scale(6, a[1], c);"), "f.c", "f")
    given = {"a": np.float32([1, 3]), "c": np.arange(6, dtype=np.float32), "k": np.int32(0)}
    given |= {"b": np.zeros(5, np.float32), "t": np.zeros(2, np.int32)}
    found = GoldenLoops(nest).run(bind(nest, given))
    assert found["a"].tolist() == [2, 6]
    assert found["c"].tolist() == [0, 6, 12, 18, 24, 30]


def test_errors_in_what_is_called_say_where_it_is_called():
    nest = c_source.read_source(called("for (int j = 0; j < 2; j++)\nscale(6, 1, c);"), "f.c", "f")
    assert str(nest.body[0].body[0].place) == "f.c:3:5, called at f.c:21:1"


@pytest.mark.parametrize(
    "body, refusal",
    [
        ("g(n, a);", "20:1: call of g: must be of a function of this file"),
        ("again(n, a, t);", "16:5: call of again, which calls this function: must not"),
        ("f(n, a, b, c, t, k);", "20:1: call of f, which calls this function: must not"),
        ("scale(n, a);", "20:1: scale takes 3 values, not 2"),
        ("scale(n, 1, k);", "20:13: a of scale must be given an array of the function"),
        ("scale(n, t, a);", "20:10: t is an array: must have indices"),
        ("scale(n, 1, t);", "20:1: t is int32[2]: a of scale must be float32[n]"),
        ("scale(n, 1, b);", "20:1: b is float32[3 + n]: a of scale must be float32[n]"),
        ("scale(k, 1, a);", "20:1: a is float32[n]: a of scale must be float32[k]"),
        ("plane(n, 2, c, t);", "20:1: c is float32[6]: a of plane must be float32[n * 2]"),
        ("a[0] = scale(n, 1, a);", "20:8: call of scale: only fabsf, sqrtf, abs, fminf, fmaxf, "
         "fminimumf, fmaximumf, __builtin_popcount, expf, powf may be called"),
    ],
)  # fmt: skip
def test_refusals_of_calls(body: str, refusal: str):
    with pytest.raises(WorkloadError) as caught:
        c_source.read_source(called(body), "f.c", "f")
    assert str(caught.value) == f"f.c:{refusal}"
