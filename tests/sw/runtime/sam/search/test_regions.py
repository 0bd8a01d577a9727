"""Regions, orders of loops and lanes: the best of all that could have been chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, islice, product
from math import inf

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.orders import valid_orders
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.program.host_step import with_made
from gnarl.sw.runtime.sam.estimate.estimate import estimate_launch
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.search import regions
from gnarl.sw.runtime.sam.search.candidate import Candidate, Candidates, statements_of
from gnarl.sw.runtime.sam.search.regions import (
    best_orders,
    best_regions,
    with_blocks,
    with_lanes,
)
from tests.support.errors import noted
from tests.support.sam.models import valued_model
from tests.support.sam.program_cases import ProgramCase
from tests.support.sam.programs import make_program

CONFIG = SamConfig()

CHAIN = (
    "t(i,m)=sum[k](A(i,k)*X(k,m)); p(i,j)=sum[m](t(i,m)*W(m,j)); h(i,j)=relu(p(i,j)); "
    "y(i,j)=sum[k](A(i,k)*h(k,j)) -f=A:ds -f=X:ds"
)


def candidates_of(case: ProgramCase) -> tuple[Candidates, Candidate | None]:
    """Those of a program on its tensors, and that with a region for each statement."""
    model = valued_model(case.program, case.tensors)
    own = Candidates(model, CONFIG, model.inputs)
    return own, own.made(fuse="none")


def with_entries(
    text: str, shapes: Mapping[str, tuple[int, ...]], share: float
) -> tuple[Candidates, Candidate]:
    """Of a program on tensors of which so many elements are entries, and that without fusion."""
    noise = np.random.default_rng(0)
    model = valued_model(
        text, {name: (noise.random(shape) < share) * 1.0 for name, shape in shapes.items()}
    )
    own = Candidates(model, CONFIG, model.inputs)
    unfused = own.made(fuse="none")
    assert unfused is not None
    return own, unfused


def chain() -> tuple[Candidates, Candidate]:
    return with_entries(CHAIN, {"A": (6, 6), "X": (6, 4), "W": (4, 3)}, 0.5)


def cuts(count: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut so many statements into regions of neighbours: first ones, and ends."""
    for places in range(count):
        for inner in combinations(range(1, count), places):
            bounds = [0, *inner, count]
            yield list(zip(bounds[:-1], bounds[1:], strict=True))


def least_cycles(own: Candidates, unfused: Candidate) -> float:
    """Of all cuts, by the cycles of each region given what the program without fusion leaves; each
    in a program with all others."""
    names = statements_of(unfused.schedule.regions)
    stored = {name: each for name, each in unfused.schedule.formats.items() if name in names}
    schedules = unfused.schedule, replace(unfused.schedule, formats=stored)

    @cache
    def taken(begin: int, end: int) -> float:
        single = [Region((name,)) for name in names]
        region = Region(tuple(names[begin:end]))
        cut = (*single[:begin], region, *single[end:])
        found = []
        for each in schedules:
            try:
                program = own.compiled(schedule=replace(each, regions=cut)).program
                tensors = with_made(program.steps, unfused.estimate.tensors, moved)
                found.append(estimate_launch(program.launches[begin], tensors)[0].cycles)
            except GnarlError:
                continue
        return min(found, default=inf)

    return min(sum(taken(*span) for span in cut) for cut in cuts(len(names)))


@pytest.mark.parametrize(
    ("seeds", "traits"),
    [
        (range(9), {}),
        ((57, *range(100, 105)), {"disordered": True}),  # 57 is best with inputs stored anew
        # The host stores what it makes in 57 to suit, and copies it in 59.
        ((57, 59, *range(100, 104)), {"moving": True}),
        ((102,), {"masked": True}),
    ],
)
def test_the_best_of_all_cuts(seeds: Sequence[int], traits: dict[str, bool]) -> None:
    tried = 0
    for seed in seeds:
        own, unfused = candidates_of(make_program(seed, **traits))
        if unfused is not None:
            shares: list[float] = []
            with noted(f"seed {seed}"):
                best = best_regions(own, unfused, shares.append)
                assert best is not None
                assert best.cycles == least_cycles(own, unfused)
                assert best.cycles <= unfused.cycles
                assert shares == sorted({*shares}) and shares[-1] == 1.0
            tried += 1
    assert tried * 2 >= len(seeds)


def test_a_chain_is_cut_where_it_is_best() -> None:
    own, unfused = chain()
    best = best_regions(own, unfused, lambda share: None)
    assert best is not None
    assert best.cycles == least_cycles(own, unfused) < unfused.cycles
    assert statements_of(best.schedule.regions) == ["t", "p", "h", "y"]
    assert 1 < len(best.schedule.regions) < 4


def test_regions_without_an_array_that_has_a_size_of_its_own() -> None:
    """A size that is of another region's array was an error of each region, which none had."""
    own, unfused = chain()
    sized = Candidates(own.model, replace(CONFIG, arrays={"vals_W": 16}), own.model.inputs)
    found, best = (best_regions(each, unfused, lambda share: None) for each in (sized, own))
    assert found is not None and best is not None
    assert (found.cycles, found.schedule) == (best.cycles, best.schedule)


def test_inputs_stay_where_that_is_better() -> None:
    """Stored to suit whatever it becomes, the region would have other loops first."""
    text = (
        "p(i,j)=sum[m](X(i,m)*W(j,m)); y(k,j)=sum[i](A(k,i)*p(i,j)); z(k,j)=y(k,j)+b(j) "
        "-f=A:ds -f=X:ss"
    )
    shapes = {"A": (3, 8), "X": (8, 2), "W": (8, 2), "b": (8,)}
    own, unfused = with_entries(text, shapes, 0.6)
    best = best_regions(own, unfused, lambda share: None)
    assert best is not None
    assert best.cycles == least_cycles(own, unfused)
    anew = own.made(schedule=Schedule(regions=(Region(("p", "y", "z")),)))
    assert anew is not None and anew.cycles > best.cycles


