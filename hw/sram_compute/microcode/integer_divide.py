"""Quotients and remainders of integers: non-restoring division.

A partial remainder is n rows, which move down a row a step: its shift to the left costs nothing.
The step adds or subtracts the divisor in one sweep, as the predicate, the sign of the one before,
says; its sign goes into the row that the remainder leaves, where the quotient collects.
"""

from __future__ import annotations

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Rows, S, i, n


def divide(p: Builder) -> None:
    """Rows 0 to n - 1 of D = A mod B, rows n to 2 n - 1 = A / B, unsigned.

    A divisor of 0 gives all ones, and the dividend. D does not overlap B; its lower half may be A.
    """
    non_restoring(p, A, B, D, D + n)
    restore(p, D, B, D)


def divide_signed(p: Builder) -> None:
    """Rows 0 to n - 1 of D = A mod B, with A's sign, rows n to 2 n - 1 = A / B, rounded to 0.

    A divisor of 0 gives -1, and the dividend; the lowest number by -1 itself, and 0. D overlaps
    neither; there are n + 1 rows of scratch.
    """
    negates = S + n
    _absolute(p, A, D)
    _absolute(p, B, S)
    # Of B, its sign and, where that is 0, whether any bit is set.
    p.sweep(1, A.at(n - 1), d=negates.at(), write=lambda a, b, c, p: (a ^ p) & (c | p))
    non_restoring(p, D, S, D, D + n)
    restore(p, D, S, D)
    for sign, rows in ((negates.at(), D + n), (A.at(n - 1), D)):
        p.sweep(1, sign, predicate=lambda a, b, c, p: a)
        p.sweep(
            n,
            rows.up(),
            d=rows.up(),
            start_carry=lambda c, p: p,
            write=lambda a, b, c, p: a ^ p ^ c,
            carry=lambda a, b, c, p: (a ^ p) & c,
        )


def _absolute(p: Builder, number: Rows, into: Rows) -> None:
    """|number|; the predicate is its sign, the carry, where that is 0, whether it isn't 0."""
    p.sweep(1, number.at(n - 1), predicate=lambda a, b, c, p: a)
    p.sweep(
        n,
        number.up(),
        d=into.up(),
        start_carry=lambda c, p: p,
        write=lambda a, b, c, p: ~a ^ c if p else a,
        carry=lambda a, b, c, p: ~a & c if p else a | c,
    )


def non_restoring(
    p: Builder, dividend: Rows, divisor: Rows, remainder: Rows, quotient: Rows
) -> None:
    """``quotient`` = dividend / divisor, unsigned, and from ``remainder`` on, 2 n - 1 rows, what
    ``restore`` takes; the predicate is whether it is negative. Rows of the dividend are read before
    those of the quotient, or of the remainder's lower half, of the same number are written."""
    # The remainder is 0 so far: the dividend's highest bit less the divisor.
    p.sweep(
        1,
        dividend.at(n - 1),
        divisor.at(),
        remainder.at(n - 1),
        start_carry=lambda c, p: 1,
        write=lambda a, b, c, p: a ^ ~b ^ c,
        carry=lambda a, b, c, p: majority(a, ~b, c),
    )
    p.sweep(
        n - 1,
        divisor.up(1),
        d=remainder.up(n),
        write=lambda a, b, c, p: ~a ^ c,
        carry=lambda a, b, c, p: ~a & c,
    )
    p.sweep(
        1,
        d=quotient.at(n - 1),
        write=lambda a, b, c, p: c,
        predicate=lambda a, b, c, p: ~c,
    )
    with p.loop(n - 1):
        add_or_subtract(p, dividend, divisor, remainder)
        p.sweep(
            1,
            remainder.at(2 * n - 2 - i),
            d=quotient.at(n - 2 - i),
            write=lambda a, b, c, p: a ^ p ^ c,
            predicate=lambda a, b, c, p: ~(a ^ p ^ c),
        )


def add_or_subtract(p: Builder, dividend: Rows, divisor: Rows, remainder: Rows) -> None:
    """A step's n rows: twice the remainder, and the dividend's next bit, plus the divisor where the
    predicate is set, else minus it."""
    p.sweep(
        1,
        dividend.at(n - 2 - i),
        divisor.at(),
        remainder.at(n - 2 - i),
        start_carry=lambda c, p: ~p,
        write=lambda a, b, c, p: a ^ b ^ ~p ^ c,
        carry=lambda a, b, c, p: majority(a, b ^ ~p, c),
    )
    p.sweep(
        n - 1,
        remainder.up(n - 1 - i),
        divisor.up(1),
        remainder.up(n - 1 - i),
        write=lambda a, b, c, p: a ^ b ^ ~p ^ c,
        carry=lambda a, b, c, p: majority(a, b ^ ~p, c),
    )


def restore(p: Builder, remainder: Rows, divisor: Rows, into: Rows) -> None:
    """The remainder, plus the divisor where the predicate is set."""
    p.sweep(
        n,
        remainder.up(),
        divisor.up(),
        into.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a ^ b & p ^ c,
        carry=lambda a, b, c, p: majority(a, b & p, c),
    )
