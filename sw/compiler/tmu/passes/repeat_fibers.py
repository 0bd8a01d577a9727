"""Queues a fiber once for each time that its callbacks read it: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32
from xdsl.ir import Block, Operation

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    BlendOp,
    CallbackOp,
    ForOp,
    MemStrOp,
    PopOp,
    PushOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.scf import PLACE
from gnarl.sw.compiler.nests.values import constant_of, integer
from gnarl.sw.compiler.tmu.passes.queued_fiber import (
    STREAMS,
    QueuedFiber,
    is_same_number,
    queued_fiber,
    stream_of,
    write_out_loops,
)

_Load = vector.LoadOp | vector.MaskedLoadOp


def repeat_fibers(
    module: ModuleOp, config: TmuConfig, fits: Callable[[ModuleOp], bool]
) -> ModuleOp:
    """Queues vectors again instead of loading them, where a callback loads those that the innermost
    loop has queued, in their order, once or several times: a loop of so many iterations more than
    one stands around the innermost, and the two callbacks become one, behind it. What else is
    queued for them comes first.

    The innermost loop must queue one stream, and the data queue hold all that one callback then
    takes. Where a module does not ``fits`` what the hardware has, all stays as it is.
    O(operations).
    """
    changed = copied(module)
    queued = queued_fiber(changed)
    if queued is None or len(queued.pushes) != 1 or not _join(queued):
        return module
    words = {pop: push for pop, (push, _) in (queued.taken() or {}).items() if push in queued.words}
    rounds = _rounds(queued)
    _drop_unused_words(queued, words)
    vectors = (rounds + 1) * len(queued.starts) + len(queued.words)
    if not rounds or vectors * config.lanes > config.data_words:
        return module
    _repeat(queued.loop, rounds + 1)
    return changed if fits(changed) else module


def _join(found: QueuedFiber) -> bool:
    """The next callback, if there is one, becomes part of the fiber's; words of both are queued,
    and taken, first. Whether that can be done."""
    block = found.callback.body.block
    write_out_loops(block)
    taken = found.taken()
    if taken is None:
        return False
    words = [pop for pop, (push, _) in taken.items() if push not in found.pushes]
    between = _between(found.loop, found.callback)
    behind = _callback_behind(found.callback)
    if behind is not None:
        others = _between(found.callback, behind)
        pops = [each for each in behind.walk() if isinstance(each, PopOp)]
        pushes = [each for each in others if isinstance(each, PushOp)]
        if len(pops) != len(pushes) or any(each.parent_op() is not behind for each in pops):
            return False
        between += others
        words += pops
        _append_body(behind, block)
    for pop in reversed(words):
        _move_to_front(pop, block)
    around = found.around.body.block
    for operation in between:
        operation.detach()
        around.insert_op_before(operation, found.loop)
    write_out_loops(block)
    return True


def _callback_behind(callback: CallbackOp) -> CallbackOp | None:
    """The callback that comes next, behind streams alone, if it has no operands of its own."""
    behind = callback.next_op
    while isinstance(behind, STREAMS):
        behind = behind.next_op
    if isinstance(behind, CallbackOp) and not (behind.streams or behind.masked):
        return behind
    return None


def _append_body(callback: CallbackOp, block: Block) -> None:
    """Moves a callback's operations behind a block's; the callback is no longer."""
    for operation in list(callback.body.block.ops):
        operation.detach()
        block.add_op(operation)
    callback.detach()
    callback.erase()


def _move_to_front(pop: PopOp, block: Block) -> None:
    """Moves what takes a word, and the lanes that are extracted from it, to a block's begin."""
    lanes = [use.operation for use in pop.value.uses]
    for operation in (*(each for each in lanes if isinstance(each, vector.ExtractOp)), pop):
        operation.detach()
        assert block.first_op is not None
        block.insert_op_before(operation, block.first_op)


def _between(first: Operation, last: Operation) -> list[Operation]:
    between = []
    operation = first.next_op
    while operation is not None and operation is not last:
        between.append(operation)
        operation = operation.next_op
    return between


