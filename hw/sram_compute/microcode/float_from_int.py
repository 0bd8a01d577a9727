"""Conversion of integers to floating point. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    alike,
    gathered_any,
    load,
    pack_exponent,
    set_rows,
    shift_left,
    subtracted,
)
from gnarl.hw.sram_compute.microcode.rows import A, D, Rows, S


def from_integer(p: Builder, format: FloatFormat, width: int, *, signed: bool) -> None:
    """D = the integer of ``width`` bits in A, rounded to nearest even. D does not overlap A.

    What is too large becomes infinite.
    """
    f, d = format.fraction, FloatRows(D, format)
    stages = (width - 1).bit_length()
    distance = S + width
    beyond = distance + stages
    _magnitude(p, width, d, signed)
    for stage in reversed(range(stages)):
        gathered_any(
            p,
            S + (width - (1 << stage)),
            1 << stage,
            d=distance.at(stage),
            write=lambda a, b, c, p: ~c,
            predicate=lambda a, b, c, p: ~c,
        )
        shift_left(p, S, 0, width - 1, 1 << stage)
    bits_beyond = _exponent(p, format, width, distance, beyond)
    starts = _round(p, f, width)
    lost = max(0, f + 1 - width)
    if lost:
        p.sweep(lost, d=D.up(), write=lambda a, b, c, p: 0)
    p.sweep(
        f - lost,
        S.up(max(0, width - 1 - f)),
        d=D.up(lost),
        start_carry=None if starts else (lambda c, p: 0),
        write=lambda a, b, c, p: a ^ c,
        carry=lambda a, b, c, p: a & c,
    )
    pack_exponent(p, format, d, S.at(width - 1))
    if width > format.bias:
        p.sweep(1, predicate=lambda a, b, c, p: c | p)
        if bits_beyond:
            gathered_any(p, beyond, bits_beyond, predicate=lambda a, b, c, p: c | p)
        with p.if_any_predicate():
            set_rows(p, D, f, 0)
            set_rows(p, d.exponent, format.exponent, 1)


def _magnitude(p: Builder, width: int, d: FloatRows, signed: bool) -> None:
    """The number's sign to D, its magnitude to scratch."""
    if not signed:
        p.sweep(1, d=d.sign, write=lambda a, b, c, p: 0)
        p.sweep(width, A.up(), d=S.up(), write=lambda a, b, c, p: a)
        return
    p.sweep(
        1,
        A.at(width - 1),
        d=d.sign,
        write=lambda a, b, c, p: a,
        predicate=lambda a, b, c, p: a,
    )
    p.sweep(
        width,
        A.up(),
        d=S.up(),
        start_carry=lambda c, p: p,
        write=lambda a, b, c, p: a ^ p ^ c,
        carry=lambda a, b, c, p: (a ^ p) & c,
    )


def _exponent(p: Builder, format: FloatFormat, width: int, distance: Rows, beyond: Rows) -> int:
    """The exponent to D, less 1, which the hidden bit adds; 0 of 0.

    Bits that the format lacks go to ``beyond``; gives their number.
    """
    highest = format.bias + width - 2
    stages, bits = (width - 1).bit_length(), max(format.exponent, highest.bit_length())
    exponent = FloatRows(D, format).exponent
    load(p, S.at(width - 1))
    for run, (bit, has_distance, is_beyond) in alike(
        range(bits), lambda bit: (highest >> bit & 1, bit < stages, bit >= format.exponent)
    ):
        into = beyond + (run[0] - format.exponent) if is_beyond else exponent + run[0]
        difference = subtracted(bit, has_distance)
        p.sweep(
            len(run),
            distance.up(run[0]) if has_distance else None,
            d=into.up(),
            start_carry=None if run[0] else (lambda c, p: 1),
            write=difference.masked,
            carry=difference.carry,
        )
    return bits - format.exponent


def _round(p: Builder, fraction: int, width: int) -> bool:
    """The carry is whether the significand is to be rounded up; False if it never is."""
    guard = width - 2 - fraction
    if guard < 0:
        return False
    if guard:
        gathered_any(p, S, guard)
    p.sweep(
        1,
        S.at(guard),
        S.at(guard + 1),
        start_carry=None if guard else (lambda c, p: 0),
        carry=lambda a, b, c, p: a & (b | c),
    )
    return True
