"""The order of microinstructions, and what follows from it: cycles and rows."""

from __future__ import annotations

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.program import assemble
from gnarl.hw.sram_compute.microcode.rows import A, D, S, i, n
from gnarl.hw.sram_compute.microcode.sequence import cycles, extent, sequence
from gnarl.hw.sram_compute.microinstruction import SKIP_CYCLES, Base


def test_the_extent_of_a_program() -> None:
    p = Builder()
    p.sweep(n, A.down(n - 1), d=S.up(2), write=lambda a, b, c, p: a)
    program = assemble(p.program())
    assert extent(program, Base.A, 5) == (0, 5)
    assert extent(program, Base.S, 5) == (2, 7)
    assert extent(program, Base.B, 5) == (0, 0)


def test_loops_and_skips_in_order() -> None:
    p = Builder()
    with p.loop(2):
        p.sweep(i + 1, d=D.up(i), write=lambda a, b, c, p: 1)
        with p.if_any_predicate():
            p.sweep(n, d=S.up(i), write=lambda a, b, c, p: 1)
    program = assemble(p.program())
    answers = iter([True, False])
    found = [run and run.d for run in sequence(program, 7, lambda: next(answers))]
    assert found == [(Base.D, 0, 1), None, (Base.S, 0, 1), (Base.D, 1, 1), None]
    assert (extent(program, Base.D), extent(program, Base.S, 7)) == ((0, 3), (0, 8))  # skipped, too
    assert cycles(program, 7, skips=True) == 1 + 2 + 2 * SKIP_CYCLES
    assert cycles(program, 7, skips=False) == 1 + 2 + 2 * SKIP_CYCLES + 2 * 7
