"""Floating-point addition and subtraction. Source: IEEE 754-2019, clause 5.4.1.

The larger number, without its sign, goes to D, the smaller one to scratch, where it is aligned with
guard, round and sticky bit. The sum is normalised in place, as far as the exponent goes: so
subnormal numbers and results take the same way as all others.
"""

from __future__ import annotations

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    gather,
    gathered_any,
    load,
    overwrite_special,
    pack_exponent,
    shift_left,
    shift_right_sticky,
)
from gnarl.hw.sram_compute.microcode.integer import is_below, majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, S


class _Scratch:
    """Rows of scratch. ``sum``: sticky, round and guard bit, the significand, a carry."""

    def __init__(self, format: FloatFormat) -> None:
        self.top = format.fraction + 4
        self.sum = S
        self.distance = S + (self.top + 1)
        flags = self.distance + format.exponent
        self.hidden, self.sign, self.is_nan, self.is_difference, self.beyond, self.is_special = (
            flags.at(place) for place in range(6)
        )


def add(p: Builder, format: FloatFormat, *, subtract: bool) -> None:
    """D = A + B, or A - B. D may be A, B or both."""
    s, d = _Scratch(format), FloatRows(D, format)
    _order(p, format, s, subtract)
    _align(p, format, s)
    _add(p, format, s)
    taken = _normalise(p, format, s)
    _subtract_distance(p, format, s, taken)
    _round(p, s)
    p.sweep(
        format.fraction,
        s.sum.up(4),
        d=d.fraction.up(),
        write=lambda a, b, c, p: a ^ c,
        carry=lambda a, b, c, p: a & c,
    )
    pack_exponent(p, format, d, s.sum.at(s.top))
    p.sweep(
        1,
        s.sign,
        s.is_special,
        d.sign,
        write=lambda a, b, c, p: a,
        predicate=lambda a, b, c, p: p | b,
    )
    with p.if_any_predicate():
        overwrite_special(p, format, d, s.is_nan, s.is_special)


def _order(p: Builder, format: FloatFormat, s: _Scratch, subtract: bool) -> None:
    """The smaller number's fraction and exponent to scratch, the larger one's to D.

    The exponent in D is 1 for subnormal numbers; the carry is the smaller one's hidden bit.
    """
    a, b, d = (FloatRows(rows, format) for rows in (A, B, D))
    fraction, exponent = format.fraction, format.exponent
    p.sweep(
        fraction + exponent,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 0,
        start_predicate=lambda c, p: 0,
        carry=lambda a, b, c, p: is_below(a, b, c),
        predicate=lambda a, b, c, p: p | a ^ b,
    )
    # From here on the carry says that A is the smaller one, the predicate that they differ.
    flips = int(subtract)
    p.sweep(
        1,
        a.sign,
        b.sign,
        s.sign,
        write=lambda a, b, c, p: (b ^ flips if c else a) & (p | ~(a ^ b ^ flips)),
    )
    p.sweep(1, a.sign, b.sign, s.is_nan, write=lambda a, b, c, p: (a ^ b ^ flips) & ~p)
    p.sweep(1, a.sign, b.sign, s.is_difference, write=lambda a, b, c, p: a ^ b ^ flips)
    p.sweep(
        fraction,
        A.up(),
        B.up(),
        s.sum.up(3),
        start_predicate=lambda c, p: c,
        write=lambda a, b, c, p: a if p else b,
    )
    p.sweep(
        exponent,
        a.exponent.up(),
        b.exponent.up(),
        s.distance.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a if p else b,
        carry=lambda a, b, c, p: c | (a if p else b),
    )
    p.sweep(1, d=s.sum.at(fraction + 3), write=lambda a, b, c, p: c)
    p.sweep(
        fraction,
        A.up(),
        B.up(),
        D.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: b if p else a,
        carry=lambda a, b, c, p: c | (b if p else a),
    )
    # Infinities that cancel, and numbers with a fraction: NaN, if the exponent is all ones.
    p.sweep(1, s.is_nan, d=s.is_nan, write=lambda a, b, c, p: a | c)
    p.sweep(
        exponent,
        a.exponent.up(),
        b.exponent.up(),
        d.exponent.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: b if p else a,
        carry=lambda a, b, c, p: c | (b if p else a),
    )
    p.sweep(1, d=s.hidden, write=lambda a, b, c, p: c)
    p.sweep(
        1,
        d.exponent.at(),
        s.sum.at(fraction + 3),
        d.exponent.at(),
        write=lambda a, b, c, p: a | ~c,
        carry=lambda a, b, c, p: b,
    )


