"""Loads that a choice may leave out are done only where they are chosen."""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue

from sw.compiler.nests.dialects.slc import GetOp, SetOp
from sw.compiler.nests.execute.affine import affine_of
from sw.compiler.nests.values import constant_of


def guard(module: ModuleOp) -> ModuleOp:
    """``a if c else b``, ``c and a``, ``c or a``: where a side loads an element whose indices are
    not known to be inside of its array, the choice becomes an ``scf.if`` that has all that only
    that side needs. O(choices x operations)."""
    module = module.clone()
    for choice in reversed(list(module.walk())):
        if not isinstance(choice, arith.SelectOp | arith.AndIOp | arith.OrIOp):
            continue
        if isinstance(choice, arith.SelectOp):
            sides = [_needed(choice, each) for each in (choice.lhs, choice.rhs)]
        elif choice.result.type == i1:
            sides = [_needed(choice, choice.rhs)]
        else:
            continue
        if any(_may_be_outside(each) for side in sides for each in side):
            _branch(choice, sides)
    return module


def _needed(choice: Operation, value: SSAValue) -> list[Operation]:
    """What before the choice, in its block, is there for ``value`` of it alone, in order."""
    block = choice.parent_block()
    found: list[Operation] = []
    candidates: list[SSAValue] = [value]
    while candidates:
        owner = candidates.pop().owner
        if not isinstance(owner, Operation) or owner.parent_block() is not block:
            continue
        users = {use.operation for result in owner.results for use in result.uses}
        is_side = sum(each is value for each in choice.operands) == 1 or value.owner is not owner
        if owner in found or owner.regions or not is_side or not _may_wait(owner, choice):
            continue
        if users <= {*found, choice} and (choice not in users or value.owner is owner):
            found.append(owner)
            candidates += owner.operands
    order = {each: place for place, each in enumerate(block.ops)} if block is not None else {}
    return sorted(found, key=lambda each: order[each])


def _may_wait(operation: Operation, choice: Operation) -> bool:
    """Whether it gives the same right before the choice: nothing in between writes."""
    behind = operation.next_op
    while isinstance(operation, memref.LoadOp | GetOp) and behind is not choice:
        assert behind is not None
        if behind.regions or isinstance(behind, memref.StoreOp | SetOp):
            return False
        behind = behind.next_op
    return True


def _may_be_outside(operation: Operation) -> bool:
    if not isinstance(operation, memref.LoadOp):
        return False
    assert isinstance(operation.memref.type, MemRefType)
    for index, size in zip(operation.indices, operation.memref.type.get_shape(), strict=True):
        affine = affine_of(index)
        least = most = affine.constant
        for value, factor in affine.terms.items():
            loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
            lower = constant_of(loop.lb) if isinstance(loop, scf.ForOp) else None
            upper = constant_of(loop.ub) if isinstance(loop, scf.ForOp) else None
            if lower is None or upper is None:
                return True
            ends = (factor * lower, factor * (upper - 1))
            least, most = least + min(ends), most + max(ends)
        if least < 0 or most >= size:
            return True
    return False


def _branch(choice: Operation, sides: list[list[Operation]]) -> None:
    block = choice.parent_block()
    assert block is not None
    condition = choice.operands[0]
    arms = []
    for side, value in zip(sides, choice.operands[1:], strict=True):
        arm = Block()
        for each in side:
            each.detach()
            arm.add_op(each)
        arm.add_op(scf.YieldOp(value))
        arms.append(arm)
    if not isinstance(choice, arith.SelectOp):  # the first one's value decides, or it is the second
        number = arith.ConstantOp(IntegerAttr(int(isinstance(choice, arith.OrIOp)), i1))
        arms.append(Block([number, scf.YieldOp(number.result)]))
        if isinstance(choice, arith.OrIOp):
            arms.reverse()
    result = choice.results[0]
    made = scf.IfOp(condition, [result.type], [arms[0]], [arms[1]])
    made.attributes |= choice.attributes
    block.insert_op_before(made, choice)
    result.replace_all_uses_with(made.results[0])
    choice.detach()
    choice.erase()
