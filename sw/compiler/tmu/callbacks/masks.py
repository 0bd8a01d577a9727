"""Masks of the first lanes of a vector."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, i1
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import BlendOp
from gnarl.sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY
from gnarl.sw.compiler.nests.values import constant_of

_BY_LANES = (*FLOAT_BINARY, *FLOAT_UNARY, arith.SelectOp, BlendOp)


def lanes_of(mask: SSAValue) -> int | None:
    """How many lanes ``vector.create_mask`` of a constant has, from the first on."""
    if isinstance(mask.owner, vector.CreateMaskOp):
        (count,) = mask.owner.mask_dim_sizes
        count_of_lanes = constant_of(count)
        return None if count_of_lanes is None else max(0, min(count_of_lanes, _size(mask)))
    return None


def first_lanes(block: Block, lanes: int, used: int) -> SSAValue:
    """Adds at the end of a block the mask of ``used`` of a vector's ``lanes``."""
    count = arith.ConstantOp(IntegerAttr(used, IndexType()))
    mask = vector.CreateMaskOp.build(
        operands=[[count.result]], result_types=[VectorType(i1, [lanes])]
    )
    block.add_ops([count, mask])
    return mask.results[0]


def drop_whole_masks(root: Operation) -> None:
    """Accesses and blends under a mask of all lanes do without, in place. O(operations)."""
    for operation in list(root.walk()):
        unmasked: Operation | None = None
        match operation:
            case vector.MaskedLoadOp(base=base, indices=indices, mask=mask) if _is_whole(mask):
                unmasked = vector.LoadOp.build(
                    operands=[base, list(indices)], result_types=[operation.result.type]
                )
            case vector.MaskedStoreOp(base=base, indices=indices, mask=mask) if _is_whole(mask):
                unmasked = vector.StoreOp(operation.value_to_store, base, list(indices))
            case BlendOp(mask=mask) if _is_whole(mask):
                operation.result.replace_all_uses_with(operation.value)
            case _:
                continue
        block = operation.parent_block()
        assert block is not None
        if unmasked is not None:
            unmasked.attributes |= operation.attributes
            block.insert_op_before(unmasked, operation)
            for old, new in zip(operation.results, unmasked.results, strict=True):
                old.replace_all_uses_with(new)
        operation.detach()
        operation.erase()


def only_lanes_matter(value: SSAValue, lanes: int) -> bool:
    """Whether nothing but the first ``lanes`` of a vector in a block decides on anything: what is
    computed of it is so lane by lane there, and stored under masks of no more. O(uses)."""
    seen, left = {value}, [value]
    while left:
        for use in left.pop().uses:
            user = use.operation
            if user.parent_block() is not _block_of(value):
                return False
            if isinstance(user, vector.MaskedStoreOp) and use.index == len(user.operands) - 1:
                used = lanes_of(user.mask)
                if used is None or used > lanes:
                    return False
            elif isinstance(user, _BY_LANES):
                left += [each for each in user.results if each not in seen]
                seen.update(user.results)
            else:
                return False
    return True


def _block_of(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.parent_block()


def _is_whole(mask: SSAValue) -> bool:
    return lanes_of(mask) == _size(mask)


def _size(mask: SSAValue) -> int:
    assert isinstance(mask.type, VectorType)
    (lanes,) = mask.type.get_shape()
    return lanes
