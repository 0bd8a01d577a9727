"""What a token's case has computed is stored in the next one's: it need not be waited for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects import flat
from gnarl.sw.compiler.nests.dialects.slc import LOOPS, CallbackOp, ForOp, GetOp, SetOp, body_of
from gnarl.sw.compiler.nests.execute.linearize import flat_access
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY
from gnarl.sw.compiler.nests.scf import PLACE
from gnarl.sw.compiler.nests.values import integer
from gnarl.sw.compiler.tmu.access.index_offsets import shape_of


def delay_stores(module: ModuleOp) -> ModuleOp:
    """A callback of the innermost loop that stores a number which it has computed keeps that, and
    its place, for the next iteration, whichever loops begin anew in between:

        for i: callback: a[p] = f(x)
        →   callback: v = word 0 of a; q = 0
            for i: callback: word q of a = v; v = f(x); q = p
            callback: word q of a = v

    The first iteration stores a word as it was. Left at its place: what goes into the same word
    each time, or into arrays without words, or with other accesses, and vectors. O(stores x
    operations). Source: software pipelining, Lam, "Software Pipelining: An Effective Scheduling
    Technique for VLIW Machines" (1988), over a queue's tokens.
    """
    module = copied(module)
    function = function_of(module)
    for store in [each for each in module.walk() if _is_late(each, function)]:
        assert isinstance(store, memref.StoreOp | flat.StoreOp)
        by_words = _by_words(store, arrays_of(function))
        if by_words.address is not None:
            _delay(by_words, by_words.address, function)
    return module


def _is_late(store: Operation, function: func.FuncOp) -> bool:
    callback = store.parent_op()
    if not isinstance(store, memref.StoreOp | flat.StoreOp) or store.value.type != f32:
        return False
    loop = callback.parent_op() if isinstance(callback, CallbackOp) else None
    if not isinstance(loop, LOOPS) or (isinstance(loop, ForOp) and loop.vector is not None):
        return False
    is_inner = not any(isinstance(each, LOOPS) for each in loop.body.block.ops)
    return is_inner and _is_alone(store, function) and _is_computed(store.value)


def _is_alone(store: memref.StoreOp | flat.StoreOp, function: func.FuncOp) -> bool:
    """Whether its array has words, and no other access."""
    names = arrays_of(function)
    name = store.array.data if isinstance(store, flat.StoreOp) else names[store.memref]
    array = next(each for each in names if names[each] == name)
    by_words = [
        each
        for each in function.walk()
        if isinstance(each, flat.Access) and each.array.data == name
    ]
    accesses = {*by_words, *(use.operation for use in array.uses)}
    return accesses == {store} and math.prod(shape_of(array)) > 0


def _is_computed(value: SSAValue) -> bool:
    """Whether a value is computed by an operation of several cycles."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return False
    is_float = isinstance(owner, (*FLOAT_BINARY, *FLOAT_UNARY))
    return is_float or any(map(_is_computed, owner.operands))


def _by_words(store: memref.StoreOp | flat.StoreOp, names: dict[SSAValue, str]) -> flat.StoreOp:
    if isinstance(store, flat.StoreOp):
        return store
    flat_store = flat_access(store, names)
    block = store.parent_block()
    assert isinstance(flat_store, flat.StoreOp) and block is not None
    if PLACE in store.attributes:
        flat_store.attributes[PLACE] = store.attributes[PLACE]
    block.insert_op_before(flat_store, store)
    store.detach()
    store.erase()
    return flat_store


def _delay(store: flat.StoreOp, address: SSAValue, function: func.FuncOp) -> None:
    array, offset = store.place
    value, place = f"late_{array}", f"place_{array}"

    def late() -> Sequence[Operation]:
        word, at = GetOp(value, f32), GetOp(place, i32)
        made = flat.StoreOp(word.value, array, offset, at.value)
        if PLACE in store.attributes:
            made.attributes[PLACE] = store.attributes[PLACE]
        return word, at, made

    block, around = store.parent_block(), function.body.block
    assert block is not None and block.first_op is not None
    block.insert_ops_before([SetOp(value, store.value), SetOp(place, address)], store)
    block.insert_ops_before(late(), block.first_op)
    store.detach()
    store.erase()
    first = flat.LoadOp(f32, array, 0, None)
    begin = [first, SetOp(value, first.value)]
    if offset:
        before = integer(-offset)
        begin += [before, SetOp(place, before.result)]
    outermost = next(each for each in around.ops if isinstance(each, LOOPS))
    around.insert_op_before(_callback(begin), outermost)
    around.insert_op_after(_callback(late()), outermost)


def _callback(operations: Sequence[Operation]) -> CallbackOp:
    region = body_of([])
    region.block.add_ops(operations)
    return CallbackOp([], region)
