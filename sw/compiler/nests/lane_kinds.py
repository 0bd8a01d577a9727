"""What values of a loop's body are in the iterations of a vector's lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue

from sw.compiler.nests.dependences.orders import allows_vectors
from sw.compiler.nests.dialects.slc import GetOp, SetOp
from sw.compiler.nests.execute.affine import affine_of
from sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY, INTEGER_BINARY

_ELEMENTWISE = (*FLOAT_BINARY, *FLOAT_UNARY, *INTEGER_BINARY, arith.SelectOp)


class Kind(Enum):
    """What a value is in the iterations of a vector's lanes.

    ``SAME``: one value; ``COUNTING``: one more in each, an index; ``APART``: a vector; ``CHAINED``:
    it depends on the iteration before, so that lanes follow each other.
    """

    SAME = 0
    COUNTING = 1
    APART = 2
    CHAINED = 3


def of_each_lane(variable: str) -> str:
    """The variable of which each lane has its own."""
    return f"{variable}_of_each_lane"


def lane_kinds(loop: scf.ForOp, apart: Collection[str]) -> dict[SSAValue, Kind] | None:
    """The kinds of all values of the body, including loops in it; ``None`` where it cannot be
    vectorised.

    ``apart``: variables of which each lane has its own. O(operations + accesses squared).
    """
    induction = loop.body.block.args[0]
    operations = list(loop.body.walk())
    changed = {each.variable.data for each in operations if isinstance(each, SetOp)}
    written = {each.memref for each in operations if isinstance(each, memref.StoreOp)}
    late: set[Operation] = set()
    kinds: dict[SSAValue, Kind] = {induction: Kind.COUNTING}

    def kind(value: SSAValue) -> Kind:
        return kinds.get(value, Kind.SAME)

    for operation in operations:
        found = [kind(each) for each in operation.operands]
        highest = max(found, key=lambda each: each.value, default=Kind.SAME)
        made: Kind
        match operation:
            case scf.YieldOp() | arith.ConstantOp() | arith.IndexCastOp():
                made = highest
            case scf.ForOp():
                if highest != Kind.SAME or operation.results:
                    return None
                continue
            case GetOp() if operation.variable.data in apart:
                made = Kind.APART
            case SetOp() if operation.variable.data in apart:
                if highest not in (Kind.SAME, Kind.APART):
                    return None
                continue
            case GetOp():
                is_chained = operation.variable.data in changed
                made = Kind.CHAINED if is_chained else Kind.SAME
            case SetOp():
                if highest == Kind.COUNTING:
                    return None
                made = Kind.CHAINED
            case memref.LoadOp() | memref.StoreOp():
                indices = operation.indices
                is_across = _is_across(indices, induction, kinds)
                is_same = all(kind(each) == Kind.SAME for each in indices)
                if isinstance(operation, memref.StoreOp):
                    if not is_across or kind(operation.value) == Kind.COUNTING:
                        return None
                    if kind(operation.value) == Kind.CHAINED:
                        late.add(operation)
                    continue
                if not is_across and (not is_same or operation.memref in written):
                    return None
                made = Kind.APART if is_across else Kind.SAME
            case _ if operation.regions:
                return None
            case _:
                made = highest
                if highest == Kind.COUNTING:
                    if not isinstance(operation, arith.AddiOp | arith.SubiOp):
                        return None
                    if affine_of(operation.results[0]).terms.get(induction) != 1:
                        return None
                elif highest != Kind.SAME and Kind.COUNTING in found:
                    return None
                if highest == Kind.APART and not isinstance(operation, _ELEMENTWISE):
                    return None
                if isinstance(operation, arith.SelectOp) and kind(operation.cond) != Kind.SAME:
                    if highest == Kind.APART:
                        return None
        kinds |= dict.fromkeys(operation.results, made)
    return kinds if allows_vectors(loop, late=late) else None


def _is_across(
    indices: Sequence[SSAValue], induction: SSAValue, kinds: dict[SSAValue, Kind]
) -> bool:
    """Whether lanes have neighbouring elements."""
    if not indices or any(kinds.get(each, Kind.SAME) != Kind.SAME for each in indices[:-1]):
        return False
    is_counting = kinds.get(indices[-1], Kind.SAME) == Kind.COUNTING
    return is_counting and affine_of(indices[-1]).terms.get(induction) == 1
