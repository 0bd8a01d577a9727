"""Floating-point division. Source: IEEE 754-2019, clause 5.4.1.

Significands divide as integers do, but the divisor's lowest bit is that of every remainder, since
no bits of a dividend come in: remainders do without that row. The dividend, normalised, lies in
``S``, from row ``fraction`` on; the quotient collects in ``S`` from its top row down.
"""

from __future__ import annotations

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_division_operands import (
    DivisionRows,
    copy_normal,
    division_rows,
)
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    all_ones,
    are_nan,
    gathered_any,
    load,
    overwrite_special,
    set_rows,
)
from gnarl.hw.sram_compute.microcode.float_product import (
    Magnitude,
    add_to_exponent,
    check_products,
    combine_exponents,
    denormalise,
    round_and_pack,
)
from gnarl.hw.sram_compute.microcode.integer import is_below, majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Row, S, i


def divide(p: Builder, format: FloatFormat) -> None:
    """D = A / B. D overlaps neither."""
    check_products(format)
    s = division_rows(format)
    m = s.magnitude
    copy_normal(p, s)
    _divide_significands(p, s)
    _last_bits(p, s)
    _subtract_exponents(p, s)
    denormalise(p, m)
    round_and_pack(p, m)
    _finish(p, m)


def _divide_significands(p: Builder, s: DivisionRows) -> None:
    """All bits of the quotient but the last, to ``S`` from its top row down to row ``fraction``.

    The predicate is the remainder's sign; its rows but the lowest are those from 0 on.
    """
    f, b = s.format.fraction, s.divisor
    p.sweep(
        f + 1,
        s.dividend.up(),
        b.up(),
        s.dividend.up(),
        start_carry=lambda c, p: 1,
        write=lambda a, b, c, p: a ^ ~b ^ c,
        carry=lambda a, b, c, p: majority(a, ~b, c),
    )
    p.sweep(
        1,
        d=S.at(2 * f + 1),
        write=lambda a, b, c, p: c,
        predicate=lambda a, b, c, p: ~c,
    )
    p.sweep(1, b.at(), carry=lambda a, b, c, p: ~(a | p))
    _subtract_or_add(p, f, S.up(f), b.up(1))
    _quotient_bit(p, S.at(2 * f))
    with p.loop(f):
        # Bits 0 and 1 of twice the remainder are 0 and the divisor's bit 0.
        p.sweep(
            1,
            b.at(),
            b.at(1),
            S.at(f - 1 - i),
            write=lambda a, b, c, p: a ^ b ^ ~p ^ ~(a | p),
            carry=lambda a, b, c, p: majority(a, b ^ ~p, ~(a | p)),
        )
        _subtract_or_add(p, f - 1, S.up(f - i), b.up(2))
        _quotient_bit(p, S.at(2 * f - 1 - i))


def _subtract_or_add(p: Builder, count: int, remainder: Row, divisor: Row) -> None:
    p.sweep(
        count,
        remainder,
        divisor,
        remainder,
        write=lambda a, b, c, p: a ^ b ^ ~p ^ c,
        carry=lambda a, b, c, p: majority(a, b ^ ~p, c),
    )


def _quotient_bit(p: Builder, row: Row) -> None:
    """Replaces the highest bit of the remainder before by whether the new one isn't negative."""
    p.sweep(
        1,
        row,
        d=row,
        write=lambda a, b, c, p: a ^ p ^ c,
        predicate=lambda a, b, c, p: ~(a ^ p ^ c),
    )


