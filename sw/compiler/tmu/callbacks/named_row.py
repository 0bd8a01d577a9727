"""Keeps the row of an array that an index names in registers, until the index changes."""

from __future__ import annotations

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    CallbackOp,
    ForOp,
    GetOp,
    PopOp,
    PushOp,
    SetOp,
    StreamType,
    ToggleOp,
    body_of,
)
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import KeptVectors
from gnarl.sw.compiler.tmu.callbacks.queued_words import are_words_left, push_of


def keep_named_row(found: KeptVectors, function: func.FuncOp) -> None:
    """Vectors of one row, which nothing else of the ``function`` uses, become variables, in place:
    they are those of the row ``kept``, at first 0, whose vectors are 0, too. When another row
    comes, whether it has been before or not, they are written and that row's are loaded; at the end
    they are written.

    A toggle of the loop that has the row as a stream says so, which queues the row instead of the
    word in each iteration. Where there can be none, the row is compared with the last one: where it
    is computed, is of a loop of vectors or of one that merges, where the loop has a toggle already
    or queues words before it has the stream, or words of loops further out wait in the queue when
    it begins. O(operations).
    """
    kept = f"{found.array.name_hint or 'array'}_row"
    (row,) = found.rows
    push = push_of(row, found.callback)
    loop = _loop_of(push.stream) if push is not None else None
    if push is not None and loop is not None:
        _toggle(found, kept, push, loop)
    else:
        _compare(found, kept)
    end = body_of([])
    get = GetOp(kept, i32)
    end.block.add_op(get)
    for each in found.vectors:
        each.store(end.block, found.array, [get.value])
    outermost = [each for each in function.body.block.ops if isinstance(each, ForOp)][-1]
    function.body.block.insert_op_after(CallbackOp([], end), outermost)
    found.replace()


def _loop_of(stream: SSAValue) -> ForOp | None:
    """The loop that has the stream, if it may have a toggle of it."""
    owner = stream.owner
    block = owner if isinstance(owner, Block) else owner.parent_block()
    loop = block.parent_op() if block is not None else None
    if not isinstance(loop, ForOp) or loop.vector is not None or stream.type != StreamType(i32):
        return None
    operations = list(loop.body.block.ops)
    place = operations.index(owner) if isinstance(owner, Operation) else 0
    is_late = any(isinstance(each, (PushOp, CallbackOp, *LOOPS)) for each in operations[:place])
    has_one = any(isinstance(each, ToggleOp) for each in operations)
    return None if is_late or has_one or are_words_left(loop) else loop


def _toggle(found: KeptVectors, kept: str, push: PushOp, loop: ForOp) -> None:
    (row,) = found.rows
    taken = row.owner
    assert isinstance(taken, Operation)
    is_row_of_queue = not isinstance(taken, PopOp)
    region = body_of([taken.operands[0].type if is_row_of_queue else i32])
    body = region.block
    new: SSAValue = body.args[0]
    if is_row_of_queue:
        assert isinstance(new.type, VectorType)
        first = vector.ExtractOp(new, [0], i32)
        body.add_op(first)
        new = first.result
    last = GetOp(kept, i32)
    body.add_op(last)
    _change_row(body, found, kept, last.value, new)
    toggle = ToggleOp(push.stream, region, aligned=is_row_of_queue)
    if isinstance(push.stream.owner, Operation):
        loop.body.block.insert_op_after(toggle, push.stream.owner)
    else:
        loop.body.block.insert_ops_before([toggle], next(iter(loop.body.block.ops)))
    # In the callback it is the row of the variables.
    block = found.callback.body.block
    same = GetOp(kept, i32)
    block.insert_op_before(same, taken)
    row.replace_all_uses_with(same.value)
    for each in (taken, taken.operands[0].owner if is_row_of_queue else None, push):
        if isinstance(each, Operation):
            each.detach()
            each.erase()


def _compare(found: KeptVectors, kept: str) -> None:
    (row,) = found.rows
    last = GetOp(kept, i32)
    changes = arith.CmpiOp(row, last.value, "ne")
    body = Block()
    _change_row(body, found, kept, last.value, row)
    body.add_op(scf.YieldOp())
    found.callback.body.block.insert_ops_before(
        [last, changes, scf.IfOp(changes.result, [], Region(body))], found.updates[0].loop
    )


def _change_row(body: Block, found: KeptVectors, kept: str, last: SSAValue, row: SSAValue) -> None:
    for each in found.vectors:
        each.store(body, found.array, [last])
    for each in found.vectors:
        each.load(body, found.array, [row])
    body.add_op(SetOp(kept, row))
