"""Conversion of floating point to integers. Source: IEEE 754-2019, clause 5.8."""

from __future__ import annotations

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    alike,
    gather,
    gathered_any,
    load,
    shift_right,
    subtracted,
)
from gnarl.hw.sram_compute.microcode.rows import A, D, Row, S


def to_integer(p: Builder, format: FloatFormat, width: int, *, signed: bool) -> None:
    """D = the number in A, rounded to 0, as an integer of ``width`` bits. D does not overlap A.

    What is too large or too small becomes the greatest or the least integer, NaN 0.
    """
    a, f = FloatRows(A, format), format.fraction
    bits = width - signed
    stages = (bits - 1).bit_length()
    hidden, distance, is_beyond = S.at(bits), S + (bits + 1), S.at(bits + 1 + stages)
    gathered_any(p, a.exponent, format.exponent, d=hidden, write=lambda a, b, c, p: c)
    _find_distance(p, format, bits, is_beyond)
    # The significand to the top; 0 where it would be moved further than stages say.
    kept = min(f, bits - 1)
    if kept < bits - 1:
        p.sweep(bits - 1 - kept, d=S.up(), write=lambda a, b, c, p: 0)
    p.sweep(kept, A.up(f - kept), d=S.up(bits - 1 - kept), write=lambda a, b, c, p: a & ~p)
    p.sweep(1, hidden, d=S.at(bits - 1), write=lambda a, b, c, p: a & ~p)
    for stage in range(stages):
        load(p, distance.at(stage))
        shift_right(p, S, bits - 1, 1 << stage)
    load(p, a.sign)
    if signed:
        p.sweep(
            bits,
            S.up(),
            d=D.up(),
            start_carry=lambda c, p: p,
            write=lambda a, b, c, p: a ^ p ^ c,
            carry=lambda a, b, c, p: (a ^ p) & c,
        )
        p.sweep(1, d=D.at(bits), write=lambda a, b, c, p: p & ~c)
    else:
        p.sweep(bits, S.up(), d=D.up(), write=lambda a, b, c, p: a & ~p)
    load(p, is_beyond)
    with p.if_any_predicate():
        _saturate(p, format, width, signed)


def _find_distance(p: Builder, format: FloatFormat, bits: int, is_beyond: Row) -> None:
    """How far a significand whose top is that of ``bits`` rows moves to the right.

    Writes whether that is below 0, or the number infinite or NaN; the predicate says that stages do
    not suffice for it.
    """
    longest = format.bias + bits - 1
    stages = (bits - 1).bit_length()
    exponent, distance = FloatRows(A, format).exponent, S + (bits + 1)
    size = max(format.exponent, longest.bit_length())
    for run, (bit, has_exponent, is_kept) in alike(
        range(size), lambda bit: (longest >> bit & 1, bit < format.exponent, bit < stages)
    ):
        difference = subtracted(bit, has_exponent)
        p.sweep(
            len(run),
            exponent.up(run[0]) if has_exponent else None,
            d=distance.up(run[0]) if is_kept else None,
            start_carry=None if run[0] else (lambda c, p: 1),
            start_predicate=None if run[0] else (lambda c, p: 0),
            write=difference.write if is_kept else None,
            carry=difference.carry,
            predicate=None if is_kept else difference.gathered,
        )
    top = (1 << format.exponent) - 1
    if longest < top:
        p.sweep(1, d=is_beyond, write=lambda a, b, c, p: ~c)
    else:
        gather(
            p,
            exponent,
            format.exponent,
            start=lambda c, p: 1,
            step=lambda c, row: c & row,
            d=is_beyond,
            write=lambda a, b, c, p: c,
        )


def _saturate(p: Builder, format: FloatFormat, width: int, signed: bool) -> None:
    """Saturates where the predicate is set: the greatest integer, the least below 0, 0 of NaN."""
    a = FloatRows(A, format)
    is_beyond, is_least = S.at(width - signed + 1 + (width - signed - 1).bit_length()), S.at(0)
    gathered_any(p, a.fraction, format.fraction)
    p.sweep(format.exponent, a.exponent.up(), carry=lambda a, b, c, p: a & c)
    p.sweep(
        1,
        a.sign,
        d=is_least,
        write=lambda a, b, c, p: a & ~c,
        carry=lambda a, b, c, p: ~a & ~c,
    )
    load(p, is_beyond)
    p.sweep(width - signed, D.up(), d=D.up(), write=lambda a, b, c, p: c if p else a)
    if signed:
        top = D.at(width - 1)
        p.sweep(1, top, is_least, top, write=lambda a, b, c, p: b if p else a)
