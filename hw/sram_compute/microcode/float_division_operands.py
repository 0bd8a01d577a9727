"""Operands of a floating-point division: their places, and how subnormal ones become normal."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_parts import gathered_any, hidden_bits, shift_left
from gnarl.hw.sram_compute.microcode.float_product import SCRATCH_ROWS, Magnitude, distance_rows
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, D, Row, Rows, S


@dataclass(frozen=True)
class DivisionRows:
    """Rows of scratch, and of D where that does not suffice.

    ``shift``: by how many bits more the divisor is moved to be normal than the dividend, of
    ``stages`` bits and a sign. ``lowest``: of the remainder. ``isnt_normal``: that an operand is
    not. ``places``: two times ``stages`` rows that are in use before the quotient is.
    """

    format: FloatFormat
    divisor: Rows
    shift: Rows
    lowest: Row
    isnt_normal: Row
    places: Rows
    magnitude: Magnitude

    @property
    def stages(self) -> int:
        return _stages(self.format)

    @property
    def dividend(self) -> Rows:
        return S + self.format.fraction


def _stages(format: FloatFormat) -> int:
    """Bits of the distance that makes a subnormal number normal."""
    return format.fraction.bit_length()


def division_rows(format: FloatFormat) -> DivisionRows:
    """``ValueError`` for a format whose rows exceed those of scratch and D."""
    f, stages = format.fraction, _stages(format)
    flags = stages + 3
    if 2 * f + 2 + flags + f + 1 + 2 * stages <= SCRATCH_ROWS:
        small = S + (2 * f + 2)
        divisor = small + flags
        later = divisor
        places = divisor + (f + 1)
    elif 2 * f + 2 <= SCRATCH_ROWS and flags <= format.exponent:
        small, divisor, later, places = D, D + flags, S, S
    else:
        raise ValueError(f"{format}: a division needs more than {SCRATCH_ROWS} rows of scratch")
    # What comes behind the division may use rows of the divisor, or of the remainder.
    used = distance_rows(format) + 1
    magnitude = Magnitude(format, S, f - 2, later.at(used), later)
    return DivisionRows(
        format, divisor, small, small.at(stages + 1), small.at(stages + 2), places, magnitude
    )


def copy_normal(p: Builder, s: DivisionRows) -> None:
    """The significands to their places; subnormal ones to the left until they have a hidden bit."""
    f, stages = s.format.fraction, s.stages
    hidden = s.dividend.at(f), s.divisor.at(f)
    hidden_bits(p, s.format, *hidden)
    p.sweep(f, A.up(), d=s.dividend.up(), write=lambda a, b, c, p: a)
    p.sweep(f, B.up(), d=s.divisor.up(), write=lambda a, b, c, p: a)
    p.sweep(
        1,
        *hidden,
        s.isnt_normal,
        write=lambda a, b, c, p: ~(a & b),
        predicate=lambda a, b, c, p: ~(a & b),
    )
    with p.if_any_predicate():
        p.sweep(stages + 1, d=s.shift.up(), write=lambda a, b, c, p: 0)
        p.sweep(
            f,
            s.dividend.up(),
            s.divisor.up(),
            start_carry=lambda c, p: 0,
            start_predicate=lambda c, p: 0,
            carry=lambda a, b, c, p: a | c,
            predicate=lambda a, b, c, p: b | p,
        )
        p.sweep(1, *hidden, predicate=lambda a, b, c, p: c & ~a | p & ~b)
        with p.if_any_predicate():
            for number, places in ((s.dividend, s.places), (s.divisor, s.places + stages)):
                _normalise_significand(p, s, number, places)
            p.sweep(
                stages,
                s.places.up(stages),
                s.places.up(),
                s.shift.up(),
                start_carry=lambda c, p: 1,
                write=lambda a, b, c, p: a ^ ~b ^ c,
                carry=lambda a, b, c, p: majority(a, ~b, c),
            )
            p.sweep(1, d=s.shift.at(stages), write=lambda a, b, c, p: ~c)


def _normalise_significand(p: Builder, s: DivisionRows, number: Rows, places: Rows) -> None:
    """Normalises the significand of one operand. ``places``: by how much its exponent of 0, which
    stands for 1, is less."""
    f = s.format.fraction
    for stage in reversed(range(s.stages)):
        distance = 1 << stage
        gathered_any(
            p,
            number + (f + 1 - distance),
            distance,
            d=places.at(stage),
            write=lambda a, b, c, p: ~c,
            predicate=lambda a, b, c, p: ~c,
        )
        shift_left(p, number, 0, f, distance)
    gathered_any(p, places, s.stages)
    p.sweep(
        s.stages,
        places.up(),
        d=places.up(),
        start_carry=lambda c, p: ~c,
        write=lambda a, b, c, p: a ^ ~c,
        carry=lambda a, b, c, p: a | c,
    )
