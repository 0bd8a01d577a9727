"""Passes that are left out: programs compute the same without them."""

from __future__ import annotations

from random import Random

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace, named, without
from gnarl.sw.compiler.tmu.compile import PASSES, compile
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.nests.dependent_runs import check_tmu
from tests.support.nests.random_dependent_nests import RandomDependentNest, random_values

OPTIONAL = [each.name for each in PASSES if each.optional]

CONFIG = TmuConfig(lanes=4, memory_bytes=1 << 16, l1_bytes=1 << 10, l2_bytes=1 << 11)

COUNT, TOGETHER = 1000, 50
"""Seeds that ``make test-all`` runs, and how many are one test."""


def dependent(seed: int) -> LoopWorkload:
    random = Random(seed)
    nest = RandomDependentNest(random, exact=True).nest()
    return LoopWorkload("dependent", nest, random_values(random, exact=True))


def check_seed(seed: int) -> None:
    """Without one pass, or without some of them."""
    random = Random(seed)
    count = random.choice((1, random.randint(2, len(OPTIONAL))))
    names = random.sample(OPTIONAL, count)
    with noted(f"{seed=} {names=}"):
        check_tmu(dependent(seed), CONFIG, passes=without(PASSES, names))


def test_what_higher_levels_add_is_optional() -> None:
    assert [each.name for each in PASSES if not each.optional] == [
        "scf",
        "select",
        "hoist",
        "decouple",
        "lower",
    ]


@pytest.mark.parametrize("seed", range(8))
def test_nests_without_passes(seed: int) -> None:
    check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_nests_without_passes(first: int) -> None:
    refused = 0
    for seed in range(first, first + TOGETHER):
        try:
            check_seed(seed)
        except CapacityError:  # more streams than a traversal unit has
            refused += 1
    assert refused <= TOGETHER // 10


def test_what_is_left_out_does_not_run() -> None:
    trace = Trace()
    compile(dependent(0), CONFIG, trace=trace, passes=without(PASSES, OPTIONAL))
    assert list(trace.times) == ["scf", "select", "hoist", "decouple", "lower"]


def test_all_but_those_of_the_first_level_left_out_is_the_first_level() -> None:
    lowest = compile(dependent(0), CONFIG, trace=Trace(), opt=0)
    fewest = compile(dependent(0), CONFIG, trace=Trace(), passes=without(PASSES, OPTIONAL))
    for name, section in lowest.launches[0].sections.items():
        assert fewest.launches[0].sections[name].tolist() == section.tolist(), name


def test_a_pass_that_runs_again_changes_nothing() -> None:
    names = [each.name for each in PASSES]
    names.insert(names.index("hoist"), "hoist")
    trace = Trace()
    check_tmu(dependent(0), CONFIG, passes=named(PASSES, names))
    compile(dependent(0), CONFIG, trace=trace, passes=named(PASSES, names))
    assert trace.times["hoist"].runs == 2


def test_refusals() -> None:
    with pytest.raises(WorkloadError) as caught:
        without(PASSES, ["lower"])
    assert str(caught.value) == (
        f"pass lower: must not be left out: only {', '.join(OPTIONAL)} may be"
    )
