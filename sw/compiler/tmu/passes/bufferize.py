"""Queues whole fibers without tokens in between. Source: Ember, section VII.B."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    CallbackOp,
    ForOp,
    PopOp,
    PushOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.values import constant_of, integer
from gnarl.sw.compiler.tmu.callbacks.masks import drop_whole_masks, first_lanes


def bufferize(module: ModuleOp) -> ModuleOp:
    """A vector loop with constant bounds queues its vectors; one callback behind it works on all.

    What the callback takes from loops further out is queued once, before the vectors.
    O(operations).
    """
    module = copied(module)
    for loop in [each for each in module.walk() if isinstance(each, ForOp)]:
        callbacks = [each for each in loop.body.block.ops if isinstance(each, CallbackOp)]
        is_inner = isinstance(loop.parent_op(), LOOPS)
        bounds = constant_of(loop.lower), constant_of(loop.upper)
        if loop.vector is not None and len(callbacks) == 1 and is_inner and None not in bounds:
            _bufferize(loop, callbacks[0])
    return module


def _bufferize(loop: ForOp, callback: CallbackOp) -> None:
    around = loop.parent_block()
    assert around is not None and loop.vector is not None
    lanes = loop.vector.value.data
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    assert lower is not None and upper is not None
    of_loop = {result for each in loop.body.block.ops for result in each.results}

    region = body_of([])
    block = region.block
    values: dict[SSAValue, SSAValue] = {}
    index: SSAValue | None = None
    buffered: list[SSAValue] = []
    arguments = list(callback.body.block.args)
    mask = arguments.pop() if callback.masked else None
    for stream, argument in zip(callback.streams, arguments, strict=True):
        if stream is loop.induction:
            index = argument
        elif stream in of_loop:
            loop.body.block.insert_op_before(PushOp(stream), callback)
            buffered.append(argument)
        else:
            around.insert_op_before(PushOp(stream), loop)
            assert isinstance(stream.type, StreamType)
            values[argument] = _add(block, PopOp(stream.type.element))

    # Whole vectors, and what is left.
    whole = (upper - lower) // lanes * lanes
    parts = [(lower, lower + whole, lanes)] if whole else []
    if lower + whole < upper:
        parts.append((lower + whole, upper, upper - lower - whole))
    for first, last, used in parts:
        inner = dict(values)
        if mask is not None:
            inner[mask] = first_lanes(block, lanes, used)
        start, end, step = (_add(block, integer(each)) for each in (first, last, lanes))
        body = Block(arg_types=[i32])
        if index is not None:
            inner[index] = body.args[0]
        for taken in buffered:
            inner[taken] = _add(body, PopOp(taken.type))
        _copy(callback.body.block, body, inner)
        body.add_op(scf.YieldOp())
        block.add_op(scf.ForOp(start, end, step, [], Region(body)))
    made = CallbackOp([], region)
    drop_whole_masks(made)
    around.insert_op_after(made, loop)
    callback.detach()
    callback.erase()


def _add(block: Block, operation: Operation) -> SSAValue:
    block.add_op(operation)
    return operation.results[0]


def _copy(source: Block, target: Block, values: Mapping[SSAValue, SSAValue]) -> None:
    known = dict(values)
    for operation in source.ops:
        made = operation.clone(known)
        target.add_op(made)
        for old, new in zip(operation.results, made.results, strict=True):
            known[old] = new
