"""Products as sums of what multiplier blocks give."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.products import partial_products, sum_products
from tests.hw.dpu.simulate import simulate_combinational

WIDTHS = st.sampled_from([1, 2, 16, 17, 18, 24, 34, 35, 37, 52])


class Product(wiring.Component):
    """``o`` = ``a`` * ``b``."""

    def __init__(self, a: Shape, b: Shape) -> None:
        signed = a.signed or b.signed
        super().__init__({"a": In(a), "b": In(b), "o": Out(Shape(a.width + b.width, signed))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        product = sum_products(m, partial_products(m, self.a, self.b, "partial"), "product")
        assert product.shape() == self.o.shape()
        m.d.comb += self.o.eq(product)
        return m


@given(st.data(), WIDTHS, st.booleans(), WIDTHS, st.booleans())
def test_parts_sum_up_to_the_product(
    data: st.DataObject, a_bits: int, a_signed: bool, b_bits: int, b_signed: bool
) -> None:
    shapes = Shape(a_bits, a_signed), Shape(b_bits, b_signed)
    ends = [_ends(shape) for shape in shapes]
    random = [data.draw(st.integers(*each)) for each in ends]
    unit = Product(*shapes)

    async def process(ctx: Any) -> None:
        for a in (*ends[0], random[0]):
            for b in (*ends[1], random[1]):
                ctx.set(unit.a, a)
                ctx.set(unit.b, b)
                assert ctx.get(unit.o) == a * b

    simulate_combinational(unit, process)


def _ends(shape: Shape) -> tuple[int, int]:
    """The least and the greatest number."""
    half = 1 << shape.width - 1
    return (-half, half - 1) if shape.signed else (0, 2 * half - 1)
