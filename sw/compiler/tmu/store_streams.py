"""Stores past the execute unit. Source: Ember, section VII.D."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from hw.lib.errors import CapacityError
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.dialects.slc import (
    AluStrOp,
    CallbackOp,
    ForOp,
    MemStrOp,
    PopOp,
    StoreStrOp,
    StreamType,
)
from sw.compiler.tmu.functions import function_of
from sw.compiler.tmu.lower_access import lower_access
from sw.compiler.tmu.operations import STORES, array_of
from sw.compiler.tmu.values import constant_of, integer, source_of

LEAST_VECTORS = 3
"""Of a fiber. One more operand from the loop around takes the access unit longer than the execute
unit takes for shorter ones: rows of one vector 5.7 cycles instead of 3.3, on ``tmu_l8``."""

_INDEX_OPERATIONS: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.ShLIOp: "shift_left",
}


def store_streams(module: ModuleOp, config: TmuConfig) -> ModuleOp:
    """What callbacks store as it comes from a stream, the access unit stores itself: no words, and
    no token where nothing is left to do.

    Of an array all accesses must be such stores, since neither unit sees in time what the other
    has written; and their indices streams which their own loop does not load. Loops of fewer than
    ``LEAST_VECTORS``, whole ones, stay the execute unit's, and arrays for which the access unit has
    no room. O(arrays x operations).
    """
    module = module.clone()
    for number in range(len(function_of(module).body.block.args)):
        candidate = module.clone()
        array = function_of(candidate).body.block.args[number]
        # In the program's order, which is that of stores to one place.
        users = (each for each in candidate.walk() if array in each.operands)
        stores = [_Store.found(user) for user in users]
        if not stores or None in stores:
            continue
        for store in stores:
            assert store is not None
            store.stream()
        if _fits(candidate, config):
            module = candidate
    return module


def _fits(module: ModuleOp, config: TmuConfig) -> bool:
    try:
        lower_access(module, config)
    except CapacityError:
        return False
    return True


@dataclass(frozen=True)
class _Store:
    """``operation``, in ``callback`` of ``loop``, stores ``value``, a stream."""

    operation: memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp
    callback: CallbackOp
    loop: ForOp
    value: SSAValue

    @classmethod
    def found(cls, operation: Operation) -> _Store | None:
        callback = operation.parent_op()
        if not isinstance(operation, STORES) or not isinstance(callback, CallbackOp):
            return None
        loop = callback.parent_op()
        if not isinstance(loop, ForOp):
            return None
        if loop.vector is None:
            value, mask = operation.operands[0], None
            is_right = isinstance(operation, memref.StoreOp)
        elif isinstance(operation, vector.MaskedStoreOp):
            value, mask = operation.value_to_store, operation.mask
            is_right = callback.masked is not None and mask is callback.body.block.args[-1]
        else:
            value, mask = operation.operands[0], None
            is_right = isinstance(operation, vector.StoreOp) and callback.masked is None
        if isinstance(value.owner, vector.BroadcastOp):
            value = value.owner.source
        stream = _stream_of(value, callback)
        if not is_right or stream is None:
            return None
        if stream is loop.induction and loop.vector is not None:
            return None
        if not all(_is_index(each, callback, loop) for each in operation.indices):
            return None
        if callback.masked is None and _is_short(loop):
            return None
        return cls(operation, callback, loop, stream)

    def stream(self) -> None:
        """Does it by the access unit."""
        block = self.callback.parent_block()
        assert block is not None
        indices = [_index(each, self.callback) for each in self.operation.indices]
        array = array_of(self.operation)
        block.insert_op_before(StoreStrOp(self.value, array, indices), self.callback)
        self.operation.detach()
        self.operation.erase()
        _clean(self.callback)


def _stream_of(value: SSAValue, callback: CallbackOp) -> SSAValue | None:
    """The stream whose value it is."""
    value = source_of(value)
    if not isinstance(value, BlockArgument) or value.owner is not callback.body.block:
        return None
    if callback.masked is not None and value.index == len(callback.streams):
        return None
    return callback.streams[value.index]


def _is_index(value: SSAValue, callback: CallbackOp, loop: ForOp) -> bool:
    """Whether streams have it, or can have it, but none that its own loop loads."""
    value = source_of(value)
    if constant_of(value) is not None:
        return True
    stream = _stream_of(value, callback)
    if stream is not None:
        return not (isinstance(stream.owner, MemStrOp) and stream.owner.parent_op() is loop)
    owner = value.owner
    if not isinstance(owner, Operation) or type(owner) not in _INDEX_OPERATIONS:
        return False
    return all(_is_index(each, callback, loop) for each in owner.operands)


def _is_short(loop: ForOp) -> bool:
    """Whether its vectors are known to be fewer than ``LEAST_VECTORS``."""
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    if loop.vector is None or lower is None or upper is None:
        return False
    return upper - lower < LEAST_VECTORS * loop.vector.value.data


def _is_pure(operation: Operation) -> bool:
    """Whether nothing is lost without it, where nothing uses it."""
    return bool(operation.results) and not operation.regions and not isinstance(operation, PopOp)


def _index(value: SSAValue, callback: CallbackOp) -> SSAValue:
    """The stream or constant, made before the callback if need be."""
    value = source_of(value)
    block = callback.parent_block()
    assert block is not None
    made: Operation
    if (number := constant_of(value)) is not None:
        made = integer(number)
    elif (stream := _stream_of(value, callback)) is not None:
        return stream
    else:
        assert isinstance(value.owner, Operation)
        left, right = (_index(each, callback) for each in value.owner.operands)
        elements = [_element(each) for each in (left, right)]
        element = next((each for each in elements if isinstance(each, VectorType)), value.type)
        made = AluStrOp(_INDEX_OPERATIONS[type(value.owner)], left, right, element)
    block.insert_op_before(made, callback)
    return made.results[0]


def _element(value: SSAValue) -> object:
    return value.type.element if isinstance(value.type, StreamType) else value.type


def _clean(callback: CallbackOp) -> None:
    """Without what nothing uses any more; if nothing is left, without the callback."""
    for operation in reversed(list(callback.body.block.ops)):
        is_unused = not any(result.uses for result in operation.results)
        if _is_pure(operation) and is_unused:
            operation.detach()
            operation.erase()
    if callback.body.block.first_op is None:
        callback.detach()
        callback.erase()
        return
    callback.drop_unused()
