"""Accesses of loops' bodies, in SCF as in SLC, and what their indices are sums of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.dependences.distances import (
    UNKNOWN,
    Counter,
    Distances,
    Words,
    distances,
)
from gnarl.sw.compiler.nests.dependences.linear import (
    UNKNOWN_RANGE,
    Linear,
    Range,
    is_int32,
)
from gnarl.sw.compiler.nests.dialects import slc
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.operations import LOADS, STORES, array_of, stored_value
from gnarl.sw.compiler.nests.values import constant_of, depth_of, is_defined_inside, iterations_of


@dataclass(frozen=True)
class Access:
    """``operation`` reads or writes ``words`` of ``array``, no others; of a masked one, all lanes'.
    Two parameters are two arrays: each has memory of its own."""

    operation: Operation
    array: SSAValue
    words: Words
    is_store: bool


def access_of(operation: Operation) -> Access:
    """The access of one of ``LOADS`` or ``STORES``, ``slc.mem_str`` or ``slc.store_str``."""
    array: SSAValue
    value: SSAValue
    match operation:
        case slc.MemStrOp():
            array, value = operation.array, operation.stream
        case slc.StoreStrOp():
            array, value = operation.array, operation.value
        case _ if isinstance(operation, LOADS):
            array, value = array_of(operation), operation.results[0]
        case _:
            array, value = array_of(operation), stored_value(operation)
    assert isinstance(operation, (*LOADS, *STORES, slc.MemStrOp, slc.StoreStrOp))
    words = Words([linear_of(each) for each in operation.indices], _width(value))
    return Access(operation, array, words, isinstance(operation, (*STORES, slc.StoreStrOp)))


def accesses_in(root: Operation) -> Iterator[Access]:
    """Accesses of an operation and all inside of it, in the program's order."""
    for each in root.walk():
        if isinstance(each, (*LOADS, *STORES, slc.MemStrOp, slc.StoreStrOp)):
            yield access_of(each)


def distances_in(
    loop: Operation, one: Access, other: Access, around: Operation | None = None
) -> Distances:
    """Distances between iterations of ``loop``, that of ``other`` minus that of ``one``, in which
    both may touch the same word: all in one iteration of the loops around ``loop``, or, with
    ``around``, of those around that.

    Empty where they touch none; as far as a loop goes where it is not known, as of loaded indices
    and of loops over merged fibers. Of an array the same access is another one in each iteration.
    """
    counter = counter_of(loop)
    outermost = loop if around is None else around

    def differs(value: Hashable) -> bool:
        assert isinstance(value, SSAValue)
        return is_defined_inside(value, outermost)

    apart = distances(one.words, other.words, counter, range_of, differs)
    return apart if counter is not None or not apart else UNKNOWN


def may_meet(one: Access, other: Access, around: Operation | None = None) -> bool:
    """Whether both may touch the same word: in any iterations inside of ``around``; without, in
    the one in which the values of their indices are the same."""

    def differs(value: Hashable) -> bool:
        assert isinstance(value, SSAValue)
        return around is not None and is_defined_inside(value, around)

    if one.array is not other.array:
        return False
    return bool(distances(one.words, other.words, None, range_of, differs))


def counter_of(loop: Operation) -> Counter | None:
    """What a loop counts by; ``None`` of those over merged fibers, and ``scf.while``."""
    if isinstance(loop, scf.ForOp):
        return Counter(loop.body.block.args[0], constant_of(loop.step))
    if isinstance(loop, slc.ForOp) and loop.vector is None:
        return Counter(loop.induction, loop.step.value.data)
    return None


def linear_of(value: SSAValue) -> Linear:
    """The linear form of a value, through sums, products with numbers and casts, and from what
    callbacks are given to streams. O(depth of the value)."""
    found = Linear()
    affine = affine_of(value)
    for term, factor in affine.terms.items():
        found = found.plus(_of_stream(term), factor)
    return found.plus(Linear(affine.constant))


def _of_stream(value: SSAValue) -> Linear:
    owner = value.owner
    if isinstance(owner, Block):
        callback = owner.parent_op()
        if isinstance(callback, slc.CallbackOp):
            number = owner.args.index(value)
            if number < len(callback.streams) and not isinstance(value.type, VectorType):
                return linear_of(callback.streams[number])
    elif isinstance(owner, arith.MuliOp) and (factor := constant_of(owner.lhs)) is not None:
        return Linear().plus(linear_of(owner.rhs), factor)
    elif isinstance(owner, slc.AluStrOp):
        left, right = linear_of(owner.left), linear_of(owner.right)
        match owner.operation.data:
            case "add":
                return left.plus(right)
            case "sub":
                return left.plus(right, -1)
            case "mul" if not right.terms:
                return Linear().plus(left, right.constant)
            case "mul" if not left.terms:
                return Linear().plus(right, left.constant)
            case "shift_left" if not right.terms and 0 <= right.constant < 32:
                return Linear().plus(left, 1 << right.constant)
    return Linear.of(value)


def range_of(value: Hashable) -> Range:
    """The range of a loop's counter, from the loop's bounds; where they and the step are numbers,
    up to the last iteration. O(depth of loops)."""
    assert isinstance(value, SSAValue)
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    if isinstance(loop, scf.ForOp) and value is loop.body.block.args[0]:
        if iterations := iterations_of(loop):
            return Range(Linear(iterations[0]), Linear(iterations[-1]), depth_of(loop))
        lower, upper = linear_of(loop.lb), linear_of(loop.ub)
    elif isinstance(loop, slc.ForOp) and not loop.accumulates:
        lower, upper = linear_of(loop.lower), linear_of(loop.upper)
    else:
        return UNKNOWN_RANGE
    return Range(
        lower if is_int32(lower, range_of) else None,
        upper.plus(Linear(-1)) if is_int32(upper, range_of) else None,
        depth_of(loop),
    )


def _width(value: SSAValue) -> int:
    """The width of what is loaded or stored, in words."""
    type = value.type.element if isinstance(value.type, slc.StreamType) else value.type
    return int(type.get_shape()[0]) if isinstance(type, VectorType) else 1
