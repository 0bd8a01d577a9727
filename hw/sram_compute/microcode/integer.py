"""Integers of n bits, the lowest first, in two's complement where they are signed.

Each function writes one operation, for any n; D may be an operand's rows where it says so.
"""

from __future__ import annotations

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.rows import A, B, D, E, n
from gnarl.hw.sram_compute.microcode.tables import RowFunction


def majority(a: int, b: int, c: int) -> int:
    """The carry out of a + b + c."""
    return a & b | c & (a | b)


def move(p: Builder) -> None:
    """D = A, from the lowest row up: D may overlap A where it begins below it, or is A."""
    p.sweep(n, A.up(), d=D.up(), write=lambda a, b, c, p: a)


def move_down(p: Builder) -> None:
    """D = A, from the highest row down: D may overlap A where it begins above it."""
    p.sweep(n, A.down(n - 1), d=D.down(n - 1), write=lambda a, b, c, p: a)


def fill(p: Builder) -> None:
    """All n rows of D = row 0 of A, which D may have anywhere."""
    p.sweep(n, A.at(), d=D.up(), write=lambda a, b, c, p: a)


def clear(p: Builder) -> None:
    """D = 0."""
    p.sweep(n, d=D.up(), write=lambda a, b, c, p: 0)


def set_all(p: Builder) -> None:
    """D = -1, all ones."""
    p.sweep(n, d=D.up(), write=lambda a, b, c, p: 1)


def logic(p: Builder, function: RowFunction) -> None:
    """D = A and, or, or exclusive or B, bit by bit. D may be A, B or both."""
    p.sweep(n, A.up(), B.up(), D.up(), write=function)


def invert(p: Builder) -> None:
    """D = ~A. D may be A."""
    p.sweep(n, A.up(), d=D.up(), write=lambda a, b, c, p: ~a)


def add(p: Builder) -> None:
    """D = A + B, modulo 2^n. D may be A, B or both."""
    p.sweep(
        n,
        A.up(),
        B.up(),
        D.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a ^ b ^ c,
        carry=lambda a, b, c, p: majority(a, b, c),
    )


def subtract(p: Builder) -> None:
    """D = A - B, modulo 2^n. D may be A, B or both."""
    p.sweep(
        n,
        A.up(),
        B.up(),
        D.up(),
        start_carry=lambda c, p: 1,
        write=lambda a, b, c, p: a ^ ~b ^ c,
        carry=lambda a, b, c, p: majority(a, ~b, c),
    )


def negate(p: Builder) -> None:
    """D = -A, modulo 2^n. D may be A."""
    p.sweep(
        n,
        A.up(),
        d=D.up(),
        start_carry=lambda c, p: 1,
        write=lambda a, b, c, p: ~a ^ c,
        carry=lambda a, b, c, p: ~a & c,
    )


def absolute(p: Builder) -> None:
    """D = |A|, modulo 2^n: of the lowest number that itself. D may be A."""
    p.sweep(1, A.at(n - 1), predicate=lambda a, b, c, p: a)
    p.sweep(
        n,
        A.up(),
        d=D.up(),
        start_carry=lambda c, p: p,
        write=lambda a, b, c, p: a ^ p ^ c,
        carry=lambda a, b, c, p: (a ^ p) & c,
    )


def relu(p: Builder) -> None:
    """D = A, or 0 where A is negative. D may be A."""
    p.sweep(1, A.at(n - 1), predicate=lambda a, b, c, p: a)
    p.sweep(n, A.up(), d=D.up(), write=lambda a, b, c, p: a & ~p)


def is_below(a: int, b: int, c: int) -> int:
    """Whether numbers compare as below by bits a and b, where the bits before said c."""
    return ~a & b | c & ~(a ^ b)


def is_below_signed(a: int, b: int, c: int) -> int:
    """Compares as ``is_below`` does, for the highest bits of signed numbers."""
    return is_below(b, a, c)


def less(p: Builder, *, signed: bool, or_equal: bool) -> None:
    """Row 0 of D = A < B, or A <= B. It may be any row of A or B."""
    top = is_below_signed if signed else is_below
    p.sweep(
        n - 1,
        A.up(),
        B.up(),
        start_carry=lambda c, p: or_equal,
        carry=lambda a, b, c, p: is_below(a, b, c),
    )
    p.sweep(1, A.at(n - 1), B.at(n - 1), D.at(), write=lambda a, b, c, p: top(a, b, c))


def equal(p: Builder, *, inverted: bool) -> None:
    """Row 0 of D = (A == B), or (A != B). It may be any row of A or B."""
    p.sweep(
        n - 1,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 1,
        carry=lambda a, b, c, p: c & ~(a ^ b),
    )
    p.sweep(
        1,
        A.at(n - 1),
        B.at(n - 1),
        D.at(),
        write=lambda a, b, c, p: c & ~(a ^ b) ^ inverted,
    )


def select(p: Builder) -> None:
    """D = A where row 0 of E is 1, else B. D may be A, B or both."""
    p.sweep(1, E.at(), predicate=lambda a, b, c, p: a)
    p.sweep(n, A.up(), B.up(), D.up(), write=lambda a, b, c, p: a if p else b)


def extremum(p: Builder, *, signed: bool, is_maximum: bool) -> None:
    """D = the greater of A and B, or the lesser. D may be A, B or both."""
    top = is_below_signed if signed else is_below
    p.sweep(
        n - 1,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 0,
        carry=lambda a, b, c, p: is_below(a, b, c),
    )
    p.sweep(
        1,
        A.at(n - 1),
        B.at(n - 1),
        predicate=lambda a, b, c, p: top(a, b, c) ^ is_maximum,
    )
    p.sweep(n, A.up(), B.up(), D.up(), write=lambda a, b, c, p: a if p else b)
