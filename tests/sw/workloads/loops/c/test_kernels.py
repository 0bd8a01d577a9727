"""C as files have it, with the bits of gcc: descending loops, tables, local arrays, functions."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.python import source as python_source
from tests.support.nests import c_kernels
from tests.support.nests.c_texts import KERNELS
from tests.support.nests.loop_interpreter import Stopped, interpret

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")

SIZES = (0, 1, 2, 3, 7, 16)


@pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning")
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, tmp_path: Path):
    text = KERNELS[name]
    nest = c_source.read_source(text, "k.c", name)
    printed = python_source.read_printed(print_nest(nest), "k.py")
    assert replace(printed, sizes=nest.sizes) == nest
    assert {each.name for each in printed.sizes} == {each.name for each in nest.sizes}
    library = c_kernels.compiled(tmp_path, text)
    compared = 0
    for size in SIZES:
        for seed, manner in enumerate(("small", "edges", "small")):
            sizes = {each.name: size + at for at, each in enumerate(nest.sizes)}
            given = c_kernels.values(nest, sizes, seed, manner)
            binding = bind(nest, given, sizes)
            try:
                found = interpret(nest, binding)
            except Stopped:
                continue  # what C leaves undefined
            wanted = c_kernels.results(library, text, nest, binding)
            for array in nest.outputs:
                bits = c_kernels.one_nan(found[array])
                assert bits == c_kernels.one_nan(wanted[array]), (array, size, manner)
            compared += 1
    assert compared > len(SIZES)
