"""Quotients and square roots digit by digit, from the top: restoring recurrences in radix 2.

Several bits a cycle are as many steps one after another. Source: M. Ercegovac, T. Lang, Digital
Arithmetic, 2004, chapters 5 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value
from gnarl.hw.lib.cut_points import named

OTHER_CYCLES = 4
"""Cycles of an iterative datapath's latency that are not those of digits."""


class Division(NamedTuple):
    """A division under way: ``quotient`` has the rest of the dividend at its top, and what there is
    of the quotient below."""

    remainder: Value
    quotient: Value


class Extraction(NamedTuple):
    """A square root under way: ``radicand`` has its next two digits at the top; ``remainder`` has
    one bit more than ``root``."""

    remainder: Value
    radicand: Value
    root: Value


def check_bits_per_cycle(bits_per_cycle: int) -> None:
    """``ValueError`` unless it is a whole number above 0."""
    if not isinstance(bits_per_cycle, int) or isinstance(bits_per_cycle, bool):
        raise ValueError(f"bits_per_cycle = {bits_per_cycle!r}: must be a whole number, at least 1")
    if bits_per_cycle < 1:
        raise ValueError(f"bits_per_cycle = {bits_per_cycle}: must be a whole number, at least 1")


def cycles_for(bits: int, bits_per_cycle: int) -> int:
    """Cycles that a result of so many bits takes."""
    return -(-bits // bits_per_cycle)


def divide(m: Module, before: Division, divisor: Value, bits: int) -> Division:
    """The division after ``bits`` more of the quotient. ``remainder`` is below ``divisor``, and as
    wide.

    Where the divisor is 0, the quotient gets ones, and the remainder the dividend's digits.
    """
    remainder, quotient = before
    for step in range(bits):
        fits, remainder = _reduce(m, Cat(quotient[-1], remainder), divisor, step, len(divisor))
        quotient = Cat(fits, quotient[:-1])
    return Division(remainder, quotient)


def extract(m: Module, before: Extraction, bits: int) -> Extraction:
    """The extraction after ``bits`` more of the root."""
    remainder, radicand, root = before
    for step in range(bits):
        # (2 * root + 1)**2 is 4 * root**2, which was subtracted, and this:
        more = Cat(Const(1, 2), root)
        fits, remainder = _reduce(m, Cat(radicand[-2:], remainder), more, step, len(root) + 1)
        radicand = Cat(Const(0, 2), radicand[:-2])
        root = Cat(fits, root[:-1])
    return Extraction(remainder, radicand, root)


def _reduce(
    m: Module, value: Value, subtrahend: Value, step: int, bits: int
) -> tuple[Value, Value]:
    """Whether ``subtrahend`` fits into ``value``; what it then leaves, in so many bits."""
    difference = named(m, f"difference_{step}", value - subtrahend)
    fits = named(m, f"fits_{step}", ~difference[-1])
    return fits, named(m, f"remainder_{step}", Mux(fits, difference, value)[:bits])
