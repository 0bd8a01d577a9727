"""What passes ask about values: constants, casts that change nothing, and copies of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, mul, sub

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

FOLDED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: add,
    arith.SubiOp: sub,
    arith.MuliOp: mul,
    # By others than 0 to 31 a nest that computes it stops: any number will do.
    arith.ShLIOp: lambda number, count: number << count % 32,
}
"""Operations whose result is known where both operands are: all of those that streams have, as no
stream is computed from two numbers."""


def constant_of(value: SSAValue) -> int | None:
    """The whole number that a value is known to be, i32 as a signed one. O(operations in it)."""
    value = source_of(value)
    if isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr):
        return value.owner.value.value.data
    owner = value.owner
    if isinstance(owner, Operation) and type(owner) in FOLDED and value.type == i32:
        left, right = map(constant_of, owner.operands)
        if left is not None and right is not None:
            folded = FOLDED[type(owner)](left, right)
            return (folded + (1 << 31)) % (1 << 32) - (1 << 31)
    return None


def source_of(value: SSAValue) -> SSAValue:
    """The value of which this one is a cast to or from ``index``."""
    while isinstance(value.owner, arith.IndexCastOp):
        value = value.owner.input
    return value


def iterations_of(loop: scf.ForOp) -> range | None:
    """What a loop counts through, if its bounds are constants."""
    lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or step is None:
        return None
    return range(lower, upper, step)


def trips(loop: scf.ForOp) -> range:
    """What a loop with constant bounds counts through."""
    found = iterations_of(loop)
    assert found is not None
    return found


def is_innermost(loop: scf.ForOp) -> bool:
    """Whether nothing in the loop has regions."""
    return not any(each.regions for each in loop.body.block.ops)


def body_like(loop: scf.ForOp) -> Block:
    """An empty body for a loop that counts as this one does."""
    counter = loop.body.block.args[0]
    body = Block(arg_types=[counter.type])
    body.args[0].name_hint = counter.name_hint
    return body


def integer(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, i32))


def counted(iterations: range, body: Block) -> tuple[list[arith.ConstantOp], scf.ForOp]:
    """A loop, and its bounds and step."""
    lower, upper, step = map(integer, (iterations.start, iterations.stop, iterations.step))
    return [lower, upper, step], scf.ForOp(lower.result, upper.result, step.result, [], body)


def is_inside(operation: Operation, around: Operation) -> bool:
    """Whether it is ``around``, or one of its regions has it."""
    parent: Operation | None = operation
    while parent is not None and parent is not around:
        parent = parent.parent_op()
    return parent is around


def right_inside(operation: Operation, around: Operation) -> Operation:
    """What right inside of ``around`` the operation, which is inside of it, is or is in."""
    while (above := operation.parent_op()) is not around:
        assert above is not None
        operation = above
    return operation


def depth_of(operation: Operation) -> int:
    """How many operations it is inside of."""
    depth, parent = 0, operation.parent_op()
    while parent is not None:
        depth, parent = depth + 1, parent.parent_op()
    return depth


def is_defined_inside(value: SSAValue, around: Operation) -> bool:
    """Whether ``around`` or something inside of it gives the value."""
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    return owner is not None and is_inside(owner, around)


def copy(operation: Operation, values: Mapping[SSAValue, SSAValue]) -> Operation:
    """A copy with its regions, in which operands of ``values`` are replaced."""
    return operation.clone(dict(values))
