"""Where pipeline registers stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from amaranth.hdl import Const, Module, signed, unsigned
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.cut_points import named, registers_at


@pytest.mark.parametrize(
    ("stages", "registers"),
    [
        (0, [0, 0, 0, 0]),
        (1, [0, 0, 0, 1]),
        (2, [0, 1, 0, 1]),
        (3, [1, 1, 0, 1]),
        (4, [1, 1, 1, 1]),
        (6, [1, 1, 1, 3]),
    ],
)
def test_registers_make_the_longest_way_shortest_and_end_at_the_output(
    stages: int, registers: list[int]
) -> None:
    assert registers_at(stages, [5, 4, 4, 2]) == registers


def test_a_step_without_logic_gets_a_register_last() -> None:
    assert registers_at(2, [0, 9, 0, 5]) == [0, 1, 0, 1]
    assert registers_at(4, [0, 9, 0, 5]) == [1, 1, 1, 1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10), st.integers(0, 12))
def test_registers_are_where_the_first_of_all_best_choices_has_them(
    depths: list[int], stages: int
) -> None:
    assert registers_at(stages, depths) == best_of_all(stages, depths)


def best_of_all(stages: int, depths: Sequence[int]) -> list[int]:
    """``registers_at``, by trying all choices."""
    last = len(depths) - 1
    inner = min(stages - 1, last)

    def ways(places: tuple[int, ...]) -> list[int]:
        edges = [0, *(place + 1 for place in places), len(depths)]
        return sorted((sum(depths[a:b]) for a, b in pairwise(edges)), reverse=True)

    counts = [0] * len(depths)
    if stages:
        for place in min(combinations(range(last), inner), key=ways):
            counts[place] = 1
        counts[last] = stages - inner
    return counts


def test_registers_of_many_steps() -> None:
    assert registers_at(20, [1] * 40) == [0, 1] * 20


def test_a_named_signal_has_its_values_shape_or_the_given_one() -> None:
    m = Module()
    assert named(m, "all", Const(-3, signed(5))).shape() == signed(5)
    assert named(m, "low", Const(13, 5), unsigned(3)).shape() == unsigned(3)
