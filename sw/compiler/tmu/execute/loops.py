"""All operations of a body, and loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xdsl.dialects import arith, memref, scf, vector
from xdsl.ir import Operation, SSAValue

from hw.tmu.execute_isa import Instruction, Opcode, Operand, Source
from sw.compiler.tmu.dialects.slc import GetOp, PopOp, SetOp
from sw.compiler.tmu.execute.computing import Computing
from sw.compiler.tmu.execute.locations import Integer, Kept, Location, refuse
from sw.compiler.tmu.execute.uses import are_apart, values_from_outside
from sw.compiler.tmu.scf import place_of
from sw.compiler.tmu.values import constant_of, source_of

UNROLLED = 16
"""Iterations of a loop that are written out; of longer ones, so many at a time."""


class Bodies(Computing):
    """Operations one after the other; short loops are written out, longer ones in part."""

    def _operations(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        self._place = place_of(operation) or self._place
        match operation:
            case arith.ConstantOp() | arith.IndexCastOp() | scf.YieldOp():
                return
            case PopOp():
                self._pops.append(operation.value)
            case GetOp():
                self._get(operation)
            case SetOp():
                self._set(operation)
            case memref.LoadOp():
                self._load(operation.res, operation.memref, list(operation.indices), None)
            case memref.StoreOp():
                self._store(operation.value, operation.memref, list(operation.indices), None)
            case vector.LoadOp():
                self._load(operation.result, operation.base, list(operation.indices), None)
            case vector.StoreOp():
                self._store(operation.vector, operation.base, list(operation.indices), None)
            case vector.MaskedLoadOp():
                indices = list(operation.indices)
                self._load(operation.result, operation.base, indices, operation.mask)
            case vector.MaskedStoreOp():
                indices = list(operation.indices)
                self._store(operation.value_to_store, operation.base, indices, operation.mask)
            case vector.BroadcastOp():
                self._broadcast(operation)
            case vector.CreateMaskOp():
                self._create_mask(operation)
            case vector.ExtractOp():
                self._extract(operation)
            case vector.ReductionOp():
                self._reduce(operation)
            case scf.ForOp():
                self._for(operation)
            case scf.IfOp():
                self._if(operation)
            case _:
                self._compute(operation)

    def _if(self, choice: scf.IfOp) -> None:
        """Values that are in registers before it are in the same ones behind it."""
        regions = [list(each.block.ops) if each.blocks else [] for each in choice.regions]
        known = constant_of(choice.cond)
        if known is not None:
            self._operations(regions[0 if known else 1])
            return
        outside, held = values_from_outside(choice), self._held
        self._hold(outside)
        (condition,), _ = self._operands([choice.cond], False)
        self._used(source_of(choice.cond))
        before = self._state()
        begins = len(self.code)
        self._emit(Instruction(Opcode.BRANCH_EQ, a=condition))
        self._operations(regions[0])
        self._return_to(before)
        if any(not isinstance(each, scf.YieldOp) for each in regions[1]):
            ends = len(self.code)
            self._emit(Instruction(Opcode.JUMP))
            self._go_here(begins)
            self._operations(regions[1])
            self._return_to(before)
            self._go_here(ends)
        else:
            self._go_here(begins)
        self._held = held
        self._used(*map(source_of, outside))

    def _go_here(self, jump: int) -> None:
        self.code[jump] = replace(self.code[jump], immediate=len(self.code))

    def _hold(self, values: Iterable[SSAValue]) -> None:
        """They keep their registers."""
        for value in map(source_of, values):
            if value in self._pops:
                self._take(value)
            if isinstance(found := self._values.get(value), Kept):
                self._held |= {found}

    def _for(self, loop: scf.ForOp) -> None:
        lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
        if lower is None or upper is None or step is None or loop.iter_args:
            refuse(place_of(loop), "a loop of the execute unit whose bounds are not constants")
        outside = values_from_outside(loop)
        held = self._held
        self._hold(outside)
        free = {kind: list(registers) for kind, registers in self._free.items()}
        addresses = dict(self._addresses)
        self._count_up(loop, lower, upper, step)
        self._held, self._free, self._addresses = held, free, addresses
        self._used(*outside)

    def _count_up(self, loop: scf.ForOp, lower: int, upper: int, step: int) -> None:
        count = len(range(lower, upper, step))
        whole, rest = divmod(count, UNROLLED)
        if whole <= 1:
            self._iterations(loop, [Integer(None, lower + step * n) for n in range(count)])
            return
        index, left = self._sum(Integer(None, lower)), self._sum(Integer(None, whole))
        self._held |= {index, left}
        begins = len(self.code)
        self._emit(Instruction(Opcode.LOOP, a=Operand(Source.REGISTER, left.register)))
        offsets = [Integer(index.register, step * n) for n in range(UNROLLED)]
        self._iterations(loop, offsets)
        self._addresses = {}
        self._emit(
            Instruction(
                Opcode.ADD,
                dst=index.register,
                a=Operand(Source.REGISTER, index.register),
                b=Operand(Source.IMMEDIATE),
                immediate=step * UNROLLED,
            )
        )
        self._go_here(begins)
        done = lower + step * UNROLLED * whole
        self._iterations(loop, [Integer(None, done + step * n) for n in range(rest)])

    def _iterations(self, loop: scf.ForOp, inductions: list[Integer]) -> None:
        """Iterations written out: all do an operation before any does the next, where they take
        one value each from the queue at most, and no two touch the same words."""
        if not inductions:
            return
        operations = list(loop.body.block.ops)
        self._repeat(loop, operations, inductions)

    def _repeat(
        self, loop: scf.ForOp, operations: list[Operation], inductions: list[Integer]
    ) -> None:
        pops = sum(isinstance(each, PopOp) for each in operations)
        has_regions = any(each.regions for each in operations)
        if pops > 1 or has_regions or not are_apart(loop):
            for induction in inductions:
                self._iteration(loop, operations, induction)
            return
        # As many at a time as registers allow.
        room = min((len(self._free[kind]) - 4) // 4 for kind in ("v", "s"))
        width = max(1, min(len(inductions), room, 8))
        for first in range(0, len(inductions), width):
            self._together(loop, operations, inductions[first : first + width])

    def _iteration(self, loop: scf.ForOp, operations: list[Operation], induction: Integer) -> None:
        saved: dict[SSAValue, int] = {
            each: self._uses[each] for op in operations for each in op.results
        }
        outer = dict(self._uses)
        self._values[loop.body.block.args[0]] = induction
        self._operations(operations)
        self._restore(saved, outer)

    def _together(
        self, loop: scf.ForOp, operations: list[Operation], inductions: list[Integer]
    ) -> None:
        outer = dict(self._uses)
        states: list[tuple[dict[SSAValue, Location], dict[SSAValue, int]]] = []
        for induction in inductions:
            values = {**self._values, loop.body.block.args[0]: induction}
            states.append((values, dict(self._uses)))
        shared = self._values
        pop = next((each for each in operations if isinstance(each, PopOp)), None)
        for operation in operations:
            if operation is pop:
                continue
            for values, uses in states:
                self._values, self._uses = values, uses
                takes = pop is not None and any(
                    source_of(each) is pop.value for each in operation.operands
                )
                if takes and pop is not None and pop.value not in values:
                    self._pops.append(pop.value)
                self._operation(operation)
        self._values, self._uses = shared, outer

    def _restore(self, saved: dict[SSAValue, int], outer: dict[SSAValue, int]) -> None:
        self._uses = {**outer, **saved}


_LATER = (arith.AddiOp, arith.SubiOp, arith.IndexCastOp, vector.BroadcastOp)
"""Operations that may take their operands only where their own result is used."""
