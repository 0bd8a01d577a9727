"""Microcode as it is written."""

from __future__ import annotations

import pytest

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.program import Loop, assemble, parameters_fit
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Linear, i, n


def test_rows_and_counts_are_sums() -> None:
    assert 2 * n - 1 - i == Linear(offset=-1, per_i=-1, per_n=2)
    assert 3 - i == Linear(offset=3, per_i=-1)
    assert (2 * n - 1 - i).at(i=4, n=8) == 11
    assert (D + n).down(n - 1).number == 2 * n - 1
    assert [A.at(3).step, A.up(3).step, A.down(3).step] == [0, 1, -1]


def test_a_loop_without_trips_at_a_given_width_is_left_out() -> None:
    def written(width: int | None) -> list[type]:
        p = Builder(width)
        p.sweep(1, d=D.at(), write=lambda a, b, c, p: 1)
        with p.loop(n - 1):
            p.sweep(1, d=D.at(i), write=lambda a, b, c, p: 1)
        return [type(step) for step in p.program()]

    assert Loop in written(None) and Loop in written(2)
    assert Loop not in written(1)


def test_widths_that_a_program_fits() -> None:
    p = Builder()
    with p.loop(n - 2):
        p.sweep(n - 5 + i, A.up(), d=D.up(), write=lambda a, b, c, p: a)
    assert [width for width in range(1, 8) if parameters_fit(p.program(), width)] == [5, 6, 7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d": D.at()}, "d and write: give both or neither"),
        ({"carry": lambda a, b, c, p: a}, "a: no row for what depends on it"),
        ({"b": B.at()}, "b: nothing depends on it"),
    ],
)
def test_sweeps_that_do_not_fit_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Builder().sweep(1, **arguments)
    assert str(caught.value) == message


def test_programs_without_sweeps_and_loops_in_loops_are_refused() -> None:
    with pytest.raises(ValueError) as caught:
        assemble(())
    assert str(caught.value) == (
        "no sweeps: a program, a loop and a block that may be skipped have some"
    )
    p = Builder()
    with p.loop(n), p.loop(n):
        p.sweep(1, d=D.at(), write=lambda a, b, c, p: 1)
    with pytest.raises(ValueError) as caught:
        assemble(p.program())
    assert str(caught.value) == "a loop in a loop: there is one counter"


def test_the_counter_outside_of_a_loop_is_refused() -> None:
    p = Builder()
    p.sweep(1, d=D.at(i), write=lambda a, b, c, p: 1)
    with pytest.raises(ValueError) as caught:
        assemble(p.program())
    assert str(caught.value) == "i outside of a loop"
