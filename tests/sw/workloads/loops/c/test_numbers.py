"""Numbers of C beside elements of all types, as the system's compiler takes them."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.binding import bind
from tests.support.errors import noted
from tests.support.nests import c_numbers
from tests.support.nests.loop_interpreter import interpret

TOGETHER = 200

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")


def check(folder: Path, seeds: range) -> int:
    """Results have the bits of the system's compiler's; how many functions were not refused."""
    functions = [c_numbers.function(Random(seed), f"f{seed}") for seed in seeds]
    library = c_numbers.compiled(folder, c_numbers.source(functions))
    taken = 0
    for seed, function in zip(seeds, functions, strict=True):
        try:
            nest = c_source.read_source(c_numbers.source([function]), "f.c")
        except WorkloadError as error:
            assert "long" in str(error) or "must be an int" in str(error), error
            continue
        given = c_numbers.values(Random(seed))
        wanted, found = (
            c_numbers.results(library, f"f{seed}", given),
            interpret(nest, bind(nest, given)),
        )
        with noted(f"{seed=}"):
            assert {name: found[name].tobytes() for name in wanted} == {
                name: array.tobytes() for name, array in wanted.items()
            }
        taken += 1
    return taken


def test_numbers_are_what_c_takes_them_for(tmp_path: Path):
    assert check(tmp_path, range(TOGETHER)) > TOGETHER // 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(TOGETHER, 20_000, TOGETHER))
def test_more_numbers(tmp_path: Path, first: int):
    assert check(tmp_path, range(first, first + TOGETHER)) > 0
