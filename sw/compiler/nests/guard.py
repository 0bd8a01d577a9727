"""Loads that a choice may leave out are done only where they are chosen."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.fiber import MergeOp
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.scf import MAY_BE_LEFT_OUT
from gnarl.sw.compiler.nests.values import constant_of

IsSafe = Callable[[Operation, memref.LoadOp], bool]
"""Whether a load that a choice may leave out can be done nevertheless."""


def guard(module: ModuleOp, is_safe: IsSafe = lambda _, load: is_in_array(load)) -> ModuleOp:
    """``a if c else b``, ``c and a``, ``c or a``: where a side has a load that is not safe, by
    default one whose indices are not known to be inside of its array, the choice becomes an
    ``scf.if`` that has all that only that side needs. O(choices x operations)."""
    module = copied(module)
    for choice in reversed(list(module.walk())):
        sides = _sides(choice, is_safe)
        if sides:
            _branch(choice, sides)
    return module


def left_out(module: ModuleOp) -> set[Operation]:
    """Loads on sides of choices that have one that the nest may leave out, and whose indices are
    not known to be inside of its array. O(choices x operations)."""
    return {
        each
        for choice in module.walk()
        for side in _sides(
            choice, lambda _, load: MAY_BE_LEFT_OUT not in load.attributes or is_in_array(load)
        )
        for each in side
        if isinstance(each, memref.LoadOp)
    }


def _sides(choice: Operation, is_safe: IsSafe) -> list[list[Operation]]:
    """What each side alone needs, if it has to be left out with that side; else nothing."""
    sides = []
    if isinstance(choice, arith.SelectOp):
        sides = [_needed(choice, each) for each in (choice.lhs, choice.rhs)]
    elif isinstance(choice, arith.AndIOp | arith.OrIOp) and choice.result.type == i1:
        sides = [_needed(choice, choice.rhs)]
    loads = [each for side in sides for each in side if isinstance(each, memref.LoadOp)]
    return [] if all(is_safe(choice, each) for each in loads) else sides


def _needed(choice: Operation, value: SSAValue) -> list[Operation]:
    """What before the choice, in its block, is there for ``value`` of it alone, in order."""
    block = choice.parent_block()
    needed: list[Operation] = []
    candidates: list[SSAValue] = [value]
    while candidates:
        owner = candidates.pop().owner
        if not isinstance(owner, Operation) or owner.parent_block() is not block:
            continue
        users = {use.operation for result in owner.results for use in result.uses}
        is_side = sum(each is value for each in choice.operands) == 1 or value.owner is not owner
        if owner in needed or owner.regions or not is_side or not _may_wait(owner, choice):
            continue
        if users <= {*needed, choice} and (choice not in users or value.owner is owner):
            needed.append(owner)
            candidates += owner.operands
    order = {each: place for place, each in enumerate(block.ops)} if block is not None else {}
    return sorted(needed, key=lambda each: order[each])


def _may_wait(operation: Operation, choice: Operation) -> bool:
    """Whether it gives the same right before the choice: nothing in between writes."""
    behind = operation.next_op
    while isinstance(operation, memref.LoadOp | GetOp) and behind is not choice:
        assert behind is not None
        if behind.regions or isinstance(behind, memref.StoreOp | SetOp):
            return False
        behind = behind.next_op
    return True


def is_in_array(load: memref.LoadOp, *, absent_is_zero: bool = False) -> bool:
    """Whether indices are known to be inside of the array, by the bounds of loops that they count.

    absent_is_zero
        whether the position of a union's fiber that lacks the coordinate is 0, and not the next
        larger coordinate's.
    """
    assert isinstance(load.memref.type, MemRefType)
    for index, size in zip(load.indices, load.memref.type.get_shape(), strict=True):
        affine = affine_of(index)
        least = most = affine.constant
        for value, factor in affine.terms.items():
            bounds = _bounds_of(value, absent_is_zero)
            if bounds is None:
                return False
            ends = [factor * each for each in bounds]
            least, most = least + min(ends), most + max(ends)
        if least < 0 or most >= size:
            return False
    return True


def _bounds_of(value: SSAValue, absent_is_zero: bool) -> tuple[int, int] | None:
    """The least and the largest number that a loop gives."""
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    if isinstance(loop, scf.ForOp):
        lower, upper = constant_of(loop.lb), constant_of(loop.ub)
        return None if lower is None or upper is None else (lower, upper - 1)
    if isinstance(loop, MergeOp) and value in loop.positions:
        coordinates = loop.coordinates[loop.positions.index(value)].type
        assert isinstance(coordinates, MemRefType)
        size = coordinates.get_shape()[0]
        return 0, size if loop.is_union and not absent_is_zero else size - 1
    return None


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
    branch = scf.IfOp(condition, [result.type], [arms[0]], [arms[1]])
    branch.attributes |= choice.attributes
    block.insert_op_before(branch, choice)
    result.replace_all_uses_with(branch.results[0])
    choice.detach()
    choice.erase()
