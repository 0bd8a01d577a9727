"""The Python notation: what its constructs mean, which function is read, and calls."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.python.source import read_file, read_function, read_source
from tests.support.errors import refused
from tests.support.nests.loop_nests import RandomNest
from tests.support.nests.nest_head import HEAD


def printed(body: str) -> str:
    """The body as it was understood."""
    text = print_nest(read_source(HEAD + body, "f.py"))
    return text.partition("t: int32):\n")[2]


@pytest.mark.parametrize(
    "source, wanted",
    [
        # Literals take the type of where they stand.
        ("x[0] = 1", "x[0] = 1.0"),
        ("x[0] = 3000000000", "x[0] = 3e+09"),
        ("x[0] = -inf", "x[0] = -inf"),
        ("x[0] = 0.1 + 1", "x[0] = 0.1 + 1.0"),
        ("u[0] = u[0] + 255", "u[0] = u[0] + uint8(255)"),
        ("u[0] = 1 if t > 0 else u[1]", "u[0] = uint8(1) if (t > 0) else u[1]"),
        ("u[0] >>= 2", "u[0] >>= uint8(2)"),
        ("u[0] = u[0] << t", "u[0] = u[0] << t"),
        ("x[0] = F * K", "x[0] = 0.5 * 3.0"),
        # Conversions that lose nothing are understood, others are written.
        ("i[0] = u[0]", "i[0] = int32(u[0])"),
        ("i[0] += u[0] * t", "i[0] += int32(u[0]) * t"),
        ("a = t if s > 0.0 else u[0]", "a = t if (s > 0.0) else int32(u[0])"),
        ("x[0] = float32(t)", "x[0] = float32(t)"),
        ("x[0] = float32(1.5) + float32(2)", "x[0] = 1.5 + 2.0"),
        ("i[0] = int32(1.5)", "i[0] = int32(float32(1.5))"),
        ("u[0] = uint8(200)", "u[0] = uint8(200)"),
        # Operators.
        ("i[0] = t + t - t * t // t % t", "i[0] = (t + t) - (((t * t) // t) % t)"),
        ("i[0] = t << 2 >> t", "i[0] = (t << 2) >> t"),
        ("x[0] = -s / abs(s)", "x[0] = (-s) / abs(s)"),
        ("x[0] = sqrt(max(s, min(1, s)))", "x[0] = sqrt(max(s, min(1.0, s)))"),
        ("x[0] = z[t, K]", "x[0] = z[t, 3]"),
        ("a = not t < 1 or t <= 2 and s != 0", "a = (not (t < 1)) or ((t <= 2) and (s != 0.0))"),
        ("a = t == 1 and t >= 2 and t > 3", "a = ((t == 1) and (t >= 2)) and (t > 3)"),
        # Statements.
        ("pass", "pass"),
        ("a: uint8 = 7", "a = uint8(7)"),
        ("a = u[0]; a += 1", "a = u[0]; a = a + uint8(1)"),
        ("if t > 0: pass", "if t > 0:;     pass"),
        (
            "if t > 0:\n        a = 1\n    elif t < 0:\n        a = 2\n    else:\n        a = 3",
            "if t > 0:;     a = 1; else:;     if t < 0:;         a = 2;     else:;         a = 3",
        ),
        ("x[0] *= 2; x[0] /= 2; x[0] -= s", "x[0] *= 2.0; x[0] /= 2.0; x[0] -= s"),
        ("i[0] //= 2; i[0] %= K; i[0] <<= 1", "i[0] //= 2; i[0] %= 3; i[0] <<= int32(1)"),
        ("for k in range(n): x[k] = s", "for k in range(n):;     x[k] = s"),
        ("for k in range(t, n): x[k] = s", "for k in range(t, n):;     x[k] = s"),
        ("for k in range(0, n, K): x[k] = s", "for k in range(0, n, 3):;     x[k] = s"),
        (
            "for k, (p, q) in intersect(i, u[t:]): x[p] = x[q]",
            "for k, (p, q) in intersect(i[0 : n], u[t : n]):;     x[p] = x[q]",
        ),
        (
            "for k, (p, q), (a, b) in union(i[:t], u[1:2]): pass",
            "for k, (p, q), (a, b) in union(i[0 : t], u[1 : 2]):;     pass",
        ),
    ],
)
def test_constructs(source: str, wanted: str) -> None:
    """A ``;`` of ``wanted`` ends a line."""
    lines = "".join(f"    {line}\n" for line in wanted.split("; "))
    assert printed(f"    {source}\n") == lines


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_what_is_printed_is_read_as_the_same_nest(random: Random) -> None:
    nest = RandomNest(random).nest()
    assert read_source(print_nest(nest), "f.py") == nest


def test_shapes() -> None:
    nest = read_source("W = 4\ndef f(x: int32[n, m + 1, 2 * n - W]): pass", "f.py")
    assert [size.name for size in nest.sizes] == ["n", "m"]
    assert "x: int32[n, m + 1, (2 * n) - 4]" in print_nest(nest)


def test_which_function_is_read() -> None:
    source = "def g(): pass\n@nest\ndef h(): pass\n@words.nest\ndef i(): pass\n"
    assert read_source(source, "f.py", "g").name == "g"
    assert read_source(source.partition("@words")[0], "f.py").name == "h"
    with refused("f.py: has 2 functions, h, i: one must be named"):
        read_source(source, "f.py")
    with refused("f.py: has no function j"):
        read_source(source, "f.py", "j")


def test_functions_of_files_without_their_source(tmp_path: Path) -> None:
    path = tmp_path / "nest.py"
    path.write_text('def f(x: int32[1]):\n    "A text."\n    x[0] = 1\n')
    nest = read_file(path)
    assert str(nest.body[0].place) == f"{path}:3:5"
    assert GoldenLoops(nest).run(bind(nest, {}))["x"].tolist() == [1]
    names: dict[str, object] = {}
    exec("def g(): pass", names)
    with refused("g: its source is not at hand"):
        read_function(names["g"])  # type: ignore[arg-type]
    line = test_functions_of_files_without_their_source.__code__.co_firstlineno + 12
    with refused(f"{__file__}:{line}: <lambda> must be a def"):
        read_function(lambda: None)


def test_an_array_that_is_given_is_left_as_it_is() -> None:
    nest = read_source(HEAD + "    for k in range(n): x[k] *= s\n", "f.py")
    x = np.arange(3, dtype=np.float32)
    values = {"x": x, "i": [0] * 3, "u": [0] * 3, "z": np.zeros((3, 1), np.float32)}
    found = GoldenLoops(nest).run(bind(nest, {**values, "s": 2.0, "t": 1}))
    assert found["x"].tolist() == [0, 2, 4] and x.tolist() == [0, 1, 2]


CALLED = """
n, m = sizes("n", "m")
WIDTH = 3

