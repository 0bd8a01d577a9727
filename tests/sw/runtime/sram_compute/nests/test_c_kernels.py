"""C as files have it, in all places of the model: the bits of gcc, or a line that refuses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests import c_kernels
from tests.support.nests.c_texts import KERNELS, PLACES_OF
from tests.support.nests.loop_interpreter import interpret

pytest.importorskip("egglog")
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with"),
    pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning"),
]

CONFIG = load_configuration("sram_b4")
PLACES = ("memory", "near", "core", "auto")
SIZES = (5, 19)


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device(CONFIG, "model") as device:
        yield device


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(model: Device[Any], name: str, tmp_path: Path):
    text = KERNELS[name]
    nest = read_source(text, "k.c", name)
    library = c_kernels.compiled(tmp_path, text)
    ran = set()
    for at, size in enumerate(SIZES):
        sizes = {each.name: size + at for at, each in enumerate(nest.sizes)}
        given = c_kernels.values(nest, sizes, at, ("small", "edges")[at])
        binding = bind(nest, given, sizes)
        try:
            interpret(nest, binding)
        except WorkloadError:
            continue  # what C leaves undefined
        wanted = c_kernels.results(library, text, nest, binding)
        workload = LoopWorkload(name, nest, given, sizes, frozenset(nest.temporaries))
        for place in PLACES:
            try:
                program = model.compile(workload, place=place, reassociate=False)
                found = model.run(program, {**given, **sizes})
            except GnarlError as error:
                assert "\n" not in str(error)
                print(place, error)
                continue
            ran.add(place)
            assert found.outputs.keys() == {*nest.outputs}
            for array in nest.outputs:
                bits = c_kernels.one_nan(found.outputs[array])
                assert bits == c_kernels.one_nan(wanted[array]), (place, array, size)
    assert ran == {*PLACES_OF[name].split()}
