"""What the Python notation refuses, with whole texts and places."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.nest import statements
from gnarl.sw.workloads.loops.python import source as python_source
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.errors import refused
from tests.support.nests.nest_head import HEAD

EXPRESSION = (
    "must be numbers, names, array elements, arithmetic, comparisons or calls of abs, min, max, "
    "sqrt and the types"
)
STATEMENT = "statements must be for loops, assignments, calls, if and pass"
LOOP = "a loop must be over range(...), intersect(...) or union(...)"


def test_places_count_lines_and_characters() -> None:
    """Not bytes; and neither form feeds nor the separators of Unicode end lines."""
    source = (
        HEAD
        + "    # a\x0cb\u2028c\n    if t > 0: pass  # \u00e4\n    x[0] = s; x[1] = '\u00e4' + a\n"
    )
    with refused(f"f.py:7:22: '\u00e4': {EXPRESSION}"):
        read_source(source, "f.py")
    nest = read_source(HEAD + "    if t > 0:\r\n        x[0] = s\n", "f.py")
    assert [str(each.place) for each in statements(nest.body)] == ["f.py:5:5", "f.py:6:9"]


STATEMENTS = [
    ("while t: pass", 5, f"while t: pass: {STATEMENT}"),
    ("return x", 5, "return: results must be written to arrays"),
    ("print(x)", 5, "call of print: must be of a function of this file"),
    ("x", 5, f"x: {STATEMENT}"),
    ('"doc"; "text"', 12, f'"text": {STATEMENT}'),
    ("a = b = 1", 5, "a = b = 1: must assign to one local or one array element"),
    ("a, b = 1, 2", 5, "a, b: must assign to one local or one array element"),
    ("a: int32", 5, f"a: int32: {STATEMENT}"),
    (
        "a: int64 = 1",
        8,
        "int64: a local must be of float32, int8, int16, int32, uint8, uint16, uint32, bool",
    ),
    (
        "a: [int32] = 1",
        8,
        "[int32]: a local must be of float32, int8, int16, int32, uint8, uint16, uint32, bool",
    ),
    ("x = 1.0", 5, "x is an array: must have indices"),
    ("x[0], a = 1.0, 2", 5, "x[0], a: must assign to one local or one array element"),
    ("x[0] **= 2.0", 5, "x[0] **= 2.0: must be one of += -= *= /= //= %= <<= >>= &= |= ^="),
    ("x[0] += t", 13, "t is int32: what x stores must be float32"),
    ("x[0] %= 2.0", 5, "float32 % float32: must be integers"),
    ("x[0] <<= 1", 5, "float32 << int32: must be integers"),
    ("i[0] /= 2", 5, "int32 / int32: must be float32, or // for integers"),
    ("t.a += 1", 5, "t.a: must assign to one local or one array element"),
    ("t.a = 1", 5, "t.a: must assign to one local or one array element"),
    ("s += t", 10, "t is int32: s must be float32"),
    ("a += 1", 5, "a is not defined"),
    ("x[-1] = s", 7, "index -1: must be at least 0; none counts from the end"),
    ("x[0:1] = s", 5, "x[0:1]: slices must be fibers of intersect or union"),
    ("n = 3", 5, "n is a size already: must be another name"),
    ("sqrt = 2.0", 5, "sqrt is a word of the notation: must be another name"),
    ("with s: pass", 5, f"with s: pass: {STATEMENT}"),
    ("def g(): pass", 5, f"def g(): pass: {STATEMENT}"),
    ("import math", 5, f"import math: {STATEMENT}"),
    ("assert t", 5, f"assert t: {STATEMENT}"),
    ("del x", 5, f"del x: {STATEMENT}"),
    ("del t", 5, f"del t: {STATEMENT}"),
    ("global t", 5, f"global t: {STATEMENT}"),
]

LOOPS = [
    ("for k in range(n): break", 24, f"break: {STATEMENT}"),
    ("for k in x: pass", 14, f"x: {LOOP}"),
    ("for k in range(): pass", 14, f"range(): {LOOP}"),
    ("for k in range(0, n, 1, 2): pass", 14, f"range(0, n, 1, 2): {LOOP}"),
    ("for k in range(0, n, 0): pass", 26, "step 0: must be a whole number other than 0"),
    ("for k in range(0, n, t): pass", 26, "step t: must be a whole number other than 0"),
    ("for k in range(0, n, F): pass", 26, "step F: must be a whole number other than 0"),
    ("for k in range(s): pass", 20, "s is float32: a bound must be int32"),
    ("for k in range(0.5): pass", 20, "0.5 is float32: a bound must be int32"),
    ("for k in range(n=3): pass", 14, f"range(n=3): {LOOP}"),
    ("for (k, l) in range(n): pass", 9, "(k, l): must be one loop variable"),
    ("for x[0] in range(n): pass", 9, "x[0]: must be one loop variable"),
    ("for k in range(n): k = 2", 24, "k is a loop variable already: must be another name"),
    ("for t in range(n): pass", 5, "t is a scalar parameter already: must be another name"),
]

MERGES = [
    ("for k, (p, q) in intersect(i): pass", 22, "intersect(i): intersect takes two fibers"),
    (
        "for k, (p, q) in intersect(i, i, i): pass",
        22,
        "intersect(i, i, i): intersect takes two fibers",
    ),
    (
        "for k, (p, q) in intersect(i, left=i): pass",
        22,
        "intersect(i, left=i): intersect takes two fibers",
    ),
    ("for k in intersect(i, u): pass", 9, "k: must be as k, (p, q) for intersect"),
    ("for k, p, q in intersect(i, u): pass", 9, "k, p, q: must be as k, (p, q) for intersect"),
    (
        "for k, (p, q) in union(i, u): pass",
        9,
        "k, (p, q): must be as k, (p, q), (has_p, has_q) for union",
    ),
    (
        "for k, (p, q), (a, b) in intersect(i, u): pass",
        9,
        "k, (p, q), (a, b): must be as k, (p, q) for intersect",
    ),
    (
        "for k, (p, q) in intersect(i[0:n:2], u): pass",
        32,
        "i[0:n:2]: a fiber must be as index[lower:upper]",
    ),
    (
        "for k, (p, q) in intersect(i + 1, u): pass",
        32,
        "i + 1: a fiber must be as index[lower:upper]",
    ),
    (
        "for k, (p, q) in intersect(i[t], u): pass",
        32,
        "i[t]: a fiber must be as index[lower:upper]",
    ),
    ("for k, (p, q) in intersect(t, u): pass", 32, "t is not an array of the function"),
    (
        "for k, (p, q) in intersect(x, u): pass",
        32,
        "coordinates x are float32: must be integers of int32",
    ),
    ("for k, (p, q) in intersect(z, u): pass", 32, "z has 2 dimensions, not 1"),
    ("for k, (p, q) in intersect(i[s:], u): pass", 34, "s is float32: a bound must be int32"),
    (
        "for k, (p, q) in intersect(i, u): i[p] = 1",
        39,
        "i is written while a loop merges it: must be read only",
    ),
    (
        "for k, (p, p) in intersect(i, u): pass",
        5,
        "p is the variable of a loop around it: must be another name",
    ),
    ("for k, (p, q), (a, b) in union(i, u): s = a", 47, "a is bool: s must be float32"),
]

EXPRESSIONS = [
    ("x[0] = t", 12, "t is int32: what x stores must be float32"),
    ("x[0] = True", 12, "True is bool: what x stores must be float32"),
    ("i[0] = s", 12, "s is float32: what i stores must be int32"),
    ("i[0] = 1.5", 12, "1.5 is float32: what i stores must be int32"),
    ("u[0] = 256", 12, "256 is not in uint8: must be from 0 to 255"),
    ("u[0] = i[0]", 12, "i[0] is int32: what u stores must be uint8"),
    ("i[0] = 2147483648", 12, "2147483648 is not in int32: must be from -2147483648 to 2147483647"),
    ("x[0] = 1e39", 12, "1e+39 is beyond float32: must be at most 3.4028235e+38"),
    ("x[0] = -1e39", 12, "-1e+39 is beyond float32: must be at most 3.4028235e+38"),
    ("x[0] = y[0]", 12, "y is not an array of the function"),
    ("x[0] = y", 12, "y is not defined"),
    ("x[0] = z", 12, "z is an array: must have indices"),
    ("x[0] = z[0]", 12, "z has 2 dimensions, not 1"),
    ("x[0] = x[0, 0]", 12, "x has 1 dimension, not 2"),
    ("x[0] = x[0][0]", 12, "x[0] is not an array of the function"),
    ("x[0] = x[s]", 14, "s is float32: an index must be int32"),
    ("x[0] = x[-1]", 14, "index -1: must be at least 0; none counts from the end"),
    ("x[0] = x[:]", 12, "x[:]: slices must be fibers of intersect or union"),
    ("x[0] = x[...]", 14, f"...: {EXPRESSION}"),
    ('x[0] = "s"', 12, f'"s": {EXPRESSION}'),
    ("x[0] = 1j", 12, f"1j: {EXPRESSION}"),
    ("x[0] = [1.0]", 12, f"[1.0]: {EXPRESSION}"),
    ("x[0] = lambda: 1", 12, f"lambda: 1: {EXPRESSION}"),
    ("x[0] = +s", 12, "+s: signs must be -, ~ or not"),
    ("x[0] = s ** 2", 12, "s ** 2: arithmetic must be % & * + - / // << >> ^ |"),
    ("x[0] = s @ s", 12, "s @ s: arithmetic must be % & * + - / // << >> ^ |"),
    ("x[0] = s + t", 12, "float32 + int32: must be of one type: convert as in float32(n)"),
    ("x[0] = s / t", 12, "float32 / int32: must be of one type: convert as in float32(n)"),
    ("i[0] = t / 2", 12, "int32 / int32: must be float32, or // for integers"),
    ("x[0] = s // s", 12, "float32 // float32: must be integers"),
    ("x[0] = s % 2.0", 12, "float32 % float32: must be integers"),
    ("i[0] = t << s", 12, "int32 << float32: must be integers"),
    ("i[0] = t + 1.5", 12, "int32 + float32: must be of one type: convert as in float32(n)"),
    ("x[0] = t * 2", 12, "t * 2 is int32: what x stores must be float32"),
    ("if t: pass", 8, "t is int32: a condition must be bool"),
    ("if 0 < t < 3: pass", 8, "0 < t < 3: comparisons must not be chained: must be joined by and"),
    ("if t in i: pass", 8, "t in i: must compare by != < <= == > >="),
    ("if t is 3: pass", 8, "t is 3: must compare by != < <= == > >="),
    ("if s == t: pass", 8, "float32 == int32: must be of one type: convert as in float32(n)"),
    ("if t == 1.5: pass", 8, "int32 == float32: must be of one type: convert as in float32(n)"),
    ("if not t: pass", 8, "not t is int32: a condition must be bool"),
    ("if t > 0 and t: pass", 8, "bool and int32: must be of one type"),
    ("x[0] = s if t else s", 17, "a condition is int32: must be bool"),
    (
        "x[0] = s if t > 0 else t",
        12,
        "chosen from float32 and int32: must be of one type: convert as in float32(n)",
    ),
    ("x[0] = f(s)", 12, "call of f: only abs, min, max, sqrt and the types may be called"),
    (
        "x[0] = math.sqrt(s)",
        12,
        "call of math.sqrt: only abs, min, max, sqrt and the types may be called",
    ),
    ("x[0] = sqrt(t)", 12, "sqrt(t) is int32: what x stores must be float32"),
    ("x[0] = sqrt(s, s)", 12, "sqrt(s, s): sqrt takes one value"),
    ("x[0] = abs()", 12, "abs(): abs takes one value"),
    ("x[0] = max(s)", 12, "max(s): max takes two values"),
    ("x[0] = max(s, s, s)", 12, "max(s, s, s): max takes two values"),
    ("x[0] = max(s, t)", 12, "float32 max int32: must be of one type: convert as in float32(n)"),
    ("x[0] = min(s, key=s)", 12, "min(s, key=s): min takes two values"),
    ("x[0] = abs(t > 0)", 12, "abs(t > 0) is bool: what x stores must be float32"),
    ("x[0] = -(t > 0)", 12, "-(t > 0) is bool: what x stores must be float32"),
    ("x[0] = float32(t > 0)", 12, "bool to float32: must be from number to number"),
    ("x[0] = float32()", 12, "float32(): float32 takes one value"),
    ("x[0] = int64(t)", 12, "call of int64: only abs, min, max, sqrt and the types may be called"),
    ("x[0] = bool(t)", 12, "call of bool: only abs, min, max, sqrt and the types may be called"),
    ("u[0] = uint8(300)", 18, "300 is not in uint8: must be from 0 to 255"),
    ("x[0] = a", 12, "a is not defined"),
    ("x[0] = F * 1e39", 16, "1e+39 is beyond float32: must be at most 3.4028235e+38"),
    ("x[0] = (y := s)", 13, f"y := s: {EXPRESSION}"),
    ("x[0] = t > 0", 12, "t > 0 is bool: what x stores must be float32"),
]


@pytest.mark.parametrize("body, column, text", [*STATEMENTS, *LOOPS, *MERGES, *EXPRESSIONS])
def test_refusals(body: str, column: int, text: str) -> None:
    with refused(f"f.py:5:{column}: {text}"):
        read_source(f"{HEAD}    {body}\n", "f.py")


@pytest.mark.parametrize(
    "body, place, text",
    [
        (
            "for k in range(n):\n        pass\n    else:\n        x[0] = s",
            "8:9",
            "a loop has no else: must be left out",
        ),
        (
            "for k in range(n):\n        for k in range(n): pass",
            "6:9",
            "k is the variable of a loop around it: must be another name",
        ),
        (
            "for k in range(n):\n        pass\n    x[k] = s",
            "7:7",
            "k may have no value here: must be assigned on every way to it",
        ),
        (
            "if t > 0: a = 1\n    i[0] = a",
            "6:12",
            "a may have no value here: must be assigned on every way to it",
        ),
        ("a = 1\n    a = s", "6:9", "s is float32: a must be int32"),
        ("a = t\n    a: float32 = s", "6:5", "a is int32 elsewhere: must not be float32 here"),
        ("while t:\n        pass", "5:5", f"while t: pass: {STATEMENT}"),
    ],
)
def test_refusals_of_more_than_a_line(body: str, place: str, text: str) -> None:
    with refused(f"f.py:{place}: {text}"):
        read_source(f"{HEAD}    {body}\n", "f.py")


PARAMETER = (
    "must be an array, as float32[rows, dim], or a scalar, of float32, int8, int16, int32, uint8, "
    "uint16, uint32"
)
SIZE = "a size must be made of names, whole numbers, +, - and *"


@pytest.mark.parametrize(
    "parameters, column, text",
    [
        ("x", 7, f"parameter x has no type: {PARAMETER}"),
        ("x: float64", 10, f"float64: parameter x {PARAMETER}"),
        ("x: bool", 10, f"bool: parameter x {PARAMETER}"),
        ("x: 'int32'", 10, f"'int32': parameter x {PARAMETER}"),
        ("x: int8[n, 1.5]", 18, f"1.5: {SIZE}"),
        ("x: int8[-1]", 15, f"-1: {SIZE}"),
        ("x: int8[n // 2]", 15, f"n // 2: {SIZE}"),
        ("x: int8[True]", 15, f"True: {SIZE}"),
        ("x: int8[3000000000]", 15, f"3000000000: {SIZE}"),
        ("x: int8[HALF]", 15, f"HALF: {SIZE}"),
        ("x: int8[OTHER]", 15, "OTHER is assigned at f.py:2:1: must be a number or of sizes(...)"),
        ("x: int8 = 3", 17, "a parameter has no default: must be left out"),
        ("x: int8, /", 7, "parameter x: must be a plain one, without / or *"),
        ("*, x: int8", 10, "parameter x: must be a plain one, without / or *"),
        ("*x: int8", 8, "parameter x: must be a plain one, without / or *"),
        ("**x: int8", 9, "parameter x: must be a plain one, without / or *"),
        ("x: int8, x: int8", 16, "x is a scalar parameter already: must be another name"),
        ("n: int32, x: int8[n]", 7, "n is a size already: must be another name"),
        ("int8: int32", 7, "int8 is a word of the notation: must be another name"),
    ],
)
def test_parameters_that_are_refused(parameters: str, column: int, text: str) -> None:
    with refused(f"f.py:3:{column}: {text}"):
        read_source(f"HALF = 0.5\nOTHER = HALF\ndef f({parameters}): pass\n", "f.py")


@pytest.mark.parametrize(
    "source, text",
    [
        ("", "f.py: has no function: must have one, with @nest above it"),
        (
            "def g(): pass\ndef h(): pass",
            "f.py: has 2 functions, g, h: one must be named",
        ),
        ("@jit\ndef g(): pass", "f.py:1:2: @jit: the only decorator must be @nest"),
        ("@nest(1)\ndef g(): pass", "f.py:1:2: @nest(1): the only decorator must be @nest"),
        ("def min(): pass", "f.py:1:1: min is a word of the notation: must be another name"),
        (
            "def \u00fcber(): pass",
            "f.py:1:1: '\u00fcber' is not a name: must be letters, digits and _ of ASCII",
        ),
        (
            "def f():\nfor k in y: pass",
            "f.py:2:1: not Python: expected an indented block after function definition on line 1",
        ),
        ("def f():\n    x = = 1", "f.py:2:9: not Python: invalid syntax"),
    ],
)
def test_files_that_are_refused(source: str, text: str) -> None:
    with refused(text):
        read_source(source, "f.py")


def test_expressions_that_are_too_deep() -> None:
    deep = "+".join(["x[0]"] * 3000)
    with pytest.raises(WorkloadError, match=r"^f\.py: cannot be understood: RecursionError: "):
        read_source(f"def f(x: int32[1]):\n    x[0] = {deep}\n", "f.py")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1e-400", "must be 0, or at least 5e-324, the smallest number of float64"),
        ("2.4_0e-324", "must be 0, or at least 5e-324, the smallest number of float64"),
        (f"0.{'0' * 20}1e-999", "must be 0, or at least 5e-324, the smallest number of float64"),
        ("1e400", "must be finite in float64"),
    ],
)
@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("def f(a: float32[n]):\n    for i in range(n):\n        a[i] = {}\n", "3:16"),
        ("def f(a: float32[n]):\n    for i in range(n):\n        a[i] = -{}\n", "3:17"),
        ("C = {}\ndef f(a: float32[n]):\n    for i in range(n):\n        a[i] = C\n", "1:5"),
    ],
)
def test_numbers_that_float64_does_not_hold_are_refused(
    tmp_path: Path, form: str, place: str, number: str, text: str
) -> None:
    path = tmp_path / "f.py"
    path.write_text(form.format(number))
    with refused(f"{path}:{place}: {number}: {text}"):
        python_source.read_file(path)
