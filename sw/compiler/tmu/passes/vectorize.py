"""Vectorises innermost loops: from SLC to SLCV. Source: Ember, section VII.A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dependences.orders import allows_vectors
from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    AluStrOp,
    BlendOp,
    CallbackOp,
    ForOp,
    GetOp,
    MemStrOp,
    SetOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.lane_sums import LaneSum, add_lanes, lane_sums
from gnarl.sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY, INTEGER_SUMS
from gnarl.sw.compiler.nests.values import constant_of, copy, source_of

_ELEMENTWISE = (*FLOAT_BINARY, *FLOAT_UNARY, *INTEGER_SUMS)


def vectorize(module: ModuleOp, lanes: int, reassociate: bool = True) -> ModuleOp:
    """The innermost loop of each chain steps over ``lanes`` iterations at once, where its loads and
    what its callback reads and writes are neighbours, and operations are elementwise; and where no
    iteration needs what one of fewer than ``lanes`` before it has stored, or overwrites what one
    behind it needs. Integer streams are those that do not depend on the loop: addresses, alike in
    all lanes.

    Lanes beyond the loop's end are masked, unless its bounds are constants that leave none. With
    ``reassociate``, each lane has its own sum of what the loop adds up; see
    ``gnarl.sw.workloads.loops.ir.lane_sums`` for their order. O(operations + accesses squared).
    """
    module = copied(module)
    for loop in [each for each in module.walk() if isinstance(each, ForOp)]:
        is_innermost = not any(isinstance(each, LOOPS) for each in loop.body.block.ops)
        if not is_innermost or loop.step.value.data != 1 or loop.vector is not None:
            continue
        if allows_vectors(loop, lanes):
            _vectorize(loop, lanes, reassociate)
    return module


def _vectorize(loop: ForOp, lanes: int, reassociate: bool) -> None:
    old = loop.body.block
    region = body_of([StreamType(VectorType(i32, [lanes]))])
    induction = region.block.args[0]
    induction.name_hint = loop.induction.name_hint
    streams: dict[SSAValue, SSAValue] = {loop.induction: induction}
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    is_whole = lower is not None and upper is not None and (upper - lower) % lanes == 0
    sums: dict[str, LaneSum] = {}
    for operation in old.ops:
        new_op: Operation
        if isinstance(operation, MemStrOp):
            if not operation.indices or operation.indices[-1] is not loop.induction:
                return
            outer = operation.indices[:-1]
            if loop.induction in outer:
                return
            element = VectorType(_element(operation.stream), [lanes])
            indices = [streams.get(each, each) for each in outer]
            new_op = MemStrOp(operation.array, [*indices, induction], element)
            streams[operation.stream] = new_op.stream
        elif isinstance(operation, AluStrOp):
            if loop.induction in (operation.left, operation.right):
                return
            left, right = (streams.get(each, each) for each in (operation.left, operation.right))
            new_op = AluStrOp(operation.operation.data, left, right, _element(operation.stream))
            streams[operation.stream] = new_op.stream
        elif isinstance(operation, CallbackOp):
            sums = lane_sums(operation.body) if reassociate else {}
            vectorized = _callback(
                operation, loop.induction, streams, lanes, sums, masked=not is_whole
            )
            if vectorized is None:
                return
            new_op = vectorized
        elif isinstance(operation, arith.ConstantOp):
            new_op = copy(operation, {})
        else:
            return
        new_op.attributes |= operation.attributes
        region.block.add_op(new_op)
    new_op = ForOp(loop.lower, loop.upper, 1, region, lanes)
    new_op.attributes |= loop.attributes
    block = loop.parent_block()
    assert block is not None
    block.insert_op_before(new_op, loop)
    loop.detach()
    loop.erase()
    add_lanes(new_op, sums.values(), lanes)


def _callback(
    callback: CallbackOp,
    induction: SSAValue,
    streams: dict[SSAValue, SSAValue],
    lanes: int,
    sums: Mapping[str, LaneSum],
    *,
    masked: bool,
) -> CallbackOp | None:
    """``None`` where it cannot be done."""
    types: list[Attribute] = []
    for stream in callback.streams:
        is_vector = stream in streams and isinstance(_element(streams[stream]), VectorType)
        is_vector = is_vector and stream is not induction
        types.append(VectorType(_element(stream), [lanes]) if is_vector else _element(stream))
    if masked:
        types.append(VectorType(i1, [lanes]))
    region = body_of(types)
    body = _Body(region.block, lanes, sums)
    for stream, argument, new_argument in zip(
        callback.streams, callback.body.block.args, region.block.args, strict=False
    ):
        new_argument.name_hint = argument.name_hint
        body.values[argument] = new_argument
        if stream is induction:
            body.indices.append(argument)
    body.mask = region.block.args[-1] if masked else None
    for operation in callback.body.block.ops:
        if not body.add(operation):
            return None
    operands = [streams.get(stream, stream) for stream in callback.streams]
    return CallbackOp(operands, region, masked)


class _Body:
    """Copies operations into a callback's body, with vectors for what lanes differ in.

    indices
        the loop's induction variable, and its sums with what lanes have alike; one may only be the
        last index of an array, since lanes have different ones.
    """

    def __init__(self, block: Block, lanes: int, sums: Mapping[str, LaneSum]) -> None:
        self.values: dict[SSAValue, SSAValue] = {}
        self.indices: list[SSAValue] = []
        self.mask: SSAValue | None = None
        self._block = block
        self._lanes = lanes
        self._sums = sums

    def add(self, operation: Operation) -> bool:
        """Whether that can be done."""
        match operation:
            case memref.LoadOp() if self._is_across(operation.indices):
                return self._load(operation)
            case memref.StoreOp() if self._is_across(operation.indices):
                return not self._is_index(operation.value) and self._store(operation)
            case GetOp() if operation.variable.data in self._sums:
                lane_sum = self._sums[operation.variable.data]
                get = GetOp(lane_sum.of_lanes, VectorType(operation.value.type, [self._lanes]))
                self.values[operation.value] = self._append(get).results[0]
                return True
            case SetOp() if operation.variable.data in self._sums:
                return self._set_sum(self._sums[operation.variable.data])
            case memref.StoreOp() | SetOp():
                return False
            case arith.AddiOp() if self._is_shifted(operation):
                copied = self._append(copy(operation, self.values))
                self.values[operation.result] = copied.results[0]
                self.indices.append(operation.result)
                return True
            case arith.SelectOp() if any(map(self._is_vector, operation.operands[1:])):
                return self._select(operation)
        return self._add_elementwise(operation)

    def _add_elementwise(self, operation: Operation) -> bool:
        """An operation on lanes of vectors, or one that all lanes share."""
        has_index = any(map(self._is_index, operation.operands))
        has_vector = any(map(self._is_vector, operation.operands))
        is_elementwise = isinstance(operation, _ELEMENTWISE)
        if has_index and (is_elementwise or not isinstance(operation, arith.IndexCastOp)):
            return False
        if has_vector and is_elementwise:
            self._compute(operation)
            return True
        if operation.regions or has_vector:
            return False
        copied = self._append(copy(operation, self.values))
        for old, new in zip(operation.results, copied.results, strict=True):
            self.values[old] = new
        return True

    def _compute(self, operation: Operation) -> None:
        result = operation.results[0]
        elementwise = operation.create(
            operands=[self._vector(each) for each in operation.operands],
            result_types=[VectorType(result.type, [self._lanes])],
            properties=operation.properties,
        )
        self.values[result] = self._append(elementwise).results[0]

    def _select(self, operation: arith.SelectOp) -> bool:
        if self._is_vector(operation.cond) or any(map(self._is_index, operation.operands)):
            return False
        condition = self.values.get(operation.cond, operation.cond)
        values = [self._vector(each) for each in operation.operands[1:]]
        made = self._append(arith.SelectOp(condition, *values))
        self.values[operation.result] = made.results[0]
        return True

    def _set_sum(self, found: LaneSum) -> bool:
        """Lanes that are masked out keep theirs."""
        value = self._vector(found.add.result)
        if self.mask is not None:
            before = self.values[found.get.value]
            value = self._append(BlendOp(self.mask, value, before)).results[0]
        self._append(SetOp(found.of_lanes, value))
        return True

    def _append(self, operation: Operation) -> Operation:
        self._block.add_op(operation)
        return operation

    def _is_across(self, indices: Sequence[SSAValue]) -> bool:
        """Whether lanes have neighbouring elements."""
        found = [self._is_index(each) for each in indices]
        return bool(found) and found[-1] and not any(found[:-1])

    def _is_index(self, value: SSAValue) -> bool:
        return source_of(value) in self.indices

    def _is_shifted(self, operation: arith.AddiOp) -> bool:
        """Whether it moves the index, by as much in all lanes."""
        left, right = (self._is_index(each) for each in operation.operands)
        return left != right and not any(map(self._is_vector, operation.operands))

    def _is_vector(self, value: SSAValue) -> bool:
        return isinstance(self.values.get(value, value).type, VectorType)

    def _vector(self, value: SSAValue) -> SSAValue:
        made = self.values.get(value, value)
        if isinstance(made.type, VectorType):
            return made
        type = VectorType(made.type, [self._lanes])
        return self._append(vector.BroadcastOp(made, type)).results[0]

    def _load(self, load: memref.LoadOp) -> bool:
        assert isinstance(load.memref.type, MemRefType)
        type = VectorType(load.memref.type.element_type, [self._lanes])
        indices = [self.values[each] for each in load.indices]
        vector_load: Operation
        if self.mask is None:
            vector_load = vector.LoadOp(load.memref, indices, type)
        else:
            zero = DenseIntOrFPElementsAttr.from_list(type, [0] * self._lanes)
            rest = self._append(arith.ConstantOp(zero))
            vector_load = vector.MaskedLoadOp(load.memref, indices, self.mask, rest, type)
        self.values[load.res] = self._append(vector_load).results[0]
        return True

    def _store(self, store: memref.StoreOp) -> bool:
        value = self._vector(store.value)
        indices = [self.values[each] for each in store.indices]
        if self.mask is None:
            self._append(vector.StoreOp(value, store.memref, indices))
        else:
            self._append(vector.MaskedStoreOp(store.memref, indices, self.mask, value))
        return True


def _element(stream: SSAValue) -> Attribute:
    assert isinstance(stream.type, StreamType)
    return stream.type.element
