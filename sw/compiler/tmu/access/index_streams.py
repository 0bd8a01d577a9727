"""Indices of callbacks as streams of the access unit."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import (
    AluStrOp,
    CallbackOp,
    ForOp,
    MemStrOp,
    MergeOp,
    StreamType,
)
from gnarl.sw.compiler.nests.values import constant_of, integer, source_of

_OPERATIONS: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.ShLIOp: "shift_left",
}


def stream_of(value: SSAValue, callback: CallbackOp) -> SSAValue | None:
    """The stream whose value it is."""
    value = source_of(value)
    if not isinstance(value, BlockArgument) or value.owner is not callback.body.block:
        return None
    if callback.masked is not None and value.index == len(callback.streams):
        return None
    return callback.streams[value.index]


def is_index(value: SSAValue, callback: CallbackOp, loop: ForOp | MergeOp) -> bool:
    """Whether streams have it, or can have it, but none that its own loop loads."""
    value = source_of(value)
    if constant_of(value) is not None:
        return True
    stream = stream_of(value, callback)
    if stream is not None:
        return not (isinstance(stream.owner, MemStrOp) and stream.owner.parent_op() is loop)
    owner = value.owner
    if not isinstance(owner, Operation) or type(owner) not in _OPERATIONS:
        return False
    return all(is_index(each, callback, loop) for each in owner.operands)


def index_stream(value: SSAValue, callback: CallbackOp) -> SSAValue:
    """The stream or constant that an index of ``is_index`` is, made before the callback if need be.
    O(operations in it)."""
    value = source_of(value)
    block = callback.parent_block()
    assert block is not None
    new_op: Operation
    if (number := constant_of(value)) is not None:
        new_op = integer(number)
    elif (stream := stream_of(value, callback)) is not None:
        return stream
    else:
        assert isinstance(value.owner, Operation)
        left, right = (index_stream(each, callback) for each in value.owner.operands)
        elements = [_element(each) for each in (left, right)]
        element = next((each for each in elements if isinstance(each, VectorType)), value.type)
        new_op = AluStrOp(_OPERATIONS[type(value.owner)], left, right, element)
    block.insert_op_before(new_op, callback)
    return new_op.results[0]


def _element(value: SSAValue) -> Attribute:
    return value.type.element if isinstance(value.type, StreamType) else value.type


def is_of_coordinate(stream: SSAValue) -> bool:
    """Whether it is a union's coordinate, or computed from it in the union's loop: so that each of
    its fibers gives it, or 0 where the fiber lacks the coordinate. O(operations in it)."""
    if isinstance(stream, BlockArgument):
        loop = stream.block.parent_op()
        return isinstance(loop, MergeOp) and loop.is_disjunctive and stream is loop.coordinate
    return isinstance(stream.owner, AluStrOp) and any(
        is_of_coordinate(each) for each in stream.owner.operands
    )
