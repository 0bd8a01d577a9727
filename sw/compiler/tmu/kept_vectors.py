"""Vectors of an array that a callback updates, as variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from sw.compiler.tmu.dialects.slc import CallbackOp, GetOp, SetOp
from sw.compiler.tmu.operations import LOADS, STORES, array_of, written_arrays
from sw.compiler.tmu.values import constant_of, integer, is_inside, source_of

MOST_REGISTERS = 24
"""Vectors that are kept; others are for what is computed from them."""


@dataclass(frozen=True)
class KeptVectors:
    """A ``loop`` of a callback that updates vectors of an array: at ``rows``, and from each of
    ``starts`` on in its last dimension."""

    callback: CallbackOp
    loop: scf.ForOp
    load: vector.LoadOp
    store: vector.StoreOp

    @property
    def array(self) -> SSAValue:
        return self.load.base

    @property
    def rows(self) -> list[SSAValue]:
        return [source_of(each) for each in self.load.indices][:-1]

    @property
    def starts(self) -> range:
        lower, upper, step = (
            constant_of(each) for each in (self.loop.lb, self.loop.ub, self.loop.step)
        )
        assert lower is not None and upper is not None and step is not None
        return range(lower, upper, step)

    @property
    def type(self) -> VectorType[AnyFloat]:
        type = self.load.result.type
        assert isinstance(type, VectorType) and isinstance(type.element_type, AnyFloat)
        return type

    @property
    def names(self) -> list[str]:
        """Of the variables."""
        array = self.array.name_hint or "array"
        return [f"{array}_{number}" for number in range(len(self.starts))]

    def is_alone(self, around: Operation) -> bool:
        """Whether nothing else inside of an operation uses the array."""
        uses = [use.operation for use in self.array.uses]
        return all(
            user in (self.load, self.store) or not is_inside(user, around)
            for user in uses
            if not isinstance(user, func.ReturnOp)
        )

    def replace(self) -> None:
        """The loop's iterations, one after the other, on variables."""
        loop, block = self.loop, self.callback.body.block
        for name, start in zip(self.names, self.starts, strict=True):
            first = integer(start)
            block.insert_op_before(first, loop)
            values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: first.result}
            for operation in loop.body.block.ops:
                if isinstance(operation, scf.YieldOp):
                    continue
                made: Operation
                if operation is self.load:
                    made = GetOp(name, self.type)
                elif operation is self.store:
                    made = SetOp(name, values.get(self.store.vector, self.store.vector))
                else:
                    made = operation.clone(values)
                block.insert_op_before(made, loop)
                for old, new in zip(operation.results, made.results, strict=True):
                    values[old] = new
        loop.detach()
        loop.erase()


def kept_vectors(callback: CallbackOp) -> KeptVectors | None:
    """Of a callback with one loop of known bounds that stores, which loads and stores vectors of
    its array at one place only. O(operations)."""
    loops = [
        each
        for each in callback.body.block.ops
        if isinstance(each, scf.ForOp) and written_arrays(each)
    ]
    if len(loops) != 1 or callback.streams:
        return None
    (loop,) = loops
    operations = list(loop.body.block.ops)
    stores = [each for each in operations if isinstance(each, STORES)]
    loads = [
        each
        for each in operations
        if isinstance(each, LOADS) and array_of(each) in written_arrays(loop)
    ]
    if len(loads) != 1 or len(stores) != 1:
        return None
    load, store = loads[0], stores[0]
    if not isinstance(load, vector.LoadOp) or not isinstance(store, vector.StoreOp):
        return None
    places = [[source_of(each) for each in op.indices] for op in (load, store)]
    bounds = [constant_of(each) for each in (loop.lb, loop.ub, loop.step)]
    type = load.result.type
    if not isinstance(type, VectorType) or not isinstance(type.element_type, AnyFloat):
        return None
    if load.base is not store.base or places[0] != places[1] or None in bounds:
        return None
    found = KeptVectors(callback, loop, load, store)
    is_counted = places[0][-1] is loop.body.block.args[0]
    return found if is_counted and len(found.starts) <= MOST_REGISTERS else None


def write(
    block: Block,
    array: SSAValue,
    names: Sequence[str],
    starts: range,
    type: VectorType[AnyFloat],
    rows: Sequence[SSAValue],
) -> None:
    """Variables go to the array, at ``rows``."""
    for name, start in zip(names, starts, strict=True):
        get, last = GetOp(name, type), integer(start)
        block.add_ops([get, last])
        at = [as_index(each, block) for each in (*rows, last.result)]
        block.add_op(vector.StoreOp(get.value, array, at))


def as_index(value: SSAValue, block: Block) -> SSAValue:
    cast = arith.IndexCastOp(value, IndexType())
    block.add_op(cast)
    return cast.result


def is_zero(value: SSAValue) -> bool:
    """Whether it is a vector of +0."""
    constant = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return isinstance(constant, DenseIntOrFPElementsAttr) and all(
        each == 0 and math.copysign(1, each) > 0 for each in constant.get_values()
    )