def _rounds(found: QueuedFiber) -> int:
    """How often the callback loads the fiber behind what it has taken of it, which it takes then,
    too; 0 where it loads anything out of order, and has been left as it was."""
    (push,) = found.pushes
    fiber, taken = push.stream.owner, found.taken()
    if not isinstance(fiber, MemStrOp) or taken is None:
        return 0
    if fiber.indices[-1] is not found.loop.induction:
        return 0
    loads = [each for each in found.callback.body.block.ops if _reads(each, fiber, found, taken)]
    vectors = [pop for pop, (by, _) in taken.items() if by is push]
    rounds = _loads_in_order(loads, found)
    is_behind = not loads or vectors[-1].is_before_in_block(loads[0])
    if rounds is None or len(rounds) % len(found.starts) or not is_behind:
        return 0
    for same in rounds:
        _take(same)
    return len(rounds) // len(found.starts)


def _loads_in_order(loads: Sequence[Operation], found: QueuedFiber) -> list[list[_Load]] | None:
    """The loads of each vector of the fiber, in the fiber's order, round by round; ``None`` where
    one is out of order."""
    starts = found.starts
    rounds: list[list[_Load]] = []
    for load in loads:
        assert isinstance(load, _Load)
        number = constant_of(load.indices[-1])
        if rounds and number == starts[(len(rounds) - 1) % len(starts)]:
            rounds[-1].append(load)
        elif number == starts[len(rounds) % len(starts)] and _is_of(load, number, found):
            rounds.append([load])
        else:
            return None
    return rounds


def _reads(
    operation: Operation,
    fiber: MemStrOp,
    found: QueuedFiber,
    taken: Mapping[PopOp, tuple[PushOp, int]],
) -> bool:
    """Whether it loads vectors of the row that the fiber is."""
    if not isinstance(operation, _Load) or operation.base is not fiber.array:
        return False
    pairs = zip(operation.indices[:-1], fiber.indices[:-1], strict=True)
    return all(
        is_same_number(index, stream) or stream_of(index, found.loop, taken) is stream
        for index, stream in pairs
    )


def _is_of(load: _Load, first: int, found: QueuedFiber) -> bool:
    """Whether it loads lanes of the fiber alone, and is as long as its vectors."""
    (push,) = found.pushes
    assert isinstance(push.stream.type, StreamType)
    used = found.lanes
    if isinstance(load, vector.MaskedLoadOp):
        mask = load.mask.owner
        count = constant_of(mask.operands[0]) if isinstance(mask, vector.CreateMaskOp) else None
        if count is None:
            return False
        used = count
    return load.results[0].type == push.stream.type.element and first + used <= found.end


def _take(loads: Sequence[_Load]) -> None:
    """Takes vectors from the queue instead, once; what a mask leaves out is as it was."""
    first = loads[0]
    block = first.parent_block()
    assert block is not None
    pop = PopOp(first.results[0].type)
    block.insert_op_before(pop, first)
    for load in loads:
        value = pop.value
        if isinstance(load, vector.MaskedLoadOp):
            blend = BlendOp(load.mask, pop.value, load.pass_thru)
            block.insert_op_before(blend, load)
            value = blend.result
        load.results[0].replace_all_uses_with(value)
        load.detach()
        load.erase()


def _drop_unused_words(found: QueuedFiber, words: Mapping[PopOp, PushOp]) -> None:
    for operation in reversed(list(found.callback.body.block.ops)):
        is_used = any(each.uses.get_length() for each in operation.results)
        if is_used or operation.regions or not operation.results:
            continue
        if isinstance(operation, PopOp):
            if operation not in words:
                continue
            words[operation].detach()
            words[operation].erase()
        operation.detach()
        operation.erase()


def _repeat(loop: ForOp, count: int) -> None:
    block = loop.parent_block()
    assert block is not None
    region = body_of([StreamType(i32)])
    bounds = integer(0), integer(count)
    made = ForOp(bounds[0].result, bounds[1].result, 1, region)
    made.attributes[PLACE] = loop.attributes.get(PLACE, StringAttr(""))
    block.insert_ops_before([*bounds, made], loop)
    loop.detach()
    region.block.add_op(loop)
