"""Merges two fibers with loops of scf alone: a step a coordinate, without branches but the body's.

The fiber whose coordinate is the smaller one steps on, both where they are equal. Behind the end of
one fiber, a union runs through what is left of the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, i1, i32
from xdsl.ir import Block, Operation, SSAValue

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.coupled.prefetch import ON_THE_WAY
from gnarl.sw.compiler.nests.dialects.fiber import MergeOp
from gnarl.sw.compiler.nests.dialects.flat import FetchOp
from gnarl.sw.compiler.nests.scf import PLACE, place_of
from gnarl.sw.compiler.nests.unit import Unit
from gnarl.sw.compiler.nests.values import integer, source_of

STEP = 8
"""Cycles that a step takes at least."""


def merge_loops(module: ModuleOp, config: Unit) -> ModuleOp:
    """``fiber.merge`` becomes ``scf.while``, with two ``scf.for`` behind it for a union.

    What is at the positions of a fiber that is another one in each iteration of the loop around is
    fetched ahead, as many steps as memory's latency takes; other fibers are in the cache. Raises
    ``WorkloadError`` for merges of more than two fibers. O(operations of the result): a union's
    body stands there three times.
    """
    module = copied(module)
    # Inner ones first: bodies are copied.
    for loop in reversed([each for each in module.walk() if isinstance(each, MergeOp)]):
        if len(loop.coordinates) != 2:
            raise WorkloadError(
                f"{place_of(loop)}: a merge of {len(loop.coordinates)} fibers: the execute unit "
                "alone merges 2"
            )
        _replace(loop, -(-(config.latency + ON_THE_WAY) // STEP))
    return module


def _replace(loop: MergeOp, ahead: int) -> None:
    block = loop.parent_block()
    assert block is not None
    both = _both(loop, ahead)
    new_ops: list[Operation] = [both]
    if loop.is_union:
        for number in range(2):
            new_ops += _rest(loop, number, both.results)
    for each in new_ops:
        each.attributes[PLACE] = StringAttr(place_of(loop))
        block.insert_op_before(each, loop)
    loop.detach()
    loop.erase()


def _both(loop: MergeOp, ahead: int) -> scf.WhileOp:
    """While both fibers have coordinates left."""
    before = Block(arg_types=[i32, i32])
    positions = before.args
    goes_on = [
        _add(before, arith.CmpiOp(position, upper, "slt"))
        for position, upper in zip(positions, loop.uppers, strict=True)
    ]
    both_go_on = _add(before, arith.AndIOp(goes_on[0], goes_on[1]))
    before.add_op(scf.ConditionOp(both_go_on, *positions))

    body = Block(arg_types=[i32, i32])
    positions = body.args
    for number, position in enumerate(positions):
        if _is_another(loop, number):
            _fetch(body, _arrays(loop, number), position, ahead)
    first, second = (
        _load(body, array, position)
        for array, position in zip(loop.coordinates, positions, strict=True)
    )
    is_less, is_more = (
        _add(body, arith.CmpiOp(a, b, "slt")) for a, b in ((first, second), (second, first))
    )
    one = _add(body, arith.ConstantOp.from_int_and_width(1, i1))
    has = [_add(body, arith.XOrIOp(each, one)) for each in (is_more, is_less)]
    if loop.is_union:
        smaller = _add(body, arith.MinSIOp(first, second))
        _copy(loop, body, [smaller, *positions, *has])
    else:
        inside = Block()
        _copy(loop, inside, [first, *positions])
        inside.add_op(scf.YieldOp())
        equal = _add(body, arith.CmpiOp(first, second, "eq"))
        body.add_op(scf.IfOp(equal, [], [inside]))
    further = []
    for position, step in zip(positions, has, strict=True):
        by = _add(body, arith.ExtUIOp(step, i32))
        further.append(_add(body, arith.AddiOp(position, by)))
    body.add_op(scf.YieldOp(*further))
    return scf.WhileOp(list(loop.lowers), [i32, i32], [before], [body])


def _rest(loop: MergeOp, number: int, reached: Sequence[SSAValue]) -> list[Operation]:
    """What is left of a fiber behind the end of the other, which stays where it is. ``reached``:
    positions of both."""
    body = Block(arg_types=[i32])
    here = body.args[0]
    coordinate = _load(body, loop.coordinates[number], here)
    positions = [here if each == number else reached[each] for each in range(2)]
    has = [
        _add(body, arith.ConstantOp.from_int_and_width(int(each == number), 1)) for each in range(2)
    ]
    _copy(loop, body, [coordinate, *positions, *has])
    body.add_op(scf.YieldOp())
    one = integer(1)
    return [one, scf.ForOp(reached[number], loop.uppers[number], one.result, [], body)]


def _is_another(loop: MergeOp, number: int) -> bool:
    """Whether a fiber's bounds are made where the loop is, not further out."""
    bounds = loop.lowers[number], loop.uppers[number]
    return any(
        isinstance(each.owner, Operation) and each.owner.parent_op() is loop.parent_op()
        for each in bounds
    )


def _arrays(loop: MergeOp, number: int) -> list[SSAValue]:
    """Arrays with an element for each of a fiber's positions: its coordinates, and others that the
    body loads there."""
    arrays = [loop.coordinates[number]]
    for each in loop.walk():
        if isinstance(each, memref.LoadOp) and each.memref not in arrays:
            if [source_of(index) for index in each.indices] == [loop.positions[number]]:
                arrays.append(each.memref)
    return arrays


def _fetch(block: Block, arrays: Sequence[SSAValue], position: SSAValue, ahead: int) -> None:
    by = _add(block, arith.ConstantOp.from_int_and_width(ahead, i32))
    then = _add(block, arith.AddiOp(position, by))
    block.add_ops([FetchOp(array, [then]) for array in arrays])


def _load(block: Block, array: SSAValue, position: SSAValue) -> SSAValue:
    at = _add(block, arith.IndexCastOp(position, IndexType()))
    return _add(block, memref.LoadOp.get(array, [at]))


def _copy(loop: MergeOp, block: Block, arguments: Sequence[SSAValue]) -> None:
    """The loop's body."""
    values = dict(zip(loop.body.block.args, arguments, strict=True))
    for operation in loop.body.block.ops:
        block.add_op(operation.clone(values))


def _add(block: Block, operation: Operation) -> SSAValue:
    block.add_op(operation)
    return operation.results[0]
