"""Gives loads at loaded indices a loop of their own: a layer's streams do not read one another."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.nests.operations import ADDRESSES, written_arrays
from gnarl.sw.compiler.nests.scf import PLACE, place_of
from gnarl.sw.compiler.nests.values import integer, source_of


def separate_loads(module: ModuleOp) -> ModuleOp:
    """Separates loads: where an iteration computes an index or, other than by the load alone, a
    bound from what it has loaded, as x[column[p]], the rest of it becomes the body of a loop of one
    iteration; all of a function does where the bounds of an outermost loop are loaded. O(loads x
    operations)."""
    module = copied(module)
    written = written_arrays(module)
    function = function_of(module)
    for loop in [each for each in function.body.block.ops if isinstance(each, scf.ForOp)]:
        loads = [*_loads(loop.lb), *_loads(loop.ub)]
        if loads and all(each.memref not in written for each in loads):
            operations = list(function.body.block.ops)[:-1]
            _wrap(operations, place_of(loop))
            break
    while (first := _first(module, written)) is not None:
        _separate(first, written)
    return module


def _first(module: ModuleOp, written: Collection[SSAValue]) -> Operation | None:
    for operation in module.walk():
        loop = operation.parent_op()
        if not isinstance(loop, scf.ForOp):
            continue
        needed: Iterable[SSAValue] = ()
        if isinstance(operation, memref.LoadOp) and operation.memref not in written:
            needed = operation.indices
        elif isinstance(operation, scf.ForOp):
            bounds = map(source_of, (operation.lb, operation.ub))
            needed = [each for each in bounds if isinstance(each.owner, ADDRESSES)]
        for value in needed:
            for load in _loads(value):
                if load.memref not in written and _varies_in(load.res, loop):
                    return operation
    return None


def _loads(value: SSAValue) -> list[memref.LoadOp]:
    """Loads from which arithmetic makes a value; none if there is anything else in it."""
    owner = source_of(value).owner
    if isinstance(owner, memref.LoadOp):
        return [owner]
    if not isinstance(owner, ADDRESSES):
        return []
    loads_of = [(operand, _loads(operand)) for operand in map(source_of, owner.operands)]
    for operand, loads in loads_of:
        if not loads and not isinstance(operand.owner, (Block, *ADDRESSES)):
            return []
    return [load for _, loads in loads_of for load in loads]


def _varies_in(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value depends on the loop's induction variable."""
    value = source_of(value)
    if isinstance(value.owner, Block):
        return value is loop.body.block.args[0]
    return any(_varies_in(each, loop) for each in value.owner.operands)


def _separate(first: Operation, written: Collection[SSAValue]) -> None:
    """What comes before ``first`` stays where it is if it is an address, or of one."""
    block = first.parent_block()
    assert block is not None
    *operations, _ = block.ops
    moved = dict.fromkeys(operations[operations.index(first) :])
    for operation in operations[: operations.index(first)]:
        is_load = isinstance(operation, memref.LoadOp) and operation.memref not in written
        is_address = is_load or isinstance(operation, ADDRESSES)
        if not is_address or any(each.owner in moved for each in operation.operands):
            moved[operation] = None
    _wrap([each for each in operations if each in moved], place_of(first))


def _wrap(operations: list[Operation], place: str) -> None:
    """Moves operations of one block into a loop of one iteration before the block's last one."""
    block = operations[0].parent_block()
    assert block is not None and block.last_op is not None
    zero, one = integer(0), integer(1)
    inner = Block(arg_types=[zero.result.type])
    loop = scf.ForOp(zero, one, one, [], Region(inner))
    loop.attributes |= {PLACE: StringAttr(place)}
    for new_op in (zero, one, loop):
        block.insert_op_before(new_op, block.last_op)
    for operation in operations:
        operation.detach()
        inner.add_op(operation)
    inner.add_op(scf.YieldOp())
