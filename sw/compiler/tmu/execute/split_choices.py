"""One branch for many choices of vectors."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.values import copy
from gnarl.sw.compiler.tmu.dialects.dlc import CaseOp

FEWEST = 2
"""Choices that are worth a branch."""


def share_reads(module: ModuleOp) -> ModuleOp:
    """A case reads a variable once until it sets it, or something with a body comes.
    O(operations)."""
    module = copied(module)
    for case in [each for each in module.walk() if isinstance(each, CaseOp)]:
        _share_reads(case.body.block)
    return module


def split_choices(module: ModuleOp) -> ModuleOp:
    """Splits a case whose choices of vectors are all by one scalar: what follows that is done in
    two ways, neither of which chooses. O(operations)."""
    module = copied(module)
    for case in [each for each in module.walk() if isinstance(each, CaseOp)]:
        block = case.body.block
        choices = [each for each in block.ops if _is_choice(each)]
        conditions = {each.operands[0] for each in choices}
        if len(choices) >= FEWEST and len(conditions) == 1:
            _split(block, conditions.pop())
    return module


def _share_reads(block: Block) -> None:
    known: dict[str, SSAValue] = {}
    for operation in list(block.ops):
        if operation.regions:
            known = {}
        elif isinstance(operation, SetOp):
            known.pop(operation.variable.data, None)
        elif isinstance(operation, GetOp):
            same = known.setdefault(operation.variable.data, operation.value)
            if same is not operation.value:
                operation.value.replace_all_uses_with(same)
                operation.detach()
                operation.erase()


def _is_choice(operation: Operation) -> bool:
    return isinstance(operation, arith.SelectOp) and isinstance(operation.result.type, VectorType)


def _split(block: Block, condition: SSAValue) -> None:
    test = condition.owner
    if not isinstance(test, Operation) or test.parent_block() is not block:
        return
    _move_up(block, test)
    operations = list(block.ops)
    left = operations[operations.index(test) + 1 :]
    arms = (_arm(left, condition, 1), _arm(left, condition, 2))
    for each in reversed(left):
        each.detach()
        each.erase()
    block.add_op(scf.IfOp(condition, [], arms[0], arms[1]))


def _move_up(block: Block, made: Operation) -> None:
    """Moves an operation to the front, if it needs constants and variables alone that nothing has
    set before."""
    needed = [each.owner for each in made.operands]
    before = list(block.ops)[: list(block.ops).index(made)]
    changed = {each.variable.data for each in before if isinstance(each, SetOp)}
    for each in needed:
        is_variable = isinstance(each, GetOp) and each.variable.data not in changed
        if not is_variable and not isinstance(each, arith.ConstantOp):
            return
    first = before[0] if before else made
    for each in dict.fromkeys([*needed, made]):
        assert isinstance(each, Operation)
        if each is first:
            first = each.next_op or each
        elif each.parent_block() is block:
            each.detach()
            block.insert_op_before(each, first)


def _arm(operations: list[Operation], condition: SSAValue, side: int) -> Region:
    body = Block()
    values: dict[SSAValue, SSAValue] = {}
    for each in operations:
        if _is_choice(each) and each.operands[0] is condition:
            values[each.results[0]] = values.get(each.operands[side], each.operands[side])
            continue
        copied = copy(each, values)
        body.add_op(copied)
        values |= dict(zip(each.results, copied.results, strict=True))
    body.add_op(scf.YieldOp())
    return Region(body)
