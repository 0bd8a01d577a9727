"""Nests that use elements as they were before statements stored them, in all places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, refusals
from gnarl.sw.compiler.sram_compute.tdfg.run import run
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.sram_compute.kept_elements import BODIES, RandomKept, nest_of, values

COUNT, TOGETHER = 1000, 50
"""Seeds that ``make test-all`` runs, and how many are one test."""

BOTH = {
    "kept of behind",
    "kept, stored ahead",
    "used before",
    "used at once",
    "of another array",
    "of another row",
    "stored, used behind",
    "a sum, used, then stored",
    "two sums of neighbours",
    "a sum used behind",
    "columns summed up, used",
    "kept of a row ahead",
    "kept of a row behind",
}
"""Bodies that memory and stream engines compute. They refuse the others, but for these:"""

IN_MEMORY = BOTH | {
    "a place kept",
    "a sum from what is stored",
    "a sum kept before",
    "a sum of what is stored",
    "a sum, then stored",
    "both old and new",
    "kept",
    "kept around a loop that stores",
    "kept before a loop that stores, used behind",
    "kept in an inner loop",
    "kept, and added to",
    "kept, used, in loops one after the other",
    "kept, added to by what was kept",
    "two sums of one",
}
NEAR = BOTH | {"kept, used, in loops one after the other"}


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("sram_b2", "model") as device:
        yield device


def check_graphs(body: str, given: Mapping[str, Array]) -> bool:
    """Graphs mean what the nest means, or memory refuses it, which is false."""
    nest = nest_of(body)
    steps = plan(nest)
    if refusals(steps):
        return False
    binding = bind(nest, given)
    require_same(GoldenLoops(nest).run(binding), run(nest, steps, binding))
    return True


def check_place(
    model: Device, body: str, given: Mapping[str, Array], place: str, type: str = "int32"
) -> bool:
    """The program computes what the nest means, or the place refuses it in one line, which is
    false."""
    nest = nest_of(body, type)
    workload = LoopWorkload(nest.name, nest, dict(given))
    try:
        result = model.run(model.compile(workload, place=place), workload.inputs)
    except GnarlError as error:
        assert place in ("memory", "near"), error
        assert "\n" not in str(error)
        return False
    require_same(GoldenLoops(nest).run(workload.binding), result.outputs)
    return True


def require_same(wanted: Mapping[str, Array], found: Mapping[str, Array]) -> None:
    for name, golden in wanted.items():
        np.testing.assert_array_equal(np.asarray(found[name]), golden, name)


@pytest.mark.parametrize("name", BODIES)
def test_graphs_have_what_was_read(name: str):
    assert check_graphs(BODIES[name], values(Random(0))) == (name in IN_MEMORY)


@pytest.mark.parametrize("name", BODIES)
def test_stream_engines_have_what_was_read(model: Device, name: str):
    assert check_place(model, BODIES[name], values(Random(1)), "near") == (name in NEAR)


@pytest.mark.parametrize(
    "name",
    ("both old and new", "kept", "kept around a loop that stores", "two sums of one"),
)
def test_memory_has_what_was_read(model: Device, name: str):
    assert check_place(model, BODIES[name], values(Random(2), "int8"), "memory", "int8")


@pytest.mark.parametrize(
    "name",
    ("swapped", "a condition of what is stored", "part of a sum used", "no sum, but the last one"),
)
def test_the_core_computes_what_others_refuse(model: Device, name: str):
    assert check_place(model, BODIES[name], values(Random(3)), "auto")


def test_random_graphs():
    """A fifth of them memory takes."""
    taken = [check_graphs(*random_nest(seed)) for seed in range(60)]
    assert sum(taken) >= 12


def test_random_nests_near_memory(model: Device):
    taken = [check_place(model, *random_nest(seed), "near") for seed in range(15)]
    assert sum(taken) >= 3


def random_nest(seed: int, type: str = "int32") -> tuple[str, Mapping[str, Array]]:
    random = Random(seed)
    given = values(random, type)
    return RandomKept(random).body(), given


@pytest.mark.slow
@pytest.mark.parametrize("place", ("graphs", "near", "memory", "core", "auto"))
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_random_nests(model: Device, first: int, place: str):
    type = "int8" if place == "memory" else "int32"
    for seed in range(first, first + TOGETHER):
        body, given = random_nest(seed, type)
        with noted(f"{seed=} {place=}\n{body}"):
            if place == "graphs":
                check_graphs(body, given)
            else:
                check_place(model, body, given, place, type)
