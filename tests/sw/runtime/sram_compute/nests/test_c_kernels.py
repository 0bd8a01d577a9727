"""C as files have it, in all places of the model: the bits of gcc, or a line that refuses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests import c_kernels
from tests.support.nests.c_texts import KERNELS, PLACES_OF
from tests.support.nests.loop_interpreter import Stopped, interpret
from tests.sw.runtime.sram_compute.nests.test_three_places import SMALL

pytest.importorskip("egglog")
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with"),
    pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning"),
]

CONFIG = load_configuration("sram_b4")
PLACES = ("memory", "near", "core", "auto")
SIZES = (5, 19)


ON_RTL = """
#include <stdint.h>
#define AT(v, i, d) v[(i) + (d)]
static const int8_t W[3] = {1, -2, 1};
static inline int16_t low(int16_t x) { if (x < 0) return x & 0x0f; return x; }
void on_rtl(int n, int m, const int16_t a[n][m], int16_t b[n][m], int16_t c[n][m]) {
  int16_t t[n][m];
  for (int i = n - 1; i >= 0; i--)
    for (int j = m - 1; j >= 0; j--) t[i][j] = low(a[i][j]) ^ ~3;
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m - 1; j++) {
      int s = 0;
      for (int d = -1; d <= 1; d++) s += W[d + 1] * AT(t[i], j, d);
      b[i][j] = s;
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      int s = 1;
      for (int k = 0; k < n; k++) s += a[i][k] * t[k][j];
      c[i][j] = s;
    }
}
"""
"""Macros, a table, a function, a local array, loops that go down, and a product, for memory."""


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device(CONFIG, "model") as device:
        yield device


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(model: Device[Any], name: str, tmp_path: Path):
    text = KERNELS[name]
    nest = read_source(text, "k.c", name)
    library = c_kernels.compiled(tmp_path, text)
    programs = {place: compiled(model, LoopWorkload(name, nest, {}), place) for place in PLACES}
    ran = set()
    for at, size in enumerate(SIZES):
        sizes = {each.name: size + at for at, each in enumerate(nest.sizes)}
        given = c_kernels.values(nest, sizes, at, ("small", "edges")[at])
        binding = bind(nest, given, sizes)
        try:
            interpret(nest, binding)
        except Stopped:
            continue  # what C leaves undefined
        wanted = c_kernels.results(library, text, nest, binding)
        for place, program in programs.items():
            if program is None or place == "auto" and size != SIZES[0]:
                continue  # ``auto`` makes the programs of the others, which takes the longest
            try:
                found = model.run(program, {**given, **sizes})
            except GnarlError as error:
                require_line(place, error)
                continue
            ran.add(place)
            assert found.outputs.keys() == {*nest.outputs}
            for array in nest.outputs:
                bits = c_kernels.one_nan(found.outputs[array])
                assert bits == c_kernels.one_nan(wanted[array]), (place, array, size)
    assert ran == {*PLACES_OF[name].split()}


def compiled(model: Device[Any], workload: LoopWorkload, place: str) -> Program | None:
    """The program for any sizes; ``None`` where the place does not take it."""
    try:
        return model.compile(workload, place=place, reassociate=False)
    except GnarlError as error:
        require_line(place, error)
        return None


def require_line(place: str, error: GnarlError) -> None:
    """An error is one line, which is shown where the test fails."""
    assert "\n" not in str(error)
    print(place, error)


def test_c_as_files_have_it_on_rtl(tmp_path: Path):
    nest = read_source(ON_RTL, "k.c")
    sizes = {"n": 4, "m": 9}
    given = c_kernels.values(nest, sizes, 3, "edges")
    binding = bind(nest, given, sizes)
    library = c_kernels.compiled(tmp_path, ON_RTL)
    wanted = c_kernels.results(library, ON_RTL, nest, binding)
    workload = LoopWorkload("on_rtl", nest, given, sizes)
    config = load_configuration("sram_b2", SMALL)
    results = []
    for backend in ("model", "rtl"):
        with Device(config, backend) as device:
            program = device.compile(workload, place="memory")
            results.append(device.run(program, {**given, **sizes}))
    for found in results:
        assert {name: array.tobytes() for name, array in found.outputs.items()} == {
            name: array.tobytes() for name, array in wanted.items()
        }
    model, rtl = results
    assert {name: rtl.counters[name] for name in model.counters} == model.counters
    assert rtl.counters["cycles_core"] == 0