def _last_bits(p: Builder, s: DivisionRows) -> None:
    """The last bit of the quotient, by a comparison, and a sticky bit below it.

    The remainder, made positive, is compared with half of the divisor: equal to it or 0, nothing
    is left.
    """
    f, b = s.format.fraction, s.divisor
    p.sweep(
        1,
        b.at(),
        d=s.lowest,
        write=lambda a, b, c, p: a & ~p,
        carry=lambda a, b, c, p: a & p,
    )
    p.sweep(
        f,
        S.up(),
        b.up(1),
        S.up(),
        write=lambda a, b, c, p: a ^ b & p ^ c,
        carry=lambda a, b, c, p: majority(a, b & p, c),
    )
    p.sweep(1, b.at(), carry=lambda a, b, c, p: a, predicate=lambda a, b, c, p: a)
    for count, remainder, divisor in ((1, s.lowest, b.at(1)), (f - 1, S.up(), b.up(2))):
        p.sweep(
            count,
            remainder,
            divisor,
            carry=lambda a, b, c, p: is_below(a, b, c),
            predicate=lambda a, b, c, p: p | a ^ b,
        )
    p.sweep(
        1,
        S.at(f - 1),
        d=S.at(f - 1),
        write=lambda a, b, c, p: a | ~c,
        predicate=lambda a, b, c, p: p | a,
    )
    gathered_any(p, S, f)
    p.sweep(1, s.lowest, d=S.at(f - 2), write=lambda a, b, c, p: p & (a | c))


def _subtract_exponents(p: Builder, s: DivisionRows) -> None:
    """X = the difference of exponents, plus the bias, less 1; 0 for a dividend of 0.

    A divisor of 0 gives an X that overflows.
    """
    m, format = s.magnitude, s.format
    p.sweep(
        1,
        FloatRows(A, format).exponent.at(),
        FloatRows(B, format).exponent.at(),
        m.x.at(),
        write=lambda a, b, c, p: a ^ ~b,
        carry=lambda a, b, c, p: a & ~b,
    )
    combine_exponents(p, m, 1, negates=True)
    for count, row in ((format.exponent + 1, m.x.up()), (1, m.is_negative)):
        p.sweep(
            count,
            row,
            d=row,
            start_carry=(lambda c, p: 0) if count > 1 else None,
            write=lambda a, b, c, p: a ^ ~c,
            carry=lambda a, b, c, p: a | c,
        )
    load(p, s.isnt_normal)
    with p.if_any_predicate():
        add_to_exponent(p, m, s.shift, s.stages, negates=False, sign=s.shift.at(s.stages))
        _find_zeros(p, format)
        for count, row in ((format.exponent, m.x.up()), (1, m.is_negative)):
            p.sweep(count, row, d=row, write=lambda a, b, c, p: a & c & p)
        p.sweep(
            1,
            m.x.at(format.exponent),
            d=m.x.at(format.exponent),
            write=lambda a, b, c, p: a & c | ~p,
        )


def _find_zeros(p: Builder, format: FloatFormat) -> None:
    """The carry is whether A isn't 0, the predicate whether B isn't."""
    p.sweep(
        format.width - 1,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 0,
        start_predicate=lambda c, p: 0,
        carry=lambda a, b, c, p: a | c,
        predicate=lambda a, b, c, p: b | p,
    )


def _finish(p: Builder, m: Magnitude) -> None:
    """Signs, and what is infinite or NaN, or 0 as the divisor is infinite."""
    a, b, d = (FloatRows(rows, m.format) for rows in (A, B, D))
    lowest = m.rows + m.lowest
    is_special, is_nan, vanishes = (lowest.at(place) for place in range(3))
    p.sweep(1, d.sign, d=is_special, write=lambda a, b, c, p: a | c | p)
    all_ones(p, m.format)
    p.sweep(
        1,
        is_special,
        d=is_special,
        write=lambda a, b, c, p: a | c | p,
        predicate=lambda a, b, c, p: a | c | p,
    )
    p.sweep(1, a.sign, b.sign, d.sign, write=lambda a, b, c, p: a ^ b)
    with p.if_any_predicate():
        are_nan(p, m.format)
        p.sweep(1, d=is_nan, write=lambda a, b, c, p: c | p)
        _find_zeros(p, m.format)
        p.sweep(1, is_nan, d=is_nan, write=lambda a, b, c, p: a | ~(c | p))
        all_ones(p, m.format)
        p.sweep(1, is_nan, d=is_nan, write=lambda a, b, c, p: a | c & p)
        p.sweep(1, is_nan, d=vanishes, write=lambda a, b, c, p: p & ~c & ~a)
        load(p, is_special)
        overwrite_special(p, m.format, d, is_nan, is_special)
        load(p, vanishes)
        set_rows(p, d.exponent, m.format.exponent, 0)
