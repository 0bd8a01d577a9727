"""Tracks which fibers of a union have the coordinate, as the mask that the access unit gives.

What fibers that lack it would give is 0 in the access unit, while the nest's positions are those of
their next larger coordinates: nothing may come of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NoReturn

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.nests.dialects.fiber import MergeOp
from gnarl.sw.compiler.nests.dialects.slc import SetOp
from gnarl.sw.compiler.nests.scf import place_of
from gnarl.sw.compiler.nests.values import constant_of, integer, is_inside, source_of

Masks = frozenset[int]
"""Sets of fibers, fiber n being bit n."""

_BOOLEAN = (arith.AndIOp, arith.OrIOp, arith.XOrIOp)


def to_mask(loop: MergeOp, written: Collection[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
    """Replaces whether a union's fibers have the coordinate by what follows from one argument more
    of its body, an i32 mask, which it gives. O(operations x masks).

    Of ``x[p] if has_p else 0``, where p is the position of a fiber, or a constant more, and x none
    of the ``written`` arrays, the load remains: as a stream it is 0 where the fiber lacks the
    coordinate. Gives these loads, too.

    Raises ``WorkloadError`` where something comes of the position of a fiber without the
    coordinate.
    """
    presence = _Presence(loop, written)
    presence.check()
    zeros = _absent_as_zero(presence)
    body = loop.body.block
    mask = body.insert_arg(i32, len(body.args))
    mask.name_hint = "mask"
    conditions = _Conditions(body, mask, presence.every)
    results = [result for each in loop.walk() for result in each.results]
    known = {
        value: masks
        for value in (*loop.present, *results)
        if value.type == i1 and (masks := presence.when(value)) is not None
    }
    for value, masks in known.items():
        replacement = conditions.value(masks)
        if replacement is not None:
            value.replace_all_uses_with(replacement)
    _sweep(body)
    for argument in body.args[-1 - len(presence.present) : -1]:
        body.erase_arg(argument)
    return mask, zeros


def _absent_as_zero(presence: _Presence) -> list[SSAValue]:
    """Replaces ``x[p] if has_p else 0``, of a fiber's position, by the load, and gives that."""
    loop = presence.loop
    loads: list[SSAValue] = []
    for choice in [each for each in loop.body.block.ops if isinstance(each, arith.SelectOp)]:
        load = choice.lhs.owner
        if not isinstance(load, memref.LoadOp) or load.parent_op() is not loop:
            continue
        fiber, when = presence.fiber_of(load), presence.when(choice.cond)
        if fiber is not None and constant_of(choice.rhs) == 0 and when == presence.having(fiber):
            choice.result.replace_all_uses_with(load.res)
            choice.detach()
            choice.erase()
            loads.append(load.res)
    return loads


def is_read_where_present(
    choice: Operation, load: memref.LoadOp, written: Collection[SSAValue]
) -> bool:
    """Whether a choice right inside of a union has ``load``, which becomes a stream, where the
    fiber at whose position it is has the coordinate: elsewhere, the stream reads nothing."""
    loop = choice.parent_op()
    if not isinstance(loop, MergeOp) or not loop.is_union:
        return False
    if not isinstance(choice, arith.SelectOp) or choice.lhs is not load.res:
        return False
    presence = _Presence(loop, written)
    fiber, when = presence.fiber_of(load), presence.when(choice.cond)
    return fiber is not None and when is not None and presence.having(fiber) <= when


