"""Takes the first iteration out of loops that treat it otherwise."""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.operations import written_arrays
from gnarl.sw.compiler.nests.values import source_of


def peel(module: ModuleOp) -> ModuleOp:
    """A loop whose body asks whether its induction variable is the lower bound becomes an iteration
    where it is, if there is one, and a loop of those where it is not. O(operations)."""
    module = copied(module)
    written = written_arrays(module)
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        asks = [
            each
            for each in loop.body.walk()
            if isinstance(each, arith.CmpiOp) and _asks(each, loop, written)
        ]
        if asks:
            _peel(loop, asks)
    return module


def _asks(test: arith.CmpiOp, loop: scf.ForOp, written: set[SSAValue]) -> bool:
    sides = [source_of(each) for each in test.operands]
    induction = loop.body.block.args[0]
    if test.predicate.value.data != 0 or induction not in sides:
        return False
    other = sides[1] if sides[0] is induction else sides[0]
    return _is_same(other, source_of(loop.lb), written)


def _is_same(one: SSAValue, other: SSAValue, written: set[SSAValue]) -> bool:
    """Whether two values are one, or loads of one word that nothing writes."""
    if one is other:
        return True
    left, right = one.owner, other.owner
    if not isinstance(left, memref.LoadOp) or not isinstance(right, memref.LoadOp):
        return False
    if left.memref is not right.memref or left.memref in written:
        return False
    places = [[affine_of(index) for index in each.indices] for each in (left, right)]
    return places[0] == places[1]


def _peel(loop: scf.ForOp, asks: list[arith.CmpiOp]) -> None:
    block = loop.parent_block()
    assert block is not None
    first = Block()
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: loop.lb}
    for operation in loop.body.block.ops:
        if not isinstance(operation, scf.YieldOp):
            first.add_op(operation.clone(values))
    for test in asks:
        _decide(values[test.result], True)
        _decide(test.result, False)
    behind = arith.AddiOp(loop.lb, loop.step)
    runs = arith.CmpiOp(loop.lb, loop.ub, "slt")
    chosen = scf.IfOp(runs.result, [], [first])
    block.insert_ops_before([runs, chosen], loop)
    loop.detach()
    loop.operands[0] = behind.result
    first.add_ops([behind, loop, scf.YieldOp()])


def _decide(answer: SSAValue, is_true: bool) -> None:
    """The test gives this; choices by it are made."""
    test = answer.owner
    assert isinstance(test, Operation)
    for use in list(answer.uses):
        choice = use.operation
        if isinstance(choice, arith.SelectOp) and use.index == 0:
            choice.result.replace_all_uses_with(choice.lhs if is_true else choice.rhs)
            choice.detach()
            choice.erase()
    if answer.uses.get_length():
        block = test.parent_block()
        assert block is not None
        decided = arith.ConstantOp(IntegerAttr(int(is_true), i1))
        block.insert_op_before(decided, test)
        answer.replace_all_uses_with(decided.result)
    test.detach()
    test.erase()
