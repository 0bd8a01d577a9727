"""Words of arrays that operations access, and whether they are the same, or apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from sw.compiler.nests.execute.affine import Affine, affine_of
from sw.compiler.nests.values import constant_of, iterations_of


@dataclass
class Place:
    """Words of an array, and what accesses them."""

    array: SSAValue
    indices: list[Affine]
    mask: SSAValue | None
    width: int
    accesses: list[Operation] = field(default_factory=list)

    def is_same(self, other: Place) -> bool:
        return self.indices == other.indices and (self.mask, self.width) == (
            other.mask,
            other.width,
        )

    def is_apart(self, other: Place) -> bool:
        """Whether they are sure to have no word in common."""
        for place, (one, two) in enumerate(zip(self.indices, other.indices, strict=True)):
            if one.terms != two.terms:
                continue
            off = two.constant - one.constant
            is_last = place == len(self.indices) - 1
            if off >= (self.width if is_last else 1) or -off >= (other.width if is_last else 1):
                return True
        return False


def place_of(access: Operation) -> Place:
    """Of one of ``LOADS`` or ``STORES``."""
    array, indices, mask, width = parts(access)
    return Place(array, [affine_of(each) for each in indices], mask, width)


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


def are_disjoint(one: Place, other: Place) -> bool:
    """Whether they have no word in common in any iterations of the loops around."""
    for dimension, indices in enumerate(zip(one.indices, other.indices, strict=True)):
        left, right = map(_span, indices)
        is_last = dimension == len(one.indices) - 1
        widths = (one.width, other.width) if is_last else (1, 1)
        if left is None or right is None:
            continue
        if left[1] + widths[0] <= right[0] or right[1] + widths[1] <= left[0]:
            return True
    return False


def _span(index: Affine) -> tuple[int, int] | None:
    """The least and the most that an index is."""
    least = most = index.constant
    for value, factor in index.terms.items():
        loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
        if not isinstance(loop, scf.ForOp):
            return None
        iterations = iterations_of(loop)
        if not iterations:
            return None
        ends = [factor * iterations[0], factor * iterations[-1]]
        least, most = least + min(ends), most + max(ends)
    return least, most


def touches_others(loop: scf.ForOp, places: Sequence[Place]) -> bool:
    """Whether each iteration of a loop has words of its own: an index counts them, and differs
    among places by less than the loop's step."""
    counter, step = loop.body.block.args[0], constant_of(loop.step)
    for dimension in range(len(places[0].indices)):
        indices = [each.indices[dimension] for each in places]
        is_last = dimension == len(places[0].indices) - 1
        ends = [
            index.constant + (each.width if is_last else 1)
            for index, each in zip(indices, places, strict=True)
        ]
        is_counted = all(index.terms == {counter: 1} for index in indices)
        if is_counted and step and max(ends) - min(each.constant for each in indices) <= step:
            return True
    return False
