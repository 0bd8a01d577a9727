"""Rows and counts of sweeps: sums of a constant, the loop's counter ``i`` and the width ``n``.

``A.up(0)``: rows from the first of operand A on; ``D.down(n - 1)``: from row n - 1 of the
destination down; ``S.at(i + 2)``: one and the same row of scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnarl.hw.sram_compute.microinstruction import Base


@dataclass(frozen=True)
class Linear:
    """``offset`` + ``per_i`` x i + ``per_n`` x n."""

    offset: int = 0
    per_i: int = 0
    per_n: int = 0

    def __add__(self, other: Number) -> Linear:
        other = linear(other)
        return Linear(
            self.offset + other.offset, self.per_i + other.per_i, self.per_n + other.per_n
        )

    def __neg__(self) -> Linear:
        return Linear(-self.offset, -self.per_i, -self.per_n)

    def __sub__(self, other: Number) -> Linear:
        return self + -linear(other)

    def __rsub__(self, other: int) -> Linear:
        return linear(other) - self

    __radd__ = __add__

    def __rmul__(self, factor: int) -> Linear:
        return Linear(factor * self.offset, factor * self.per_i, factor * self.per_n)

    def at(self, i: int, n: int) -> int:
        """The number for a loop's counter and a width."""
        return self.offset + self.per_i * i + self.per_n * n

    def fields(self) -> dict[str, int]:
        """The fields of ``COUNT`` of a microinstruction."""
        return {"offset": self.offset, "per_i": self.per_i, "per_n": self.per_n}


Number = int | Linear


def linear(number: Number) -> Linear:
    return Linear(number) if isinstance(number, int) else number


i = Linear(per_i=1)
"""The counter of the loop that a sweep is in."""

n = Linear(per_n=1)
"""The width of the operation."""


@dataclass(frozen=True)
class Row:
    """The row that a sweep begins with, and by how much it moves on."""

    base: Base
    number: Linear
    step: int

    def fields(self) -> dict[str, int]:
        """The fields of ``ROW`` of a microinstruction."""
        return {"base": self.base, **self.number.fields(), "step": self.step}


@dataclass(frozen=True)
class Rows:
    """Rows of an operand, of a destination or of scratch, of which ``number`` is the first."""

    base: Base
    first: Linear = Linear()

    def at(self, number: Number = 0) -> Row:
        """One row."""
        return Row(self.base, self.first + number, 0)

    def up(self, number: Number = 0) -> Row:
        """Rows from one on upwards."""
        return replace(self.at(number), step=1)

    def down(self, number: Number) -> Row:
        """Rows from one on downwards."""
        return replace(self.at(number), step=-1)

    def __add__(self, number: Number) -> Rows:
        """The rows from that number on."""
        return Rows(self.base, self.first + number)


A, B, D, E, S = (Rows(base) for base in Base)
