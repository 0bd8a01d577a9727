"""Numbers that indices add to streams: they go into bases of words, not into streams."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import AluStrOp, ForOp, MemStrOp, StoreStrOp
from gnarl.sw.compiler.nests.values import constant_of


def shape_of(array: SSAValue) -> list[int]:
    """Elements of each dimension."""
    assert isinstance(array.type, MemRefType)
    return [size.data for size in array.type.shape]


def part_from(first: int, words: int) -> tuple[int, int]:
    """The first of an array's words from ``first`` on, and how many they are: none where it has
    ended before, as one without elements has, whatever its indices add."""
    first = min(first, words)
    return first, words - first


def offset_of(index: SSAValue) -> tuple[SSAValue | None, int]:
    """An index as a stream, or none, plus a constant of at least 0."""
    if (number := constant_of(index)) is not None:
        return None, number
    owner = index.owner
    if isinstance(owner, AluStrOp) and owner.operation.data == "add":
        for stream, other in ((owner.left, owner.right), (owner.right, owner.left)):
            number = constant_of(other)
            if number is None or constant_of(stream) is not None:
                continue
            if number >= 0 and not _may_be_negative(stream):
                return stream, number
    return index, 0


def _may_be_negative(stream: SSAValue) -> bool:
    """Whether it is known to begin below 0."""
    loop = stream.owner.parent_op() if isinstance(stream.owner, Block) else None
    lower = constant_of(loop.lower) if isinstance(loop, ForOp) else None
    return lower is not None and lower < 0


def is_needed(operation: AluStrOp) -> bool:
    """Whether anything but an index that has it as an offset uses it."""
    for use in operation.stream.uses:
        is_index = isinstance(use.operation, MemStrOp) or (
            isinstance(use.operation, StoreStrOp) and use.index > 0
        )
        if not is_index or offset_of(operation.stream)[0] is operation.stream:
            return True
    return False
