"""PolyBench's kernels as C: what is read has gcc's bits."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind, dimension
from tests.support.nests import c_kernels, polybench
from tests.support.nests.loop_interpreter import interpret

TEXT = (Path(polybench.__file__).with_name("kernels.c")).read_text()
NAMES = [line.split("(")[0].split()[1] for line in TEXT.split("\n") if line.startswith("void ")]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return c_kernels.compiled(tmp_path_factory.mktemp("polybench"), TEXT)


@pytest.mark.parametrize("name", NAMES)
def test_kernels(library: ctypes.CDLL, name: str):
    nest = read_source(TEXT, "kernels.c", name)
    random = np.random.default_rng(1)
    sizes = {each.name: 5 + at for at, each in enumerate(nest.sizes)}
    given: dict[str, np.ndarray] = {}
    for each in nest.parameters:
        shape = [dimension(size, sizes) for size in getattr(each, "shape", ())]
        given[each.name] = random.uniform(1, 2, shape).astype(each.type.dtype)
    binding = bind(nest, given, sizes)
    found = interpret(nest, binding)
    for array, wanted in c_kernels.results(library, TEXT, nest, binding).items():
        assert c_kernels.one_nan(found[array]) == c_kernels.one_nan(wanted), array
