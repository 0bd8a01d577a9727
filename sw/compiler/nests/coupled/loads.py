"""Finds loads and their loops, and the same indices some iterations later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.operations import LOADS, array_of
from gnarl.sw.compiler.nests.values import (
    constant_of,
    depth_of,
    integer,
    is_defined_inside,
    is_inside,
    right_inside,
    source_of,
)


def counted_around(load: Operation, loop: scf.ForOp) -> scf.ForOp | None:
    """The loop around the innermost one, ``loop``, whose induction variable is in the load's place,
    too, if all that ``loop`` loads there is a line."""
    counter, stride, off = loop.body.block.args[0], 1, 0
    terms: set[SSAValue] = set()
    type = array_of(load).type
    assert isinstance(type, MemRefType)
    for index, size in reversed(list(zip(indices_of(load), type.get_shape(), strict=True))):
        off += affine_of(index).terms.get(counter, 0) * stride
        stride *= size
        terms |= affine_of(index).terms.keys()
    lower, upper = constant_of(loop.lb), constant_of(loop.ub)
    if lower is None or upper is None or off * (upper - lower) > LINE_WORDS:
        return None
    loops = [value.owner.parent_op() for value in terms if isinstance(value.owner, Block)]
    counted = [each for each in loops if isinstance(each, scf.ForOp) and each is not loop]
    around = max(counted, key=depth_of, default=None)
    if around is None or not is_inside(loop, around):
        return None
    place = right_inside(loop, around)
    is_known = not any(is_defined_inside(value, place) for value in terms - {counter})
    return around if is_known and constant_of(around.step) is not None else None


def outermost(load: Operation, loop: scf.ForOp) -> Operation:
    """The load, or the outermost loop around it, inside of ``loop``, that has it at one place."""
    place: Operation = load
    values = [value for index in indices_of(load) for value in affine_of(index).terms]
    while (around := place.parent_op()) is not None and around is not loop:
        if any(is_defined_inside(value, around) for value in values):
            return load
        place = around
    return place


def indices_of(load: Operation) -> Sequence[SSAValue]:
    assert isinstance(load, LOADS)
    return load.indices


def words_ahead(load: memref.LoadOp, loop: scf.ForOp, distance: int) -> int:
    """Words that a load some iterations later is further on."""
    assert isinstance(load.memref.type, MemRefType)
    step = constant_of(loop.step)
    assert step is not None
    stride, words = 1, 0
    shape = load.memref.type.get_shape()
    for index, size in reversed(list(zip(load.indices, shape, strict=True))):
        words += affine_of(index).terms.get(loop.body.block.args[0], 0) * stride
        stride *= size
    return words * step * distance


def insert(operation: Operation, before: Operation) -> None:
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(operation, before)


def with_values(
    index: SSAValue, values: Mapping[SSAValue, SSAValue], before: Operation
) -> SSAValue:
    """The index with other values in the place of some."""
    affine = affine_of(index)
    total: SSAValue | None = None
    for value, factor in affine.terms.items():
        term = values.get(source_of(value), value)
        if factor != 1:
            number = integer(factor)
            product = arith.MuliOp(term, number.result)
            insert(number, before)
            insert(product, before)
            term = product.result
        if total is not None:
            plus = arith.AddiOp(total, term)
            insert(plus, before)
            term = plus.result
        total = term
    if affine.constant or total is None:
        number = integer(affine.constant)
        insert(number, before)
        if total is None:
            total = number.result
        else:
            plus = arith.AddiOp(total, number.result)
            insert(plus, before)
            total = plus.result
    new_index = arith.IndexCastOp(total, IndexType())
    insert(new_index, before)
    return new_index.result
