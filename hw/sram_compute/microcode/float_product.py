"""The way from the magnitude of a product or quotient to the result.

The magnitude's highest row, ``top``, or the one below it is set, as far as operands are normal.
Its exponent X is that of the result, less 1 where ``top`` is set. Rows of X lie in D, where the
exponent of the result does, the next one in the sign's row, and the highest one apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    gathered_any,
    load,
    pack_exponent,
    set_rows,
    shift_right_sticky,
)
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Row, Rows

SCRATCH_ROWS = 48
"""Rows of scratch that a division uses at most."""


def check_products(format: FloatFormat) -> None:
    """``ValueError`` unless the product of two subnormal numbers is rounded to 0."""
    if not 2 <= format.fraction <= format.bias - 2:
        raise ValueError(
            f"{format}: must have at least 4 bits of exponent, and 2 to bias - 2 of fraction"
        )


@dataclass(frozen=True)
class Magnitude:
    """Rows of a magnitude and what goes with it.

    ``rows``: 2 ``fraction`` + 2 of them, or just those from ``lowest`` on. ``is_negative``: the
    highest row of X. ``spare``: rows for a distance, as many as ``distance_rows`` says, and a flag.
    """

    format: FloatFormat
    rows: Rows
    lowest: int
    is_negative: Row
    spare: Rows

    @property
    def top(self) -> int:
        return 2 * self.format.fraction + 1

    @property
    def x(self) -> Rows:
        """All rows of X but the highest."""
        return D + self.format.fraction


def distance_rows(format: FloatFormat) -> int:
    """Rows of a distance to the right, beyond which nothing is left; and one for what is more."""
    return (format.fraction + 3).bit_length() + 1


def combine_exponents(p: Builder, m: Magnitude, first: int, *, negates: bool) -> None:
    """X = A's exponent + B's, or + B's inverted, + the carry - 2^(e-1), from bit ``first`` on."""
    e, flip = m.format.exponent, int(negates)
    a, b = FloatRows(A, m.format).exponent, FloatRows(B, m.format).exponent
    if e - 1 > first:
        p.sweep(
            e - 1 - first,
            a.up(first),
            b.up(first),
            m.x.up(first),
            write=lambda a, b, c, p: a ^ b ^ flip ^ c,
            carry=lambda a, b, c, p: majority(a, b ^ flip, c),
        )
    p.sweep(
        1,
        a.at(e - 1),
        b.at(e - 1),
        m.x.at(e - 1),
        write=lambda a, b, c, p: ~(a ^ b ^ flip ^ c),
        carry=lambda a, b, c, p: majority(a, b ^ flip, c),
        predicate=lambda a, b, c, p: a ^ b ^ flip ^ c,
    )
    p.sweep(1, d=m.x.at(e), write=lambda a, b, c, p: ~(c ^ p))
    p.sweep(1, d=m.is_negative, write=lambda a, b, c, p: ~(c | p))


def add_to_exponent(
    p: Builder, m: Magnitude, number: Rows, bits: int, *, negates: bool, sign: Row | None = None
) -> None:
    """Adds a number of so many bits to X, or subtracts it; ``sign`` is its highest bit, if any."""
    flip, rows = int(negates), m.format.exponent + 1
    low = min(bits, rows)
    p.sweep(
        low,
        m.x.up(),
        number.up(),
        m.x.up(),
        start_carry=lambda c, p: flip,
        write=lambda a, b, c, p: a ^ b ^ flip ^ c,
        carry=lambda a, b, c, p: majority(a, b ^ flip, c),
    )
    for count, row in ((rows - low, m.x.up(low)), (1, m.is_negative)):
        if count and sign is None:
            p.sweep(
                count,
                row,
                d=row,
                write=lambda a, b, c, p: a ^ flip ^ c,
                carry=lambda a, b, c, p: majority(a, flip, c),
            )
        elif count:
            p.sweep(
                count,
                row,
                sign,
                row,
                write=lambda a, b, c, p: a ^ b ^ flip ^ c,
                carry=lambda a, b, c, p: majority(a, b ^ flip, c),
            )


