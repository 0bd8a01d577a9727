"""Innermost loops in steps of a vector: from scf and memref to scf, memref and vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from enum import Enum

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
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sw.compiler.nests.dialects.slc import BlendOp, GetOp, SetOp
from sw.compiler.nests.execute.affine import affine_of
from sw.compiler.nests.lane_sums import SUMS, LaneSum, lane_sums, totals
from sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY, INTEGER_BINARY
from sw.compiler.nests.scf import PLACE, STATEMENT
from sw.compiler.nests.values import constant_of, copy, integer, source_of

_ELEMENTWISE = (*FLOAT_BINARY, *FLOAT_UNARY, *INTEGER_BINARY, arith.SelectOp)


class _Kind(Enum):
    """What a value is in the iterations of a vector's lanes.

    ``SAME``: one value; ``COUNTING``: one more in each, an index; ``APART``: a vector; ``CHAINED``:
    it depends on the iteration before, so that lanes follow each other.
    """

    SAME = 0
    COUNTING = 1
    APART = 2
    CHAINED = 3


def vectorize_loops(module: ModuleOp, lanes: int, reassociate: bool = False) -> ModuleOp:
    """Innermost loops with constant bounds step over ``lanes`` iterations, where these load and
    store neighbours, and none needs what another has stored; the rest of an iteration count is a
    vector with a mask, behind the loop.

    With ``reassociate``, each lane has its own sum of what a loop adds up; see
    ``sw.workloads.loops.lane_sums``. What else needs a variable that the loop sets is done for one
    lane after the other, in the source's order. Others stay. O(operations).
    """
    module = module.clone()
    copies = Counter(each.attributes.get(STATEMENT) for each in module.walk())
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        bounds = [constant_of(each) for each in (loop.lb, loop.ub, loop.step)]
        if None in bounds or bounds[2] != 1 or any(each.regions for each in loop.body.block.ops):
            continue
        lower, upper, _ = bounds
        assert lower is not None and upper is not None
        # Copies of a loop must not differ in their order.
        is_alone = STATEMENT in loop.attributes and copies[loop.attributes[STATEMENT]] == 1
        has_sums = reassociate and is_alone and upper - lower >= lanes
        sums = lane_sums(loop.body) if has_sums else {}
        kinds = _kinds(loop, sums)
        if kinds is not None and upper - lower > 1:
            _replace(loop, kinds, lower, upper, lanes, sums)
    return module


def _kinds(loop: scf.ForOp, sums: Collection[str]) -> dict[SSAValue, _Kind] | None:
    """Of all values of the body; ``None`` where it cannot be done."""
    induction = loop.body.block.args[0]
    operations = list(loop.body.block.ops)
    changed = {each.variable.data for each in operations if isinstance(each, SetOp)}
    written = {each.memref for each in operations if isinstance(each, memref.StoreOp)}
    loaded: set[SSAValue] = set()
    stored_late: set[SSAValue] = set()
    places: dict[SSAValue, set[tuple[object, ...]]] = {}
    kinds: dict[SSAValue, _Kind] = {induction: _Kind.COUNTING}

    def kind(value: SSAValue) -> _Kind:
        return kinds.get(value, _Kind.SAME)

    for operation in operations:
        found = [kind(each) for each in operation.operands]
        highest = max(found, key=lambda each: each.value, default=_Kind.SAME)
        made: _Kind
        match operation:
            case scf.YieldOp() | arith.ConstantOp() | arith.IndexCastOp():
                made = highest
            case GetOp() if operation.variable.data in sums:
                made = _Kind.APART
            case SetOp() if operation.variable.data in sums:
                if highest != _Kind.APART:
                    return None
                continue
            case GetOp():
                is_chained = operation.variable.data in changed
                made = _Kind.CHAINED if is_chained else _Kind.SAME
            case SetOp():
                if highest == _Kind.COUNTING:
                    return None
                made = _Kind.CHAINED
            case memref.LoadOp() | memref.StoreOp():
                indices = operation.indices
                is_across = _is_across(indices, induction, kinds)
                is_same = all(kind(each) == _Kind.SAME for each in indices)
                if operation.memref in written:
                    places.setdefault(operation.memref, set()).add(_place(indices))
                if isinstance(operation, memref.StoreOp):
                    if not is_across or kind(operation.value) == _Kind.COUNTING:
                        return None
                    if kind(operation.value) == _Kind.CHAINED:
                        stored_late.add(operation.memref)
                    continue
                loaded.add(operation.memref)
                if not is_across and (not is_same or operation.memref in written):
                    return None
                made = _Kind.APART if is_across else _Kind.SAME
            case _:
                made = highest
                if highest == _Kind.COUNTING:
                    if not isinstance(operation, arith.AddiOp | arith.SubiOp):
                        return None
                    if affine_of(operation.results[0]).terms.get(induction) != 1:
                        return None
                elif highest != _Kind.SAME and _Kind.COUNTING in found:
                    return None
                if highest == _Kind.APART and not isinstance(operation, _ELEMENTWISE):
                    return None
                if isinstance(operation, arith.SelectOp) and kind(operation.cond) != _Kind.SAME:
                    if highest == _Kind.APART:
                        return None
        kinds |= dict.fromkeys(operation.results, made)
    is_apart = all(len(each) == 1 for each in places.values()) and not loaded & stored_late
    return kinds if is_apart else None


def _is_across(
    indices: Sequence[SSAValue], induction: SSAValue, kinds: dict[SSAValue, _Kind]
) -> bool:
    """Whether lanes have neighbouring elements."""
    if not indices or any(kinds.get(each, _Kind.SAME) != _Kind.SAME for each in indices[:-1]):
        return False
    is_counting = kinds.get(indices[-1], _Kind.SAME) == _Kind.COUNTING
    return is_counting and affine_of(indices[-1]).terms.get(induction) == 1


def _place(indices: Sequence[SSAValue]) -> tuple[object, ...]:
    found = [affine_of(each) for each in indices]
    return tuple((each.constant, frozenset(each.terms.items())) for each in found)


def _replace(
    loop: scf.ForOp,
    kinds: dict[SSAValue, _Kind],
    lower: int,
    upper: int,
    lanes: int,
    sums: Mapping[str, LaneSum],
) -> None:
    block = loop.parent_block()
    assert block is not None
    whole = lower + (upper - lower) // lanes * lanes

    def insert(operation: Operation) -> Operation:
        block.insert_op_before(operation, loop)
        return operation

    if whole > lower:
        first, last, step = (insert(integer(each)) for each in (lower, whole, lanes))
        body = Block(arg_types=[loop.body.block.args[0].type])
        body.args[0].name_hint = loop.body.block.args[0].name_hint
        _Body(loop, kinds, body.args[0], lanes, lanes, sums, body.add_op).run()
        body.add_op(scf.YieldOp())
        made = scf.ForOp(first.results[0], last.results[0], step.results[0], [], body)
        made.attributes |= loop.attributes
        if sums:
            made.attributes[SUMS] = UnitAttr()
        insert(made)
    if upper > whole:
        induction = insert(integer(whole)).results[0]
        _Body(loop, kinds, induction, lanes, upper - whole, sums, insert).run()
    if sums:
        block.insert_ops_before(totals(sums.values(), lanes), loop)
    loop.detach()
    loop.erase()


class _Body:
    """The operations for one vector, of which ``used`` lanes are."""

    def __init__(
        self,
        loop: scf.ForOp,
        kinds: dict[SSAValue, _Kind],
        induction: SSAValue,
        lanes: int,
        used: int,
        sums: Mapping[str, LaneSum],
        insert: object,
    ) -> None:
        self._sums = sums
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
            if isinstance(operation, scf.YieldOp):
                continue
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
        is_set = isinstance(operation, SetOp) and operation.variable.data not in self._sums
        return is_set or _Kind.CHAINED in kinds

    def _add(self, operation: Operation) -> SSAValue:
        if self._place is not None:
            operation.attributes[PLACE] = self._place
        self._insert(operation)  # type: ignore[operator]
        return operation.results[0] if operation.results else None  # type: ignore[return-value]

    _place: Attribute | None = None

    def _once(self, operation: Operation) -> None:
        """For all lanes."""
        kinds = self._kinds
        if isinstance(operation, memref.LoadOp) and kinds[operation.res] == _Kind.APART:
            self._values[operation.res] = self._load(operation)
        elif isinstance(operation, memref.StoreOp):
            self._store(operation)
        elif isinstance(operation, GetOp) and operation.variable.data in self._sums:
            name = self._sums[operation.variable.data].of_lanes
            type = VectorType(operation.value.type, [self._lanes])
            self._values[operation.value] = self._add(GetOp(name, type))
        elif isinstance(operation, SetOp):
            self._sum(self._sums[operation.variable.data])
        elif operation.results and kinds.get(operation.results[0]) == _Kind.APART:
            self._elementwise(operation)
        else:
            self._add_copy(operation, self._values)

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
            found = values.get(operand, operand)
            if kind == _Kind.APART and isinstance(found.type, VectorType):
                values[operand] = self._extract(found, lane)
            elif kind == _Kind.COUNTING and source_of(operand) is not operand:
                number = self._add(integer(lane))
                first = self._add(arith.IndexCastOp(found, self._induction.type))
                counted = self._add(arith.AddiOp(first, number))
                values[operand] = self._add(arith.IndexCastOp(counted, IndexType()))
        self._add_copy(operation, values)

    def _extract(self, value: SSAValue, lane: int) -> SSAValue:
        assert isinstance(value.type, VectorType)
        return self._add(vector.ExtractOp(value, [lane], value.type.element_type))
