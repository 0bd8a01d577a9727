"""One store in place of two that a condition chooses between."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.fiber import MergeOp
from gnarl.sw.compiler.nests.guard import is_in_array
from gnarl.sw.compiler.nests.operations import PURE
from gnarl.sw.compiler.nests.scf import PLACE, place_of
from gnarl.sw.compiler.nests.values import source_of


def select_stores(module: ModuleOp) -> ModuleOp:
    """An ``scf.if`` both of whose branches write the same words in the same order writes what
    ``arith.select`` chooses, where nothing else that they do can fail. O(operations squared).

    Loads at positions of merged fibers cannot, if their arrays are as long as the coordinates:
    where there is no position, nothing is read.
    """
    module = copied(module)
    # Inner ones first.
    for choice in reversed([each for each in module.walk() if isinstance(each, scf.IfOp)]):
        _convert(choice)
    return module


def _convert(choice: scf.IfOp) -> None:
    branches = _branches(choice)
    if len(branches) != 2 or choice.results:
        return
    operations = [*branches[0], *branches[1]]
    stores = [[each for each in branch if isinstance(each, memref.StoreOp)] for branch in branches]
    written = {store.memref for store in stores[0]}
    others = [each for each in operations if not isinstance(each, memref.StoreOp)]
    if len(stores[0]) != len(stores[1]) or not all(_is_harmless(each, written) for each in others):
        return
    if all(map(_Alike(choice).stores, *stores)):
        _store_chosen(choice, operations, stores)


def _branches(choice: scf.IfOp) -> list[list[Operation]]:
    return [
        [each for each in region.block.ops if not isinstance(each, scf.YieldOp)]
        for region in choice.regions
        if region.blocks
    ]


def _store_chosen(
    choice: scf.IfOp, operations: Sequence[Operation], stores: Sequence[Sequence[memref.StoreOp]]
) -> None:
    """Puts the branches' operations, and stores of what is chosen, in place of the choice."""
    block = choice.parent_block()
    assert block is not None
    for operation in operations:
        operation.detach()
        if not isinstance(operation, memref.StoreOp):
            block.insert_op_before(operation, choice)
    for chosen, other in zip(*stores, strict=True):
        value = arith.SelectOp(choice.cond, chosen.value, other.value)
        store = memref.StoreOp.get(value.result, chosen.memref, chosen.indices)
        value.attributes[PLACE] = StringAttr(place_of(choice))
        store.attributes[PLACE] = StringAttr(place_of(chosen))
        block.insert_op_before(value, choice)
        block.insert_op_before(store, choice)
        for each in (chosen, other):
            each.erase()
    choice.detach()
    choice.erase()
    _sweep(block)


def _is_harmless(operation: Operation, written: set[SSAValue]) -> bool:
    """Whether it may be done for a branch that is not chosen, before what the branches write."""
    if isinstance(operation, memref.LoadOp):
        is_read = operation.memref not in written
        at_positions = all(map(_is_position, operation.indices))
        return is_read and at_positions and is_in_array(operation, absent_is_zero=True)
    return isinstance(operation, PURE)


def _is_position(index: SSAValue) -> bool:
    value = source_of(index)
    if not isinstance(value, BlockArgument):
        return False
    loop = value.block.parent_op()
    return isinstance(loop, MergeOp) and value in loop.positions


class _Alike:
    """What is surely the same in both branches of ``choice``."""

    def __init__(self, choice: scf.IfOp) -> None:
        self._choice = choice

    def stores(self, left: memref.StoreOp, right: memref.StoreOp) -> bool:
        """Whether they are to the same word."""
        return left.memref is right.memref and self._all(left.indices, right.indices)

    def _all(self, left: Sequence[SSAValue], right: Sequence[SSAValue]) -> bool:
        return len(left) == len(right) and all(map(self._values, left, right))

    def _values(self, left: SSAValue, right: SSAValue) -> bool:
        if left is right:
            return True
        first, second = left.owner, right.owner
        if not isinstance(first, Operation) or not isinstance(second, Operation):
            return False
        if type(first) is not type(second) or first.properties != second.properties:
            return False
        if isinstance(first, memref.LoadOp):
            # Of a local, read at the same time.
            is_here = first.parent_op() is second.parent_op() is self._choice
            return is_here and first.operands[:1] == second.operands[:1] and not first.indices
        return isinstance(first, PURE) and self._all(first.operands, second.operands)


def _sweep(block: Block) -> None:
    """Drops what nothing uses any more: both branches had their own indices."""
    for operation in reversed(list(block.ops)):
        is_pure = isinstance(operation, (*PURE, memref.LoadOp))
        if is_pure and not any(result.uses for result in operation.results):
            operation.detach()
            operation.erase()
