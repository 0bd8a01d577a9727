"""Keeps in registers what the iterations of a loop read and write at one place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations_with_replacement, permutations

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.coupled.places import AccessedWords, accessed_words
from gnarl.sw.compiler.nests.dependences.accesses import access_of, may_meet
from gnarl.sw.compiler.nests.dependences.orders import touch_apart
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.operations import LOADS, STORES, array_of, stored_value
from gnarl.sw.compiler.nests.values import (
    copy,
    is_defined_inside,
    is_inside,
    iterations_of,
    source_of,
)

_KEPT = "kept_"

MOST_VECTORS = 16
"""Vectors that are kept; other registers are for what is computed from them."""


def keep_results(module: ModuleOp, zeros: Collection[str]) -> ModuleOp:
    """Loads and stores of an array in a loop's body whose places do not change become variables,
    loaded before the loop and stored behind it, if the loop runs.

    All accesses of the array in the loop must be such, at places that are equal or apart.
    ``zeros``: arrays that are 0 before the run; what nothing has written yet begins as 0 instead of
    being loaded. O(accesses^2).
    """
    module = copied(module)
    arrays = arrays_of(function_of(module))
    at_zero: set[SSAValue] = {array for array, name in arrays.items() if name in zeros}
    count = _kept_before(module)
    for loop in reversed([each for each in module.walk() if isinstance(each, scf.ForOp)]):
        kept = _kept(loop)
        if kept:
            _keep(loop, kept, count, at_zero)
            count += len(kept)
    return module


def _kept_before(module: ModuleOp) -> int:
    """Variables that another run has made."""
    names = {each.variable.data for each in module.walk() if isinstance(each, SetOp)}
    return sum(each.startswith(_KEPT) for each in names)


def _kept(loop: scf.ForOp) -> list[AccessedWords]:
    """Places of arrays that the body writes, all of which can be kept."""
    accesses = [each for each in loop.body.walk() if isinstance(each, (*LOADS, *STORES))]
    written = {array_of(each) for each in accesses if isinstance(each, STORES)}
    by_array: dict[SSAValue, list[Operation]] = {}
    for operation in accesses:
        by_array.setdefault(array_of(operation), []).append(operation)
    kept: list[AccessedWords] = []
    for array, operations in by_array.items():
        if array in written and all(_is_in_place(each, loop) for each in operations):
            places = _places(operations)
            if all(one.is_apart(two) for one, two in permutations(places, 2)):
                kept += places
    # Neighbours come one behind the other, so that lines are written as a whole.
    kept.sort(key=lambda each: [index.constant for index in each.access.words.indices])
    return kept if sum(each.access.words.width > 1 for each in kept) <= MOST_VECTORS else []


def _is_in_place(operation: Operation, loop: scf.ForOp) -> bool:
    """Whether each iteration of a loop loads or stores the same words."""
    assert isinstance(operation, (*LOADS, *STORES))
    is_direct = operation.parent_block() is loop.body.block
    return is_direct and all(_is_outside(index, loop) for index in operation.indices)


def _places(operations: Sequence[Operation]) -> list[AccessedWords]:
    """The places that loads and stores of an array access, with the accesses of each."""
    places: list[AccessedWords] = []
    for operation in operations:
        place = accessed_words(operation)
        known = next((each for each in places if each.is_same(place)), None)
        if known is None:
            places.append(known := place)
        known.accesses.append(operation)
    return places


def _is_outside(index: SSAValue, loop: scf.ForOp) -> bool:
    return not any(is_defined_inside(source_of(value), loop) for value in affine_of(index).terms)


def _keep(
    loop: scf.ForOp, kept: list[AccessedWords], start: int, at_zero: Collection[SSAValue]
) -> None:
    block = loop.parent_block()
    assert block is not None
    before: list[Operation] = []
    behind: list[Operation] = []
    for number, place in enumerate(kept, start):
        name = f"{_KEPT}{number}"
        access = place.accesses[0]
        assert isinstance(access, (*LOADS, *STORES))
        indices, mask = list(access.indices), place.mask
        values: dict[SSAValue, SSAValue] = {}
        computed: list[Operation] = []
        for value in (*indices, *([mask] if mask is not None else [])):
            _compute(value, loop, values, computed)
        indices = [values.get(each, each) for each in indices]
        mask = values.get(mask, mask) if mask is not None else None
        is_zero = place.access.array in at_zero and _is_first(loop, place)
        first: list[Operation] = (
            [arith.ConstantOp(_zero(_type(access)))] if is_zero else _load(access, indices, mask)
        )
        before += [*computed, *first, SetOp(name, first[-1].results[0])]
        if any(isinstance(each, STORES) for each in place.accesses):
            behind += _store(access, indices, mask, name)
        for each in place.accesses:
            _replace(each, name)
    if iterations_of(loop):
        block.insert_ops_before(before, loop)
        block.insert_ops_after(behind, loop)
        return
    chosen = arith.CmpiOp(loop.lb, loop.ub, "slt")
    inside = Block()
    test = scf.IfOp(chosen.result, [], [inside])
    block.insert_ops_before([chosen, test], loop)
    loop.detach()
    inside.add_ops([*before, loop, *behind, scf.YieldOp()])


def _is_first(loop: scf.ForOp, place: AccessedWords) -> bool:
    """Whether nothing has written the place before: stores that may touch it are in the loop or
    stand behind it, and those of other iterations of the loops around touch others."""
    loops = []
    around: Operation | None = loop.parent_op()
    while isinstance(around, scf.ForOp | scf.IfOp):
        if isinstance(around, scf.ForOp):
            loops.append(around)
        around = around.parent_op()
    if not isinstance(around, func.FuncOp):
        return False
    block = loop.parent_block()
    accesses = [place.access]
    for operation in around.walk():
        if not isinstance(operation, STORES):
            continue
        other = access_of(operation)
        if not may_meet(place.access, other, around):
            continue
        holder: Operation | None = operation
        while holder is not None and holder.parent_block() is not block:
            holder = holder.parent_op()
        if holder is None or (holder is not loop and not _is_before(loop, holder)):
            return False
        accesses.append(other)
    return all(touch_apart(each, combinations_with_replacement(accesses, 2)) for each in loops)


def _is_before(one: Operation, other: Operation) -> bool:
    behind = one.next_op
    while behind is not None:
        if behind is other:
            return True
        behind = behind.next_op
    return False


def _compute(
    value: SSAValue, loop: scf.ForOp, values: dict[SSAValue, SSAValue], made: list[Operation]
) -> None:
    """Copies of what in the loop gives ``value``, for a place before it."""
    owner = value.owner
    if value in values or not isinstance(owner, Operation) or not is_inside(owner, loop):
        return
    for operand in owner.operands:
        _compute(operand, loop, values, made)
    made.append(copy(owner, values))
    values |= dict(zip(owner.results, made[-1].results, strict=True))


def _type(access: Operation) -> Attribute:
    """The type of what an access loads or stores."""
    return (access.results[0] if access.results else stored_value(access)).type


def _load(access: Operation, indices: Sequence[SSAValue], mask: SSAValue | None) -> list[Operation]:
    array, type = array_of(access), _type(access)
    if not isinstance(type, VectorType):
        return [memref.LoadOp.get(array, indices)]
    if mask is None:
        return [vector.LoadOp(array, indices, type)]
    zero = arith.ConstantOp(_zero(type))
    return [zero, vector.MaskedLoadOp(array, indices, mask, zero.result, type)]


def _store(
    access: Operation, indices: Sequence[SSAValue], mask: SSAValue | None, name: str
) -> list[Operation]:
    """Operations that store the variable."""
    array, get = array_of(access), GetOp(name, _type(access))
    if not isinstance(get.value.type, VectorType):
        return [get, memref.StoreOp.get(get.value, array, indices)]
    if mask is None:
        return [get, vector.StoreOp(get.value, array, indices)]
    return [get, vector.MaskedStoreOp(array, indices, mask, get.value)]


def _zero(
    type: Attribute,
) -> DenseIntOrFPElementsAttr | FloatAttr[Float32Type] | IntegerAttr[IntegerType]:
    if isinstance(type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(type, [0] * int(type.get_shape()[0]))
    return FloatAttr(0.0, f32) if type == f32 else IntegerAttr(0, i32)


def _replace(access: Operation, name: str) -> None:
    block = access.parent_block()
    assert block is not None
    if isinstance(access, LOADS):
        replacement: Operation = GetOp(name, access.results[0].type)
        access.results[0].replace_all_uses_with(replacement.results[0])
    else:
        replacement = SetOp(name, stored_value(access))
    block.insert_op_before(replacement, access)
    access.detach()
    access.erase()
