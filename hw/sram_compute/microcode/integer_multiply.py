"""Products of integers: shift and add, the multiplier's bit in the predicate.

A bit of the multiplier takes the rows of one addition. The row operation that writes an addition's
carry loads the next bit.
"""

from __future__ import annotations

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Number, i, n


def multiply(p: Builder) -> None:
    """D = A x B, modulo 2^n. D overlaps neither."""
    _first(p)
    with p.loop(n - 1):
        p.sweep(1, B.at(i + 1), predicate=lambda a, b, c, p: a)
        _accumulate(p, n - 1 - i)


def multiply_full(p: Builder) -> None:
    """The 2 n rows of D = A x B, unsigned. D overlaps neither."""
    _first(p)
    with p.loop(n - 1):
        _write_top(p)
        _accumulate(p, n)
    p.sweep(1, d=D.at(2 * n - 1), write=lambda a, b, c, p: c)


def multiply_full_signed(p: Builder) -> None:
    """The 2 n rows of D = A x B, signed. D overlaps neither.

    The carry out of an addition is the sign of the sum; the multiplier's last bit subtracts.
    """
    if p.width == 1:
        return multiply_full(p)
    _first(p, signed=True)
    with p.loop(n - 2):
        _write_top(p)
        _accumulate(p, n - 1)
        p.sweep(
            1,
            D.at(n + i),
            A.at(n - 1),
            D.at(n + i),
            write=lambda a, b, c, p: a ^ b & p ^ c,
            carry=lambda a, b, c, p: a ^ b & p ^ majority(a, b & p, c),
        )
    p.sweep(
        1,
        B.at(n - 1),
        d=D.at(2 * n - 2),
        write=lambda a, b, c, p: c,
        predicate=lambda a, b, c, p: a,
    )
    p.sweep(
        n - 1,
        D.up(n - 1),
        A.up(),
        D.up(n - 1),
        start_carry=lambda c, p: 1,
        write=lambda a, b, c, p: a ^ ~(b & p) ^ c,
        carry=lambda a, b, c, p: majority(a, ~(b & p), c),
    )
    p.sweep(
        1,
        D.at(2 * n - 2),
        A.at(n - 1),
        D.at(2 * n - 2),
        write=lambda a, b, c, p: a ^ ~(b & p) ^ c,
        carry=lambda a, b, c, p: a ^ ~(b & p) ^ majority(a, ~(b & p), c),
    )
    p.sweep(1, d=D.at(2 * n - 1), write=lambda a, b, c, p: c)


def _first(p: Builder, *, signed: bool = False) -> None:
    """The multiplier's bit 0 times A, with what row n is in the carry."""
    p.sweep(1, B.at(), predicate=lambda a, b, c, p: a)
    p.sweep(
        n,
        A.up(),
        d=D.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a & p,
        carry=(lambda a, b, c, p: a & p) if signed else None,
    )


def _write_top(p: Builder) -> None:
    """The top row of the sum so far, from the carry; the next bit of the multiplier."""
    p.sweep(
        1,
        B.at(i + 1),
        d=D.at(n + i),
        write=lambda a, b, c, p: c,
        predicate=lambda a, b, c, p: a,
    )


def _accumulate(p: Builder, count: Number) -> None:
    """Adds the lowest rows of A to those from i + 1 on, where the predicate is set."""
    p.sweep(
        count,
        D.up(i + 1),
        A.up(),
        D.up(i + 1),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a ^ b & p ^ c,
        carry=lambda a, b, c, p: majority(a, b & p, c),
    )
