"""Instructions of virtual registers for scf, arith, math, vector and flat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, SSAValue

from gnarl.hw.lib.encoding.execute_isa import LOOP_DEPTH, Opcode
from gnarl.sw.compiler.nests.dialects import flat
from gnarl.sw.compiler.nests.dialects.slc import GetOp, PopOp, SetOp
from gnarl.sw.compiler.nests.execute.computing import Computing
from gnarl.sw.compiler.nests.execute.copies import copy
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Taken, Value, WordRange
from gnarl.sw.compiler.nests.execute.words import kind_of, refuse, word_of
from gnarl.sw.compiler.nests.scf import place_of
from gnarl.sw.compiler.nests.values import constant_of

_SIGN = 1 << 31


def select(function: func.FuncOp, lanes: int, bases: Mapping[str, int]) -> list[Block]:
    """Blocks in the order of the program, which ends in ``HALT``.

    ``bases``: the first word of each array. The two innermost loops count in hardware. Raises
    ``WorkloadError`` for operations that the unit lacks. O(operations).
    """
    selection = Selection(lanes, bases)
    selection.operations(function.body.block.ops)
    selection.end(Step(Opcode.HALT), [])
    return selection.blocks


class Selection(Computing):
    """The blocks that are made of operations, one after the other, the last of them open."""

    def __init__(self, lanes: int, bases: Mapping[str, int]) -> None:
        super().__init__()
        self._lanes = lanes
        self._bases = bases
        self.blocks: list[Block] = [Block()]
        self._variables: dict[str, Register] = {}

    def emit(self, step: Step) -> None:
        self.blocks[-1].steps.append(step)

    def end(self, step: Step | None, following: list[int]) -> None:
        """The block ends, in ``step``."""
        if step is not None:
            self.emit(step)
        self.blocks[-1].following = following

    def begin(self) -> int:
        """Another block, and its number."""
        self.blocks.append(Block())
        self._masks = {}
        return len(self.blocks) - 1

    def operations(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self._place = place_of(operation) or self._place
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        match operation:
            case arith.ConstantOp(value=value, result=result):
                self.values[result] = word_of(value)
            case (
                arith.IndexCastOp(input=source, result=result)
                | arith.BitcastOp(input=source, result=result)
            ):
                self.values[result] = self.values[source]
            case vector.BroadcastOp(source=source):
                self.values[operation.results[0]] = self.values[source]
            case scf.YieldOp() | func.ReturnOp() | scf.ConditionOp():
                return
            case PopOp():
                self._pop(operation)
            case GetOp():
                copied = self.new(kind_of(operation.value.type))
                self.emit(copy(copied, self._variable(operation)))
                self.values[operation.value] = copied
            case SetOp():
                self.emit(copy(self._variable(operation), self.values[operation.value]))
            case flat.LoadOp():
                self._load(operation)
            case flat.StoreOp():
                self._store(operation)
            case flat.PrefetchOp():
                address, words = self._where(operation, 1)
                self.emit(
                    Step(Opcode.PREFETCH, a=address, immediate=self._word(operation), words=words)
                )
            case scf.ForOp():
                self._for(operation)
            case scf.IfOp():
                self._if(operation)
            case scf.WhileOp():
                self._while(operation)
            case _:
                self.compute(operation)

    def _variable(self, operation: GetOp | SetOp) -> Register:
        name = operation.variable.data
        if name not in self._variables:
            self._variables[name] = self.new(kind_of(operation.value.type))
        return self._variables[name]

    def _pop(self, pop: PopOp) -> None:
        kind = kind_of(pop.value.type)
        made = self.new(kind)
        if kind == "m":
            self.emit(Step(Opcode.LANES, dst=made, a=Taken("s")))
        else:
            self.emit(copy(made, Taken(kind)))
        self.values[pop.value] = made

    # Memory.

    def _word(self, access: flat.LoadOp | flat.StoreOp | flat.PrefetchOp) -> int:
        array, offset = access.place
        return self._bases[array] + offset

    def _where(
        self, access: flat.LoadOp | flat.StoreOp | flat.PrefetchOp, width: int
    ) -> tuple[Value, WordRange]:
        array, offset = access.place
        address = self.values[access.address] if access.address is not None else 0
        if isinstance(address, int) and address:
            address = self.register_of(address, "s")
        base = address if isinstance(address, Register) else None
        return address, WordRange(array, base, offset, width)

    def _mask(self, mask: SSAValue | None) -> Register | None:
        if mask is None:
            return None
        register = self.values[mask]
        assert isinstance(register, Register)
        return register

    def _load(self, load: flat.LoadOp) -> None:
        is_vector = isinstance(load.value.type, VectorType)
        address, words = self._where(load, self._lanes if is_vector else 1)
        result = self.new("v" if is_vector else "s")
        self.emit(
            Step(
                Opcode.LOAD,
                is_vector,
                result,
                address,
                mask=self._mask(load.mask),
                immediate=self._word(load),
                words=words,
            )
        )
        self.values[load.value] = result

    def _store(self, store: flat.StoreOp) -> None:
        is_vector = isinstance(store.value.type, VectorType)
        address, words = self._where(store, self._lanes if is_vector else 1)
        value = self.values[store.value]
        if isinstance(value, int) and value:
            value = self.register_of(value, "s")
        self.emit(
            Step(
                Opcode.STORE,
                is_vector,
                None,
                address,
                c=value,
                mask=self._mask(store.mask),
                immediate=self._word(store),
                words=words,
            )
        )

    # Control.

    def _for(self, loop: scf.ForOp) -> None:
        step = constant_of(loop.step)
        assert step is not None and step > 0
        lower, upper = self.values[loop.lb], self.values[loop.ub]
        index = self.new("s")
        self.emit(copy(index, lower))
        self.values[loop.body.block.args[0]] = index
        if _height(loop) <= LOOP_DEPTH:
            self._count(loop, index, lower, upper, step)
        else:
            self._compare(loop, index, lower, upper, step)

    def _count(
        self, loop: scf.ForOp, index: Register, lower: Value, upper: Value, step: int
    ) -> None:
        """Emits a loop that hardware counts."""
        left = self._iterations(lower, upper, step)
        if left == 0:
            return
        before = len(self.blocks) - 1
        if isinstance(left, int):
            left = self.register_of(left, "s")
        self.emit(Step(Opcode.LOOP, a=left))
        begin = self.begin()
        self.operations(loop.body.block.ops)
        if loop.body.block.args[0].uses.get_length():
            self.emit(Step(Opcode.ADD, dst=index, a=index, b=step))
        last = len(self.blocks) - 1
        self.blocks[last].closes = True
        after = self.begin()
        self.blocks[before].following = [begin, after]
        self.blocks[before].steps[-1].target = after
        self.blocks[last].following = [begin, after]

    def _iterations(self, lower: Value, upper: Value, step: int) -> Value:
        if isinstance(lower, int) and isinstance(upper, int):
            # In the order of the signed numbers that these words are.
            return len(range(lower ^ _SIGN, upper ^ _SIGN, step))
        span: Value = upper
        if lower != 0:
            span = self.new("s")
            self.emit(Step(Opcode.SUB, dst=span, a=upper, b=lower))
        if step == 1:
            return span
        if step & (step - 1):
            refuse(self._place, "a loop whose bounds are not constants and step no power of two")
        up, count = self.new("s"), self.new("s")
        self.emit(Step(Opcode.ADD, dst=up, a=span, b=step - 1))
        self.emit(Step(Opcode.SHIFT_RIGHT, dst=count, a=up, b=step.bit_length() - 1))
        return count

    def _compare(
        self, loop: scf.ForOp, index: Register, lower: Value, upper: Value, step: int
    ) -> None:
        """Emits the loop with branches, for loops around hardware loops."""
        if isinstance(upper, int) and upper:
            upper = self.register_of(upper, "s")
        before = len(self.blocks) - 1
        self.emit(Step(Opcode.BRANCH_GE, a=index, b=upper))
        begin = self.begin()
        self.operations(loop.body.block.ops)
        self.emit(Step(Opcode.ADD, dst=index, a=index, b=step))
        last = len(self.blocks) - 1
        self.emit(Step(Opcode.BRANCH_LT, a=index, b=upper, target=begin))
        after = self.begin()
        self.blocks[before].following = [begin, after]
        self.blocks[before].steps[-1].target = after
        self.blocks[last].following = [begin, after]

    def _if(self, chosen: scf.IfOp) -> None:
        results = [self.new(kind_of(result.type)) for result in chosen.results]
        self.values |= dict(zip(chosen.results, results, strict=True))
        before = self._branch_unless(chosen.cond)
        first = self.begin()
        self._arm(chosen.true_region.block, results)
        then = len(self.blocks) - 1
        if not chosen.false_region.blocks or not _does_anything(chosen.false_region.block):
            after = self.begin()
            self.blocks[then].following = [after]
            self._lead(before, first, after)
            return
        self.emit(Step(Opcode.JUMP))
        other = self.begin()
        self._arm(chosen.false_region.block, results)
        last = len(self.blocks) - 1
        after = self.begin()
        self.blocks[then].steps[-1].target = after
        self.blocks[then].following = [after]
        self.blocks[last].following = [after]
        self._lead(before, first, other)

    def _arm(self, block: IrBlock, results: list[Register]) -> None:
        self.operations(block.ops)
        self._hand(block.last_op, results)

    def _hand(self, end: Operation | None, registers: list[Register]) -> None:
        """Values of a yield, or of what is behind a condition, into registers, all at once."""
        assert end is not None
        yielded = end.operands[1:] if isinstance(end, scf.ConditionOp) else end.operands
        values = [self.values[each] for each in yielded]
        if len(values) > 1:
            held = []
            for value, register in zip(values, registers, strict=True):
                copied = self.new(register.kind)
                self.emit(copy(copied, value))
                held.append(copied)
            values = list(held)
        for value, register in zip(values, registers, strict=True):
            self.emit(copy(register, value))

    def _branch_unless(self, condition: SSAValue) -> int:
        """Emits a branch, taken if the condition is false, and returns its block, for the target to
        be filled in."""
        opcode, a, b = self.opposite(condition)
        self.emit(Step(opcode, a=a, b=b))
        return len(self.blocks) - 1

    def _lead(self, block: int, following: int, target: int) -> None:
        self.blocks[block].steps[-1].target = target
        self.blocks[block].following = [following, target]

    def _while(self, loop: scf.WhileOp) -> None:
        before, behind = loop.before_region.block, loop.after_region.block
        carried = [self.new(kind_of(each.type)) for each in before.args]
        for register, initial in zip(carried, loop.operands, strict=True):
            self.emit(copy(register, self.values[initial]))
        self.values |= dict(zip(before.args, carried, strict=True))
        previous = len(self.blocks) - 1
        head = self.begin()
        self.blocks[previous].following = [head]
        self.operations(before.ops)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        registers = [self.new(kind_of(each.type)) for each in behind.args]
        if [self.values[each] for each in condition.operands[1:]] == carried:
            registers = carried
        else:
            self._hand(condition, registers)
        self.values |= dict(zip(behind.args, registers, strict=True))
        self.values |= dict(zip(loop.results, registers, strict=True))
        test = self._branch_unless(condition.condition)
        first = self.begin()
        self.operations(behind.ops)
        self._hand(behind.last_op, carried)
        self.end(Step(Opcode.JUMP, target=head), [head])
        self._lead(test, first, self.begin())


def _height(loop: Operation) -> int:
    """Loops that nest in this one, and itself; one of ``scf.while`` counts as more."""
    inner = [
        _height(each) for each in loop.walk() if each is not loop and isinstance(each, scf.ForOp)
    ]
    return 1 + max(inner, default=0)


def _does_anything(block: IrBlock) -> bool:
    return any(not isinstance(each, scf.YieldOp) or each.operands for each in block.ops)
