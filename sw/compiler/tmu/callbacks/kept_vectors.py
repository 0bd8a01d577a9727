"""Vectors of an array that a callback updates, as variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, GetOp, SetOp
from gnarl.sw.compiler.nests.operations import (
    ADDRESSES,
    LOADS,
    STORES,
    array_of,
    stored_value,
    written_arrays,
)
from gnarl.sw.compiler.nests.values import (
    integer,
    is_defined_inside,
    is_inside,
    iterations_of,
    source_of,
)
from gnarl.sw.compiler.tmu.callbacks.masks import first_lanes, lanes_of, only_lanes_matter

MOST_REGISTERS = 24
"""Vectors that are kept; others are for what is computed from them."""

Load = vector.LoadOp | vector.MaskedLoadOp
Store = vector.StoreOp | vector.MaskedStoreOp


@dataclass(frozen=True)
class KeptVector:
    """The variable ``name`` for the first ``lanes`` of a vector at ``start`` of the array's last
    dimension, all of them if ``None``; its other lanes may have anything."""

    name: str
    start: int
    type: VectorType[AnyFloat]
    lanes: int | None

    @property
    def end(self) -> int:
        (size,) = self.type.get_shape()
        return self.start + (size if self.lanes is None else self.lanes)

    def load(self, block: Block, array: SSAValue, rows: Sequence[SSAValue]) -> None:
        """Loads from the array, at ``rows``, into the variable."""
        at = self._place(block, rows)
        load_op: Operation
        if self.lanes is None:
            load_op = vector.LoadOp.build(operands=[array, at], result_types=[self.type])
        else:
            rest = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self.type, [0.0]))
            block.add_op(rest)
            load_op = vector.MaskedLoadOp(array, at, self._mask(block), rest.result)
        block.add_ops([load_op, SetOp(self.name, load_op.results[0])])

    def store(self, block: Block, array: SSAValue, rows: Sequence[SSAValue]) -> None:
        get = GetOp(self.name, self.type)
        block.add_op(get)
        at = self._place(block, rows)
        if self.lanes is None:
            block.add_op(vector.StoreOp(get.value, array, at))
        else:
            block.add_op(vector.MaskedStoreOp(array, at, self._mask(block), get.value))

    def _place(self, block: Block, rows: Sequence[SSAValue]) -> list[SSAValue]:
        start = integer(self.start)
        block.add_op(start)
        return [as_index(each, block) for each in (*rows, start.result)]

    def _mask(self, block: Block) -> SSAValue:
        assert self.lanes is not None
        (size,) = self.type.get_shape()
        return first_lanes(block, size, self.lanes)


@dataclass(frozen=True)
class Update:
    """A ``loop`` of a callback that loads a vector of an array, and stores one at the same place:
    at ``rows``, and from each of ``starts`` on in the last dimension."""

    loop: scf.ForOp
    load: Load
    store: Store
    starts: range

    @property
    def rows(self) -> list[SSAValue]:
        return [source_of(each) for each in self.load.indices][:-1]

    @property
    def lanes(self) -> int | None:
        """How many first lanes the access has; ``None`` for all."""
        return lanes_of(self.load.mask) if isinstance(self.load, vector.MaskedLoadOp) else None


@dataclass(frozen=True)
class KeptVectors:
    """``updates`` of vectors of one array at the same rows, in the order of the callback, as
    ``vectors``."""

    callback: CallbackOp
    updates: Sequence[Update]
    vectors: Sequence[KeptVector]

    @property
    def array(self) -> SSAValue:
        return self.updates[0].load.base

    @property
    def rows(self) -> list[SSAValue]:
        return self.updates[0].rows

    @property
    def type(self) -> VectorType[AnyFloat]:
        return self.vectors[0].type

    def is_alone(self, around: Operation) -> bool:
        """Whether nothing else inside of an operation uses the array."""
        own: set[Operation] = {each for one in self.updates for each in (one.load, one.store)}
        uses = [use.operation for use in self.array.uses]
        return all(
            user in own or not is_inside(user, around)
            for user in uses
            if not isinstance(user, func.ReturnOp)
        )

    def replace(self) -> None:
        """The loops' iterations, one after the other, on variables."""
        names = iter(self.vectors)
        for update in self.updates:
            for start in update.starts:
                self._write_iteration(update, next(names).name, start)
            update.loop.detach()
            update.loop.erase()

    def _write_iteration(self, update: Update, name: str, start: int) -> None:
        block, loop = self.callback.body.block, update.loop
        first = integer(start)
        block.insert_op_before(first, loop)
        values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: first.result}
        for operation in loop.body.block.ops:
            if isinstance(operation, scf.YieldOp):
                continue
            replacement: Operation
            if operation is update.load:
                replacement = GetOp(name, self.type)
            elif operation is update.store:
                stored = stored_value(update.store)
                replacement = SetOp(name, values.get(stored, stored))
            else:
                replacement = operation.clone(values)
            block.insert_op_before(replacement, loop)
            for old, new in zip(operation.results, replacement.results, strict=True):
                values[old] = new


