"""Floating-point multiplication. Source: IEEE 754-2019, clause 5.4.1.

The product of significands is that of integers; what normal operands and results don't need is
skipped where all of a bank are.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import (
    FloatRows,
    any_exponents,
    are_nan,
    gathered_any,
    overwrite_special,
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
    round_and_pack,
)
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Number, Row, S, i

_FLAGS = 5
"""Rows that are needed beside those of the product, and are not D's."""


@dataclass(frozen=True)
class _Flags:
    """Rows beside the product: whether the hidden bits of A and B are set, the product's sign, and
    whether one of both is infinite or NaN, and is NaN."""

    left: Row
    right: Row
    sign: Row
    is_special: Row
    is_nan: Row


def multiply(p: Builder, format: FloatFormat) -> None:
    """D = A x B. D may be A or B.

    Where the product leaves no scratch, the rest of the rows are D's own; so what is asked of A and
    B is asked before.
    """
    check_products(format)
    product_rows = 2 * format.fraction + 2
    needed = 2 + max(distance_rows(format), (product_rows - 1).bit_length())
    flags = _Flags(*((S + product_rows).at(place) for place in range(_FLAGS)))
    used = product_rows + _FLAGS
    spare = S + used if used + needed <= SCRATCH_ROWS else D
    m = Magnitude(format, S, 0, spare.at(), spare + 1)
    any_exponents(p, format, flags.left)
    p.sweep(1, B.at(), d=flags.right, write=lambda a, b, c, p: p, predicate=lambda a, b, c, p: a)
    _multiply_significands(p, format, flags.left, flags.right)
    _check_operands(p, format, flags)
    _add_exponents(p, m, flags.left, flags.right)
    _normalise(p, m, flags.left, flags.right)
    denormalise(p, m)
    round_and_pack(p, m)
    _finish(p, m, flags)


def _multiply_significands(p: Builder, format: FloatFormat, left: Row, right: Row) -> None:
    """S = A's significand x B's. The predicate is the lowest bit of B."""
    f = format.fraction
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


def _check_operands(p: Builder, format: FloatFormat, flags: _Flags) -> None:
    """Signs, and operands that are infinite or NaN; where none is, ``is_nan`` stays as it is."""
    a, b, last = FloatRows(A, format), FloatRows(B, format), format.exponent - 1
    p.sweep(1, a.sign, b.sign, flags.sign, write=lambda a, b, c, p: a ^ b)
    p.sweep(
        last,
        a.exponent.up(),
        b.exponent.up(),
        start_carry=lambda c, p: 1,
        start_predicate=lambda c, p: 1,
        carry=lambda a, b, c, p: a & c,
        predicate=lambda a, b, c, p: b & p,
    )
    p.sweep(
        1,
        a.exponent.at(last),
        b.exponent.at(last),
        flags.is_special,
        write=lambda a, b, c, p: a & c | b & p,
        predicate=lambda a, b, c, p: a & c | b & p,
    )
    with p.if_any_predicate():
        are_nan(p, format)
        p.sweep(1, d=flags.is_nan, write=lambda a, b, c, p: c | p)


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


def _finish(p: Builder, m: Magnitude, flags: _Flags) -> None:
    """Signs, and what is infinite or NaN: operands that are, and results that overflow.

    Infinity times 0 is NaN: of magnitudes of 0, neither the top row nor the next one is set.
    """
    d = FloatRows(D, m.format)
    p.sweep(
        1,
        d.sign,
        flags.sign,
        d.sign,
        write=lambda a, b, c, p: b,
        predicate=lambda a, b, c, p: a | c | p,
    )
    p.sweep(1, flags.is_special, predicate=lambda a, b, c, p: a | p)
    with p.if_any_predicate():
        p.sweep(1, m.rows.at(m.top), m.rows.at(m.top - 1), carry=lambda a, b, c, p: ~(a | b))
        p.sweep(1, flags.is_nan, d=flags.is_nan, write=lambda a, b, c, p: a | c)
        overwrite_special(p, m.format, d, flags.is_nan, flags.is_special)
