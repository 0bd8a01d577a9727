"""Words of arrays that operations access, and whether they are the same, or apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from sw.compiler.nests.dependences.accesses import Access, access_of, distances_in, may_meet
from sw.compiler.nests.dependences.linear import MOST
from sw.compiler.nests.execute.affine import Affine, affine_of


@dataclass
class Place:
    """Words of an array, and what accesses them."""

    array: SSAValue
    indices: list[Affine]
    mask: SSAValue | None
    width: int
    access: Access
    accesses: list[Operation] = field(default_factory=list)

    def is_same(self, other: Place) -> bool:
        return self.indices == other.indices and (self.mask, self.width) == (
            other.mask,
            other.width,
        )

    def is_apart(self, other: Place) -> bool:
        """Whether they are sure to have no word in common, where values are the same."""
        return not may_meet(self.access, other.access)


def place_of(access: Operation) -> Place:
    """Of one of ``LOADS`` or ``STORES``."""
    array, indices, mask, width = parts(access)
    return Place(array, [affine_of(each) for each in indices], mask, width, access_of(access))


def parts(
    operation: Operation,
) -> tuple[SSAValue, Sequence[SSAValue], SSAValue | None, int]:
    """The array, indices, mask and words of an access."""
    match operation:
        case memref.LoadOp() | memref.StoreOp():
            return operation.memref, operation.indices, None, 1
        case vector.LoadOp():
            return operation.base, operation.indices, None, _width(operation.result)
        case vector.StoreOp():
            return operation.base, operation.indices, None, _width(operation.vector)
        case vector.MaskedLoadOp():
            result = operation.result
            return operation.base, operation.indices, operation.mask, _width(result)
    assert isinstance(operation, vector.MaskedStoreOp)
    value = operation.value_to_store
    return operation.base, operation.indices, operation.mask, _width(value)


def _width(value: SSAValue) -> int:
    assert isinstance(value.type, VectorType)
    return int(value.type.get_shape()[0])


def touches_others(loop: scf.ForOp, places: Sequence[Place]) -> bool:
    """Whether each iteration of a loop has words of its own."""
    pairs = combinations_with_replacement(places, 2)
    gone = [distances_in(loop, one.access, other.access) for one, other in pairs]
    return not any(each.meet(1, MOST) or each.meet(-MOST, -1) for each in gone)
