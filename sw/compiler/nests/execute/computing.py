"""Instructions for operations on registers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Operation, SSAValue

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.dialects.slc import BlendOp
from gnarl.sw.compiler.nests.execute.copies import copy
from gnarl.sw.compiler.nests.execute.machine import Register, Step, Value
from gnarl.sw.compiler.nests.execute.words import kind_of, refuse

_BINARY: dict[type[Operation], Opcode] = {
    arith.AddiOp: Opcode.ADD,
    arith.SubiOp: Opcode.SUB,
    arith.MuliOp: Opcode.MUL,
    arith.AndIOp: Opcode.AND,
    arith.OrIOp: Opcode.OR,
    arith.XOrIOp: Opcode.XOR,
    arith.ShLIOp: Opcode.SHIFT_LEFT,
    arith.ShRSIOp: Opcode.SHIFT_RIGHT,
    arith.MinSIOp: Opcode.MIN,
    arith.MaxSIOp: Opcode.MAX,
    arith.AddfOp: Opcode.FADD,
    arith.SubfOp: Opcode.FSUB,
    arith.MulfOp: Opcode.FMUL,
    arith.DivfOp: Opcode.FDIV,
    arith.MinimumfOp: Opcode.FMIN,
    arith.MaximumfOp: Opcode.FMAX,
}
_UNARY: dict[type[Operation], Opcode] = {
    math.AbsFOp: Opcode.FABS,
    math.SqrtOp: Opcode.FSQRT,
    arith.SIToFPOp: Opcode.TO_FLOAT,
}
_INTEGER_ORDERS = ("eq", "ne", "slt", "sle", "sgt", "sge")
_FLOAT_ORDERS = {1: "oeq", 2: "ogt", 3: "oge", 4: "olt", 5: "ole", 13: "une"}

_FLOAT_COMPARISONS = {
    "oeq": Opcode.FEQUAL,
    "olt": Opcode.FLESS,
    "ogt": Opcode.FLESS,
    "ole": Opcode.FLESS_EQUAL,
    "oge": Opcode.FLESS_EQUAL,
}
"""The opcode of each order that has one."""

_BRANCHES_UNLESS = {
    "eq": Opcode.BRANCH_NE,
    "ne": Opcode.BRANCH_EQ,
    "slt": Opcode.BRANCH_GE,
    "sge": Opcode.BRANCH_LT,
    "sgt": Opcode.BRANCH_GE,
    "sle": Opcode.BRANCH_LT,
}
"""Branches of each order, the branch for its contrary."""

_SWAPPED = ("sgt", "sle", "ogt", "oge")
"""Orders whose operands change places, for comparisons and branches alike."""


class Computing(ABC):
    """Arithmetic, comparisons and choices. ``values``: where each value is."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, Value] = {}
        self._place = ""
        self._number = 0
        self._masks: dict[Value, Register] = {}

    @abstractmethod
    def emit(self, step: Step) -> None:
        """Puts it behind those before."""

    def new(self, kind: str) -> Register:
        self._number += 1
        return Register(kind, self._number)

    def register_of(self, value: Value, kind: str) -> Register:
        if isinstance(value, Register):
            return value
        made = self.new(kind)
        self.emit(copy(made, value))
        return made

    def compute(self, operation: Operation) -> None:
        """Raises ``WorkloadError`` for operations that the unit lacks."""
        if len(operation.results) != 1:
            refuse(self._place, operation.name)
        result = operation.results[0]
        is_vector = isinstance(result.type, VectorType)
        operands = [self.values[each] for each in operation.operands]
        match operation:
            case arith.CmpiOp() | arith.CmpfOp():
                self.values[result] = self._order(operation)
            case arith.SelectOp():
                self.values[result] = self._select(operation, is_vector)
            case arith.ExtUIOp() if operation.input.type == i1:
                self.values[result] = operands[0]
            case BlendOp():
                mask, *values = operands
                assert isinstance(mask, Register)
                a, b = self._one_number(values)
                self._result(result, Step(Opcode.SELECT, True, a=a, b=b, mask=mask))
            case vector.ExtractOp():
                self._extract(operation)
            case vector.ReductionOp():
                is_sum = operation.kind.data == vector.CombiningKindFlag.ADD
                if not is_sum or operation.acc is not None:
                    refuse(self._place, f"{operation.name} other than add")
                self._result(result, Step(Opcode.REDUCE_ADD, True, a=operands[0]))
            case vector.CreateMaskOp():
                self._result(result, Step(Opcode.FIRST_LANES, a=operands[0]))
            case arith.NegfOp():
                a, b = self._one_number([operands[0], 1 << 31])
                self._result(result, Step(Opcode.XOR, is_vector, a=a, b=b))
            case arith.TruncIOp() if result.type == i1:
                a, b = self._one_number([operands[0], 1])
                self._result(result, Step(Opcode.AND, a=a, b=b))
            case _:
                self._arithmetic(operation, is_vector, operands)

    def _extract(self, operation: vector.ExtractOp) -> None:
        lane = int(operation.static_position.get_values()[0])
        source = self.values[operation.vector]
        if isinstance(source, int):
            source = self.register_of(source, "v")
        self._result(operation.result, Step(Opcode.EXTRACT, True, a=source, immediate=lane))

    def _arithmetic(self, operation: Operation, is_vector: bool, operands: list[Value]) -> None:
        """An operation that has an opcode of its own."""
        kind, result = type(operation), operation.results[0]
        if kind in _UNARY:
            self._result(result, Step(_UNARY[kind], is_vector, a=operands[0]))
        elif kind in _BINARY and kind_of(result.type) != "m":
            a, b = self._one_number(operands)
            self._result(result, Step(_BINARY[kind], is_vector, a=a, b=b))
        else:
            refuse(self._place, operation.name)

    def _result(self, result: SSAValue, step: Step) -> None:
        step.dst = self.new(kind_of(result.type))
        self.emit(step)
        self.values[result] = step.dst

    def _one_number(self, operands: list[Value]) -> list[Value]:
        """An instruction has one immediate; 0 needs none."""
        numbers = {each for each in operands if isinstance(each, int) and each}
        if len(numbers) < 2:
            return operands
        kept = numbers.pop()
        return [
            each if isinstance(each, Register) or each in (0, kept) else self.register_of(each, "s")
            for each in operands
        ]

    def _order(self, operation: arith.CmpiOp | arith.CmpfOp) -> Register:
        """1 or 0."""
        name = _order_of(operation)
        operands = self._one_number([self.values[each] for each in operation.operands])
        a, b = operands[::-1] if name in _SWAPPED else operands
        if name in _FLOAT_COMPARISONS or name == "une":
            truth = self._scalar(_FLOAT_COMPARISONS["oeq" if name == "une" else name], a, b)
            return self._scalar(Opcode.XOR, truth, 1) if name == "une" else truth
        if name in ("eq", "ne"):
            chosen = self.new("s")
            equal, other = (1, 0) if name == "eq" else (0, 1)
            differs = self._scalar(Opcode.XOR, a, b)
            self.emit(Step(Opcode.SELECT, dst=chosen, a=other, b=equal, c=differs))
            return chosen
        truth = self._scalar(Opcode.LESS, a, b)
        return self._scalar(Opcode.XOR, truth, 1) if name in ("sle", "sge") else truth

    def _scalar(self, opcode: Opcode, a: Value, b: Value) -> Register:
        made = self.new("s")
        self.emit(Step(opcode, dst=made, a=a, b=b))
        return made

    def _select(self, operation: arith.SelectOp, is_vector: bool) -> Register:
        condition = self.values[operation.cond]
        a, b = self._one_number([self.values[operation.lhs], self.values[operation.rhs]])
        result = self.new(kind_of(operation.result.type))
        if not is_vector:
            chosen = self.register_of(condition, "s")
            self.emit(Step(Opcode.SELECT, dst=result, a=a, b=b, c=chosen))
            return result
        mask = self._all_or_none(condition)
        self.emit(Step(Opcode.SELECT, True, result, a, b, mask=mask))
        return result

    def _all_or_none(self, condition: Value) -> Register:
        """A mask of all lanes or none; the same one until another block begins."""
        if condition not in self._masks:
            mask = self._masks[condition] = self.new("m")
            self.emit(Step(Opcode.LANES, dst=mask, a=self._scalar(Opcode.SUB, 0, condition)))
        return self._masks[condition]

    def opposite(self, condition: SSAValue) -> tuple[Opcode, Value, Value]:
        """The branch, with its operands, that is taken if ``condition`` is false."""
        owner = condition.owner
        if isinstance(owner, arith.CmpiOp) and owner.lhs.type != i1:
            name = _order_of(owner)
            a, b = (self._compared(self.values[each]) for each in owner.operands)
            a, b = (b, a) if name in _SWAPPED else (a, b)
            return _BRANCHES_UNLESS[name], a, b
        return Opcode.BRANCH_EQ, self._compared(self.values[condition]), 0

    def _compared(self, value: Value) -> Value:
        return self.register_of(value, "s") if isinstance(value, int) and value else value


def _order_of(operation: arith.CmpiOp | arith.CmpfOp) -> str:
    number = operation.predicate.value.data
    if isinstance(operation, arith.CmpfOp):
        return _FLOAT_ORDERS[number]
    return _INTEGER_ORDERS[number]
