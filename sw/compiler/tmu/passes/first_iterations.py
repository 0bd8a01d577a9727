"""Whether an iteration is a loop's first one, as a variable of the execute unit."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import BlockArgument, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, ForOp, GetOp, SetOp, body_of
from gnarl.sw.compiler.nests.values import integer


def first_iterations(module: ModuleOp) -> ModuleOp:
    """A callback of an inner loop that compares the induction variable of the loop around with its
    lower bound, for choices, asks a variable instead: neither goes through the queue.

    The variable is 0 at first, 1 behind an iteration's inner loop, and 0 again behind the loop.
    O(operations).
    """
    module = copied(module)
    variables: dict[ForOp, str] = {}
    for test in [each for each in module.walk() if isinstance(each, arith.CmpiOp)]:
        callback = test.parent_op()
        inner = callback.parent_op() if isinstance(callback, CallbackOp) else None
        loop = inner.parent_op() if isinstance(inner, ForOp) else None
        if not isinstance(callback, CallbackOp) or not isinstance(loop, ForOp):
            continue
        streams = {_stream_of(each, callback) for each in test.operands}
        if _chooses_equal(test) and streams == {loop.induction, loop.lower}:
            _replace(test, variables.setdefault(loop, f"{len(variables)}_begun"))
            callback.drop_unused()
    for loop, name in variables.items():
        loop.body.block.add_op(_set(name, 1))
        block = loop.parent_block()
        assert block is not None
        block.insert_op_after(_set(name, 0), loop)
    return module


def _chooses_equal(test: arith.CmpiOp) -> bool:
    """Whether it is whether two are equal, for choices alone."""
    return test.predicate.value.data == 0 and all(
        isinstance(use.operation, arith.SelectOp) and use.index == 0 for use in test.result.uses
    )


def _stream_of(value: SSAValue, callback: CallbackOp) -> SSAValue | None:
    if isinstance(value, BlockArgument) and value.block is callback.body.block:
        return callback.streams[value.index] if value.index < len(callback.streams) else None
    return None


def _replace(test: arith.CmpiOp, name: str) -> None:
    """Choices are by the contrary: other iterations are more frequent."""
    block = test.parent_block()
    assert block is not None
    get, zero = GetOp(name, i32), integer(0)
    begun = arith.CmpiOp(get.value, zero.result, "ne")
    block.insert_ops_before([get, zero, begun], test)
    for use in list(test.result.uses):
        choice = use.operation
        choice.operands[0] = begun.result
        choice.operands[1], choice.operands[2] = choice.operands[2], choice.operands[1]
    test.detach()
    test.erase()


def _set(name: str, value: int) -> CallbackOp:
    region = body_of([])
    number = integer(value)
    region.block.add_ops([number, SetOp(name, number.result)])
    return CallbackOp([], region)
