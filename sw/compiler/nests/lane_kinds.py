"""What values of a loop's body are in the iterations of a vector's lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.dependences.orders import allows_vectors
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY, INTEGER_BINARY

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
    lanes = _Lanes(loop, apart)
    if not all(map(lanes.can_do, loop.body.walk())):
        return None
    return lanes.kinds if allows_vectors(loop, late=lanes.late) else None


class _Lanes:
    """What has been found of the body's values, operation by operation.

    ``late``: stores that wait for the iterations before.
    """

    def __init__(self, loop: scf.ForOp, apart: Collection[str]) -> None:
        operations = list(loop.body.walk())
        self._induction = loop.body.block.args[0]
        self._apart = apart
        self._changed = {each.variable.data for each in operations if isinstance(each, SetOp)}
        self._written = {each.memref for each in operations if isinstance(each, memref.StoreOp)}
        self.late: set[Operation] = set()
        self.kinds: dict[SSAValue, Kind] = {self._induction: Kind.COUNTING}

    def can_do(self, operation: Operation) -> bool:
        """Whether a vector's lanes can do the operation, whose values get their kinds."""
        match operation:
            case scf.ForOp():
                return self._highest(operation) == Kind.SAME and not operation.results
            case SetOp():
                return self._can_set(operation)
            case memref.StoreOp():
                return self._can_store(operation)
        made = self._made(operation)
        if made is not None:
            self.kinds |= dict.fromkeys(operation.results, made)
        return made is not None

    def _kind(self, value: SSAValue) -> Kind:
        return self.kinds.get(value, Kind.SAME)

    def _highest(self, operation: Operation) -> Kind:
        kinds = map(self._kind, operation.operands)
        return max(kinds, key=lambda each: each.value, default=Kind.SAME)

    def _can_set(self, operation: SetOp) -> bool:
        highest = self._highest(operation)
        if operation.variable.data in self._apart:
            return highest in (Kind.SAME, Kind.APART)
        return highest != Kind.COUNTING

    def _can_store(self, operation: memref.StoreOp) -> bool:
        stored = self._kind(operation.value)
        if stored == Kind.CHAINED:
            self.late.add(operation)
        return stored != Kind.COUNTING and self._is_across(operation.indices)

    def _made(self, operation: Operation) -> Kind | None:
        """What an operation without effects makes of its operands."""
        match operation:
            case scf.YieldOp() | arith.ConstantOp() | arith.IndexCastOp():
                return self._highest(operation)
            case GetOp() if operation.variable.data in self._apart:
                return Kind.APART
            case GetOp():
                is_chained = operation.variable.data in self._changed
                return Kind.CHAINED if is_chained else Kind.SAME
            case memref.LoadOp():
                return self._loaded(operation)
            case _ if operation.regions:
                return None
        return self._computed(operation)

    def _loaded(self, operation: memref.LoadOp) -> Kind | None:
        if self._is_across(operation.indices):
            return Kind.APART
        is_same = all(self._kind(each) == Kind.SAME for each in operation.indices)
        return Kind.SAME if is_same and operation.memref not in self._written else None

    def _computed(self, operation: Operation) -> Kind | None:
        highest = self._highest(operation)
        if highest == Kind.COUNTING:
            is_shift = isinstance(operation, arith.AddiOp | arith.SubiOp)
            return highest if is_shift and self._counts_by_one(operation.results[0]) else None
        counts = any(self._kind(each) == Kind.COUNTING for each in operation.operands)
        if counts or (highest == Kind.APART and not self._is_elementwise(operation)):
            return None
        return highest

    def _is_elementwise(self, operation: Operation) -> bool:
        if isinstance(operation, arith.SelectOp) and self._kind(operation.cond) != Kind.SAME:
            return False
        return isinstance(operation, _ELEMENTWISE)

    def _counts_by_one(self, value: SSAValue) -> bool:
        return affine_of(value).terms.get(self._induction) == 1

    def _is_across(self, indices: Sequence[SSAValue]) -> bool:
        """Whether lanes have neighbouring elements."""
        if not indices or any(self._kind(each) != Kind.SAME for each in indices[:-1]):
            return False
        return self._kind(indices[-1]) == Kind.COUNTING and self._counts_by_one(indices[-1])
