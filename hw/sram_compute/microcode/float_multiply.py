"""Floating-point multiplication. Source: IEEE 754-2019, clause 5.4.1.

The product of significands is that of integers; what normal operands and results don't need is
skipped where all of a bank are.
"""

from __future__ import annotations

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    gathered_any,
    hidden_bits,
    load,
    set_rows,
    shift_left,
)
from gnarl.hw.sram_compute.microcode.float_product import (
    SCRATCH_ROWS,
    Magnitude,
    add_to_exponent,
    check_products,
    combine_exponents,
    denormalise,
    distance_rows,
    finish,
    round_and_pack,
)
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Number, Row, S, i


def multiply(p: Builder, format: FloatFormat) -> None:
    """D = A x B. D overlaps neither.

    Where the product leaves no scratch, the rest of the rows are D's own.
    """
    check_products(format)
    product_rows = 2 * format.fraction + 2
    needed = 4 + max(distance_rows(format), (product_rows - 1).bit_length())
    spare = S + product_rows if product_rows + needed <= SCRATCH_ROWS else D
    left, right, is_negative = (spare.at(place) for place in range(3))
    m = Magnitude(format, S, 0, is_negative, spare + 3)
    hidden_bits(p, format, left, right)
    _multiply_significands(p, format, left, right)
    _add_exponents(p, m, left, right)
    _normalise(p, m, left, right)
    denormalise(p, m)
    round_and_pack(p, m)
    finish(p, m)


def _multiply_significands(p: Builder, format: FloatFormat, left: Row, right: Row) -> None:
    f = format.fraction
    load(p, B.at())
    p.sweep(f, A.up(), d=S.up(), start_carry=lambda c, p: 0, write=lambda a, b, c, p: a & p)
    p.sweep(1, left, d=S.at(f), write=lambda a, b, c, p: a & p)
    with p.loop(f - 1):
        _accumulate(p, f, left, B.at(i + 1), i + 1)
    _accumulate(p, f, left, right, f)
    p.sweep(1, d=S.at(2 * f + 1), write=lambda a, b, c, p: c)


def _accumulate(p: Builder, f: int, left: Row, bit: Row, place: Number) -> None:
    """The sum's carry to its top row; adds the significand A at ``place`` where ``bit`` is set."""
    p.sweep(
        1,
        bit,
        d=S.at(place + f),
        write=lambda a, b, c, p: c,
        predicate=lambda a, b, c, p: a,
    )
    for count, addend, row in ((f, A.up(), S.up(place)), (1, left, S.at(place + f))):
        p.sweep(
            count,
            row,
            addend,
            row,
            start_carry=(lambda c, p: 0) if count == f else None,
            write=lambda a, b, c, p: a ^ b & p ^ c,
            carry=lambda a, b, c, p: majority(a, b & p, c),
        )


def _add_exponents(p: Builder, m: Magnitude, left: Row, right: Row) -> None:
    """X = the exponents' sum less the bias, 2^(e-1) - 1; a subnormal number's is 1."""
    a, b = FloatRows(A, m.format).exponent, FloatRows(B, m.format).exponent
    p.sweep(1, left, right, carry=lambda a, b, c, p: a, predicate=lambda a, b, c, p: b)
    p.sweep(
        1,
        a.at(),
        b.at(),
        m.x.at(),
        write=lambda a, b, c, p: (a | ~c) ^ (b | ~p) ^ 1,
        carry=lambda a, b, c, p: a | ~c | b | ~p,
    )
    combine_exponents(p, m, 1, negates=False)


def _normalise(p: Builder, m: Magnitude, left: Row, right: Row) -> None:
    """Products of subnormal numbers to the left, and X less that; X of a product of 0 becomes 0.

    The product of two subnormal numbers may stay on its way, where it vanishes in the end anyway.
    """
    format, rows = m.format, m.top + 1
    p.sweep(1, left, right, predicate=lambda a, b, c, p: ~(a & b))
    with p.if_any_predicate():
        stages = (format.fraction + 1).bit_length()
        isnt_zero = m.spare.at(stages)
        gathered_any(p, S, rows, d=isnt_zero, write=lambda a, b, c, p: c)
        p.sweep(
            1,
            m.is_negative,
            d=m.is_negative,
            start_predicate=lambda c, p: ~c,
            write=lambda a, b, c, p: a & ~p,
        )
        set_rows(p, m.x, format.exponent + 1, 0)
        p.sweep(1, left, right, predicate=lambda a, b, c, p: ~p & ~(a & b))
        with p.if_any_predicate():
            for stage in reversed(range(stages)):
                distance = 1 << stage
                gathered_any(p, S + (rows - distance), distance)
                p.sweep(
                    1,
                    isnt_zero,
                    d=m.spare.at(stage),
                    write=lambda a, b, c, p: a & ~c,
                    predicate=lambda a, b, c, p: a & ~c,
                )
                shift_left(p, S, 0, m.top, distance)
            add_to_exponent(p, m, m.spare, stages, negates=True)
