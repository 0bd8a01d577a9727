"""Operations on registers."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from hw.tmu.execute_isa import ALL_LANES, Instruction, Opcode, Operand, Source
from sw.compiler.tmu.dialects.slc import GetOp, SetOp
from sw.compiler.tmu.execute.locations import Integer, Kept, refuse
from sw.compiler.tmu.execute.memory import Memory
from sw.compiler.tmu.execute.uses import outlives
from sw.compiler.tmu.values import constant_of, source_of

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


_ORDERS: dict[type[Operation], dict[int, str]] = {
    arith.CmpiOp: {0: "eq", 1: "ne", 2: "slt", 3: "sle", 4: "sgt", 5: "sge"},
    arith.CmpfOp: {1: "oeq", 2: "ogt", 3: "oge", 4: "olt", 5: "ole", 13: "une"},
}
_COMPARISONS: dict[str, tuple[Opcode | None, bool, bool]] = {
    "eq": (None, False, True),
    "ne": (None, False, False),
    "slt": (Opcode.LESS, False, False),
    "sgt": (Opcode.LESS, True, False),
    "sge": (Opcode.LESS, False, True),
    "sle": (Opcode.LESS, True, True),
    "oeq": (Opcode.FEQUAL, False, False),
    "une": (Opcode.FEQUAL, False, True),
    "olt": (Opcode.FLESS, False, False),
    "ogt": (Opcode.FLESS, True, False),
    "ole": (Opcode.FLESS_EQUAL, False, False),
    "oge": (Opcode.FLESS_EQUAL, True, False),
}
"""Of each order, its opcode; whether operands change places; whether the result is inverted."""


class Computing(Memory):
    """Arithmetic, comparisons, choices, and variables."""

    def _compute(self, operation: Operation) -> None:
        kind = type(operation)
        if len(operation.results) != 1:
            refuse(self._place, f"{operation.name} in the execute unit")
        result = operation.results[0]
        is_vector = isinstance(result.type, VectorType)
        if kind in _BINARY:
            if kind in (arith.AddiOp, arith.SubiOp) and not is_vector:
                if self._offset(operation):
                    return
            (a, b), immediate = self._operands(operation.operands, is_vector)
            made = Instruction(_BINARY[kind], is_vector, a=a, b=b, immediate=immediate)
        elif kind in _UNARY:
            (a,), immediate = self._operands(operation.operands, is_vector)
            made = Instruction(_UNARY[kind], is_vector, a=a, immediate=immediate)
        elif isinstance(operation, arith.CmpiOp | arith.CmpfOp) and not is_vector:
            self._compare(operation)
            return
        elif isinstance(operation, arith.SelectOp):
            self._select(operation)
            return
        elif isinstance(operation, arith.NegfOp):
            (a,), _ = self._operands(operation.operands, is_vector)
            b = Operand(Source.IMMEDIATE)
            made = Instruction(Opcode.XOR, is_vector, a=a, b=b, immediate=1 << 31)
        elif isinstance(operation, arith.TruncIOp):
            (a,), _ = self._operands(operation.operands, False)
            made = Instruction(Opcode.AND, a=a, b=Operand(Source.IMMEDIATE), immediate=1)
        else:
            refuse(self._place, f"{operation.name} in the execute unit")
        self._used(*map(source_of, operation.operands))
        kept = self._destination(result)
        self._emit(replace(made, dst=kept.register))
        self._values[result] = kept

    def _compare(self, operation: arith.CmpiOp | arith.CmpfOp) -> None:
        """1 or 0 in a scalar register."""
        left, right = operation.operands
        name = _ORDERS[type(operation)][operation.predicate.value.data]
        opcode, swaps, negates = _COMPARISONS[name]
        if swaps:
            left, right = right, left
        kept: Kept
        if opcode is None:  # integers that are equal differ in no bit
            (a, b), immediate = self._operands((left, right), False)
            bits = self._new("s")
            self._emit(Instruction(Opcode.XOR, dst=bits.register, a=a, b=b, immediate=immediate))
            # As unsigned numbers, 0 alone is below 1: its bits are below without the sign, too.
            below, above = self._new("s"), self._new("s")
            value = Operand(Source.REGISTER, bits.register)
            self._emit(Instruction(Opcode.LESS, dst=below.register, a=value))
            self._emit(Instruction(Opcode.LESS, dst=above.register, b=value))
            kept = self._new("s")
            self._emit(
                Instruction(
                    Opcode.OR,
                    dst=kept.register,
                    a=Operand(Source.REGISTER, below.register),
                    b=Operand(Source.REGISTER, above.register),
                )
            )
            self._free["s"][:0] = [bits.register, below.register, above.register]
        else:
            (a, b), immediate = self._operands((left, right), False)
            kept = self._new("s")
            self._emit(Instruction(opcode, dst=kept.register, a=a, b=b, immediate=immediate))
        self._used(*map(source_of, operation.operands))
        if negates:
            value = Operand(Source.REGISTER, kept.register)
            one = Operand(Source.IMMEDIATE)
            self._emit(Instruction(Opcode.XOR, dst=kept.register, a=value, b=one, immediate=1))
        self._values[operation.results[0]] = kept

    def _select(self, operation: arith.SelectOp) -> None:
        """By a mask, or by a scalar: of vectors, then all lanes or none."""
        is_vector = isinstance(operation.result.type, VectorType)
        condition = self._location(operation.cond)
        if isinstance(condition, Kept) and condition.kind == "m":
            self._select_lanes(operation, condition.register)
            return
        if not isinstance(condition, Kept):
            refuse(self._place, "a choice that differs between lanes")
        mask = ALL_LANES
        chosen = Operand(Source.REGISTER, condition.register)
        if is_vector:
            lanes, kept_mask = self._new("s"), self._new("m")
            self._emit(Instruction(Opcode.SUB, dst=lanes.register, b=chosen))
            source = Operand(Source.REGISTER, lanes.register)
            self._emit(Instruction(Opcode.LANES, dst=kept_mask.register, a=source))
            self._free["s"].insert(0, lanes.register)
            mask = kept_mask.register
        values = (operation.lhs, operation.rhs)
        (a, b), immediate = self._operands(values, is_vector)
        self._used(*map(source_of, (operation.cond, *values)))
        kept = self._destination(operation.result)
        c = Operand() if is_vector else chosen
        self._emit(
            Instruction(
                Opcode.SELECT, is_vector, kept.register, mask, a=a, b=b, c=c, immediate=immediate
            )
        )
        if mask != ALL_LANES:
            self._free["m"].insert(0, mask)
        self._values[operation.result] = kept

    def _select_lanes(self, operation: arith.SelectOp, mask: int) -> None:
        (a, b), immediate = self._operands((operation.lhs, operation.rhs), True)
        self._used(*map(source_of, operation.operands))
        kept = self._destination(operation.result)
        self._emit(
            Instruction(Opcode.SELECT, True, kept.register, mask, a=a, b=b, immediate=immediate)
        )
        self._values[operation.result] = kept

    def _offset(self, operation: Operation) -> bool:
        """Sums with constants are not computed before something needs them."""
        left, right = (source_of(each) for each in operation.operands)
        sign = 1 if isinstance(operation, arith.AddiOp) else -1
        number = constant_of(right)
        uses = list(operation.results[0].uses)
        is_set = len(uses) == 1 and isinstance(uses[0].operation, SetOp)
        if number is None or is_set or left in self._pops:
            return False
        found = self._location(left)
        if isinstance(found, Kept):
            found = Integer(found.register, 0)
        if not isinstance(found, Integer):
            return False
        # The register stays as long as the sum is used.
        self._values[operation.results[0]] = replace(found, offset=found.offset + sign * number)
        self._held |= {Kept("s", found.register)} if found.register is not None else set()
        return True

    def _get(self, operation: GetOp) -> None:
        variable = self._variables[operation.variable.data]
        self._values[operation.value] = variable
        if not outlives(operation):
            return
        kept = self._new(variable.kind)
        a = Operand(Source.REGISTER, variable.register)
        self._emit(Instruction(Opcode.ADD, variable.kind == "v", kept.register, a=a))
        self._values[operation.value] = kept

    def _set(self, operation: SetOp) -> None:
        variable = self._variables[operation.variable.data]
        if self._values.get(operation.value) == variable:
            if variable.kind == "s":
                self._forget(variable.register)
            return
        is_vector = variable.kind == "v"
        (a,), immediate = self._operands([operation.value], is_vector)
        self._used(source_of(operation.value))
        self._emit(Instruction(Opcode.ADD, is_vector, variable.register, a=a, immediate=immediate))
        if variable.kind == "s":
            self._forget(variable.register)

    def _broadcast(self, operation: vector.BroadcastOp) -> None:
        """Nothing: vector instructions take scalars."""
        source = source_of(operation.source)
        if source in self._pops:
            self._take(source)
        found = self._location(source)
        self._values[operation.results[0]] = found
        if isinstance(found, Kept):
            self._held |= {found}

    def _create_mask(self, operation: vector.CreateMaskOp) -> None:
        (a,), immediate = self._operands(operation.operands, False)
        kept = self._new("m")
        self._emit(Instruction(Opcode.FIRST_LANES, dst=kept.register, a=a, immediate=immediate))
        self._values[operation.results[0]] = kept

    def _reduce(self, operation: vector.ReductionOp) -> None:
        if operation.kind.data != vector.CombiningKindFlag.ADD or operation.acc is not None:
            refuse(self._place, f"{operation.name} other than add")
        (a,), _ = self._operands([operation.vector], True)
        self._used(operation.vector)
        kept = self._destination(operation.dest)
        self._emit(Instruction(Opcode.REDUCE_ADD, dst=kept.register, a=a))
        self._values[operation.dest] = kept

    def _extract(self, operation: vector.ExtractOp) -> None:
        lane = operation.static_position.get_values()[0]
        (a,), _ = self._operands([operation.vector], True)
        self._used(operation.vector)
        kept = self._new("s")
        self._emit(Instruction(Opcode.EXTRACT, dst=kept.register, a=a, immediate=int(lane)))
        self._values[operation.results[0]] = kept
