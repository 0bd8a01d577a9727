"""Integers as sums of values times numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from gnarl.sw.compiler.nests.values import constant_of, source_of


@dataclass
class Affine:
    """An affine sum. ``terms``: factors of values, in the order in which they were met; and
    ``constant``."""

    constant: int = 0
    terms: dict[SSAValue, int] = field(default_factory=dict)

    def add(self, other: Affine, factor: int = 1) -> None:
        self.constant += factor * other.constant
        for value, count in other.terms.items():
            total = self.terms.pop(value, 0) + factor * count
            if total:
                self.terms[value] = total


def affine_of(value: SSAValue) -> Affine:
    """The affine form of a value, through sums, products with numbers, shifts to the left and
    casts. O(depth of the value)."""
    value = source_of(value)
    if (number := constant_of(value)) is not None:
        return Affine(number)
    affine, owner = Affine(), value.owner
    if isinstance(owner, arith.AddiOp | arith.SubiOp):
        affine.add(affine_of(owner.lhs))
        affine.add(affine_of(owner.rhs), -1 if isinstance(owner, arith.SubiOp) else 1)
        return affine
    if isinstance(owner, arith.MuliOp | arith.ShLIOp):
        factor = constant_of(owner.rhs)
        if factor is not None and not (isinstance(owner, arith.ShLIOp) and not 0 <= factor < 32):
            affine.add(
                affine_of(owner.lhs), 1 << factor if isinstance(owner, arith.ShLIOp) else factor
            )
            return affine
    return Affine(0, {value: 1})
