"""Points that none dominates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.runtime.explore.pareto import dominates, front

COSTS = st.integers(1, 3).flatmap(
    lambda size: st.lists(st.none() | st.tuples(*[st.integers(0, 5)] * size), max_size=20)
)


@given(COSTS)
def test_the_front_is_what_none_dominates(costs: list[tuple[int, ...] | None]) -> None:
    known = [cost for cost in costs if cost is not None]
    expected = [
        cost is not None and not any(dominates(each, cost) for each in known) for cost in costs
    ]
    assert front(costs) == expected
    assert any(expected) == bool(known)


def test_what_dominates() -> None:
    assert dominates((1, 2), (1, 3))
    assert not dominates((1, 2), (1, 2))
    assert not dominates((1, 4), (2, 3))
    assert front([(3, 1), (1, 3), (2, 2), (3, 3), None, (1, 3)]) == [
        *(True, True, True, False, False, True)
    ]
