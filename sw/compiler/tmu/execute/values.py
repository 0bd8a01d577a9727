"""Registers, the data queue, and operands from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from hw.lib.errors import CapacityError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import (
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    Instruction,
    Opcode,
    Operand,
    Source,
)
from sw.compiler.tmu.dialects.slc import SetOp
from sw.compiler.tmu.execute.locations import (
    Constant,
    Integer,
    Kept,
    Location,
    kind_of,
    word_of,
)
from sw.compiler.tmu.execute.uses import is_next
from sw.compiler.tmu.values import constant_of, source_of


class Values:
    """Where the values of a case are, and the instructions so far.

    Values that are popped stay in the data queue until an instruction can take them from there as
    an operand, or one behind them is needed.
    """

    def __init__(self, config: TmuConfig, arrays: Mapping[SSAValue, int]) -> None:
        self.code: list[Instruction] = []
        self._config = config
        self._arrays = arrays
        self._variables: dict[str, Kept] = {}
        self._free = {
            "s": list(range(SCALAR_REGISTERS)),
            "v": list(range(VECTOR_REGISTERS)),
            "m": list(range(1, MASK_REGISTERS)),
        }
        self._place = ""
        self._values: dict[SSAValue, Location] = {}
        self._uses: dict[SSAValue, int] = {}
        self._pops: list[SSAValue] = []
        self._held: frozenset[Kept] = frozenset()

    def _new(self, kind: str) -> Kept:
        if not self._free[kind]:
            name = {"s": "scalar", "v": "vector", "m": "mask"}[kind]
            raise CapacityError(f"{self._place}: more {name} registers than there are are needed")
        return Kept(kind, self._free[kind].pop(0))

    def _emit(self, instruction: Instruction) -> None:
        self.code.append(instruction)

    def _used(self, *values: SSAValue) -> None:
        """One use of each is done; registers of values without another are free again."""
        for value in values:
            if value not in self._uses:
                continue
            self._uses[value] -= 1
            found = self._values.get(value)
            if self._uses[value] == 0 and isinstance(found, Kept):
                if found not in self._variables.values() and found not in self._held:
                    self._free[found.kind].insert(0, found.register)

    def _take(self, pop: SSAValue) -> None:
        """Pops up to ``pop`` go to registers."""
        while True:
            head = self._pops.pop(0)
            self._materialise(head)
            if head is pop:
                return

    def _materialise(self, pop: SSAValue) -> None:
        kept = self._new(kind_of(pop.type))
        taken = Operand(Source.DEQUEUE)
        if kept.kind == "m":
            self._emit(Instruction(Opcode.LANES, dst=kept.register, a=taken))
        else:
            self._emit(
                Instruction(Opcode.ADD, kept.kind == "v", kept.register, a=taken, b=Operand())
            )
        self._values[pop] = kept

    def _location(self, value: SSAValue) -> Location:
        """Where a value is that was not left in the data queue."""
        value = source_of(value)
        if (number := constant_of(value)) is not None:
            return Integer(None, number)
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return Constant(word_of(owner.value))
        if value in self._pops:
            self._take(value)
        return self._values[value]

    def _operand(self, value: SSAValue, is_vector: bool) -> tuple[Operand, int | None]:
        """An operand, and the immediate it needs."""
        value = source_of(value)
        if self._pops and self._pops[0] is value and self._uses[value] == 1:
            self._pops.pop(0)
            source = Source.DEQUEUE
            if is_vector and not isinstance(value.type, VectorType):
                source = Source.DEQUEUE_SCALAR
            return Operand(source), None
        found = self._location(value)
        if isinstance(found, Constant):
            return (Operand(), None) if found.word == 0 else (Operand(Source.IMMEDIATE), found.word)
        if isinstance(found, Kept):
            if is_vector and found.kind == "s":
                return Operand(Source.SCALAR, found.register), None
            return Operand(Source.REGISTER, found.register), None
        if found.register is None:
            if found.offset == 0:
                return Operand(), None
            return Operand(Source.IMMEDIATE), found.offset
        register = found.register if found.offset == 0 else self._sum(found).register
        source = Source.SCALAR if is_vector else Source.REGISTER
        return Operand(source, register), None

    def _sum(self, value: Integer) -> Kept:
        """A register with the whole number."""
        kept = self._new("s")
        a = Operand() if value.register is None else Operand(Source.REGISTER, value.register)
        b = Operand(Source.IMMEDIATE)
        self._emit(Instruction(Opcode.ADD, dst=kept.register, a=a, b=b, immediate=value.offset))
        return kept

    def _operands(self, values: Iterable[SSAValue], is_vector: bool) -> tuple[list[Operand], int]:
        """Operands of one instruction, which has one immediate and takes from the queue once."""
        values = [source_of(value) for value in values]
        # Of those in the queue, the last may be an operand from there.
        queued = [pop for pop in self._pops if pop in values]
        for pop in queued[:-1]:
            if pop in self._pops:
                self._take(pop)
        found: list[Operand] = []
        immediate: int | None = None
        for value in values:
            operand, constant = self._operand(value, is_vector)
            if constant is not None and immediate not in (None, constant):
                kept = self._sum(Integer(None, constant))
                source = Source.SCALAR if is_vector else Source.REGISTER
                operand, constant = Operand(source, kept.register), None
            immediate = constant if immediate is None else immediate
            found.append(operand)
        return found, immediate or 0

    def _destination(self, result: SSAValue) -> Kept:
        """The variable that the result is for, or a new register."""
        uses = list(result.uses)
        if len(uses) == 1 and isinstance(uses[0].operation, SetOp):
            if is_next(result, uses[0].operation):
                return self._variables[uses[0].operation.variable.data]
        return self._new(kind_of(result.type))
