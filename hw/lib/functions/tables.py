"""Piecewise polynomials in whole numbers, with coefficients that are the same on every machine.

Coefficients come from decimal arithmetic (Python's ``decimal``), which is defined to the last
digit; no float takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

DIGITS = 45
"""Digits of all decimal arithmetic that ends in a table or a constant."""

RealFunction = Callable[[Decimal], Decimal]


@dataclass(frozen=True)
class Table:
    """Polynomials for a position in [0, 1), each for one segment of it.

    A position is a whole number of ``position_bits``; its top ``segment_bits`` are the segment, the
    rest, over their own power of two, is t. Row ``piece << segment_bits | segment`` has the
    coefficients, c0 first, in units of 2**-``unit``. The value, in the same units, is defined to
    the bit: from v = c[degree], for each c[i] down to c0, v = c[i] + floor(v * t).
    """

    position_bits: int
    segment_bits: int
    unit: int
    rows: tuple[tuple[int, ...], ...]


def fit(
    pieces: Sequence[RealFunction], degree: int, position_bits: int, unit: int, accuracy: int
) -> Table:
    """The smallest table whose polynomials are within 2**-``accuracy`` of the functions.

    ``pieces`` are functions of the position as a number from 0 to 1; ``degree`` is 2 or 3. Each
    polynomial meets its function at the Chebyshev nodes of its segment, and so is furthest from it,
    within a few percent, at the segment's ends, where the accuracy is checked. Raises
    ``ValueError`` where ``position_bits`` don't suffice.
    """
    with localcontext(prec=DIGITS):
        nodes = _chebyshev_nodes(degree)
        for segment_bits in range(position_bits):
            rows = _rows(pieces, nodes, segment_bits, unit, Decimal(2) ** -accuracy)
            if rows is not None:
                return Table(position_bits, segment_bits, unit, rows)
    raise ValueError(f"{position_bits} bits of position: too few for {accuracy} bits of accuracy")


def _chebyshev_nodes(degree: int) -> list[Decimal]:
    """The zeros of the Chebyshev polynomial of ``degree`` + 1, moved to 0 to 1."""
    root = Decimal.sqrt
    cosines = {
        2: [root(Decimal(3)) / 2, Decimal(0)],
        3: [root(2 + root(Decimal(2))) / 2, root(2 - root(Decimal(2))) / 2],
    }[degree]
    both = {sign * cosine for cosine in cosines for sign in (1, -1)}
    return sorted((1 + cosine) / 2 for cosine in both)


def _rows(
    pieces: Sequence[RealFunction],
    nodes: list[Decimal],
    segment_bits: int,
    unit: int,
    error: Decimal,
) -> tuple[tuple[int, ...], ...] | None:
    """The rows, or None as soon as one of them errs too much."""
    count = 1 << segment_bits
    rows = []
    for function in pieces:
        for segment in range(count):
            low, high = Decimal(segment) / count, Decimal(segment + 1) / count
            at_nodes = [function(low + (high - low) * node) for node in nodes]
            real = _interpolate(nodes, at_nodes)
            row = tuple(_nearest(coefficient * 2**unit) for coefficient in real)
            ends = ((row[0], low), (sum(row), high))
            if any(abs(got / Decimal(2) ** unit - function(x)) > error for got, x in ends):
                return None
            rows.append(row)
    return tuple(rows)


def _interpolate(nodes: list[Decimal], values: list[Decimal]) -> list[Decimal]:
    """Coefficients, constant first, of the polynomial through the points (Newton's form)."""
    count = len(nodes)
    divided = list(values)
    for order in range(1, count):
        for i in reversed(range(order, count)):
            divided[i] = (divided[i] - divided[i - 1]) / (nodes[i] - nodes[i - order])
    coefficients = [Decimal(0)] * count
    for node, difference in zip(reversed(nodes), reversed(divided), strict=True):
        # The polynomial so far, times (t - node), plus the difference.
        shifted = [Decimal(0), *coefficients[:-1]]
        coefficients = [up - node * c for up, c in zip(shifted, coefficients, strict=True)]
        coefficients[0] += difference
    return coefficients


def _nearest(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))
