"""Arrays, scalars and sizes that fit a nest, and every refusal with its whole text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.errors import refused

NEST = read_source(
    "def f(x: float32[n, m], i: int8[2 * n + 1], s: int16, out: float32[n]):\n"
    "    for k in range(n):\n"
    "        out[k] = x[k, 0]\n",
    "f.py",
)
GOOD = {"x": np.ones((2, 3), np.float32), "i": np.zeros(5, np.int8), "s": 3}


def test_sizes_follow_from_arrays_and_results_start_as_zeros() -> None:
    found = bind(NEST, GOOD)
    assert found.sizes == {"n": 2, "m": 3}
    assert np.shares_memory(found.arrays["x"], GOOD["x"])
    assert found.arrays["out"].tolist() == [0, 0] and found.arrays["out"].dtype == np.float32
    assert found.scalars["s"].dtype == np.int16 and found.scalars["s"] == 3


def test_sizes_may_be_given_beside() -> None:
    assert bind(NEST, GOOD, {"n": 2}).sizes == {"n": 2, "m": 3}


def test_sizes_that_follow_from_one_another() -> None:
    nest = read_source("def f(a: int8[n + m], b: int8[n]): pass", "f.py")
    assert bind(nest, {"a": np.zeros(5, np.int8), "b": np.zeros(2, np.int8)}).sizes["m"] == 3


@pytest.mark.parametrize(
    "x", [[[1, 2, 3], [4, 5, 6]], [[1.5, 2, 3], [4, 5, 6]], np.ones((2, 3), np.float16)]
)
def test_what_becomes_float32(x: Any) -> None:
    found = bind(NEST, {**GOOD, "x": x}).arrays["x"]
    assert found.dtype == np.float32 and found.tolist() == np.asarray(x).tolist()


def test_whole_numbers_of_wider_types_and_order_in_memory() -> None:
    found = bind(NEST, {**GOOD, "i": np.array([0, 1, 2, -128, 127])}).arrays["i"]
    assert found.dtype == np.int8 and found.tolist() == [0, 1, 2, -128, 127]
    x = np.asfortranarray([[1, 2, 3], [4, 5, 6]], np.float32)
    assert bind(NEST, {**GOOD, "x": x}).arrays["x"].flags.c_contiguous


@pytest.mark.parametrize(
    "changed, text",
    [
        ({"y": 1}, "y: is no parameter of f: must be one of x, i, s, out"),
        ({"x": np.zeros(2, np.float32)}, "x: is [2]: must be [n, m]"),
        ({"x": np.zeros((2, 3))}, "x: is float64: must be float32"),
        ({"x": np.zeros((2, 3), np.int64)}, "x: is int64: must be float32"),
        ({"x": [[1], [2, 3]]}, "x: is ragged: rows must be of one length"),
        ({"x": [[None]]}, "x: is object: must be float32"),
        (
            {"i": np.zeros(4, np.int8)},
            "i: is [4]: must be [(2 * n) + 1] = [5], with n = 2 (as x has it)",
        ),
        ({"i": np.array([0, 1, 2, 3, 128])}, "i[4] = 128: must be in int8, from -128 to 127"),
        ({"out": [0.0] * 3}, "out: is [3]: must be [n] = [2], with n = 2 (as x has it)"),
        ({"s": [1]}, "s: is [1]: must be one int16"),
        ({"s": 40000}, "s = 40000: must be in int16, from -32768 to 32767"),
        ({"s": 1.5}, "s: is float64: must be int16"),
        ({"s": "a"}, "s: is <U1: must be int16"),
    ],
)
def test_values_that_are_refused(changed: dict[str, Any], text: str) -> None:
    with refused(text):
        bind(NEST, {**GOOD, **changed})


@pytest.mark.parametrize("name", GOOD)
def test_values_that_are_missing(name: str) -> None:
    with refused(f"{name}: missing: must be given"):
        bind(NEST, {each: value for each, value in GOOD.items() if each != name})


@pytest.mark.parametrize(
    "sizes, text",
    [
        (
            {"n": 3},
            "x: is [2, 3]: must be [n, m] = [3, 3], with n = 3 (given), m = 3 (as x has it)",
        ),
        ({"q": 3}, "q: is no size of f: must be one of n, m"),
        ({"n": -1}, "n = -1, given: must be from 0 to 2147483647"),
        ({"n": 2**31}, "n = 2147483648, given: must be from 0 to 2147483647"),
    ],
)
def test_sizes_that_are_refused(sizes: dict[str, int], text: str) -> None:
    with refused(text):
        bind(NEST, GOOD, sizes)


def test_sizes_that_no_array_tells() -> None:
    nest = read_source("def f(out: float32[n - 2]):\n    out[0] = 1\n", "f.py")
    assert bind(nest, {}, {"n": 5}).arrays["out"].shape == (3,)
    with refused("n: does not follow from the arrays: must be given"):
        bind(nest, {})
    with refused("out: [n - 2] is [-1]: must be at least 0, with n = 1 (given)"):
        bind(nest, {}, {"n": 1})
    plain = read_source("def f(out: float32[2]):\n    out[0] = 1\n", "f.py")
    with refused("n: is no size of f: it has none"):
        bind(plain, {}, {"n": 1})


def test_sizes_that_are_not_whole() -> None:
    nest = read_source("def f(a: int8[2 * n + 1]): pass", "f.py")
    with refused("a: (2 * n) + 1 is 4: no whole number n makes it so"):
        bind(nest, {"a": np.zeros(4, np.int8)})
