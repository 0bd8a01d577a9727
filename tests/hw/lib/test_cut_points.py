"""Where pipeline registers stand."""

from __future__ import annotations

import pytest
from amaranth.hdl import Const, Module, signed, unsigned

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


def test_a_named_signal_has_its_values_shape_or_the_given_one() -> None:
    m = Module()
    assert named(m, "all", Const(-3, signed(5))).shape() == signed(5)
    assert named(m, "low", Const(13, 5), unsigned(3)).shape() == unsigned(3)
