"""Keeps vectors in rows of the data queue. Source: Ember, section VII.C."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType, i32
from xdsl.ir import Block, BlockArgument, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    CallbackOp,
    ForOp,
    GetOp,
    MergeOp,
    PopOp,
    PushOp,
    SetOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.values import constant_of, integer
from gnarl.sw.compiler.tmu.callbacks.join_callbacks import join_callbacks

COUNTER = "counter"
"""The attribute of a loop that has the variable which counts its iterations, from 0."""


def align_queues(module: ModuleOp, lanes: int) -> ModuleOp:
    """No word between vectors: the first word of a row, or none at all.

    Induction variables that begin at a constant are counted by the execute unit, which a token
    tells of each iteration's end; all other words that are queued by themselves take a row, but for
    those of loops that merge, whose lanes are fibers.
    O(operations x loops).
    """
    module = copied(module)
    if not any(isinstance(each, PushOp) for each in module.walk()):
        return module
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        loop = callback.parent_op()
        if isinstance(loop, ForOp) and loop.vector is None:
            queue_before(callback)
    counters: dict[ForOp, str] = {}
    for push in [each for each in module.walk() if isinstance(each, PushOp)]:
        if _is_by_itself(push.stream):
            _count_or_align(push, counters, lanes)
    for loop, name in counters.items():
        _add_counter(loop, name)
    join_callbacks(module)
    return module


def _is_by_itself(stream: SSAValue) -> bool:
    """Whether a stream's words come neither as vectors nor from a loop that merges."""
    assert isinstance(stream.type, StreamType)
    return not isinstance(stream.type.element, VectorType) and not _merges(stream)


def _count_or_align(push: PushOp, counters: dict[ForOp, str], lanes: int) -> None:
    """A word is counted instead, by the loop's one of ``counters``, or takes a row."""
    pop = _pop_of(push)
    loop = _counted(push, pop)
    if loop is None:
        _align(push, pop, lanes)
        return
    name = counters.setdefault(loop, f"{len(counters)}_counter")
    _count(pop, name, constant_of(loop.lower) or 0)
    push.detach()
    push.erase()


def _add_counter(loop: ForOp, name: str) -> None:
    """A loop steps its counter, and the loop around sets it back."""
    loop.attributes[COUNTER] = StringAttr(name)
    loop.body.block.add_op(_step(name, loop.step.value.data))
    if isinstance(loop.parent_op(), LOOPS):
        block = loop.parent_block()
        assert block is not None
        block.insert_op_after(_reset(name), loop)


def _merges(stream: SSAValue) -> bool:
    """Whether it is of a loop that merges."""
    block = stream.block if isinstance(stream, BlockArgument) else stream.owner.parent_block()
    assert block is not None
    return isinstance(block.parent_op(), MergeOp)


def queue_before(callback: CallbackOp) -> None:
    """A callback's streams are queued before it, without its token."""
    block = callback.parent_block()
    assert block is not None
    body = callback.body.block
    first = body.first_op
    streams = list(callback.streams)
    for stream, argument in zip(streams, list(body.args), strict=True):
        block.insert_op_before(PushOp(stream), callback)
        pop = PopOp(argument.type)
        pop.value.name_hint = argument.name_hint
        if first is None:
            body.add_op(pop)
        else:
            body.insert_op_before(pop, first)
        argument.replace_all_uses_with(pop.value)
        body.erase_arg(argument)
    callback.operands = []


def _pop_of(push: PushOp) -> PopOp:
    """What takes a word, in the callback behind it: with a loop between them, which queues the
    words that the callback's own loop takes, the pop that is as many pops on as pushes are."""
    block = push.parent_block()
    assert block is not None
    operations = list(block.ops)
    own = operations.index(push)
    callback = next(each for each in operations[own:] if isinstance(each, CallbackOp))
    end = operations.index(callback)
    first = max((at for at in range(own) if isinstance(operations[at], CallbackOp)), default=-1)
    pushes = [each for each in operations[first + 1 : end] if isinstance(each, PushOp)]
    pops = [each for each in callback.body.block.ops if isinstance(each, PopOp)]
    return pops[pushes.index(push)]


def _counted(push: PushOp, pop: PopOp) -> ForOp | None:
    """The loop around whose induction variable is pushed, from a constant on."""
    loop = push.parent_op()
    while isinstance(loop, LOOPS):
        if isinstance(loop, ForOp) and push.stream is loop.induction:
            return loop if constant_of(loop.lower) is not None else None
        loop = loop.parent_op()
    return None


def _count(pop: PopOp, name: str, lower: int) -> None:
    block = pop.parent_block()
    assert block is not None
    get = GetOp(name, i32)
    block.insert_op_before(get, pop)
    value: SSAValue = get.value
    if lower:
        first = integer(lower)
        total = arith.AddiOp(value, first.result)
        block.insert_op_before(first, pop)
        block.insert_op_before(total, pop)
        value = total.result
    pop.value.replace_all_uses_with(value)
    pop.detach()
    pop.erase()


def _align(push: PushOp, pop: PopOp, lanes: int) -> None:
    around, block = push.parent_block(), pop.parent_block()
    assert around is not None and block is not None
    row = PopOp(VectorType(pop.value.type, [lanes]))
    first = vector.ExtractOp(row.value, [0], pop.value.type)
    block.insert_op_before(row, pop)
    block.insert_op_before(first, pop)
    pop.value.replace_all_uses_with(first.result)
    pop.detach()
    pop.erase()
    around.insert_op_before(PushOp(push.stream, aligned=True), push)
    push.detach()
    push.erase()


def _reset(name: str) -> CallbackOp:
    """A callback that resets a variable when the loop has ended: it may begin again."""
    region = body_of([])
    zero = integer(0)
    region.block.add_ops([zero, SetOp(name, zero.result)])
    return CallbackOp([], region)


def _step(name: str, step: int) -> CallbackOp:
    """A callback that steps a variable at the end of an iteration."""
    region = body_of([])
    block: Block = region.block
    get, by = GetOp(name, i32), integer(step)
    block.add_ops([get, by])
    total = arith.AddiOp(get.value, by.result)
    block.add_ops([total, SetOp(name, total.result)])
    return CallbackOp([], region)
