"""Comparisons of floating-point numbers, and what picks one. Source: IEEE 754-2019, 5.11 and 9.6.

NaN compares as unequal. Maximum and minimum are NaN where an operand is; -0 is below +0 to them.
Any NaN result is canonical but for ``absolute`` and ``negate``, which change the sign bit alone.
What only NaN needs is skipped where no exponent is all ones.
"""

from __future__ import annotations

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    all_ones,
    are_nan,
    canonical_nan,
    gathered_any,
    load,
)
from gnarl.hw.sram_compute.microcode.integer import is_below
from gnarl.hw.sram_compute.microcode.rows import A, B, D, S


def less(p: Builder, format: FloatFormat, *, or_equal: bool) -> None:
    """Row 0 of D = A < B, or A <= B. It is none of A or B."""
    a, b = FloatRows(A, format), FloatRows(B, format)
    ordered, is_tie = S.at(0), S.at(1)
    _compare_magnitudes(p, format)
    p.sweep(
        1,
        a.sign,
        b.sign,
        ordered,
        write=lambda a, b, c, p: a if a ^ b else _is_less(a, c, p, or_equal),
    )
    # Numbers that differ in their sign alone are equal where they are 0.
    p.sweep(
        1,
        a.sign,
        b.sign,
        is_tie,
        write=lambda a, b, c, p: (a ^ b) & (b if or_equal else a) & ~p,
    )
    gathered_any(p, A, format.width - 1)
    p.sweep(1, ordered, is_tie, D.at(), write=lambda a, b, c, p: c ^ or_equal if b else a)
    _unless_nan(p, format, 0)


def equal(p: Builder, format: FloatFormat, *, inverted: bool) -> None:
    """Row 0 of D = (A == B), or (A != B). It is none of A or B."""
    p.sweep(
        format.width - 1,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 0,
        start_predicate=lambda c, p: 0,
        carry=lambda a, b, c, p: a | b | c,
        predicate=lambda a, b, c, p: p | a ^ b,
    )
    p.sweep(
        1,
        FloatRows(A, format).sign,
        FloatRows(B, format).sign,
        D.at(),
        write=lambda a, b, c, p: ~p & ~((a ^ b) & c) ^ inverted,
    )
    _unless_nan(p, format, int(inverted))


def extremum(p: Builder, format: FloatFormat, *, is_maximum: bool) -> None:
    """D = the greater of A and B, or the lesser. D may be A, B or both."""
    a, b = FloatRows(A, format), FloatRows(B, format)
    is_nan = S.at(0)
    all_ones(p, format)
    p.sweep(1, d=is_nan, write=lambda a, b, c, p: 0, predicate=lambda a, b, c, p: c | p)
    with p.if_any_predicate():
        are_nan(p, format)
        p.sweep(1, d=is_nan, write=lambda a, b, c, p: c | p)
    _compare_magnitudes(p, format)
    p.sweep(
        1,
        a.sign,
        b.sign,
        predicate=lambda a, b, c, p: (a if a ^ b else a ^ c) ^ is_maximum,
    )
    p.sweep(format.width, A.up(), B.up(), D.up(), write=lambda a, b, c, p: a if p else b)
    load(p, is_nan)
    with p.if_any_predicate():
        canonical_nan(p, format, FloatRows(D, format))


def absolute(p: Builder, format: FloatFormat) -> None:
    """D = A with the sign 0, NaNs included. D may be A. Source: IEEE 754-2019, 5.5.1."""
    _copy_magnitude(p, format)
    p.sweep(1, d=FloatRows(D, format).sign, write=lambda a, b, c, p: 0)


def negate(p: Builder, format: FloatFormat) -> None:
    """D = A with the other sign, NaNs included. D may be A. Source: IEEE 754-2019, 5.5.1."""
    _copy_magnitude(p, format)
    a, d = FloatRows(A, format), FloatRows(D, format)
    p.sweep(1, a.sign, d=d.sign, write=lambda a, b, c, p: ~a)


def _copy_magnitude(p: Builder, format: FloatFormat) -> None:
    p.sweep(format.width - 1, A.up(), d=D.up(), write=lambda a, b, c, p: a)


def relu(p: Builder, format: FloatFormat) -> None:
    """D = the maximum of A and +0. D may be A."""
    a, d = FloatRows(A, format), FloatRows(D, format)
    load(p, a.sign)
    # The carry is whether A is NaN.
    p.sweep(
        format.fraction,
        a.fraction.up(),
        d=d.fraction.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a & ~p,
        carry=lambda a, b, c, p: a | c,
    )
    p.sweep(
        format.exponent,
        a.exponent.up(),
        d=d.exponent.up(),
        write=lambda a, b, c, p: a & ~p,
        carry=lambda a, b, c, p: a & c,
    )
    p.sweep(1, d=d.sign, write=lambda a, b, c, p: 0, predicate=lambda a, b, c, p: c)
    with p.if_any_predicate():
        canonical_nan(p, format, d)


def _compare_magnitudes(p: Builder, format: FloatFormat) -> None:
    """The carry is whether |A| < |B|, the predicate whether they differ."""
    p.sweep(
        format.width - 1,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 0,
        start_predicate=lambda c, p: 0,
        carry=lambda a, b, c, p: is_below(a, b, c),
        predicate=lambda a, b, c, p: p | a ^ b,
    )


def _is_less(sign: int, is_smaller: int, differs: int, or_equal: bool) -> int:
    """Whether A < B, or A <= B, of one sign, where A's magnitude is the smaller one or not."""
    if sign:
        return ~is_smaller & (differs | or_equal)
    return is_smaller | or_equal & ~differs


def _unless_nan(p: Builder, format: FloatFormat, value: int) -> None:
    """Row 0 of D becomes ``value`` where A or B is NaN."""
    all_ones(p, format)
    p.sweep(1, predicate=lambda a, b, c, p: c | p)
    with p.if_any_predicate():
        are_nan(p, format)
        p.sweep(1, D.at(), d=D.at(), write=lambda a, b, c, p: value if c | p else a)