class _Presence:
    """Tracks presence in a union. ``every``: masks that a coordinate of the union may have."""

    def __init__(self, loop: MergeOp, written: Collection[SSAValue]) -> None:
        self._written = written
        self.present = list(loop.present)
        self.loop = loop
        self._positions = list(loop.positions)
        self.every: Masks = frozenset(range(1, 1 << len(self._positions)))

    def having(self, fiber: int) -> Masks:
        return frozenset(mask for mask in self.every if mask >> fiber & 1)

    def fiber_of(self, load: memref.LoadOp) -> int | None:
        """The one of whose position a load becomes a stream, if it does."""
        fibers = self._fibers_of(load.indices)
        if load.memref in self._written or fibers is None or len(fibers) != 1:
            return None
        return fibers.pop()

    def _fibers_of(self, values: Iterable[SSAValue]) -> set[int] | None:
        """The fibers whose positions, or constants more, values are; ``None`` if one is anything
        else."""
        fibers: set[int] = set()
        for value in map(source_of, values):
            if value in self._positions:
                fibers.add(self._positions.index(value))
            elif constant_of(value) is None:
                owner = value.owner
                inner = self._fibers_of(owner.operands) if isinstance(owner, arith.AddiOp) else None
                if inner is None:
                    return None
                fibers |= inner
        return fibers

    def when(self, value: SSAValue) -> Masks | None:
        """The masks with which an i1 is true, if it follows from them alone."""
        if value in self.present:
            return self.having(self.present.index(value))
        number = constant_of(value)
        if number is not None:
            return self.every if number else frozenset()
        if isinstance(value.owner, _BOOLEAN):
            left, right = (self.when(each) for each in value.owner.operands)
            if left is not None and right is not None:
                if isinstance(value.owner, arith.AndIOp):
                    return left & right
                return left | right if isinstance(value.owner, arith.OrIOp) else left ^ right
        return None

    def may_be(self, value: SSAValue, truth: bool) -> Masks:
        """The masks with which an i1 may be ``truth``."""
        when = self.when(value)
        if when is not None:
            return when if truth else self.every - when
        owner = value.owner
        if isinstance(owner, arith.AndIOp | arith.OrIOp):
            left, right = (self.may_be(each, truth) for each in owner.operands)
            return left & right if isinstance(owner, arith.AndIOp) == truth else left | right
        if isinstance(owner, scf.IfOp):
            then, otherwise = (self.may_be(each, truth) for each in _sides(owner, value))
            condition = owner.cond
            return (then & self.may_be(condition, True)) | (
                otherwise & self.may_be(condition, False)
            )
        return self.every

    def meant(self, value: SSAValue) -> Masks:
        """The masks with which a value is what the nest means."""
        value = source_of(value)
        if isinstance(value, BlockArgument):
            if value in self._positions:
                return self.having(self._positions.index(value))
            return self.every
        owner = value.owner
        assert isinstance(owner, Operation)
        if not is_inside(owner, self.loop):
            return self.every
        if isinstance(owner, arith.SelectOp | scf.IfOp):
            sides = _sides(owner, value)
            return self._meant_beside(owner.cond, {True: sides[0], False: sides[1]})
        if isinstance(owner, arith.AndIOp | arith.OrIOp) and value.type == i1:
            return self._meant_beside(owner.lhs, {isinstance(owner, arith.AndIOp): owner.rhs})
        masks = self.every
        for operand in owner.operands:
            masks &= self.meant(operand)
        return masks

    def _meant_beside(self, condition: SSAValue, sides: Mapping[bool, SSAValue]) -> Masks:
        """The masks for which the condition is meant, and each side that it may choose."""
        masks = self.meant(condition)
        for truth, side in sides.items():
            masks &= self.meant(side) | (self.every - self.may_be(condition, truth))
        return masks

    def check(self) -> None:
        self._check(self.loop.body.block.ops, self.every)

    def _check(self, operations: Iterable[Operation], masks: Masks) -> None:
        """Checks operations that are reached with ``masks``."""
        for operation in operations:
            if isinstance(operation, scf.IfOp):
                when = self.when(operation.cond)
                if when is None:
                    self._require([operation.cond], masks, operation)
                for region, truth in zip(operation.regions, (True, False), strict=True):
                    path = masks & self.may_be(operation.cond, truth)
                    if region.blocks and path:
                        self._check(region.block.ops, path)
                continue
            is_load = isinstance(operation, memref.LoadOp) and not self._is_stream(operation)
            if is_load or operation.regions or isinstance(operation, memref.StoreOp | SetOp):
                self._require(operation.operands, masks, operation)
            for region in operation.regions:
                self._check(region.block.ops, masks)

    def _is_stream(self, load: memref.LoadOp) -> bool:
        """Whether it is at a position, so that nothing is read where there is none; in a branch,
        the first element."""
        at_positions = all(source_of(index) in self._positions for index in load.indices)
        return at_positions or not self._is_in_branch(load) and self.fiber_of(load) is not None

    def _is_in_branch(self, operation: Operation) -> bool:
        around = operation.parent_op()
        while around is not self.loop and not isinstance(around, scf.IfOp):
            assert around is not None
            around = around.parent_op()
        return around is not self.loop

    def _require(self, values: Iterable[SSAValue], masks: Masks, operation: Operation) -> None:
        for value in values:
            if not masks <= self.meant(value):
                _refuse(
                    place_of(operation),
                    "comes of the position of a fiber that may lack the coordinate: must be for "
                    "coordinates alone that it has",
                )