def denormalise(p: Builder, m: Magnitude) -> None:
    """Moves magnitudes whose X is 0 or less to the right by 1 - X; unless there is none.

    With an X of 0, a magnitude whose highest rows are both 0 stays: it is 0.
    X becomes 0, or 1 where the row below the top is set then, which is as if X had been 1.
    """
    f, x_rows = m.format.fraction, m.format.exponent + 1
    gathered_any(p, m.x, x_rows - 1)
    p.sweep(
        1,
        m.x.at(x_rows - 1),
        m.is_negative,
        carry=lambda a, b, c, p: ~(a | b | c),
        predicate=lambda a, b, c, p: b,
    )
    p.sweep(
        1,
        m.rows.at(m.top),
        m.rows.at(m.top - 1),
        predicate=lambda a, b, c, p: p | c & (a | b),
    )
    with p.if_any_predicate():
        stages = distance_rows(m.format) - 1
        beyond, is_moved = m.spare.at(stages), m.spare.at(stages + 1)
        p.sweep(1, d=is_moved, write=lambda a, b, c, p: p)
        low = min(stages, x_rows)
        p.sweep(1, m.x.at(), d=m.spare.at(), write=lambda a, b, c, p: ~a & p)
        p.sweep(
            low - 1,
            m.x.up(1),
            d=m.spare.up(1),
            start_carry=lambda c, p: 1,
            write=lambda a, b, c, p: (~a ^ c) & p,
            carry=lambda a, b, c, p: ~a & c,
        )
        rest = x_rows - low
        p.sweep(1, d=beyond, write=lambda a, b, c, p: 0)
        for place in range(rest):
            row = m.x.at(low + place)
            p.sweep(
                1,
                row,
                beyond,
                beyond,
                write=lambda a, b, c, p: b | (~a ^ c) & p,
                carry=lambda a, b, c, p: ~a & c,
            )
        shifted = m.rows + (f - 2)
        bits = min(stages, low)
        for stage in range(bits):
            p.sweep(
                1,
                m.spare.at(stage),
                beyond,
                start_carry=None if stage else (lambda c, p: 0),
                predicate=lambda a, b, c, p: a | b,
            )
            shift_right_sticky(p, shifted, 1, f + 3, 1 << stage)
        sticky = m.rows.at(m.lowest)
        p.sweep(1, sticky, d=sticky, write=lambda a, b, c, p: a | c)
        load(p, is_moved)
        set_rows(p, m.x + 1, x_rows - 1, 0)
        p.sweep(1, m.is_negative, d=m.is_negative, write=lambda a, b, c, p: a & ~p)
        p.sweep(
            1,
            m.x.at(),
            m.rows.at(m.top - 1),
            m.x.at(),
            write=lambda a, b, c, p: b if p else a,
        )


def round_and_pack(p: Builder, m: Magnitude) -> None:
    """D = the magnitude from its top row or the one below on, rounded to nearest even.

    The carry is whether the exponent overflowed, the predicate whether it is all ones.
    """
    f, d = m.format.fraction, FloatRows(D, m.format)
    load(p, m.rows.at(m.top))
    gathered_any(p, m.rows + m.lowest, f - 1 - m.lowest)
    p.sweep(
        1,
        m.rows.at(f - 1),
        m.rows.at(f),
        carry=lambda a, b, c, p: a | c if p else a & (b | c),
    )
    p.sweep(
        1,
        m.rows.at(f),
        m.rows.at(f + 1),
        carry=lambda a, b, c, p: a & (b | c) if p else c,
    )
    p.sweep(
        f,
        m.rows.up(f),
        m.rows.up(f + 1),
        d.fraction.up(),
        write=lambda a, b, c, p: (b if p else a) ^ c,
        carry=lambda a, b, c, p: (b if p else a) & c,
    )
    pack_exponent(p, m.format, d, m.rows.at(m.top))
