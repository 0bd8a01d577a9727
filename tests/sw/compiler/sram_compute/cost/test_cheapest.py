"""Statements are shared out among places at the least cost."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.compiler.sram_compute.cost.cheapest import Run, cheapest

PLACES = ("memory", "core", "near")


@st.composite
def costs(draw):
    """How many statements there are, what may be a part, and what it costs where."""
    count = draw(st.integers(1, 5))
    all_of = [(first, end) for first in range(count) for end in range(first + 1, count + 1)]
    segments = draw(st.lists(st.sampled_from(all_of), unique=True))
    cycles = st.one_of(st.none(), st.integers(0, 9))
    table = {
        place: {each: draw(cycles) for each in segments}
        for place in draw(st.permutations(PLACES))[: draw(st.integers(1, 3))]
    }
    return count, segments, table


def covers(
    count: int, segments: list[tuple[int, int]], first: int = 0
) -> Iterator[list[tuple[int, int]]]:
    if first == count:
        yield []
    for segment in segments:
        if segment[0] == first:
            for rest in covers(count, segments, segment[1]):
                yield [segment, *rest]


@given(costs())
def test_the_least_of_all_ways(given_costs):
    count, segments, table = given_costs
    found = cheapest(
        count, segments, {place: lambda *at, of=of: of[at] for place, of in table.items()}
    )
    sums = []
    for cover in covers(count, segments):
        least = [
            min((of[each] for of in table.values() if of[each] is not None), default=None)
            for each in cover
        ]
        if None not in least:
            sums.append(sum(least))
    if found is None:
        assert not sums
        return
    assert sum(run.cycles for run in found) == min(sums)
    assert [run.first for run in found] == [0, *(run.end for run in found[:-1])]
    assert found[-1].end == count
    for run in found:
        assert table[run.engine][run.first, run.end] == run.cycles


def test_of_equal_places_the_first():
    same = {"memory": lambda first, end: 5, "core": lambda first, end: 5}
    assert cheapest(1, [(0, 1)], same) == (Run("memory", 0, 1, 5),)
