"""What a code generator asks about the uses of values."""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from sw.compiler.tmu.dialects.slc import GetOp, SetOp
from sw.compiler.tmu.values import source_of

_LATER = (arith.AddiOp, arith.SubiOp, arith.IndexCastOp, vector.BroadcastOp)


def is_next(result: SSAValue, operation: Operation) -> bool:
    """Whether ``operation`` comes right behind the one that has ``result``."""
    assert isinstance(result.owner, Operation)
    behind = result.owner.next_op
    while isinstance(behind, arith.ConstantOp | arith.IndexCastOp):
        behind = behind.next_op
    return behind is operation


def outlives(get: GetOp) -> bool:
    """Whether a variable's value is used after the variable has got another."""
    name, is_behind = get.variable.data, False
    values = {get.value}
    operation = get.next_op
    while operation is not None:
        sets, uses = False, False
        for each in operation.walk():
            sets |= isinstance(each, SetOp) and each.variable.data == name
            if not values.isdisjoint(each.operands):
                uses = True
                if isinstance(each, _LATER):
                    values |= set(each.results)
        # Of what loops, an iteration sets what the next one uses.
        if uses and (is_behind or (sets and operation.regions)):
            return True
        is_behind |= sets
        operation = operation.next_op
    return False


def values_from_outside(operation: Operation) -> list[SSAValue]:
    """Values from outside of an operation that its regions use, once for each use."""
    inside: set[SSAValue] = set()
    for each in operation.walk():
        inside |= set(each.results)
        for region in each.regions:
            for block in region.blocks:
                inside |= set(block.args)
    return [
        value
        for each in operation.walk()
        if each is not operation
        for value in each.operands
        if value not in inside
    ]


def are_apart(loop: scf.ForOp) -> bool:
    """Whether iterations use different words of the arrays that they write."""
    induction = loop.body.block.args[0]
    places: dict[SSAValue, set[tuple[SSAValue, ...]]] = {}
    written = set()
    for operation in loop.body.block.ops:
        array = next(
            (each for each in operation.operands if isinstance(each.type, MemRefType)), None
        )
        if array is None:
            if isinstance(operation, GetOp | SetOp):
                return False
            continue
        assert isinstance(array.type, MemRefType)
        first = list(operation.operands).index(array) + 1
        indices = operation.operands[first : first + len(array.type.shape)]
        places.setdefault(array, set()).add(tuple(map(source_of, indices)))
        if isinstance(operation, memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp):
            written.add(array)
    return all(
        len(places[array]) == 1 and next(iter(places[array]))[-1] is induction for array in written
    )