def kept_vectors(callback: CallbackOp) -> KeptVectors | None:
    """Vectors that a callback may keep, if its loops that store have known bounds, and load and
    store vectors of one array at one place each, of rows that are known before, no word in two of
    them. A mask is of so many first lanes, the same in both accesses, and no other lane of what is
    loaded matters. O(operations)."""
    loops = [
        each
        for each in callback.body.block.ops
        if isinstance(each, scf.ForOp) and written_arrays(each)
    ]
    updates = [update for each in loops if (update := _update(each)) is not None]
    if not loops or len(updates) != len(loops) or callback.streams:
        return None
    first = updates[0]
    if not all(_are_of_one_row(first, each) for each in updates):
        return None
    vectors = _vectors(updates)
    can_keep = len(vectors) <= MOST_REGISTERS and not _overlap(vectors)
    return KeptVectors(callback, updates, vectors) if can_keep else None


def _vectors(updates: Sequence[Update]) -> list[KeptVector]:
    """The vectors of updates of one row, by number."""
    load = updates[0].load
    name, type = load.base.name_hint or "array", load.result.type
    assert isinstance(type, VectorType)
    return [
        KeptVector(f"{name}_{number}", start, type, lanes)
        for number, (start, lanes) in enumerate(_places(updates))
    ]


def _overlap(vectors: Sequence[KeptVector]) -> bool:
    """Whether a word is in two vectors."""
    ordered = sorted(vectors, key=lambda each: each.start)
    return any(a.end > b.start for a, b in pairwise(ordered))


def _are_of_one_row(one: Update, other: Update) -> bool:
    """Whether both are of vectors of one type, in the same row of one array."""
    return (
        one.load.base is other.load.base
        and _keys(one.rows) == _keys(other.rows)
        and one.load.result.type == other.load.result.type
    )


def _places(updates: Sequence[Update]) -> Iterator[tuple[int, int | None]]:
    for each in updates:
        for start in each.starts:
            yield start, each.lanes


def _update(loop: scf.ForOp) -> Update | None:
    written = written_arrays(loop)
    accesses = [
        each
        for each in loop.body.block.ops
        if isinstance(each, (*LOADS, *STORES)) and array_of(each) in written
    ]
    if len(accesses) != 2:
        return None
    load, store = accesses
    if not isinstance(load, Load) or not isinstance(store, Store):
        return None
    iterations = iterations_of(loop)
    if iterations is None or not _are_at_one_place(load, store):
        return None
    update = Update(loop, load, store, iterations)
    is_counted = source_of(load.indices[-1]) is loop.body.block.args[0]
    if not is_counted or any(is_defined_inside(each, loop) for each in update.rows):
        return None
    return update if _has_one_mask(load, store) else None


def _are_at_one_place(load: Load, store: Store) -> bool:
    """Whether floating-point numbers are loaded from a place and stored there again."""
    type = load.result.type
    if not isinstance(type, VectorType) or not isinstance(type.element_type, AnyFloat):
        return False
    return load.base is store.base and _keys(load.indices) == _keys(store.indices)


def _keys(values: Sequence[SSAValue]) -> list[object]:
    return [_key(each) for each in values]


def _key(value: SSAValue) -> object:
    """Equal where values are known to be."""
    value = source_of(value)
    if isinstance(value.owner, ADDRESSES):
        attributes = value.owner.properties
        return type(value.owner), tuple(attributes.items()), *map(_key, value.owner.operands)
    return value


def _has_one_mask(load: Load, store: Store) -> bool:
    """Whether both have one mask, or none."""
    if not isinstance(load, vector.MaskedLoadOp) or not isinstance(store, vector.MaskedStoreOp):
        return isinstance(load, vector.LoadOp) and isinstance(store, vector.StoreOp)
    lanes = lanes_of(load.mask)
    return (
        lanes is not None
        and lanes == lanes_of(store.mask)
        and only_lanes_matter(load.result, lanes)
    )


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
