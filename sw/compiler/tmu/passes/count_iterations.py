"""Nests all of whose loops have constant bounds: both units know what comes when."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    CallbackOp,
    ForOp,
    StoreStrOp,
    ToggleOp,
    body_of,
)
from gnarl.sw.compiler.nests.values import constant_of, integer
from gnarl.sw.compiler.tmu.passes.align_queues import queue_before


def is_static(loop: Operation) -> bool:
    """Whether a loop, and those around it, have constant bounds."""
    around: Operation | None = loop
    while isinstance(around, LOOPS):
        if not isinstance(around, ForOp) or around.accumulates is not None:
            return False
        if constant_of(around.lower) is None or constant_of(around.upper) is None:
            return False
        around = around.parent_op()
    return True


def count_iterations(module: ModuleOp) -> ModuleOp:
    """Lets the execute unit count iterations itself, without a token, in a nest of constant bounds
    whose callbacks do the same in each iteration:

        for i < n: (words; callback)   →   for i < n: words; callback: for i < n: (callback)

    Left alone: nests with another loop, toggles, streams that are stored, or callbacks that have
    branches or take words in a vector loop. O(operations).
    """
    module = copied(module)
    operations = list(module.walk())
    loops = [each for each in operations if isinstance(each, LOOPS)]
    callbacks = [each for each in operations if isinstance(each, CallbackOp)]
    others = any(isinstance(each, StoreStrOp | ToggleOp | scf.IfOp) for each in operations)
    if others or not all(is_static(each) for each in loops) or any(map(_takes_lanes, callbacks)):
        return module
    for callback in callbacks:
        queue_before(callback)
    for loop in reversed(loops):
        assert isinstance(loop, ForOp)
        _count(loop)
    return module


def _takes_lanes(callback: CallbackOp) -> bool:
    loop = callback.parent_op()
    is_vector = isinstance(loop, ForOp) and loop.vector is not None
    return callback.masked is not None or (is_vector and len(callback.streams) > 0)


def _count(loop: ForOp) -> None:
    callbacks = [each for each in loop.body.block.ops if isinstance(each, CallbackOp)]
    around, step = loop.parent_block(), loop.step.value.data
    if not callbacks:
        return
    assert around is not None
    if loop.vector is not None:
        step *= loop.vector.value.data
    bounds = [constant_of(loop.lower) or 0, constant_of(loop.upper) or 0, step]
    body = Block(arg_types=[i32])
    for callback in callbacks:
        for operation in list(callback.body.block.ops):
            operation.detach()
            body.add_op(operation)
        callback.detach()
        callback.erase()
    body.add_op(scf.YieldOp())
    region = body_of([])
    first, last, by = (integer(each) for each in bounds)
    counting = scf.ForOp(first.result, last.result, by.result, [], Region(body))
    region.block.add_ops([first, last, by, counting])
    around.insert_op_after(CallbackOp([], region), loop)