def _align(p: Builder, format: FloatFormat, s: _Scratch) -> None:
    """The smaller significand to the right, by the difference of exponents; the carry is sticky.

    A smaller number that is subnormal has exponent 1, not 0: the difference lacks a carry.
    """
    exponent = FloatRows(D, format).exponent
    stages = min((format.fraction + 3).bit_length(), format.exponent)
    p.sweep(
        stages,
        exponent.up(),
        s.distance.up(),
        s.distance.up(),
        start_predicate=lambda c, p: 0,
        write=lambda a, b, c, p: a ^ ~b ^ c,
        carry=lambda a, b, c, p: majority(a, ~b, c),
    )
    rest = format.exponent - stages
    if rest > 1:
        p.sweep(
            rest - 1,
            exponent.up(stages),
            s.distance.up(stages),
            carry=lambda a, b, c, p: majority(a, ~b, c),
            predicate=lambda a, b, c, p: p | a ^ ~b ^ c,
        )
    if rest:
        p.sweep(
            1,
            exponent.at(format.exponent - 1),
            s.distance.at(format.exponent - 1),
            s.beyond,
            write=lambda a, b, c, p: p | a ^ ~b ^ c,
        )
    low = 3
    for stage in range(stages):
        p.sweep(
            1,
            s.distance.at(stage),
            s.beyond if rest else None,
            start_carry=None if stage else (lambda c, p: 0),
            predicate=(lambda a, b, c, p: a | b) if rest else (lambda a, b, c, p: a),
        )
        low = shift_right_sticky(p, s.sum, low, s.top - 1, 1 << stage)
    assert low == 1  # of two stages or more, which formats of two bits of exponent have


def _add(p: Builder, format: FloatFormat, s: _Scratch) -> None:
    """The sum, or where signs differ the difference, in place of the smaller significand."""
    p.sweep(
        1,
        s.is_difference,
        d=s.sum.at(),
        write=lambda a, b, c, p: c,
        predicate=lambda a, b, c, p: a,
    )
    # 0 less the sticky bit is the sticky bit, and a borrow.
    p.sweep(
        2,
        s.sum.up(1),
        d=s.sum.up(1),
        start_carry=lambda c, p: p & ~c,
        write=lambda a, b, c, p: a ^ p ^ c,
        carry=lambda a, b, c, p: (a ^ p) & c,
    )
    for count, large, small in (
        (format.fraction, D.up(), s.sum.up(3)),
        (1, s.hidden, s.sum.at(s.top - 1)),
    ):
        p.sweep(
            count,
            large,
            small,
            small,
            write=lambda a, b, c, p: a ^ b ^ p ^ c,
            carry=lambda a, b, c, p: majority(a, b ^ p, c),
        )
    p.sweep(1, d=s.sum.at(s.top), write=lambda a, b, c, p: c & ~p)


def _normalise(p: Builder, format: FloatFormat, s: _Scratch) -> int:
    """The sum to the left, until its top row is set or as many places as the exponent says.

    Gives the number of bits of the distance, which goes where that of ``_align`` was. Distance and
    exponent are compared from their highest bits down, as the former become known: ``beyond`` says
    that the exponent is the greater one.

    A sum has round and sticky bits only if it needs two places at most: the sticky bit, below all
    others, may stay where it is, and longer ways are without both.
    """
    exponent = FloatRows(D, format).exponent
    stages = min((format.fraction + 2).bit_length(), format.exponent)
    rest = format.exponent - stages
    if rest:
        gathered_any(p, exponent + stages, rest, d=s.beyond, write=lambda a, b, c, p: c)
    else:
        p.sweep(1, d=s.beyond, write=lambda a, b, c, p: 0)
    for stage in reversed(range(stages)):
        distance = 1 << stage
        gathered_any(p, s.sum + (s.top + 1 - distance), distance, predicate=lambda a, b, c, p: ~c)
        p.sweep(
            1,
            s.beyond,
            exponent.at(stage),
            s.beyond,
            write=lambda a, b, c, p: a | b & ~p,
            predicate=lambda a, b, c, p: p & (a | b),
        )
        p.sweep(1, d=s.distance.at(stage), write=lambda a, b, c, p: p)
        shift_left(p, s.sum, 2 if distance > 2 else 1, s.top, distance)
    return stages


def _subtract_distance(p: Builder, format: FloatFormat, s: _Scratch, stages: int) -> None:
    """The exponent in D less the distance; 0 where the sum's top row is not set.

    Writes whether the exponent was all ones.
    """
    exponent = FloatRows(D, format).exponent
    gather(
        p,
        exponent,
        format.exponent,
        start=lambda c, p: 1,
        step=lambda c, row: c & row,
        d=s.is_special,
        write=lambda a, b, c, p: c,
    )
    load(p, s.sum.at(s.top))
    p.sweep(
        stages,
        exponent.up(),
        s.distance.up(),
        exponent.up(),
        start_carry=lambda c, p: 1,
        write=lambda a, b, c, p: (a ^ ~b ^ c) & p,
        carry=lambda a, b, c, p: majority(a, ~b, c),
    )
    if stages < format.exponent:
        p.sweep(
            format.exponent - stages,
            exponent.up(stages),
            d=exponent.up(stages),
            write=lambda a, b, c, p: (a ^ ~c) & p,
            carry=lambda a, b, c, p: a | c,
        )


def _round(p: Builder, s: _Scratch) -> None:
    """The carry is whether the significand, from row 4 on, is to be rounded up."""
    gathered_any(p, s.sum, 2)
    p.sweep(
        1,
        s.sum.at(2),
        s.sum.at(3),
        carry=lambda a, b, c, p: c | a,
        predicate=lambda a, b, c, p: b,
    )
    p.sweep(1, s.sum.at(4), carry=lambda a, b, c, p: p & (a | c))
