"""Two sums side by side, of both halves of a loop: in SLCV. Unroll and jam."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    AluStrOp,
    CallbackOp,
    ForOp,
    GetOp,
    MemStrOp,
    SetOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.lane_sums import SUMS, loops_with, of_second_half
from gnarl.sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY
from gnarl.sw.compiler.nests.values import constant_of, copy, integer
from gnarl.sw.compiler.tmu.passes.count_iterations import is_static

_PURE = (*FLOAT_BINARY, *FLOAT_UNARY, arith.ConstantOp, vector.BroadcastOp)

HALVES = "sums_of_halves"
"""The attribute of a vector loop each of whose lanes has two sums, of both halves."""


def halve_sums(module: ModuleOp, streams: int) -> ModuleOp:
    """A vector loop that does nothing but add up, in a nest of constant bounds, goes through both
    halves of its iterations at once, each with sums of its own:

        for e < n: s += f(x[e])   →   for e < n / 2: s += f(x[e]); s1 += f(x[n / 2 + e])

    Behind it, the second half's sums are added to the first one's, then the lanes to each other. So
    two vectors of each operand come one behind the other, and no instruction waits for the one
    before.

    ``streams``: of a traversal unit. Left alone: loops of an odd number of vectors, those that have
    not two streams for each of their own, and callbacks that need the induction variable, other
    variables or memory. O(operations).
    """
    module = copied(module)
    for loop in [
        each for each in module.walk() if isinstance(each, ForOp) and SUMS in each.attributes
    ]:
        if (callback := _only_callback(loop)) is not None and _fits(loop, streams):
            _halve(loop, callback)
    return module


def _fits(loop: ForOp, streams: int) -> bool:
    """Whether both halves are whole vectors, and have enough streams besides the induction
    variable's."""
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    if lower is None or upper is None or loop.vector is None or not is_static(loop):
        return False
    loads = sum(isinstance(each, MemStrOp) for each in loop.body.block.ops)
    is_whole = (upper - lower) % (2 * loop.vector.value.data) == 0
    return is_whole and 1 + 2 * loads <= streams


def _only_callback(loop: ForOp) -> CallbackOp | None:
    """The one callback that adds to sums, which the callback behind the loop adds up in turn."""
    callbacks = [each for each in loop.body.block.ops if isinstance(each, CallbackOp)]
    behind = loop.next_op
    if len(callbacks) != 1 or not isinstance(behind, CallbackOp):
        return None
    (callback,) = callbacks
    operations = list(callback.body.block.ops)
    names = [each.variable.data for each in operations if isinstance(each, GetOp | SetOp)]
    is_pure = all(isinstance(each, (*_PURE, GetOp, SetOp)) for each in operations)
    if callback.masked or loop.induction in callback.streams or not is_pure:
        return None
    return callback if all(_total(behind, name) is not None for name in names) else None


def _total(behind: CallbackOp, name: str) -> vector.ReductionOp | None:
    """What adds up the lanes of a variable."""
    for each in behind.body.block.ops:
        if isinstance(each, vector.ReductionOp) and isinstance(each.vector.owner, GetOp):
            if each.vector.owner.variable.data == name:
                return each
    return None


def _halve(loop: ForOp, callback: CallbackOp) -> None:
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    around, behind = loop.parent_block(), loop.next_op
    assert lower is not None and upper is not None and around is not None
    assert isinstance(behind, CallbackOp)
    half = (upper - lower) // 2
    middle, distance = integer(lower + half), integer(half)
    around.insert_op_before(middle, loop)
    loop.operands[1] = middle.result
    later = AluStrOp("add", loop.induction, distance.result, _element(loop.induction))
    first = loop.body.block.first_op
    assert first is not None
    loop.body.block.insert_ops_before([distance, later], first)
    seconds: dict[SSAValue, SSAValue] = {loop.induction: later.stream}
    for load in [each for each in loop.body.block.ops if isinstance(each, MemStrOp)]:
        second = copy(load, seconds)
        loop.body.block.insert_op_after(second, load)
        seconds[load.stream] = second.results[0]
    _both(callback, seconds)
    for name in dict.fromkeys(
        each.variable.data for each in callback.body.walk() if isinstance(each, SetOp)
    ):
        _add_second(behind, name)
    loop.attributes[HALVES] = UnitAttr()


def _both(callback: CallbackOp, seconds: dict[SSAValue, SSAValue]) -> None:
    """Replaces the callback by one that does each operation for both halves."""
    streams: list[SSAValue] = []
    region = body_of([])
    values: tuple[dict[SSAValue, SSAValue], ...] = ({}, {})
    for stream, argument in zip(callback.streams, callback.body.block.args, strict=True):
        for each in dict.fromkeys([stream, seconds.get(stream, stream)]):
            second_argument = region.block.insert_arg(_element(each), len(streams))
            second_argument.name_hint = argument.name_hint
            streams.append(each)
            values[0].setdefault(argument, second_argument)
            values[1][argument] = second_argument
    for operation in callback.body.block.ops:
        for number, known in enumerate(values):
            copied = copy(operation, known)
            if number and isinstance(copied, GetOp | SetOp):
                copied.properties["variable"] = StringAttr(of_second_half(copied.variable.data))
            region.block.add_op(copied)
            known |= dict(zip(operation.results, copied.results, strict=True))
    block = callback.parent_block()
    assert block is not None
    block.insert_op_before(CallbackOp(streams, region), callback)
    callback.detach()
    callback.erase()


def _add_second(behind: CallbackOp, name: str) -> None:
    """Adds the second half's sum to that of the first; and sets it to what that is set to."""
    total = _total(behind, name)
    assert total is not None
    block = behind.body.block
    second = GetOp(of_second_half(name), total.vector.type)
    both = arith.AddfOp(total.vector, second.value)
    block.insert_ops_before([second, both], total)
    total.operands[0] = both.result
    for each in [each for each in block.ops if isinstance(each, SetOp)]:
        if each.variable.data == name:
            block.insert_op_after(SetOp(of_second_half(name), each.value), each)


def halved_loops(module: ModuleOp) -> set[int]:
    """Numbers of the nest's statements that are loops with sums of halves."""
    return loops_with(HALVES, module)


def _element(stream: SSAValue) -> Attribute:
    assert isinstance(stream.type, StreamType)
    return stream.type.element
