"""Computes in the access unit where results go."""

from __future__ import annotations

import math

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects import flat
from gnarl.sw.compiler.nests.dialects.slc import AluStrOp, CallbackOp, ForOp, MergeOp
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.scf import PLACE
from gnarl.sw.compiler.nests.values import constant_of, integer
from gnarl.sw.compiler.tmu.access.index_offsets import shape_of
from gnarl.sw.compiler.tmu.access.index_streams import index_stream, is_index, stream_of
from gnarl.sw.compiler.tmu.callbacks.unused import drop_unused
from gnarl.sw.compiler.tmu.passes.fits import has_layers


def stream_places(module: ModuleOp, config: TmuConfig) -> ModuleOp:
    """A callback of merged fibers that stores an element at indices that streams have, or can have,
    gets the number of its word instead:

        callback(i, j): a[i, j] = x
        →   place = i x columns + j; callback(place): word place of a = x

    Left alone: a single index, indices that the callback needs for something else, and places for
    whose streams ``config`` has no room. O(stores x operations).
    """
    module = copied(module)
    count = sum(_has_streams(each) for each in module.walk())
    for number in reversed(range(count)):
        candidate = copied(module)
        store = [each for each in candidate.walk() if _has_streams(each)][number]
        assert isinstance(store, memref.StoreOp)
        _replace(store, arrays_of(function_of(candidate))[store.memref])
        if has_layers(candidate, config):
            module = candidate
    return module


def _has_streams(store: Operation) -> bool:
    """Whether the access unit can have a store's place, which is more than one index."""
    callback = store.parent_op()
    if not isinstance(store, memref.StoreOp) or not isinstance(callback, CallbackOp):
        return False
    loop = callback.parent_op()
    if not isinstance(loop, MergeOp) or not all(
        is_index(each, callback, loop) for each in store.indices
    ):
        return False
    wanted = {value for index in store.indices for value in _needed(index)}
    arguments = [each for each in wanted if isinstance(each, BlockArgument)]
    streams = [stream_of(each, callback) for each in arguments]
    return (
        len(arguments) > 1
        and all(each is not None and _has_one_value(each, loop) for each in streams)
        and all(_is_needed_for(each, store, wanted) for each in arguments)
    )


def _needed(value: SSAValue) -> set[SSAValue]:
    """The value, and what it is computed from."""
    operands = value.owner.operands if isinstance(value.owner, Operation) else ()
    return {value, *(each for operand in operands for each in _needed(operand))}


def _has_one_value(stream: SSAValue, loop: MergeOp) -> bool:
    """Whether all units of the loop can have it: of a union of its own the coordinate alone, and
    nothing of one around it."""
    around = _loop_of(stream)
    if around is loop and stream is loop.coordinate:
        return True
    return not (isinstance(around, MergeOp) and around.is_disjunctive)


def _is_needed_for(argument: BlockArgument, store: Operation, wanted: set[SSAValue]) -> bool:
    """Whether nothing but the indices of a store needs it."""
    users = [use.operation for use in argument.uses]
    return all(each is store or not wanted.isdisjoint(each.results) for each in users)


def _loop_of(stream: SSAValue) -> Operation | None:
    owner = stream.owner
    return owner.parent_op()


def _replace(store: memref.StoreOp, array: str) -> None:
    callback, block = store.parent_op(), store.parent_block()
    assert isinstance(callback, CallbackOp) and block is not None
    place, offset = _place(store, callback)
    word = block.insert_arg(i32, len(callback.streams))
    word.name_hint = "place"
    callback.operands = [*callback.streams, place]
    flat_store = flat.StoreOp(store.value, array, offset, word)
    if PLACE in store.attributes:
        flat_store.attributes[PLACE] = store.attributes[PLACE]
    block.insert_op_before(flat_store, store)
    store.detach()
    store.erase()
    drop_unused(block)
    callback.drop_unused()


def _place(store: memref.StoreOp, callback: CallbackOp) -> tuple[SSAValue, int]:
    """The number of the word in row-major order: a stream, and a constant more."""
    shape = shape_of(store.memref)
    place: SSAValue | None = None
    offset = 0
    for axis, index in enumerate(store.indices):
        stride = math.prod(shape[axis + 1 :])
        if (number := constant_of(index)) is not None:
            offset += number * stride
            continue
        term = _scaled(index_stream(index, callback), stride, callback)
        place = term if place is None else _stream("add", place, term, callback)
    assert place is not None
    return place, offset


def _scaled(stream: SSAValue, stride: int, callback: CallbackOp) -> SSAValue:
    """Times ``stride``: of the counter of a loop around, in that."""
    if stride == 1:
        return stream
    before: Operation = callback
    if isinstance(_loop_of(stream), ForOp) and isinstance(stream, BlockArgument):
        while before.parent_op() is not _loop_of(stream):
            around = before.parent_op()
            assert around is not None
            before = around
    by = integer(stride)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(by, before)
    return _stream("mul", stream, by.result, before)


def _stream(name: str, left: SSAValue, right: SSAValue, before: Operation) -> SSAValue:
    made = AluStrOp(name, left, right, i32)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(made, before)
    return made.stream
