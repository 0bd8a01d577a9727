"""Accesses of arrays become accesses of words: from memref and vector to flat."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects import flat
from gnarl.sw.compiler.nests.execute.affine import Affine, affine_of
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.scf import PLACE
from gnarl.sw.compiler.nests.values import integer


def linearize(module: ModuleOp) -> ModuleOp:
    """``a[i, j + 1]`` of ``n`` columns becomes the word at ``i x n + j``, with offset 1.

    Terms of values that outer loops have come first, so that their sum can leave inner loops.
    O(operations x indices).
    """
    module = copied(module)
    arrays = arrays_of(function_of(module))
    for operation in list(module.walk()):
        if (flat_op := flat_access(operation, arrays)) is None:
            continue
        block = operation.parent_block()
        assert block is not None
        if PLACE in operation.attributes:
            flat_op.attributes[PLACE] = operation.attributes[PLACE]
        block.insert_op_before(flat_op, operation)
        for old, new in zip(operation.results, flat_op.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        operation.detach()
        operation.erase()
    return module


def flat_access(operation: Operation, arrays: dict[SSAValue, str]) -> Operation | None:
    """What an access becomes, of one of ``arrays`` by name, with what its address is computed by
    before it; ``None`` of other operations. O(operations of its indices)."""
    match operation:
        case memref.LoadOp(memref=array, res=result):
            at = _address(operation, array, operation.indices)
            return flat.LoadOp(result.type, arrays[array], at[1], at[0])
        case memref.StoreOp(memref=array, value=value):
            at = _address(operation, array, operation.indices)
            return flat.StoreOp(value, arrays[array], at[1], at[0])
        case vector.LoadOp(base=array, result=result):
            at = _address(operation, array, operation.indices)
            return flat.LoadOp(result.type, arrays[array], at[1], at[0])
        case vector.StoreOp(base=array, vector=value):
            at = _address(operation, array, operation.indices)
            return flat.StoreOp(value, arrays[array], at[1], at[0])
        case vector.MaskedLoadOp(base=array, mask=mask, result=result):
            at = _address(operation, array, operation.indices)
            return flat.LoadOp(result.type, arrays[array], at[1], at[0], mask)
        case vector.MaskedStoreOp(base=array, mask=mask, value_to_store=value):
            at = _address(operation, array, operation.indices)
            return flat.StoreOp(value, arrays[array], at[1], at[0], mask)
        case flat.FetchOp(array_value=array):
            at = _address(operation, array, operation.indices)
            return flat.PrefetchOp(arrays[array], at[1], at[0])
    return None


def _address(
    operation: Operation, array: SSAValue, indices: Sequence[SSAValue]
) -> tuple[SSAValue | None, int]:
    assert isinstance(array.type, MemRefType)
    total, stride = Affine(), 1
    for index, size in reversed(list(zip(indices, array.type.shape.data, strict=True))):
        total.add(affine_of(index), stride)
        stride *= size.data
    block = operation.parent_block()
    assert block is not None
    variable: SSAValue | None = None
    for value, factor in sorted(total.terms.items(), key=lambda term: _depth(term[0])):
        scaled = _scaled(value, factor, block, operation)
        if variable is None:
            variable = scaled
            continue
        plus = arith.AddiOp(variable, scaled)
        block.insert_op_before(plus, operation)
        variable = plus.result
    return variable, total.constant


def _scaled(value: SSAValue, factor: int, block: Block, before: Operation) -> SSAValue:
    if factor == 1:
        return value
    shift = factor.bit_length() - 1
    is_power = factor == 1 << shift
    by = integer(shift if is_power else factor)
    made = (arith.ShLIOp if is_power else arith.MuliOp)(value, by.result)
    block.insert_op_before(by, before)
    block.insert_op_before(made, before)
    return made.result


def _depth(value: SSAValue) -> int:
    """Regions around the value."""
    owner = value.owner
    operation = owner.parent_op()
    depth = 0
    while operation is not None:
        depth += 1
        operation = operation.parent_op()
    return depth
