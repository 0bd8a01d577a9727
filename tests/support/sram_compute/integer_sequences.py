"""What takes several operations: shifts of integers by a constant, and constants. n cycles each.

A shift is a move of rows, and what is shifted in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.operations import INTEGER_OPERATIONS, Operation


@dataclass(frozen=True)
class Command:
    """An operation at width ``n``, and the array's row of each base that it names."""

    operation: Operation
    n: int
    rows: Mapping[Base, int]


def shift_left(a: int, d: int, n: int, distance: int) -> list[Command]:
    """From the n rows at ``a`` to those at ``d``, which may be the same."""
    kept = max(0, n - distance)
    return _commands(
        ("move_down", kept, {Base.A: a, Base.D: d + distance}), ("clear", n - kept, {Base.D: d})
    )


def shift_right(a: int, d: int, n: int, distance: int, *, signed: bool) -> list[Command]:
    """As ``shift_left``; of signed numbers, copies of the sign are shifted in."""
    kept = max(0, n - distance)
    sign = d + kept - 1 if kept else a + n - 1
    above = {Base.D: d + kept}
    return _commands(
        ("move", kept, {Base.A: a + distance, Base.D: d}),
        ("fill", n - kept, above | {Base.A: sign}) if signed else ("clear", n - kept, above),
    )


def constant(d: int, n: int, value: int) -> list[Command]:
    """The n rows at ``d`` become ``value``, of any sign, modulo 2^n, on all bitlines."""
    commands: list[Command] = []
    row = d
    for bit, run in groupby(value >> place & 1 for place in range(n)):
        count = len(list(run))
        commands += _commands(("set" if bit else "clear", count, {Base.D: row}))
        row += count
    return commands


def _commands(*commands: tuple[str, int, Mapping[Base, int]]) -> list[Command]:
    return [Command(INTEGER_OPERATIONS[name], n, rows) for name, n, rows in commands if n]
