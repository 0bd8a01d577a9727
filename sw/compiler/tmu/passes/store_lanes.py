"""What is kept to be stored later is computed in a lane of a vector: there it is sooner."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp, VectorType, f32
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects import flat
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.operations import FLOAT_BINARY, FLOAT_UNARY
from gnarl.sw.compiler.tmu.callbacks.masks import first_lanes
from gnarl.sw.compiler.tmu.callbacks.unused import drop_unused

_BY_LANES = (*FLOAT_BINARY, *FLOAT_UNARY, arith.OrIOp, arith.BitcastOp)


def store_lanes(module: ModuleOp, lanes: int) -> ModuleOp:
    """A variable that is stored, and nothing else, becomes a vector of which a store under a mask
    takes the first lane; what is computed for it alone, operations on vectors:

        v = a x b … word q of x = v   →   v = (a, a, …) x (b, b, …) … word q of x = lane 0 of v

    A vector is there a cycle sooner than a scalar, which a tree of lanes has to choose. Left alone:
    variables that are set to what is not computed. O(operations).
    """
    module = copied(module)
    operations = list(module.walk())
    names = [each.variable.data for each in operations if isinstance(each, GetOp)]
    for name in dict.fromkeys(names):
        variable = _Variable.found(name, operations)
        if variable is not None:
            variable.widen(lanes)
    return module


def _stores_of(gets: list[GetOp]) -> list[flat.StoreOp] | None:
    """The stores of what is read, each without a mask; ``None`` where it has other uses."""
    values = [each.value for each in gets]
    users = [use.operation for value in values for use in value.uses]
    stores = [each for each in users if isinstance(each, flat.StoreOp) and not each.mask]
    if len(stores) < len(users) or any(each.value not in values for each in stores):
        return None
    return stores


class _Variable:
    """A variable of a callback. ``stores``: that take what ``gets`` read."""

    def __init__(self, sets: list[SetOp], gets: list[GetOp], stores: list[flat.StoreOp]) -> None:
        self._sets = sets
        self._gets = gets
        self._stores = stores

    @classmethod
    def found(cls, name: str, operations: list[Operation]) -> _Variable | None:
        """The variable of a name, if it is as ``store_lanes`` has it."""
        named = [
            each
            for each in operations
            if isinstance(each, SetOp | GetOp) and each.variable.data == name
        ]
        sets = [each for each in named if isinstance(each, SetOp)]
        gets = [each for each in named if isinstance(each, GetOp)]
        stores = _stores_of(gets)
        if stores is None or any(each.value.type != f32 for each in gets):
            return None
        return cls(sets, gets, stores) if all(_is_widened(each.value) for each in sets) else None

    def widen(self, lanes: int) -> None:
        type = VectorType(f32, [lanes])
        for each in self._sets:
            block = each.parent_block()
            assert block is not None
            widened = SetOp(each.variable.data, _Widening(each, lanes).value(each.value))
            _replace(each, widened)
            drop_unused(block)
        for store in self._stores:
            mask = _mask_before(store, lanes)
            array, offset = store.place
            made_store = flat.StoreOp(store.value, array, offset, store.address, mask)
            made_store.attributes |= store.attributes
            _replace(store, made_store)
        for get in self._gets:
            made_get = GetOp(get.variable.data, type)
            made_get.value.name_hint = get.value.name_hint
            get.value.replace_all_uses_with(made_get.value)
            _replace(get, made_get)


def _is_widened(value: SSAValue) -> bool:
    """Whether a vector can be loaded, or computed, instead."""
    owner = value.owner
    if isinstance(owner, flat.LoadOp):
        return owner.mask is None and value.has_one_use()
    return any(
        isinstance(each, (*FLOAT_BINARY, *FLOAT_UNARY, arith.OrIOp)) for each in _made(value)
    )


def _made(value: SSAValue) -> Iterator[Operation]:
    """What computes a value for one use, behind casts."""
    owner = value.owner
    while isinstance(owner, Operation) and isinstance(owner, _BY_LANES):
        if not owner.results[0].has_one_use():
            return
        yield owner
        if not isinstance(owner, arith.BitcastOp):
            return
        owner = owner.input.owner


class _Widening:
    """Puts vectors of ``lanes`` before an operation."""

    def __init__(self, before: Operation, lanes: int) -> None:
        self._before = before
        self._lanes = lanes

    def value(self, value: SSAValue) -> SSAValue:
        """The vector whose first lane is a value."""
        owner = value.owner
        type = VectorType(value.type, [self._lanes])
        vector_op: Operation
        if isinstance(owner, flat.LoadOp):
            array, offset = owner.place
            mask = _mask_before(self._before, self._lanes)
            vector_op = flat.LoadOp(type, array, offset, owner.address, mask)
        elif isinstance(owner, _BY_LANES) and value.has_one_use():
            operands = [self.value(each) for each in owner.operands]
            vector_op = owner.__class__.build(
                operands=operands,
                result_types=[type],
                properties=owner.properties,
                attributes=owner.attributes,
            )
        else:
            vector_op = vector.BroadcastOp(value, type)
        _insert(vector_op, self._before)
        return vector_op.results[0]


def _mask_before(operation: Operation, lanes: int) -> SSAValue:
    """Inserts a mask of the first lane before an operation."""
    block = Block()
    mask = first_lanes(block, lanes, 1)
    for each in list(block.ops):
        each.detach()
        _insert(each, operation)
    return mask


def _insert(made: Operation, before: Operation) -> None:
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(made, before)


def _replace(old: Operation, new: Operation) -> None:
    _insert(new, old)
    old.detach()
    old.erase()
