"""Stores past the execute unit. Source: Ember, section VII.D."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    CallbackOp,
    ForOp,
    StoreStrOp,
)
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.nests.operations import STORES, array_of
from gnarl.sw.compiler.nests.values import constant_of
from gnarl.sw.compiler.tmu.access.index_streams import index_stream, is_index, stream_of
from gnarl.sw.compiler.tmu.callbacks.unused import drop_unused
from gnarl.sw.compiler.tmu.passes.fits import has_layers

LEAST_VECTORS = 3
"""Vectors of a fiber. One more operand from the loop around takes the access unit longer than the
execute unit takes for shorter ones: rows of one vector 5.7 cycles instead of 3.3, on ``tmu_l8``."""


def store_streams(module: ModuleOp, config: TmuConfig) -> ModuleOp:
    """What callbacks store as it comes from a stream, the access unit stores itself: no words, and
    no token where nothing is left to do.

    Of an array all accesses must be such stores, since neither unit sees in time what the other
    has written; and their indices streams which their own loop does not load. Loops of fewer than
    ``LEAST_VECTORS``, whole ones, stay the execute unit's, and arrays for which the access unit has
    no room. O(arrays x operations).
    """
    module = copied(module)
    for number in range(len(function_of(module).body.block.args)):
        if not _stores_of(module, number):
            continue
        candidate = copied(module)
        for store in _stores_of(candidate, number):
            store.stream()
        if has_layers(candidate, config):
            module = candidate
    return module


def _has_right_lanes(
    store: memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp,
    callback: CallbackOp,
    loop: ForOp,
) -> bool:
    """Whether a store is of the lanes that an iteration of the loop has."""
    if loop.vector is None:
        return isinstance(store, memref.StoreOp)
    if isinstance(store, vector.MaskedStoreOp):
        return callback.masked is not None and store.mask is callback.body.block.args[-1]
    return isinstance(store, vector.StoreOp) and callback.masked is None


def _stores_of(module: ModuleOp, number: int) -> list[_Store]:
    """The accesses of argument ``number`` in the program's order, which is that of stores to one
    place; none unless the access unit can do all of them."""
    array = function_of(module).body.block.args[number]
    stores = [_Store.found(each) for each in module.walk() if array in each.operands]
    return [each for each in stores if each is not None] if None not in stores else []


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
        if not isinstance(loop, ForOp) or not _has_right_lanes(operation, callback, loop):
            return None
        value = operation.operands[0]
        if isinstance(operation, vector.MaskedStoreOp):
            value = operation.value_to_store
        if isinstance(value.owner, vector.BroadcastOp):
            value = value.owner.source
        stream = stream_of(value, callback)
        if stream is None or (stream is loop.induction and loop.vector is not None):
            return None
        if not all(is_index(each, callback, loop) for each in operation.indices):
            return None
        if callback.masked is None and _is_short(loop):
            return None
        return cls(operation, callback, loop, stream)

    def stream(self) -> None:
        """Does it by the access unit."""
        block = self.callback.parent_block()
        assert block is not None
        indices = [index_stream(each, self.callback) for each in self.operation.indices]
        array = array_of(self.operation)
        block.insert_op_before(StoreStrOp(self.value, array, indices), self.callback)
        self.operation.detach()
        self.operation.erase()
        _clean(self.callback)


def _is_short(loop: ForOp) -> bool:
    """Whether its vectors are known to be fewer than ``LEAST_VECTORS``."""
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    if loop.vector is None or lower is None or upper is None:
        return False
    return upper - lower < LEAST_VECTORS * loop.vector.value.data


def _clean(callback: CallbackOp) -> None:
    """Removes what nothing uses any more; if nothing is left, the callback."""
    drop_unused(callback.body.block)
    if callback.body.block.first_op is None:
        callback.detach()
        callback.erase()
        return
    callback.drop_unused()