def _sides(choice: arith.SelectOp | scf.IfOp, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """What a choice's result is where its condition is true, and where not."""
    if isinstance(choice, arith.SelectOp):
        return choice.lhs, choice.rhs
    place = [each is value for each in choice.results].index(True)
    yields = [region.block.last_op for region in choice.regions]
    then, otherwise = (each.operands[place] for each in yields if each is not None)
    return then, otherwise


class _Conditions:
    """What is true with some masks: of those that a comparison or a bit tells apart."""

    def __init__(self, block: Block, mask: SSAValue, every: Masks) -> None:
        self._block = block
        self._mask = mask
        self._every = every
        self._known: dict[Masks, SSAValue] = {}

    def value(self, masks: Masks) -> SSAValue | None:
        if masks not in self._known:
            operations = self._operations(masks)
            if operations is None:
                return None
            first = self._block.first_op
            for each in operations:
                if first is None:
                    self._block.add_op(each)
                else:
                    self._block.insert_op_before(each, first)
            self._known[masks] = operations[-1].results[0]
        return self._known[masks]

    def _operations(self, masks: Masks) -> list[Operation] | None:
        every = sorted(self._every)
        if masks in (frozenset(), self._every):
            return [arith.ConstantOp.from_int_and_width(int(bool(masks)), 1)]
        for bound in every[1:]:
            limit = integer(bound)
            at_least = frozenset(mask for mask in every if mask >= bound)
            for operations, order in ((at_least, "sge"), (self._every - at_least, "slt")):
                if masks == operations:
                    if order == "sge":  # as the execute unit compares
                        limit, order = integer(bound - 1), "sgt"
                    return [limit, arith.CmpiOp(self._mask, limit.result, order)]
        for bit in range(every[-1].bit_length()):
            if masks == frozenset(mask for mask in every if mask >> bit & 1):
                if not bit:
                    return [arith.TruncIOp(self._mask, i1)]
                by = integer(bit)
                shifted = arith.ShRSIOp(self._mask, by.result)
                return [by, shifted, arith.TruncIOp(shifted.result, i1)]
        return None


def _sweep(block: Block) -> None:
    """Drops conditions that nothing uses any more."""
    kinds = (*_BOOLEAN, arith.ConstantOp, arith.CmpiOp, arith.TruncIOp, arith.ShRSIOp)
    for operation in reversed(list(block.ops)):
        if isinstance(operation, kinds) and not any(each.uses for each in operation.results):
            operation.detach()
            operation.erase()


def _refuse(place: str, what: str) -> NoReturn:
    raise WorkloadError(f"{place}: {what}: cannot be decoupled; --coupled runs it")
