"""Innermost loops in steps of a vector: from scf and memref to scf, memref and vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import BlendOp, GetOp, SetOp
from gnarl.sw.compiler.nests.lane_kinds import Kind, lane_kinds, of_each_lane
from gnarl.sw.compiler.nests.lane_sums import SUMS, LaneSum, lane_sums, totals
from gnarl.sw.compiler.nests.scf import PLACE, STATEMENT
from gnarl.sw.compiler.nests.values import (
    body_like,
    copy,
    integer,
    is_innermost,
    iterations_of,
    source_of,
)


def vectorize_loops(module: ModuleOp, lanes: int, reassociate: bool = False) -> ModuleOp:
    """Innermost loops with constant bounds step over ``lanes`` iterations, where these load and
    store neighbours, and none needs what another has stored; the rest of an iteration count is a
    vector with a mask, behind the loop.

    With ``reassociate``, each lane has its own sum of what a loop adds up; see
    ``gnarl.sw.workloads.loops.ir.lane_sums``. What else needs a variable that the loop sets is done
    for one lane after the other, in the source's order. Others stay. O(operations).
    """
    module = copied(module)
    copies = Counter(each.attributes.get(STATEMENT) for each in module.walk())
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        bounds = bounds_of(loop)
        if bounds is None or not is_innermost(loop):
            continue
        lower, upper = bounds
        # Copies of a loop must not differ in their order.
        is_alone = STATEMENT in loop.attributes and copies[loop.attributes[STATEMENT]] == 1
        has_sums = reassociate and is_alone and upper - lower >= lanes
        sums = lane_sums(loop.body) if has_sums else {}
        kinds = None if has_vectors(loop) else lane_kinds(loop, sums)
        if kinds is not None and upper - lower > 1:
            replace_by_vectors(loop, kinds, lanes, sums)
    return module


def bounds_of(loop: scf.ForOp) -> tuple[int, int] | None:
    """The bounds of a loop in steps of 1, if they are constants."""
    bounds = iterations_of(loop)
    return None if bounds is None or bounds.step != 1 else (bounds.start, bounds.stop)


def has_vectors(loop: scf.ForOp) -> bool:
    """Whether something in the loop is one."""
    results = [result for each in loop.body.walk() for result in each.results]
    return any(isinstance(each.type, VectorType) for each in results)


def replace_by_vectors(
    loop: scf.ForOp,
    kinds: Mapping[SSAValue, Kind],
    lanes: int,
    sums: Mapping[str, LaneSum],
    apart: Collection[str] = (),
) -> None:
    """The loop steps over vectors, as ``kinds`` says; the rest of its iterations stands behind it.

    ``sums``: variables of which each lane has a sum, added behind the loop; ``apart``: variables of
    which each lane has its own.
    """
    block, bounds = loop.parent_block(), bounds_of(loop)
    assert block is not None and bounds is not None
    lower, upper = bounds
    whole = lower + (upper - lower) // lanes * lanes

    def insert(operation: Operation) -> Operation:
        block.insert_op_before(operation, loop)
        return operation

    if whole > lower:
        first, last, step = (insert(integer(each)) for each in (lower, whole, lanes))
        body = body_like(loop)
        _Body(loop, kinds, body.args[0], lanes, lanes, sums, apart, body.add_op).run()
        body.add_op(scf.YieldOp())
        vector_loop = scf.ForOp(first.results[0], last.results[0], step.results[0], [], body)
        vector_loop.attributes |= loop.attributes
        if sums:
            vector_loop.attributes[SUMS] = UnitAttr()
        insert(vector_loop)
    if upper > whole:
        induction = insert(integer(whole)).results[0]
        _Body(loop, kinds, induction, lanes, upper - whole, sums, apart, insert).run()
    if sums:
        block.insert_ops_before(totals(sums.values(), lanes), loop)
    loop.detach()
    loop.erase()


class _Body:
    """The operations for one vector, of which ``used`` lanes are."""

    def __init__(
        self,
        loop: scf.ForOp,
        kinds: Mapping[SSAValue, Kind],
        induction: SSAValue,
        lanes: int,
        used: int,
        sums: Mapping[str, LaneSum],
        apart: Collection[str],
        insert: Callable[[Operation], object],
    ) -> None:
        self._sums = sums
        self._apart = apart
        self._operations = list(loop.body.block.ops)
        self._kinds = kinds
        self._lanes = lanes
        self._used = used
        self._insert = insert
        self._induction = loop.body.block.args[0]
        self._values: dict[SSAValue, SSAValue] = {self._induction: induction}
        self._mask: SSAValue | None = None

    def run(self) -> None:
        if self._used < self._lanes:
            count = self._add(arith.ConstantOp(IntegerAttr(self._used, IndexType())))
            mask = vector.CreateMaskOp([count], VectorType(i1, [self._lanes]))
            self._mask = self._add(mask)
        chained = []
        for operation in self._operations:
            self._place = operation.attributes.get(PLACE)
            if self._is_chained(operation):
                chained.append(operation)
            else:
                self._once(operation)
        for lane in range(self._used if chained else 0):
            values = dict(self._values)
            for operation in chained:
                self._place = operation.attributes.get(PLACE)
                self._of_lane(operation, lane, values)

    def _is_chained(self, operation: Operation) -> bool:
        kinds = [self._kinds.get(each) for each in (*operation.operands, *operation.results)]
        if isinstance(operation, SetOp):
            return operation.variable.data not in {*self._sums, *self._apart}
        return Kind.CHAINED in kinds

    def _add(self, operation: Operation) -> SSAValue:
        if self._place is not None:
            operation.attributes[PLACE] = self._place
        self._insert(operation)
        return operation.results[0] if operation.results else None  # type: ignore[return-value]

    _place: Attribute | None = None

    def _once(self, operation: Operation) -> None:
        """Does an operation once for all lanes."""
        kinds = self._kinds
        if isinstance(operation, scf.YieldOp):
            return
        if isinstance(operation, scf.ForOp):
            self._inner(operation)
        elif isinstance(operation, memref.LoadOp) and kinds[operation.res] == Kind.APART:
            self._values[operation.res] = self._load(operation)
        elif isinstance(operation, memref.StoreOp):
            self._store(operation)
        elif isinstance(operation, GetOp) and operation.variable.data in self._sums:
            name = self._sums[operation.variable.data].of_lanes
            type = VectorType(operation.value.type, [self._lanes])
            self._values[operation.value] = self._add(GetOp(name, type))
        elif isinstance(operation, GetOp) and operation.variable.data in self._apart:
            type = VectorType(operation.value.type, [self._lanes])
            self._values[operation.value] = self._add(
                GetOp(of_each_lane(operation.variable.data), type)
            )
        elif isinstance(operation, SetOp) and operation.variable.data in self._apart:
            value = self._vector(operation.value)
            self._add(SetOp(of_each_lane(operation.variable.data), value))
        elif isinstance(operation, SetOp):
            self._sum(self._sums[operation.variable.data])
        elif operation.results and kinds.get(operation.results[0]) == Kind.APART:
            self._elementwise(operation)
        else:
            self._add_copy(operation, self._values)

    def _inner(self, loop: scf.ForOp) -> None:
        """A loop whose iterations all lanes do."""
        body, insert = body_like(loop), self._insert
        self._values[loop.body.block.args[0]] = body.args[0]
        self._insert = body.add_op
        for operation in loop.body.block.ops:
            self._place = operation.attributes.get(PLACE)
            self._once(operation)
        body.add_op(scf.YieldOp())
        self._insert = insert
        lower, upper, step = (
            self._values.get(each, each) for each in (loop.lb, loop.ub, loop.step)
        )
        new_loop = scf.ForOp(lower, upper, step, [], body)
        new_loop.attributes |= loop.attributes
        insert(new_loop)

    def _sum(self, sum: LaneSum) -> None:
        value, before = self._values[sum.add.result], self._values[sum.get.value]
        if self._mask is not None:
            value = self._add(BlendOp(self._mask, value, before))
        self._add(SetOp(sum.of_lanes, value))

    def _add_copy(self, operation: Operation, values: dict[SSAValue, SSAValue]) -> None:
        made = copy(operation, values)
        self._add(made)
        values |= dict(zip(operation.results, made.results, strict=True))

    def _vector(self, value: SSAValue) -> SSAValue:
        made = self._values.get(value, value)
        if isinstance(made.type, VectorType):
            return made
        return self._add(vector.BroadcastOp(made, VectorType(made.type, [self._lanes])))

    def _elementwise(self, operation: Operation) -> None:
        if isinstance(operation, arith.SelectOp):
            condition = self._values.get(operation.cond, operation.cond)
            values = [self._vector(each) for each in (operation.lhs, operation.rhs)]
            made: Operation = arith.SelectOp(condition, *values)
        else:
            made = type(operation)(*(self._vector(each) for each in operation.operands))
        self._values[operation.results[0]] = self._add(made)

    def _load(self, load: memref.LoadOp) -> SSAValue:
        assert isinstance(load.memref.type, MemRefType)
        type = VectorType(load.memref.type.element_type, [self._lanes])
        indices = [self._values.get(each, each) for each in load.indices]
        if self._mask is None:
            return self._add(vector.LoadOp(load.memref, indices, type))
        rest = self._add(
            arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [0] * self._lanes))
        )
        return self._add(vector.MaskedLoadOp(load.memref, indices, self._mask, rest, type))

    def _store(self, store: memref.StoreOp) -> None:
        value = self._vector(store.value)
        indices = [self._values.get(each, each) for each in store.indices]
        if self._mask is None:
            self._add(vector.StoreOp(value, store.memref, indices))
        else:
            self._add(vector.MaskedStoreOp(store.memref, indices, self._mask, value))

    def _of_lane(self, operation: Operation, lane: int, values: dict[SSAValue, SSAValue]) -> None:
        for operand in operation.operands:
            kind = self._kinds.get(operand)
            replacement = values.get(operand, operand)
            if kind == Kind.APART and isinstance(replacement.type, VectorType):
                values[operand] = self._extract(replacement, lane)
            elif kind == Kind.COUNTING and source_of(operand) is not operand:
                number = self._add(integer(lane))
                first = self._add(arith.IndexCastOp(replacement, self._induction.type))
                counted = self._add(arith.AddiOp(first, number))
                values[operand] = self._add(arith.IndexCastOp(counted, IndexType()))
        self._add_copy(operation, values)

    def _extract(self, value: SSAValue, lane: int) -> SSAValue:
        assert isinstance(value.type, VectorType)
        return self._add(vector.ExtractOp(value, [lane], value.type.element_type))
