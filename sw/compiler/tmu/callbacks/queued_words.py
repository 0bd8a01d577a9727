"""Finds the queued word that a callback takes."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import LOOPS, CallbackOp, ForOp, PopOp, PushOp


def push_of(value: SSAValue, callback: CallbackOp) -> PushOp | None:
    """What queues the word that ``value`` is in a callback's body, alone or as the first of a row;
    ``None`` where it is none, or not known to be one of the words that are queued right before the
    callback and the loop whose vectors it takes. O(operations around the callback)."""
    owner = value.owner
    if isinstance(owner, vector.ExtractOp) and [*owner.static_position.get_values()] == [0]:
        owner = owner.vector.owner if owner.vector.uses.get_length() == 1 else owner
    if not isinstance(owner, PopOp) or owner.parent_op() is not callback:
        return None
    pops = [each for each in callback.body.block.ops if isinstance(each, PopOp)]
    pushes = _pushes_before(callback)
    return pushes[pops.index(owner)] if len(pushes) == len(pops) else None


def are_words_left(loop: ForOp) -> bool:
    """Whether words may be in the queue when a loop begins, which the loops around have put there
    for callbacks behind it. O(operations)."""
    around: Operation | None = loop
    while around is not None and isinstance(around.parent_op(), LOOPS):
        before = around.prev_op
        while before is not None and not isinstance(before, (CallbackOp, *LOOPS)):
            if isinstance(before, PushOp):
                return True
            before = before.prev_op
        around = around.parent_op()
    return False


def _pushes_before(callback: CallbackOp) -> list[PushOp]:
    pushes = []
    before = callback.prev_op
    while before is not None and not any(isinstance(each, CallbackOp) for each in before.walk()):
        if isinstance(before, PushOp):
            pushes.append(before)
        before = before.prev_op
    return pushes[::-1]
