"""The model of compute arrays: sweeps, loops, skips, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import add, move
from gnarl.hw.sram_compute.microcode.program import Microinstruction, assemble
from gnarl.hw.sram_compute.microcode.rows import A, B, D, S, i, n
from gnarl.hw.sram_compute.microcode.sequence import cycles
from gnarl.hw.sram_compute.microinstruction import SKIP_CYCLES, Base
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray

BASES = {Base.A: 0, Base.B: 32, Base.D: 64, Base.E: 96, Base.S: 128}


def _array(bitlines: int = 100) -> ComputeArray:
    return ComputeArray(192, bitlines, np.random.default_rng(1))


def _assembled(p: Builder) -> tuple[Microinstruction, ...]:
    return assemble(p.program())


@pytest.mark.parametrize("width", [1, 7, 32])
@pytest.mark.parametrize("bitlines", [1, 64, 100])
def test_what_is_written_is_read(width: int, bitlines: int) -> None:
    array = _array(bitlines)
    values = np.random.default_rng(2).integers(0, 1 << width, bitlines)
    array.write(3, values, width)
    assert (array.read(3, width) == values).all()
    array.write(3, values - (1 << width), width)
    assert (array.read(3, width) == values).all()


@pytest.mark.parametrize("width", [1, 2, 8, 31, 32])
def test_sums_take_a_cycle_a_bit(width: int) -> None:
    p = Builder()
    add(p)
    array, random = _array(), np.random.default_rng(3)
    a, b = random.integers(0, 1 << width, (2, 100))
    array.write(0, a, width)
    array.write(32, b, width)
    before = array.planes.copy()
    assert array.run(_assembled(p), BASES, width) == width
    assert (array.read(64, width) == (a + b) % (1 << width)).all()
    before[64 : 64 + width] = array.planes[64 : 64 + width]
    assert (array.planes == before).all()


@pytest.mark.parametrize("onto", [Base.A, Base.B])
def test_a_sum_may_replace_an_operand(onto: Base) -> None:
    p = Builder()
    add(p)
    array = _array()
    a, b = array.read(0, 32), array.read(32, 32)
    array.run(_assembled(p), BASES | {Base.D: BASES[onto]}, 32)
    assert (array.read(BASES[onto], 32) == (a + b) % (1 << 32)).all()


def test_a_copy_moves_rows() -> None:
    p = Builder()
    move(p)
    array = _array()
    array.run(_assembled(p), BASES, 9)
    assert (array.read(64, 9) == array.read(0, 9)).all()


def test_a_latch_keeps_a_row_that_is_written_later() -> None:
    p = Builder()
    p.sweep(1, A.at(), predicate=lambda a, b, c, p: a)
    p.sweep(1, A.at(), d=A.at(), write=lambda a, b, c, p: ~a)
    p.sweep(1, d=D.at(), write=lambda a, b, c, p: p)
    array = _array()
    before = array.read(0, 1)
    array.run(_assembled(p), BASES)
    assert (array.read(64, 1) == before).all()
    assert (array.read(0, 1) == 1 - before).all()


def test_start_tables_are_of_both_latches() -> None:
    p = Builder()
    p.sweep(1, A.at(), B.at(), carry=lambda a, b, c, p: a, predicate=lambda a, b, c, p: b)
    p.sweep(
        1,
        d=D.at(),
        start_carry=lambda c, p: p,
        start_predicate=lambda c, p: c,
        write=lambda a, b, c, p: p,
    )
    p.sweep(1, d=D.at(1), write=lambda a, b, c, p: c)
    array = _array()
    array.run(_assembled(p), BASES)
    assert (array.read(64, 1) == array.read(0, 1)).all()
    assert (array.read(65, 1) == array.read(32, 1)).all()


def test_a_loop_counts_and_steps_go_down() -> None:
    # Row i of D becomes the parity of the rows of A from n - 1 down to i.
    p = Builder()
    with p.loop(n):
        p.sweep(
            n - i,
            A.down(n - 1),
            carry=lambda a, b, c, p: a ^ c,
            start_carry=lambda c, p: 0,
        )
        p.sweep(1, d=D.at(i), write=lambda a, b, c, p: c)
    array, program = _array(), _assembled(p)
    assert array.run(program, BASES, 5) == 5 + 4 + 3 + 2 + 1 + 5
    a = array.read(0, 5)
    for bit in range(5):
        ones = np.array([int(each).bit_count() for each in a >> np.uint64(bit)])
        assert (array.read(64 + bit, 1) == ones % 2).all()


def test_a_sweep_of_no_rows_takes_a_cycle_for_its_start() -> None:
    p = Builder()
    p.sweep(1, A.at(), carry=lambda a, b, c, p: a)
    p.sweep(
        n - 1,
        A.up(180),  # beyond the array
        d=D.up(1),
        start_carry=lambda c, p: ~c,
        write=lambda a, b, c, p: 0,
        carry=lambda a, b, c, p: a,
    )
    p.sweep(1, d=D.at(), write=lambda a, b, c, p: c)
    array = _array()
    before = array.read(65, 1)
    assert array.run(_assembled(p), BASES | {Base.A: 191}, 1) == 3
    assert (array.read(64, 1) == 1 - array.read(191, 1)).all()
    assert (array.read(65, 1) == before).all()


def _skips(ends_in_skip: bool) -> Builder:
    """Where a bit of A is set on any bitline, S 0 becomes 1; after that, perhaps, S 1."""
    p = Builder()
    p.sweep(1, A.at(), predicate=lambda a, b, c, p: a)
    with p.if_any_predicate():
        p.sweep(2, d=S.at(), write=lambda a, b, c, p: 1)
    if not ends_in_skip:
        p.sweep(1, d=S.at(1), write=lambda a, b, c, p: 1)
    return p


@pytest.mark.parametrize("ends_in_skip", [False, True])
@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("is_any", [False, True])
def test_a_block_is_passed_over_unless_a_predicate_is_set(
    ends_in_skip: bool, skips: bool, is_any: bool
) -> None:
    array, program = _array(), _assembled(_skips(ends_in_skip))
    array.write(0, np.arange(100) == 99 if is_any else np.zeros(100), 1)
    array.write(128, np.zeros(100), 2)
    runs = is_any or not skips
    found = array.run(program, BASES, skips=skips)
    assert found == 1 + SKIP_CYCLES + 2 * runs + (not ends_in_skip)
    assert (array.read(128, 1) == runs).all()
    assert (array.read(129, 1) == (not ends_in_skip)).all()
    assert cycles(program, skips=not runs) == found


def test_a_loop_may_end_in_a_block_that_is_passed_over() -> None:
    # D i becomes 1 where A i is set on any bitline.
    p = Builder()
    p.sweep(n, d=D.up(), write=lambda a, b, c, p: 0)
    with p.loop(n):
        p.sweep(1, A.at(i), predicate=lambda a, b, c, p: a)
        with p.if_any_predicate():
            p.sweep(1, d=D.at(i), write=lambda a, b, c, p: 1)
    array = _array()
    array.write(0, np.where(np.arange(100) == 7, 0b01101, 0), 5)
    assert array.run(_assembled(p), BASES, 5) == 5 + 5 * (1 + SKIP_CYCLES) + 3
    assert (array.read(64, 5) == 0b01101).all()


def test_a_block_may_hold_a_loop() -> None:
    p = Builder()
    p.sweep(1, A.at(), predicate=lambda a, b, c, p: a)
    with p.if_any_predicate(), p.loop(n):
        p.sweep(1, d=D.at(i), write=lambda a, b, c, p: 1)
    array, program = _array(), _assembled(p)
    array.write(0, np.zeros(100), 1)
    assert array.run(program, BASES, 4) == 1 + SKIP_CYCLES
    array.write(0, np.ones(100), 1)
    assert array.run(program, BASES, 4) == 1 + SKIP_CYCLES + 4


def test_rows_that_an_array_lacks_are_refused() -> None:
    p = Builder()
    add(p)
    array = _array()
    with pytest.raises(ValueError) as caught:
        array.run(_assembled(p), BASES | {Base.B: 170}, 32)
    assert str(caught.value) == "rows 170 to 201, from B on: there are 192 rows"
