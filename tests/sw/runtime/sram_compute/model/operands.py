"""Runs of operations on arrays whose rows hold anything before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.operations import Operation
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray

A, B, D, E, S = 0, 64, 128, 192, 224
"""Rows of the bases; below D, E and behind S there is nothing else."""

BASES = {Base.A: A, Base.B: B, Base.D: D, Base.E: E, Base.S: S}
WORDLINES = 300


@dataclass(frozen=True)
class Operands:
    """Values of operands by base (int64 or uint64 [bitlines]), and the bits of each."""

    values: dict[int, np.ndarray]
    width: int


def result(
    operation: Operation,
    operands: Operands,
    rows: int,
    *,
    n: int = 0,
    onto: int = D,
    right: int = B,
    skips: bool = True,
    is_normal: bool = False,
) -> np.ndarray:
    """The ``rows`` that an operation writes from row ``onto``, as uint64 [bitlines].

    ``right``: the first row of the base B.

    Checks its cycles, which are the least where the data ``is_normal``, and that it leaves rows
    alone that are neither scratch nor destination.
    """
    bitlines = len(next(iter(operands.values.values())))
    array = ComputeArray(WORDLINES, bitlines, np.random.default_rng(0))
    for base, values in operands.values.items():
        array.write(base, values, 1 if base == E else operands.width)
    before = array.planes.copy()
    program = operation.program(n)
    used = array.run(program, BASES | {Base.D: onto, Base.B: right}, n, skips=skips)
    least, most = (operation.cycles(n, skips=each) for each in (True, False))
    assert least <= used <= most
    if is_normal:
        assert used == least
    if not skips:
        assert used == most
    kept = np.ones(WORDLINES, bool)
    kept[onto : onto + rows] = False
    kept[S : S + operation.scratch_rows(n)] = False
    assert (array.planes == before)[kept].all()
    return array.read(onto, rows)
