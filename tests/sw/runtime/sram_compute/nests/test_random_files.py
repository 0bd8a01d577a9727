"""Random C files: the bits of gcc in every place of the model that takes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.nests import c_kernels
from tests.support.nests.loop_interpreter import Stopped, interpret
from tests.support.sram_compute.random_files import nest_of, random_file, with_head

pytest.importorskip("egglog")
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with"),
    pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning"),
]

CONFIG = load_configuration("sram_b4")
PLACES = ("memory", "near", "core", "auto")
READ, RUN = 40, 10
"""Files that are interpreted, and of these that run in all places."""
TOGETHER, ALL = 100, 3000


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device(CONFIG, "model") as device:
        yield device


def check(folder: Path, seeds: range, model: Device[Any] | None) -> int:
    """How many files were compared."""
    drawn = {seed: random_file(seed) for seed in seeds}
    nests = {}
    for seed, (_, function) in drawn.items():
        try:
            nests[seed] = nest_of(seed, function)
        except WorkloadError as error:
            assert "\n" not in str(error)
    text = with_head("".join(drawn[seed][1] for seed in nests))
    library = c_kernels.compiled(folder, text)
    compared = 0
    for seed, nest in nests.items():
        values, function = drawn[seed]
        with noted(f"{seed=}\n{function}"):
            given = values.given(nest)
            binding = bind(nest, given)
            try:
                found = interpret(nest, binding)
            except Stopped:
                continue  # what C leaves undefined
            wanted = c_kernels.results(library, text, nest, binding)
            for array in nest.outputs:
                bits = c_kernels.one_nan(found[array])
                assert bits == c_kernels.one_nan(wanted[array]), array
            compared += 1
            if model is not None:
                _run(model, LoopWorkload(nest.name, nest, given), wanted)
    return compared


def _run(model: Device[Any], workload: LoopWorkload, wanted: Any) -> None:
    for place in PLACES:
        try:
            program = model.compile(workload, place=place, reassociate=False)
            found = model.run(program, workload.inputs)
        except GnarlError as error:
            assert "\n" not in str(error)
            continue
        for array, values in wanted.items():
            bits = c_kernels.one_nan(found.outputs[array])
            assert bits == c_kernels.one_nan(values), (place, array)


def test_files_are_read_as_gcc_reads_them(tmp_path: Path):
    assert check(tmp_path, range(READ), None) > READ // 3


def test_files_run_in_all_places(model: Device[Any], tmp_path: Path):
    assert check(tmp_path, range(RUN), model) > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(RUN, ALL, TOGETHER))
def test_many_files(model: Device[Any], tmp_path: Path, first: int):
    assert check(tmp_path, range(first, first + TOGETHER), model) > 0
