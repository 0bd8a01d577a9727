"""A way of its own for each mask of a union that makes a difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, MemStrOp, MergeOp
from gnarl.sw.compiler.nests.values import constant_of, copy
from gnarl.sw.compiler.tmu.callbacks.unused import drop_unused
from gnarl.sw.compiler.tmu.decoupling.presence import Masks

MOST_FIBERS = 3
"""Fibers of a union: a callback is copied for as many masks as make a difference."""


def split_masks(module: ModuleOp) -> ModuleOp:
    """A callback of a union that chooses by the mask between what it computes branches instead, and
    computes in each way what is chosen there:

        callback(mask, a, b): x = mask > 2 ? f(a, b) : g(a); …
        →   callback(mask, a, b): if mask > 2: (x = f(a, b); …) else: (x = g(a); …)

    Of two fibers' words of which one is chosen where the other is 0, the choice is their ``or``.
    Left alone: unions of more than ``MOST_FIBERS``. O(masks x operations).
    """
    module = copied(module)
    for loop in [each for each in module.walk() if isinstance(each, MergeOp)]:
        mask = loop.mask
        if mask is None or len(loop.coordinates) > MOST_FIBERS:
            continue
        for callback in [each for each in loop.body.block.ops if isinstance(each, CallbackOp)]:
            if mask in callback.streams:
                _Splitting(loop, callback, mask).run()
    return module


class _Splitting:
    def __init__(self, loop: MergeOp, callback: CallbackOp, mask: SSAValue) -> None:
        self._loop = loop
        self._callback = callback
        arguments = callback.body.block.args
        self._mask = arguments[list(callback.streams).index(mask)]
        self._fibers: dict[SSAValue, int] = {
            argument: fiber
            for argument, stream in zip(arguments, callback.streams, strict=True)
            if (fiber := self._fiber_of(stream)) is not None
        }

    def run(self) -> None:
        every = frozenset(range(1, 1 << len(self._loop.coordinates)))
        old = self._callback.body.block
        operations = list(old.ops)
        if self._dividing(operations, every) is None:
            return
        filled = Block()
        self._fill(filled, operations, every, {})
        for each in reversed(operations):
            each.detach()
            each.erase()
        for each in list(filled.ops):
            each.detach()
            old.add_op(each)

    def _fiber_of(self, stream: SSAValue) -> int | None:
        """The one whose position a stream is loaded at: it is 0 where that lacks the coordinate."""
        positions = list(self._loop.positions)
        if stream in positions:
            return positions.index(stream)
        if not isinstance(stream.owner, MemStrOp) or stream.owner.parent_op() is not self._loop:
            return None
        found = [self._fiber_of(each) for each in stream.owner.indices]
        return next((each for each in found if each is not None), None)

    def _fill(
        self,
        block: Block,
        operations: Sequence[Operation],
        masks: Masks,
        values: Mapping[SSAValue, SSAValue],
    ) -> None:
        """``block`` does ``operations`` as with ``masks``; ``values``: of what has been done."""
        values = dict(values)
        condition = self._dividing(operations, masks)
        if condition is not None:
            for each in _needed(condition, operations):
                copied = copy(each, values)
                block.add_op(copied)
                values |= dict(zip(each.results, copied.results, strict=True))
            when = frozenset(each for each in masks if self._value(condition, each))
            arms = []
            for part in (when, masks - when):
                arm = Block()
                self._fill(arm, operations, part, {})
                drop_unused(arm)
                arm.add_op(scf.YieldOp())
                arms.append(Region(arm))
            block.add_op(scf.IfOp(values[condition], [], arms[0], arms[1]))
            return
        for each in operations:
            if isinstance(each, arith.SelectOp):
                chosen = self._chosen(each, masks)
                if chosen is not None:
                    values[each.result] = values.get(chosen, chosen)
                    continue
                if self._is_either(each, masks):
                    values[each.result] = _either(block, each)
                    continue
            copied = copy(each, values)
            block.add_op(copied)
            values |= dict(zip(each.results, copied.results, strict=True))

    def _dividing(self, operations: Sequence[Operation], masks: Masks) -> SSAValue | None:
        """The condition that decides with some of ``masks`` what is computed."""
        for each in reversed(operations):
            if not isinstance(each, arith.SelectOp) or self._chosen(each, masks) is not None:
                continue
            by_mask = self._value(each.cond, min(masks)) is not None
            is_computed = any(
                isinstance(value.owner, Operation) and constant_of(value) is None
                for value in (each.lhs, each.rhs)
            )
            if by_mask and is_computed:
                return each.cond
        return None

    def _chosen(self, choice: arith.SelectOp, masks: Masks) -> SSAValue | None:
        """What is chosen with all of ``masks``."""
        found = {self._value(choice.cond, each) for each in masks}
        if len(found) != 1 or None in found:
            return None
        return choice.lhs if found.pop() else choice.rhs

    def _is_either(self, choice: arith.SelectOp, masks: Masks) -> bool:
        """Whether of two words of fibers the one is 0 that is not chosen."""
        if choice.lhs not in self._fibers or choice.rhs not in self._fibers:
            return False
        for mask in masks:
            takes_left = self._value(choice.cond, mask)
            if takes_left is None:
                return False
            other = self._fibers[choice.rhs if takes_left else choice.lhs]
            if mask >> other & 1:
                return False
        return True

    def _value(self, value: SSAValue, mask: int) -> int | None:
        """The value, if it follows from the mask alone."""
        if value is self._mask:
            return mask
        owner = value.owner
        if not isinstance(owner, Operation):
            return None
        if isinstance(owner, arith.ConstantOp):
            return constant_of(value)
        operands = [self._value(each, mask) for each in owner.operands]
        numbers = [each for each in operands if each is not None]
        if len(numbers) < len(operands):
            return None
        match owner:
            case arith.CmpiOp():
                return _ORDERS[owner.predicate.value.data](*numbers)
            case arith.TruncIOp():
                return numbers[0] & 1
            case arith.ShRSIOp():
                return numbers[0] >> numbers[1]
            case arith.AndIOp():
                return numbers[0] & numbers[1]
            case arith.OrIOp():
                return numbers[0] | numbers[1]
            case arith.XOrIOp():
                return numbers[0] ^ numbers[1]
        return None


_ORDERS: Mapping[int, Callable[[int, int], int]] = dict(enumerate((eq, ne, lt, le, gt, ge)))
"""Orders of signed integers, by their numbers."""


def _needed(condition: SSAValue, operations: Sequence[Operation]) -> list[Operation]:
    """What a condition is computed by, in order."""
    wanted = {condition}
    needed: list[Operation] = []
    for each in reversed(operations):
        if not wanted.isdisjoint(each.results):
            wanted |= set(each.operands)
            needed.insert(0, each)
    return needed


def _either(block: Block, choice: arith.SelectOp) -> SSAValue:
    """The ``or`` of both words, at the end of a block."""
    if choice.result.type == i32:
        whole = arith.OrIOp(choice.lhs, choice.rhs)
        block.add_op(whole)
        return whole.result
    words = [arith.BitcastOp(each, i32) for each in (choice.lhs, choice.rhs)]
    either = arith.OrIOp(words[0].result, words[1].result)
    as_words = arith.BitcastOp(either.result, choice.result.type)
    block.add_ops([*words, either, as_words])
    return as_words.result