def scale(by: float32, a: float32[n]):
    for i in range(n):
        product = by * a[i]
        a[i] = product

def odd(a: float32[2 * m]):
    a[0] = 1.0

def around(a: float32[n]):
    f(a, a, 0)

def f(a: float32[n], b: float32[WIDTH + n], k: int32):
"""


def called(body: str) -> str:
    return CALLED + "    " + body.replace("\n", "\n    ") + "\n"


def test_what_is_called_stands_in_place_of_the_call():
    body = "i = k\nscale(2, a)\nfor j in range(2):\n    scale(a[i], b)"
    text = print_nest(read_source(called(body), "f.py", "f"))
    assert text.partition("k: int32):\n")[2] == (
        "    i = k\n"
        "    for i_2 in range(n):\n"
        "        product = 2.0 * a[i_2]\n"
        "        a[i_2] = product\n"
        "    for j in range(2):\n"
        "        by = a[i]\n"
        "        for i_3 in range(3 + n):\n"
        "            product_2 = by * b[i_3]\n"
        "            b[i_3] = product_2\n"
    )


@pytest.mark.parametrize(
    "body, refusal",
    [
        ("g(a)", "17:5: call of g: must be of a function of this file"),
        ("f(a, b, k)", "17:5: call of f, which calls this function: must not"),
        ("around(a)", "14:5: call of f, which calls this function: must not"),
        ("scale(a)", "17:5: scale(a): scale takes 2 values, by their places"),
        ("scale(by=1, a=a)", "17:5: scale(by=1, a=a): scale takes 2 values, by their places"),
        ("scale(1, k)", "17:14: k is not an array of the function"),
        ("scale(a, b)", "17:11: a is an array: must have indices"),
        ("odd(a)", "17:5: odd is called: its size m must be a dimension of an array by itself"),
    ],
)
def test_refusals_of_calls(body: str, refusal: str):
    with pytest.raises(WorkloadError) as caught:
        read_source(called(body), "f.py", "f")
    assert str(caught.value) == f"f.py:{refusal}"
