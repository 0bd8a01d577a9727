"""Keeps in registers what a loop adds up: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    ModuleOp,
    StringAttr,
    VectorType,
)
from xdsl.ir import Block, Operation, SSAValue

from sw.compiler.tmu.dialects.slc import CallbackOp, ForOp, GetOp, SetOp, body_of
from sw.compiler.tmu.join_callbacks import join_callbacks
from sw.compiler.tmu.values import constant_of, integer, source_of

MOST_REGISTERS = 24
"""Vectors that are kept; others are for what is computed from them."""


def keep_sums(module: ModuleOp, zeros: Collection[str]) -> ModuleOp:
    """A callback that reads and writes the same vectors of an array in all iterations of the loop
    around it keeps them in variables, which are written to the array when that loop has ended.

    ``zeros``: arrays that are 0 before the run. Variables begin as 0, and do so again; so each
    vector must be of one iteration of the loops around alone, and of an array of ``zeros``.
    O(operations).
    """
    module = module.clone()
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    names = function.attributes["names"]
    assert isinstance(names, StringAttr)
    arguments = dict(zip(function.body.block.args, names.data.split(","), strict=True))
    at_zero = {argument for argument, name in arguments.items() if name in zeros}
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        found = _Sums.found(callback, at_zero)
        if found is not None:
            found.keep()
    join_callbacks(module)
    return module


class _Sums:
    """A loop of a callback that updates vectors of ``array``, at ``indices``, the last of which is
    its induction variable."""

    def __init__(
        self, callback: CallbackOp, loop: scf.ForOp, load: vector.LoadOp, store: vector.StoreOp
    ) -> None:
        self._callback, self._loop, self._load, self._store = callback, loop, load, store

    @classmethod
    def found(cls, callback: CallbackOp, at_zero: Collection[SSAValue]) -> _Sums | None:
        around = callback.parent_op()
        loops = [each for each in callback.body.block.ops if isinstance(each, scf.ForOp)]
        if not isinstance(around, ForOp) or len(loops) != 1 or callback.streams:
            return None
        (loop,) = loops
        operations = list(loop.body.block.ops)
        loads = [each for each in operations if isinstance(each, vector.LoadOp)]
        stores = [each for each in operations if isinstance(each, vector.StoreOp)]
        others = (memref.LoadOp, memref.StoreOp, vector.MaskedLoadOp, vector.MaskedStoreOp)
        if len(loads) != 1 or len(stores) != 1:
            return None
        if any(isinstance(each, others) for each in operations):
            return None
        load, store = loads[0], stores[0]
        places = [[source_of(each) for each in op.indices] for op in (load, store)]
        induction = loop.body.block.args[0]
        lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
        if load.base is not store.base or places[0] != places[1] or places[0][-1] is not induction:
            return None
        if lower is None or upper is None or step is None or load.base not in at_zero:
            return None
        if len(range(lower, upper, step)) > MOST_REGISTERS:
            return None
        # The other indices count the loops around the one that the callback is in, all of them.
        owners = [place.owner for place in places[0][:-1]]
        counters = {owner.variable.data for owner in owners if isinstance(owner, GetOp)}
        outer = 0
        parent = around.parent_op()
        while isinstance(parent, ForOp):
            outer += 1
            parent = parent.parent_op()
        if len(counters) != outer or len(counters) != len(places[0]) - 1 or not outer:
            return None
        users = {
            use.operation for use in load.base.uses if not isinstance(use.operation, func.ReturnOp)
        }
        if any(_is_inside(user, around) and user not in (load, store) for user in users):
            return None
        return cls(callback, loop, load, store)

    def keep(self) -> None:
        loop, block = self._loop, self._callback.body.block
        lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
        assert lower is not None and upper is not None and step is not None
        starts = range(lower, upper, step)
        type = self._load.result.type
        array = _name_of(self._load.base)
        names = [f"{array}_{number}" for number in range(len(starts))]
        for name, start in zip(names, starts, strict=True):
            first = integer(start)
            block.insert_op_before(first, loop)
            values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: first.result}
            for operation in loop.body.block.ops:
                if isinstance(operation, scf.YieldOp):
                    continue
                made: Operation
                if operation is self._load:
                    made = GetOp(name, type)
                elif operation is self._store:
                    made = SetOp(name, values.get(self._store.vector, self._store.vector))
                else:
                    made = operation.clone(values)
                block.insert_op_before(made, loop)
                for old, new in zip(operation.results, made.results, strict=True):
                    values[old] = new
        indices = self._store.indices
        loop.detach()
        around = self._callback.parent_op()
        assert isinstance(around, ForOp)
        outer = around.parent_block()
        assert outer is not None
        outer.insert_op_after(self._written(names, starts, type, list(indices)), around)
        loop.erase()

    def _written(
        self, names: list[str], starts: range, type: object, indices: list[SSAValue]
    ) -> CallbackOp:
        """Writes all variables, and sets them to 0."""
        region = body_of([])
        block: Block = region.block
        assert isinstance(type, VectorType)
        counters = [_clone_counter(source_of(each), block) for each in indices[:-1]]
        for name, start in zip(names, starts, strict=True):
            get = GetOp(name, type)
            last = integer(start)
            block.add_ops([get, last])
            at = [_as_index(each, block) for each in (*counters, last.result)]
            block.add_op(vector.StoreOp(get.value, self._store.base, at))
        zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [0.0]))
        block.add_op(zero)
        block.add_ops([SetOp(name, zero.result) for name in names])
        return CallbackOp([], region)


def _clone_counter(value: SSAValue, block: Block) -> SSAValue:
    assert isinstance(value.owner, GetOp)
    get = GetOp(value.owner.variable.data, value.type)
    block.add_op(get)
    return get.value


def _as_index(value: SSAValue, block: Block) -> SSAValue:
    cast = arith.IndexCastOp(value, IndexType())
    block.add_op(cast)
    return cast.result


def _name_of(array: SSAValue) -> str:
    return array.name_hint or "array"


def _is_inside(operation: Operation, loop: ForOp) -> bool:
    parent: Operation | None = operation
    while parent is not None:
        if parent is loop:
            return True
        parent = parent.parent_op()
    return False
