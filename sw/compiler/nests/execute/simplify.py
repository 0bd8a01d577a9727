"""Computes nothing twice, nothing in a loop that its iterations share, and nothing in vain."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.flat import LoadOp, StoreOp
from gnarl.sw.compiler.nests.operations import PURE
from gnarl.sw.compiler.nests.scf import PLACE
from gnarl.sw.compiler.nests.values import constant_of, integer

_PURE = (*PURE, vector.BroadcastOp, vector.CreateMaskOp, vector.ExtractOp)


MOST_LOADS = 16
"""Words and vectors that a loop leaves in registers for its iterations."""


def simplify(module: ModuleOp) -> ModuleOp:
    """Operations without effects, and loads of arrays that nothing writes, are done once where an
    equal one has been done before, outside of loops whose iterations do them alike (loads: if the
    loop is sure to run), and not at all where nothing needs them. O(operations x depth)."""
    module = copied(module)
    written = {each.array.data for each in module.walk() if isinstance(each, StoreOp)}
    for block in _blocks(module):
        _fold(block)
    _hoist(module, written)
    for region in module.regions:
        _share(region.block, {}, written)
    _drop(module)
    return module


def _blocks(module: ModuleOp) -> list[Block]:
    return [block for each in module.walk() for region in each.regions for block in region.blocks]


def _fold(block: Block) -> None:
    """Sums and products of numbers."""
    for operation in list(block.ops):
        if not isinstance(operation, arith.AddiOp | arith.SubiOp | arith.MuliOp):
            continue
        left, right = (constant_of(each) for each in operation.operands)
        if left is None or right is None:
            continue
        number = {
            arith.AddiOp: left + right,
            arith.SubiOp: left - right,
            arith.MuliOp: left * right,
        }[type(operation)]
        folded = integer((number + (1 << 31)) % (1 << 32) - (1 << 31))
        block.insert_op_before(folded, operation)
        operation.results[0].replace_all_uses_with(folded.result)
        operation.detach()
        operation.erase()


def is_movable(operation: Operation, written: Collection[str]) -> bool:
    """Whether it gives the same wherever it is done."""
    is_load = isinstance(operation, LoadOp) and operation.array.data not in written
    return is_load or isinstance(operation, _PURE)


def _hoist(module: ModuleOp, written: Collection[str]) -> None:
    loops = [each for each in module.walk() if isinstance(each, scf.ForOp)]
    for loop in reversed(loops):
        lower, upper = constant_of(loop.lb), constant_of(loop.ub)
        runs = lower is not None and upper is not None and lower < upper
        block = loop.parent_block()
        assert block is not None
        inside = _values_inside(loop)
        loads = 0
        for operation in list(loop.body.block.ops):
            if not is_movable(operation, written) or not inside.isdisjoint(operation.operands):
                continue
            if isinstance(operation, LoadOp):
                if not runs or loads == MOST_LOADS:
                    continue
                loads += 1
            operation.detach()
            block.insert_op_before(operation, loop)
            inside -= set(operation.results)


def _values_inside(loop: scf.ForOp) -> set[SSAValue]:
    """Results and arguments of what is in a loop, and its own induction variable."""
    inside: set[SSAValue] = set(loop.body.block.args)
    for each in loop.body.walk():
        inside |= set(each.results)
        for region in each.regions:
            inside |= {argument for one in region.blocks for argument in one.args}
    return inside


def _share(
    block: Block, known: dict[tuple[object, ...], Operation], written: Collection[str]
) -> None:
    known = dict(known)
    for operation in list(block.ops):
        for region in operation.regions:
            for inner in region.blocks:
                _share(inner, known, written)
        if not is_movable(operation, written):
            continue
        key = _key(operation)
        if key not in known:
            known[key] = operation
            continue
        for old, new in zip(operation.results, known[key].results, strict=True):
            old.replace_all_uses_with(new)
        operation.detach()
        operation.erase()


def _key(operation: Operation) -> tuple[object, ...]:
    attributes = {**operation.properties, **operation.attributes}
    attributes.pop(PLACE, None)
    return (
        type(operation),
        tuple(operation.operands),
        tuple(result.type for result in operation.results),
        tuple(sorted(attributes.items(), key=lambda item: item[0])),
    )


def _drop(module: ModuleOp) -> None:
    for operation in reversed(list(module.walk())):
        if isinstance(operation, (*_PURE, LoadOp)):
            if not any(result.uses.get_length() for result in operation.results):
                operation.detach()
                operation.erase()
