"""Values as sums of others times numbers."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block

from gnarl.sw.compiler.nests.execute.affine import affine_of


def number(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, i32))


@pytest.mark.parametrize("shift, factor", [(0, 1), (3, 8), (31, 1 << 31), (32, None), (-1, None)])
def test_shifts_are_products_where_they_have_a_meaning(shift: int, factor: int | None):
    variable = Block(arg_types=[i32]).args[0]
    shifted = arith.ShLIOp(variable, number(shift))
    found = affine_of(shifted.result)
    assert found.constant == 0
    assert found.terms == ({shifted.result: 1} if factor is None else {variable: factor})


def test_sums_and_products():
    variable = Block(arg_types=[i32]).args[0]
    product = arith.MuliOp(variable, number(-6))
    difference = arith.SubiOp(number(5), product)
    found = affine_of(arith.AddiOp(difference, variable).result)
    assert (found.constant, found.terms) == (5, {variable: 7})
