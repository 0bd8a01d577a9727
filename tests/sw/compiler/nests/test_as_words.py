"""Integers of all types on words: the same elements, and quotients without division."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.sram_compute_parts.c_kernels import NAMES, TEXT
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.nests.as_words import as_words, words_of
from gnarl.sw.compiler.nests.division import quotient
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.ir.nest import Constant, Nest, Store, statements
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.place import Location
from tests.support.nests import c_kernels
from tests.support.nests.c_texts import KERNELS
from tests.support.nests.loop_interpreter import Stopped, interpret

PLACE = Location("t", 1, 1)
SIZES = (1, 5)

ARITHMETIC = """
#include <stdint.h>
void arithmetic(int n, int s, uint8_t q, const uint32_t u[n], const uint32_t v[n],
                const int16_t h[n], const int8_t b[n], const uint16_t w[n], uint32_t c[n],
                int16_t d[n], int8_t e[n], uint16_t f[n], int g[n], uint8_t k[n][3]) {
  for (int i = 0; i < n; i++) {
    c[i] = u[i] < v[i] ? u[i] >> (v[i] & 31) : (u[i] >= 7u) + u[i] / 8 + u[i] % 16 - -v[i];
    d[i] = h[i] / 10 - h[i] % 7 + abs(h[i]) + (b[i] << 9);
    e[i] = b[i] / 3 + (w[i] / 255) * q;
    f[i] -= w[i] * w[i] + f[i];
    g[i] = g[i] / 1000 + g[i] % 1000 - s / 3 + (u[i] == v[i]) + (h[i] > b[i]);
    k[i][1] = k[i][0] + k[i][2] + ~q;
    k[i][2] += b[i];
  }
}
"""


def packed(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The words that hold an array's rows."""
    if array.itemsize == 4:
        return array if array.dtype == np.float32 else array.view(np.int32)
    found = np.zeros((*shape[:-1], shape[-1] * (4 // array.itemsize)), array.dtype)
    found[..., : array.shape[-1]] = array
    return found.view(np.int32)


def require_same(nest: Nest, given: dict[str, np.ndarray], sizes: dict[str, int]) -> bool:
    binding = bind(nest, given, sizes)
    try:
        wanted = interpret(nest, binding)
    except Stopped:
        return False
    try:
        changed = as_words(nest)
    except WorkloadError:
        return False
    verify(changed)
    assert len(statements(changed.body)) == len(statements(nest.body))
    types = {each.type for each in nodes(changed.body) if hasattr(each, "type")}
    assert {each for each in types if each.is_number} <= {FLOAT32, INT32}
    words = words_of(binding)
    arrays = {name: packed(each, words.arrays[name].shape) for name, each in binding.arrays.items()}
    found = interpret(changed, Binding(words.sizes, words.scalars, arrays))
    for name, array in wanted.items():
        octets = found[name].view(array.dtype)[..., : array.shape[-1]]
        assert c_kernels.one_nan(octets) == c_kernels.one_nan(array), name
    return True


@pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning")
@pytest.mark.parametrize("manner", [pytest.param("small", marks=pytest.mark.slow), "edges"])
def test_elements_in_words(manner: str):
    texts = {**KERNELS, "arithmetic": ARITHMETIC}
    ran = 0
    for name, text in texts.items():
        nest = read_source(text, "k.c", name)
        for seed, size in enumerate(SIZES):
            sizes = {each.name: size + at for at, each in enumerate(nest.sizes)}
            given = c_kernels.values(nest, sizes, seed, manner)
            same = require_same(nest, given, sizes)
            assert same or name != "arithmetic"
            ran += same
    assert ran > len(texts)


@pytest.mark.parametrize("name", [each for each in NAMES[::9] if each != "argmin"])
def test_kernels(name: str):
    nest = read_source(TEXT, "k.c", name)
    sizes = {each.name: 17 if each.name == "m" else 6 for each in nest.sizes}
    assert require_same(nest, c_kernels.values(nest, sizes, 0, "small"), sizes)


@pytest.mark.parametrize("divisor", [2, 3, 5, 7, 10, 255, 641, 65535, 65537, (1 << 31) - 1])
def test_quotients(divisor: int):
    """Next to multiples of the divisor, where rounding shows."""
    ends = [0, 1, 2, INT32.most, INT32.most - 1, INT32.least, INT32.least + 1, -1, -2]
    random = np.random.default_rng(divisor)
    most = INT32.most // divisor
    near = random.integers(-most, most + 1, 60)[:, None] * divisor + np.arange(-1, 2)
    values = [each for each in (*ends, *near.ravel().tolist()) if INT32.least <= each <= INT32.most]
    nest = read_source("void f(int a[1]) { a[0] = 1; }", "f.c")
    for value in values:
        for may_be_negative in (True, False)[: 1 + (value >= 0)]:
            number = Constant(value, INT32, PLACE)
            divided = quotient(number, divisor, PLACE, may_be_negative=may_be_negative)
            body = (Store("a", (Constant(0, INT32, PLACE),), divided, PLACE),)
            binding = Binding({}, {}, {"a": np.zeros(1, np.int32)})
            found = interpret(replace(nest, body=body), binding)["a"][0]
            assert found == value // divisor, value


def test_what_takes_more_than_words():
    for text, problem in (
        ("float c[n], const unsigned a[n]) { for (int i = 0; i < n; i++) c[i] = a[i]; }", "as"),
        ("unsigned a[n]) { for (int i = 0; i < n; i++) a[i] /= 3; }", "power of two"),
        ("int a[n]) { for (int i = 0; i < n; i++) a[i] /= n; }", "but by a number"),
    ):
        nest = read_source(f"void f(int n, {text}", "f.c")
        with pytest.raises(WorkloadError, match=problem):
            as_words(nest)