def test_no_region_is_longer_than_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    own, unfused = chain()
    for longest in (1, 2):
        monkeypatch.setattr(regions, "LONGEST", longest)
        shares: list[float] = []
        best = best_regions(own, unfused, shares.append)
        assert best is not None
        assert max(len(each.statements) for each in best.schedule.regions) == longest
        assert shares[-1] == 1.0 and len(shares) == (4 if longest == 1 else 7)


def test_regions_do_not_pass_what_the_host_makes() -> None:
    """A barrier lies between them, however few cycles one region would take, and whether they share
    other tensors or not."""
    for expression in ("s(i,j)*s(i,j)", "s(i,j)*t(i,j)"):
        text = f"t(i,j)=A(i,j)*A(i,j); s(i,j)=reshape(t(i,j)); y(i,j)={expression}"
        own, unfused = with_entries(text, {"A": (2, 2)}, 1.0)
        best = best_regions(own, unfused, lambda share: None)
        assert best is not None
        assert [each.statements for each in best.schedule.regions] == [("t",), ("y",)]


def test_the_best_order_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first so many."""
    own, unfused = with_entries("y(i,j)=sum[k](A(i,k)*B(k,j))", {"A": (3, 9), "B": (9, 5)}, 1.0)
    (lowered,) = unfused.compiled.regions
    orders = list(valid_orders(lowered.partial_order))
    taken = {}
    for order in orders:
        made = own.made(schedule=Schedule(regions=(Region(("y",), order),)))
        taken[order] = made.cycles if made else inf
    assert len({*taken.values()}) == len(orders) == 3
    assert min(taken.values()) < taken[lowered.order]
    for tried in (len(orders), 2, 1):
        monkeypatch.setattr(regions, "ORDERS", tried)
        known = {*islice(orders, tried), lowered.order}
        assert best_orders(own, unfused).cycles == min(taken[order] for order in known)


def test_the_best_orders_of_two_regions() -> None:
    """Each by itself: of all pairs that leave the first one's result as it is stored."""
    text = "t(i,j)=sum[k](A(i,k)*B(k,j)); y(i,l)=sum[j](t(i,j)*C(j,l))"
    own, unfused = with_entries(text, {"A": (3, 7), "B": (7, 2), "C": (2, 9)}, 1.0)
    ways = [valid_orders(each.partial_order) for each in unfused.compiled.regions]
    stored = {name: unfused.schedule.formats[name] for name in "ty"}
    cycles = []
    for first, second in product(*ways):
        pair = Region(("t",), first), Region(("y",), second)
        made = own.made(schedule=Schedule(formats=stored, regions=pair))
        cycles.append(made.cycles if made else inf)
    best = best_orders(own, unfused)
    assert len(cycles) > 4
    assert best.cycles == min(cycles) < unfused.cycles
    orders = [each.order for each in best.compiled.regions]
    assert orders == [each.order for each in best.schedule.regions]


def test_orders_get_no_worse() -> None:
    for seed in (100, 103, 104):
        own, unfused = candidates_of(make_program(seed))
        assert unfused is not None
        assert best_orders(own, unfused).cycles <= unfused.cycles


@pytest.mark.parametrize("lanes", [2, 3])
def test_lanes_for_the_regions_that_gain(lanes: int) -> None:
    """Each of them in its outermost loop, no other."""
    own, serial = chain()
    best = with_lanes(own, serial, lanes)
    assert best is not None
    given = serial.schedule.regions
    totals = {}
    for count in range(len(given) + 1):
        for chosen in combinations(range(len(given)), count):
            made = own.made(
                schedule=replace(
                    serial.schedule,
                    regions=tuple(
                        replace(each, lanes=((each.order[0], lanes),) if at in chosen else ())
                        for at, each in enumerate(given)
                    ),
                )
            )
            if made is not None:
                totals[chosen] = made.cycles
    assert best.cycles == min(totals.values()) < serial.cycles
    for at, each in enumerate(best.schedule.regions):
        assert replace(each, lanes=()) == given[at]
        assert each.lanes in ((), ((each.order[0], lanes),))


def test_lanes_where_no_region_gains() -> None:
    own, serial = with_entries("p=sum[i](A(i)); y=p*p", {"A": (1,)}, 1.0)
    assert not serial.compiled.regions[-1].order
    assert with_lanes(own, serial, 2) is None


def test_blocks_along_several_indices_whose_values_do_not_meet() -> None:
    """Two products in one region, each along an index of its own, so that no value has more words
    than are asked for; a region alone takes as many along one."""
    text = "p(i,j)=sum[k](A(i,k)*B(k,j)); y(i,l)=sum[j](p(i,j)*C(j,l)) -f=A:ds"
    model = valued_model(text, {"A": np.ones((3, 5)), "B": np.ones((5, 8)), "C": np.ones((8, 16))})
    own = Candidates(model, SamConfig(), model.inputs)
    serial = own.candidate(fuse="full")
    wide = with_blocks(own, serial, 8)
    assert wide is not None and wide.cycles < serial.cycles / 3
    (region,) = wide.schedule.regions
    assert {words for _, words in region.blocks} == {8}
    (launch,) = wide.compiled.program.launches
    graph = graph_of(launch.sections)
    assert max(graph.words_of(block.name) for block in graph.blocks) == 8
