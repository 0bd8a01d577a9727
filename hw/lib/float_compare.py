"""Floating-point comparison, minimum and maximum. Source: IEEE 754-2019, clauses 5.11 and 9.6."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hw.lib.cut_points import CutPoints, named
from hw.lib.float_parts import check_float
from hw.lib.formats import FloatFormat
from hw.lib.pipelined import Pipelined


def is_nan(format: FloatFormat, bits: Value) -> Value:
    """Whether ``bits`` are a NaN."""
    return bits[format.fraction : -1].all() & bits[: format.fraction].any()


def is_below(a: Value, b: Value, a_is_larger: Value) -> Value:
    """Whether number ``a`` is below ``b``, -0 being below +0; anything for equal bits.

    ``a_is_larger`` compares the bits without the sign: a >= b.
    """
    return Mux(a[-1] ^ b[-1], a[-1], a_is_larger ^ ~a[-1])


class FloatCompare(Pipelined):
    """Compares ``a`` with ``b``, and gives the lesser and the greater of them.

    ``less``, ``equal`` and ``unordered`` (a NaN among them) exclude one another; none of them:
    greater. Zeros of either sign are equal there; ``minimum`` and ``maximum`` take -0 as below +0,
    and give the canonical NaN for unordered operands. One comparison a cycle, no backpressure.

    Parameters: ``format`` of operands and results; ``stages`` >= 0, pipeline registers inside, the
    last of them at the outputs.

    Members: ``a``, ``b``, ``minimum``, ``maximum``: bits; ``less``, ``equal``, ``unordered``.
    """

    def __init__(self, format: FloatFormat, stages: int) -> None:
        check_float(format)
        self._format = format
        width = format.width
        super().__init__(
            {
                "a": In(width),
                "b": In(width),
                "less": Out(1),
                "equal": Out(1),
                "unordered": Out(1),
                "minimum": Out(width),
                "maximum": Out(width),
            },
            stages,
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        cut = CutPoints(m, self._stages, [5, 3])
        a, b = self.a, self.b
        both_zero = ~(a[:-1].any() | b[:-1].any())
        s = cut(
            a=a,
            b=b,
            a_is_larger=named(m, "a_is_larger", a[:-1] >= b[:-1]),
            equal=named(m, "same", (a == b) | both_zero),
            unordered=named(m, "has_nan", is_nan(self._format, a) | is_nan(self._format, b)),
        )

        below = named(m, "below", is_below(s.a, s.b, s.a_is_larger))
        nan = Const(self._format.canonical_nan, self._format.width)
        s = cut(
            less=below & ~s.equal & ~s.unordered,
            equal=s.equal & ~s.unordered,
            unordered=s.unordered,
            minimum=Mux(s.unordered, nan, Mux(below, s.a, s.b)),
            maximum=Mux(s.unordered, nan, Mux(below, s.b, s.a)),
        )
        m.d.comb += [getattr(self, name).eq(value) for name, value in vars(s).items()]
        return m
