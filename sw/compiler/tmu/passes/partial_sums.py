"""Several vectors of partial sums for what a callback adds up: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    IntegerAttr,
    ModuleOp,
    VectorType,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import BlendOp, GetOp, PopOp, SetOp
from gnarl.sw.compiler.nests.execute.unroll import cost
from gnarl.sw.compiler.nests.lane_sums import SUMS, is_of_lanes
from gnarl.sw.compiler.nests.scf import STATEMENT
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import is_zero
from gnarl.sw.compiler.tmu.passes.queued_fiber import queued_fiber, write_out_loops

PARTIAL_SUMS = "partial_sums"
"""The attribute of the innermost loop that has their number."""

_WAIT = FLOAT_STAGES + 1
"""Cycles from a vector sum to the next one that adds to it."""


def partial_sums(module: ModuleOp) -> ModuleOp:
    """Splits a sum that a callback adds up in each lane over the vectors of a fiber: vector i goes
    to sum i modulo a power of two; then the sums are added by halves.

    There are so many sums that none waits for itself, and not more than vectors: one where a vector
    takes as many instructions as a sum takes cycles. See ``gnarl.sw.workloads.loops.ir.lane_sums``
    for the order. O(operations).
    """
    changed = copied(module)
    queued = queued_fiber(changed)
    if queued is None or SUMS not in queued.loop.attributes or len(queued.starts) < 2:
        return module
    block = queued.callback.body.block
    write_out_loops(block)
    names = {
        each.variable.data
        for each in block.walk()
        if isinstance(each, SetOp) and is_of_lanes(each.variable.data)
    }
    chains = [_chain(block, name, len(queued.starts)) for name in sorted(names)]
    if not chains or None in chains:
        return module
    first = chains[0]
    assert first is not None
    count = min(_WAIT // _instructions(block, first), len(queued.starts))
    count = 1 << count.bit_length() - 1 if count else 0
    if count < 2:
        return module
    for chain in chains:
        assert chain is not None
        chain.split(block, count)
    queued.loop.attributes[PARTIAL_SUMS] = IntegerAttr(count, i64)
    return changed


def loops_of_partial_sums(module: ModuleOp) -> dict[int, int]:
    """The number of sums by the nest's statements that are such loops."""
    loops = {}
    for loop in module.walk():
        if PARTIAL_SUMS in loop.attributes:
            number, count = loop.attributes[STATEMENT], loop.attributes[PARTIAL_SUMS]
            assert isinstance(number, IntegerAttr) and isinstance(count, IntegerAttr)
            loops[number.value.data] = count.value.data
    return loops


@dataclass(frozen=True)
class _Sum:
    """``get`` reads what ``add`` adds to; in a part of a vector ``blend`` keeps other lanes."""

    get: GetOp
    add: arith.AddfOp
    blend: BlendOp | None
    set: SetOp


@dataclass(frozen=True)
class _Chain:
    """What a variable does in a callback: it begins as 0, ``sums`` follow each other, ``total``
    reads them all, and ``end`` sets it to 0."""

    sums: Sequence[_Sum]
    total: GetOp
    end: SetOp

    def split(self, block: Block, count: int) -> None:
        """Splits the sum into ``count`` values, instead of the variable."""
        zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self._type, [0.0]))
        assert block.first_op is not None
        block.insert_op_before(zero, block.first_op)
        values: list[SSAValue] = [zero.result] * count
        for number, each in enumerate(self.sums):
            each.get.value.replace_all_uses_with(values[number % count])
            values[number % count] = each.set.value
            _erase(each.set, each.get)
        while len(values) > 1:
            half = len(values) // 2
            sums = [arith.AddfOp(values[at], values[at + half]) for at in range(half)]
            block.insert_ops_before(sums, self.total)
            values = [each.result for each in sums]
        self.total.value.replace_all_uses_with(values[0])
        _erase(self.total, self.end)

    @property
    def _type(self) -> VectorType[Float32Type]:
        type = self.total.value.type
        assert isinstance(type, VectorType) and isinstance(type.element_type, Float32Type)
        return type


def _chain(block: Block, name: str, vectors: int) -> _Chain | None:
    """The chain of a variable that nothing but this callback uses."""
    uses = _uses(block, name)
    if len(uses) != 2 * vectors + 2 or any(each.parent_block() is not block for each in uses):
        return None
    sums = [_sum(uses[at], uses[at + 1]) for at in range(0, 2 * vectors, 2)]
    total, end = uses[-2:]
    if not isinstance(total, GetOp) or not isinstance(end, SetOp) or not is_zero(end.value):
        return None
    chained = [each for each in sums if each is not None]
    return _Chain(chained, total, end) if len(chained) == vectors else None


def _uses(block: Block, name: str) -> list[GetOp | SetOp]:
    """What reads or writes a variable in the module around a block."""
    module: Operation | None = block.parent_op()
    while module is not None and module.parent_op() is not None:
        module = module.parent_op()
    assert module is not None
    return [
        each
        for each in module.walk()
        if isinstance(each, GetOp | SetOp) and each.variable.data == name
    ]


def _sum(get: GetOp | SetOp, set: GetOp | SetOp) -> _Sum | None:
    if not isinstance(get, GetOp) or not isinstance(set, SetOp):
        return None
    blend, value = None, set.value
    if isinstance(value.owner, BlendOp):
        blend = value.owner
        value = blend.value
    add = value.owner
    if not isinstance(add, arith.AddfOp):
        return None
    readers = {use.operation for use in get.value.uses}
    is_kept = blend is None or blend.other is get.value
    operands = [each is get.value for each in add.operands]
    if readers != {each for each in (add, blend) if each is not None} or not is_kept:
        return None
    if sum(operands) != 1 or any(len(list(each.uses)) != 1 for each in (set.value, add.result)):
        return None
    return _Sum(get, add, blend, set)


def _instructions(block: Block, chain: _Chain) -> int:
    """Instructions for a vector: an operation may take an operand from the queue, and a product is
    added as it is made."""
    operations = list(block.ops)
    first, second = (operations.index(each.set) for each in chain.sums[:2])
    between = operations[first + 1 : second]
    pops = [each for each in between if isinstance(each, PopOp)]
    sums = [each for each in between if isinstance(each, arith.AddfOp)]
    products = [
        each for each in sums if any(isinstance(one.owner, arith.MulfOp) for one in each.operands)
    ]
    computed = cost(between) - len(pops) - len(products)
    return computed + max(0, len(pops) - computed)


def _erase(*operations: Operation) -> None:
    for each in operations:
        each.detach()
        each.erase()
