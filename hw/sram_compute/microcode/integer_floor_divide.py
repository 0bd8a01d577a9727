"""Quotients that are rounded down, and their remainders: n rows each.

As in ``integer_divide``, but the remainder is in scratch, and the quotient's bits go to D as they
come about. Signed dividends need no magnitude: the remainder begins with their sign, and division
that does not restore it then rounds down by itself.
"""

from __future__ import annotations

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.integer_divide import add_or_subtract, non_restoring, restore
from gnarl.hw.sram_compute.microcode.rows import A, B, D, S, i, n


def floor_divide_unsigned(p: Builder) -> None:
    """D = A / B, rounded down, unsigned.

    A divisor of 0 gives all ones. D may be A; there are 2 n - 1 rows of scratch.
    """
    non_restoring(p, A, B, S, D)


def remainder_unsigned(p: Builder) -> None:
    """D = A mod B, unsigned.

    A divisor of 0 gives A. D may be A; there are 2 n - 1 rows of scratch.
    """
    non_restoring(p, A, B, S, D)
    restore(p, S, B, D)


def floor_divide(p: Builder) -> None:
    """D = A / B, rounded down, modulo 2^n.

    A divisor of 0 gives -1, or 0 where A is negative. D overlaps neither; there are 2 n rows of
    scratch.
    """
    _floor_divide(p)


def remainder(p: Builder) -> None:
    """D = A - B x (A / B, rounded down): with B's sign.

    A divisor of 0 gives A. D overlaps neither; there are 2 n rows of scratch.
    """
    _floor_divide(p)
    # Where B is negative, what was divided is -A.
    p.sweep(1, B.at(n - 1), predicate=lambda a, b, c, p: a)
    p.sweep(
        n,
        S.up(),
        d=S.up(),
        start_carry=lambda c, p: p,
        write=lambda a, b, c, p: a ^ p ^ c,
        carry=lambda a, b, c, p: (a ^ p) & c,
    )
    p.sweep(1, D.at(), predicate=lambda a, b, c, p: ~a)
    restore(p, S, B, D)


def _floor_divide(p: Builder) -> None:
    """A by B, or where B is negative -A by -B; the predicate is whether B is added next.

    -A has n + 1 bits; the highest one is the remainder that the first step begins with.
    """
    sign = S.at(2 * n - 1)
    p.sweep(1, B.at(n - 1), predicate=lambda a, b, c, p: a)
    p.sweep(
        n,
        A.up(),
        d=D.up(),
        start_carry=lambda c, p: p,
        write=lambda a, b, c, p: a ^ p ^ c,
        carry=lambda a, b, c, p: (a ^ p) & c,
    )
    p.sweep(
        1,
        A.at(n - 1),
        d=sign,
        write=lambda a, b, c, p: a ^ p ^ c,
        predicate=lambda a, b, c, p: a ^ c,
    )
    p.sweep(
        1,
        D.at(n - 1),
        B.at(),
        S.at(n - 1),
        start_carry=lambda c, p: ~p,
        write=lambda a, b, c, p: a ^ b ^ ~p ^ c,
        carry=lambda a, b, c, p: majority(a, b ^ ~p, c),
    )
    p.sweep(
        n - 1,
        sign,
        B.up(1),
        S.up(n),
        write=lambda a, b, c, p: a ^ b ^ ~p ^ c,
        carry=lambda a, b, c, p: majority(a, b ^ ~p, c),
    )
    # The quotient's bit is whether the new remainder, of n + 1 bits, is not negative.
    p.sweep(
        1,
        sign,
        B.at(n - 1),
        D.at(n - 1),
        write=lambda a, b, c, p: a ^ b ^ p ^ c,
        predicate=lambda a, b, c, p: ~(a ^ p ^ c),
    )
    with p.loop(n - 1):
        add_or_subtract(p, D, B, S)
        p.sweep(
            1,
            S.at(2 * n - 2 - i),
            B.at(n - 1),
            D.at(n - 2 - i),
            write=lambda a, b, c, p: a ^ b ^ p ^ c,
            predicate=lambda a, b, c, p: ~(a ^ p ^ c),
        )
