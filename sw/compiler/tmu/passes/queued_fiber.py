"""The innermost loop of a chain, which queues vectors, and the callback that takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType, i32
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    AluStrOp,
    CallbackOp,
    ForOp,
    GetOp,
    MemStrOp,
    PopOp,
    PushOp,
    SetOp,
    StreamType,
)
from gnarl.sw.compiler.nests.execute.unroll import write_iteration
from gnarl.sw.compiler.nests.values import constant_of, integer, source_of
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import MOST_REGISTERS, is_zero
from gnarl.sw.compiler.tmu.passes.align_queues import COUNTER

STREAMS = (arith.ConstantOp, AluStrOp, MemStrOp, PushOp)


@dataclass(frozen=True)
class QueuedFiber:
    """``loop``, in ``around``, queues vectors of a fiber and nothing else; of what is queued behind
    the callback before it, ``callback``, the next one, takes all."""

    loop: ForOp
    around: ForOp
    callback: CallbackOp

    @property
    def starts(self) -> range:
        """Induction variables of the vectors' first lanes."""
        lower, upper = constant_of(self.loop.lower), constant_of(self.loop.upper)
        assert lower is not None and upper is not None
        return range(lower, upper, self.lanes)

    @property
    def lanes(self) -> int:
        assert self.loop.vector is not None
        return self.loop.vector.value.data

    @property
    def end(self) -> int:
        upper = constant_of(self.loop.upper)
        assert upper is not None
        return upper

    @property
    def pushes(self) -> list[PushOp]:
        """The pushes of the loop."""
        return [each for each in self.loop.body.block.ops if isinstance(each, PushOp)]

    @property
    def words(self) -> list[PushOp]:
        """What is queued before and behind the loop for the callback."""
        operations = list(self.around.body.block.ops)
        place = operations.index(self.loop)
        first = max(
            (at for at in range(place) if isinstance(operations[at], CallbackOp)), default=-1
        )
        between = operations[first + 1 : operations.index(self.callback)]
        return [each for each in between if isinstance(each, PushOp)]

    def taken(self) -> dict[PopOp, tuple[PushOp, int]] | None:
        """What each pop of the callback takes, the callback's loops being written out: a word, or
        the vector of the second number. ``None`` where its other operations take any."""
        operations = list(self.around.body.block.ops)
        place = operations.index(self.loop)
        words = self.words
        before = [each for each in words if operations.index(each) < place]
        vectors = [(push, at) for at in range(len(self.starts)) for push in self.pushes]
        order = [
            *((push, 0) for push in before),
            *vectors,
            *((push, 0) for push in words[len(before) :]),
        ]
        pops = [each for each in self.callback.walk() if isinstance(each, PopOp)]
        block = self.callback.body.block
        if len(pops) != len(order) or any(each.parent_block() is not block for each in pops):
            return None
        return dict(zip(pops, order, strict=True))


def queued_fiber(module: ModuleOp) -> QueuedFiber | None:
    """The queued fiber of a module behind ``align_queues``, if its innermost loop has known bounds,
    at most ``MOST_REGISTERS`` vectors, and a loop around it, and none merges. O(operations)."""
    loops = [each for each in module.walk() if isinstance(each, LOOPS)]
    if len(loops) < 2 or not all(isinstance(each, ForOp) for each in loops):
        return None
    *_, around, loop = loops
    assert isinstance(around, ForOp) and isinstance(loop, ForOp)
    if loop.vector is None or not _has_known_streams(loop):
        return None
    callback = _callback_behind(loop)
    if callback is None:
        return None
    queued = QueuedFiber(loop, around, callback)
    are_vectors = all(is_vector(each.stream) for each in queued.pushes)
    return queued if are_vectors and 0 < len(queued.starts) <= MOST_REGISTERS else None


def _callback_behind(loop: ForOp) -> CallbackOp | None:
    """The callback behind a loop, with streams alone between, if it has none of its own."""
    callback = loop.next_op
    while isinstance(callback, STREAMS):
        callback = callback.next_op
    if not isinstance(callback, CallbackOp) or callback.streams or callback.masked:
        return None
    return callback


def _has_known_streams(loop: ForOp) -> bool:
    """Whether a loop has known bounds, and nothing but streams."""
    if None in (constant_of(loop.lower), constant_of(loop.upper)):
        return False
    return all(isinstance(each, STREAMS) for each in loop.body.block.ops)


def is_vector(stream: SSAValue) -> bool:
    assert isinstance(stream.type, StreamType)
    return isinstance(stream.type.element, VectorType)


def write_out_loops(block: Block) -> None:
    """Writes out loops of known bounds and at most ``MOST_REGISTERS`` iterations, without loops of
    their own, in place."""
    for loop in [each for each in block.ops if isinstance(each, scf.ForOp)]:
        lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
        if lower is None or upper is None or step is None:
            continue
        iterations = range(lower, upper, step)
        if len(iterations) > MOST_REGISTERS or any(each.regions for each in loop.body.block.ops):
            continue
        for number in iterations:
            write_iteration(loop, number)
        loop.detach()
        loop.erase()


def counter_of(loop: ForOp) -> str | None:
    """The variable that counts its iterations."""
    found = loop.attributes.get(COUNTER)
    return found.data if isinstance(found, StringAttr) else None


def counted_value(block: Block, loop: ForOp) -> SSAValue | None:
    """The induction variable, from the loop's counter, at the end of a callback's body."""
    name, lower = counter_of(loop), constant_of(loop.lower)
    if name is None or lower is None:
        return None
    get = GetOp(name, i32)
    block.add_op(get)
    if not lower:
        return get.value
    first = integer(lower)
    total = arith.AddiOp(get.value, first.result)
    block.add_ops([first, total])
    return total.result


def stream_of(
    value: SSAValue, place: Operation, taken: Mapping[PopOp, tuple[PushOp, int]]
) -> SSAValue | None:
    """The stream that a value in a callback is of: a word that it has taken, or the induction
    variable of a loop around ``place`` that is counted."""
    value = source_of(value)
    owner = value.owner
    if isinstance(owner, vector.ExtractOp) and owner.static_position.get_values() == (0,):
        pop = owner.operands[0].owner
        return taken[pop][0].stream if isinstance(pop, PopOp) else None
    lower = 0
    if isinstance(owner, arith.AddiOp) and (number := constant_of(owner.rhs)) is not None:
        owner, lower = source_of(owner.lhs).owner, number
    loop = place.parent_op()
    while isinstance(owner, GetOp) and not _is_set_before(owner) and isinstance(loop, ForOp):
        if counter_of(loop) == owner.variable.data and constant_of(loop.lower) == lower:
            return loop.induction
        loop = loop.parent_op()
    return None


def _is_set_before(get: GetOp) -> bool:
    before = get.prev_op
    while before is not None:
        if any(isinstance(each, SetOp) and each.variable == get.variable for each in before.walk()):
            return True
        before = before.prev_op
    return False


def is_same_number(one: SSAValue, other: SSAValue) -> bool:
    number = constant_of(one)
    return number is not None and number == constant_of(other)


def kept_variables(module: ModuleOp) -> set[str]:
    """Names of vector variables that a callback leaves other than 0."""
    names = set()
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        last = {
            each.variable.data: each
            for each in callback.walk()
            if isinstance(each, SetOp) and isinstance(each.value.type, VectorType)
        }
        names |= {name for name, each in last.items() if not is_zero(each.value)}
    return names
