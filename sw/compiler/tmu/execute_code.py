"""Instructions of the execute unit for the cases of a DLC program."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from xdsl.dialects import arith, func, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from hw.lib.errors import CapacityError, WorkloadError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import (
    ALL_LANES,
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    Instruction,
    Opcode,
    Operand,
    Source,
)
from sw.compiler.tmu.dialects.dlc import END, START, CaseOp
from sw.compiler.tmu.dialects.slc import GetOp, PopOp, SetOp
from sw.compiler.tmu.scf import place_of
from sw.compiler.tmu.values import constant_of, source_of

UNROLLED = 16
"""Iterations of a loop that are written out; of longer ones, so many at a time."""

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


@dataclass(frozen=True)
class ExecuteCode:
    """``instructions``, and the addresses of ``tokens`` by their names."""

    instructions: list[Instruction]
    tokens: dict[str, int]


@dataclass(frozen=True)
class _Integer:
    """A whole number: that in scalar register ``register``, if any, + ``offset``."""

    register: int | None
    offset: int


@dataclass(frozen=True)
class _Kept:
    """A value in a register: of kind ``"s"``, ``"v"`` or ``"m"``."""

    kind: str
    register: int


@dataclass(frozen=True)
class _Constant:
    """The same word in every lane."""

    word: int


_Location = _Integer | _Kept | _Constant


def execute_code(module: ModuleOp, config: TmuConfig, bases: Mapping[str, int]) -> ExecuteCode:
    """The program: ``start``, then a case behind the other, each ending in the next token.

    ``bases``: the first word of each array. Raises ``CapacityError`` where registers or the
    program's memory do not suffice, ``WorkloadError`` for operations that the unit lacks.
    """
    function = next(each for each in module.body.block.ops if isinstance(each, func.FuncOp))
    names = function.attributes["names"]
    assert isinstance(names, StringAttr)
    arrays: dict[SSAValue, int] = {
        argument: bases[name]
        for argument, name in zip(function.body.block.args, names.data.split(","), strict=True)
    }
    cases = [each for each in function.body.block.ops if isinstance(each, CaseOp)]
    writer = _Writer(config, arrays)
    writer.keep_variables(cases)
    tokens = {}
    for case in cases:
        tokens[case.token.data] = len(writer.code)
        writer.case(case)
    del tokens[START]
    if len(writer.code) > config.program_words:
        raise CapacityError(
            f"program_words = {config.program_words}: must be at least {len(writer.code)}"
        )
    return ExecuteCode(writer.code, tokens)


class _Writer:
    def __init__(self, config: TmuConfig, arrays: Mapping[SSAValue, int]) -> None:
        self.code: list[Instruction] = []
        self._config = config
        self._arrays = arrays
        self._variables: dict[str, _Kept] = {}
        self._free = {
            "s": list(range(SCALAR_REGISTERS)),
            "v": list(range(VECTOR_REGISTERS)),
            "m": list(range(1, MASK_REGISTERS)),
        }
        self._place = ""

    def keep_variables(self, cases: Iterable[CaseOp]) -> None:
        for case in cases:
            for each in case.walk():
                if isinstance(each, GetOp | SetOp) and each.variable.data not in self._variables:
                    type = each.value.type
                    self._variables[each.variable.data] = self._new(_kind(type))

    def case(self, case: CaseOp) -> None:
        before = {kind: list(free) for kind, free in self._free.items()}
        self._values: dict[SSAValue, _Location] = {}
        self._uses = {
            result: sum(1 for _ in result.uses)
            for each in case.walk()
            for result in (*each.results, *(a for r in each.regions for a in r.block.args))
        }
        self._pops: list[SSAValue] = []
        # Values that went from the queue into addresses alone.
        self._folded: set[SSAValue] = set()
        self._addresses: dict[tuple[tuple[SSAValue | int, int], ...], int] = {}
        if case.token.data == START:
            for variable in self._variables.values():
                if variable.kind == "v":
                    self._emit(Instruction(Opcode.ADD, True, variable.register))
        self._operations(case.body.block.ops)
        for pop in list(self._pops):
            self._take(pop)
        opcode = Opcode.HALT if case.token.data == END else Opcode.JUMP_TOKEN
        self._emit(Instruction(opcode))
        self._free = before

    # Registers and values.

    def _new(self, kind: str) -> _Kept:
        if not self._free[kind]:
            name = {"s": "scalar", "v": "vector", "m": "mask"}[kind]
            raise CapacityError(f"{self._place}: more {name} registers than there are are needed")
        return _Kept(kind, self._free[kind].pop(0))

    def _emit(self, instruction: Instruction) -> None:
        self.code.append(instruction)

    def _used(self, *values: SSAValue) -> None:
        """One use of each is done; registers of values without another are free again."""
        for value in values:
            if value not in self._uses:
                continue
            self._uses[value] -= 1
            found = self._values.get(value)
            if self._uses[value] == 0 and isinstance(found, _Kept):
                if found not in self._variables.values() and found not in self._held:
                    self._free[found.kind].insert(0, found.register)

    _held: frozenset[_Kept] = frozenset()

    def _take(self, pop: SSAValue) -> None:
        """Pops up to ``pop`` go to registers."""
        while True:
            head = self._pops.pop(0)
            self._materialise(head)
            if head is pop:
                return

    def _materialise(self, pop: SSAValue) -> None:
        kept = self._new(_kind(pop.type))
        taken = Operand(Source.DEQUEUE)
        if kept.kind == "m":
            self._emit(Instruction(Opcode.LANES, dst=kept.register, a=taken))
        else:
            self._emit(
                Instruction(Opcode.ADD, kept.kind == "v", kept.register, a=taken, b=Operand())
            )
        self._values[pop] = kept

    def _location(self, value: SSAValue) -> _Location:
        """Where a value is that was not left in the data queue."""
        value = source_of(value)
        if (number := constant_of(value)) is not None:
            return _Integer(None, number)
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return _Constant(_word(owner.value))
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
        if isinstance(found, _Constant):
            return (Operand(), None) if found.word == 0 else (Operand(Source.IMMEDIATE), found.word)
        if isinstance(found, _Kept):
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

    def _sum(self, value: _Integer) -> _Kept:
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
                kept = self._sum(_Integer(None, constant))
                source = Source.SCALAR if is_vector else Source.REGISTER
                operand, constant = Operand(source, kept.register), None
            immediate = constant if immediate is None else immediate
            found.append(operand)
        return found, immediate or 0

    def _destination(self, result: SSAValue) -> _Kept:
        """The variable that the result is for, or a new register."""
        uses = list(result.uses)
        if len(uses) == 1 and isinstance(uses[0].operation, SetOp):
            return self._variables[uses[0].operation.variable.data]
        return self._new(_kind(result.type))

    # Operations.

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
            case scf.ForOp():
                self._for(operation)
            case _:
                self._compute(operation)

    def _compute(self, operation: Operation) -> None:
        kind = type(operation)
        if len(operation.results) != 1:
            _refuse(self._place, f"{operation.name} in the execute unit")
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
        else:
            _refuse(self._place, f"{operation.name} in the execute unit")
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
        kept: _Kept
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
        """By a scalar: of vectors, all lanes or none."""
        is_vector = isinstance(operation.result.type, VectorType)
        condition = self._location(operation.cond)
        if not isinstance(condition, _Kept) or condition.kind != "s":
            _refuse(self._place, "a choice that differs between lanes")
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
        if isinstance(found, _Kept):
            found = _Integer(found.register, 0)
        if not isinstance(found, _Integer):
            return False
        # The register stays as long as the sum is used.
        self._values[operation.results[0]] = replace(found, offset=found.offset + sign * number)
        self._held |= {_Kept("s", found.register)} if found.register is not None else set()
        return True

    def _get(self, operation: GetOp) -> None:
        variable = self._variables[operation.variable.data]
        self._values[operation.value] = variable
        if not _outlives(operation):
            return
        kept = self._new(variable.kind)
        a = Operand(Source.REGISTER, variable.register)
        self._emit(Instruction(Opcode.ADD, variable.kind == "v", kept.register, a=a))
        self._values[operation.value] = kept

    def _set(self, operation: SetOp) -> None:
        variable = self._variables[operation.variable.data]
        if self._values.get(operation.value) == variable:
            return
        is_vector = variable.kind == "v"
        (a,), immediate = self._operands([operation.value], is_vector)
        self._used(source_of(operation.value))
        self._emit(Instruction(Opcode.ADD, is_vector, variable.register, a=a, immediate=immediate))

    def _broadcast(self, operation: vector.BroadcastOp) -> None:
        """Nothing: vector instructions take scalars."""
        source = source_of(operation.source)
        if source in self._pops:
            self._take(source)
        found = self._location(source)
        self._values[operation.results[0]] = found
        if isinstance(found, _Kept):
            self._held |= {found}

    def _create_mask(self, operation: vector.CreateMaskOp) -> None:
        (a,), immediate = self._operands(operation.operands, False)
        kept = self._new("m")
        self._emit(Instruction(Opcode.FIRST_LANES, dst=kept.register, a=a, immediate=immediate))
        self._values[operation.results[0]] = kept

    def _extract(self, operation: vector.ExtractOp) -> None:
        lane = operation.static_position.get_values()[0]
        (a,), _ = self._operands([operation.vector], True)
        self._used(operation.vector)
        kept = self._new("s")
        self._emit(Instruction(Opcode.EXTRACT, dst=kept.register, a=a, immediate=int(lane)))
        self._values[operation.results[0]] = kept

    # Memory.

    def _address(self, array: SSAValue, indices: list[SSAValue]) -> tuple[Operand, int]:
        """A register, if any, and an offset."""
        assert isinstance(array.type, MemRefType)
        shape = [size.data for size in array.type.shape]
        strides = [1] * len(shape)
        for axis in reversed(range(len(shape) - 1)):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        offset = self._arrays[array]
        terms: list[tuple[SSAValue | int, int]] = []
        for index, stride in zip(indices, strides, strict=True):
            value = source_of(index)
            if value in self._pops or value in self._folded:
                terms.append((value, stride))
                continue
            found = self._location(value)
            if isinstance(found, _Kept):
                found = _Integer(found.register, 0)
            assert isinstance(found, _Integer)
            offset += found.offset * stride
            if found.register is not None:
                terms.append((found.register, stride))
        if not terms:
            return Operand(), offset
        key = tuple(terms)
        if key not in self._addresses:
            self._addresses[key] = self._linear(terms)
        return Operand(Source.REGISTER, self._addresses[key]), offset

    def _linear(self, terms: list[tuple[SSAValue | int, int]]) -> int:
        """A register with the sum of values, or registers, times strides."""
        total: int | None = None
        for term, stride in terms:
            if isinstance(term, int):
                operand = Operand(Source.REGISTER, term)
            elif self._pops[0] is term and self._is_address_only(term):
                self._folded.add(self._pops.pop(0))
                operand = Operand(Source.DEQUEUE)
            else:
                self._take(term)
                found = self._values[term]
                assert isinstance(found, _Kept)
                operand = Operand(Source.REGISTER, found.register)
            if stride != 1:
                scaled = self._new("s").register
                shift = stride.bit_length() - 1
                is_power = stride == 1 << shift
                self._emit(
                    Instruction(
                        Opcode.SHIFT_LEFT if is_power else Opcode.MUL,
                        dst=scaled,
                        a=operand,
                        b=Operand(Source.IMMEDIATE),
                        immediate=shift if is_power else stride,
                    )
                )
                operand = Operand(Source.REGISTER, scaled)
            if total is None and operand.source == Source.REGISTER:
                total = operand.index
                continue
            made = self._new("s").register
            b = Operand() if total is None else Operand(Source.REGISTER, total)
            self._emit(Instruction(Opcode.ADD, dst=made, a=operand, b=b))
            total = made
        assert total is not None
        return total

    def _is_address_only(self, value: SSAValue) -> bool:
        """Whether all that uses a value are indices, at one and the same stride and place."""
        users = [value]
        found = set()
        while users:
            for use in users.pop().uses:
                operation = use.operation
                if isinstance(operation, arith.IndexCastOp):
                    users.append(operation.result)
                    continue
                array = next(
                    (each for each in operation.operands if isinstance(each.type, MemRefType)), None
                )
                if array is None:
                    return False
                first = list(operation.operands).index(array) + 1
                assert isinstance(array.type, MemRefType)
                count = len(array.type.shape)
                indices = tuple(
                    source_of(each) for each in operation.operands[first : first + count]
                )
                shape = tuple(size.data for size in array.type.shape)
                found.add((indices, shape[1:]))
        return len(found) == 1

    def _mask(self, mask: SSAValue | None) -> int:
        if mask is None:
            return ALL_LANES
        found = self._location(mask)
        assert isinstance(found, _Kept)
        return found.register

    def _load(
        self, result: SSAValue, array: SSAValue, indices: list[SSAValue], mask: SSAValue | None
    ) -> None:
        address, offset = self._address(array, indices)
        chosen = self._mask(mask)
        is_vector = isinstance(result.type, VectorType)
        kept = self._destination(result)
        self._emit(
            Instruction(Opcode.LOAD, is_vector, kept.register, chosen, a=address, immediate=offset)
        )
        self._values[result] = kept

    def _store(
        self, value: SSAValue, array: SSAValue, indices: list[SSAValue], mask: SSAValue | None
    ) -> None:
        is_vector = isinstance(value.type, VectorType)
        address, offset = self._address(array, indices)
        chosen = self._mask(mask)
        operand, constant = self._operand(value, is_vector)
        if constant is not None:
            kept = self._sum(_Integer(None, constant))
            operand = Operand(Source.SCALAR if is_vector else Source.REGISTER, kept.register)
        self._used(source_of(value))
        self._emit(
            Instruction(
                Opcode.STORE, is_vector, mask=chosen, a=address, c=operand, immediate=offset
            )
        )

    # Loops.

    def _for(self, loop: scf.ForOp) -> None:
        lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
        if lower is None or upper is None or step is None or loop.iter_args:
            _refuse(place_of(loop), "a loop of the execute unit whose bounds are not constants")
        outside = _outside(loop)
        held = self._held
        for value in map(source_of, outside):
            if value in self._pops:
                self._take(value)
            if isinstance(found := self._values.get(value), _Kept):
                self._held |= {found}
        free = {kind: list(registers) for kind, registers in self._free.items()}
        addresses = dict(self._addresses)
        self._count_up(loop, lower, upper, step)
        self._held, self._free, self._addresses = held, free, addresses
        self._used(*outside)

    def _count_up(self, loop: scf.ForOp, lower: int, upper: int, step: int) -> None:
        count = len(range(lower, upper, step))
        whole, rest = divmod(count, UNROLLED)
        if whole <= 1:
            self._iterations(loop, [_Integer(None, lower + step * n) for n in range(count)])
            return
        index, left = self._sum(_Integer(None, lower)), self._sum(_Integer(None, whole))
        self._held |= {index, left}
        begins = len(self.code)
        self._emit(Instruction(Opcode.LOOP, a=Operand(Source.REGISTER, left.register)))
        offsets = [_Integer(index.register, step * n) for n in range(UNROLLED)]
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
        self.code[begins] = replace(self.code[begins], immediate=len(self.code))
        done = lower + step * UNROLLED * whole
        self._iterations(loop, [_Integer(None, done + step * n) for n in range(rest)])

    def _iterations(self, loop: scf.ForOp, inductions: list[_Integer]) -> None:
        """Iterations written out: all do an operation before any does the next, where they take
        one value each from the queue at most, and no two touch the same words."""
        if not inductions:
            return
        operations = list(loop.body.block.ops)
        self._repeat(loop, operations, inductions)

    def _repeat(
        self, loop: scf.ForOp, operations: list[Operation], inductions: list[_Integer]
    ) -> None:
        pops = sum(isinstance(each, PopOp) for each in operations)
        has_regions = any(each.regions for each in operations)
        if pops > 1 or has_regions or not _are_apart(loop):
            for induction in inductions:
                self._iteration(loop, operations, induction)
            return
        # As many at a time as registers allow.
        room = min((len(self._free[kind]) - 4) // 4 for kind in ("v", "s"))
        width = max(1, min(len(inductions), room, 8))
        for first in range(0, len(inductions), width):
            self._together(loop, operations, inductions[first : first + width])

    def _iteration(self, loop: scf.ForOp, operations: list[Operation], induction: _Integer) -> None:
        saved: dict[SSAValue, int] = {
            each: self._uses[each] for op in operations for each in op.results
        }
        outer = dict(self._uses)
        self._values[loop.body.block.args[0]] = induction
        self._operations(operations)
        self._restore(saved, outer)

    def _together(
        self, loop: scf.ForOp, operations: list[Operation], inductions: list[_Integer]
    ) -> None:
        outer = dict(self._uses)
        states: list[tuple[dict[SSAValue, _Location], dict[SSAValue, int]]] = []
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


def _outlives(get: GetOp) -> bool:
    """Whether a variable's value is used after the variable has got another."""
    name, is_behind = get.variable.data, False
    operation = get.next_op
    while operation is not None:
        uses = any(get.value in each.operands for each in operation.walk())
        if is_behind and uses:
            return True
        for each in operation.walk():
            if isinstance(each, SetOp) and each.variable.data == name:
                is_behind = True
            for result in each.results:
                is_behind |= any(
                    isinstance(use.operation, SetOp) and use.operation.variable.data == name
                    for use in result.uses
                )
        operation = operation.next_op
    return False


def _outside(loop: scf.ForOp) -> list[SSAValue]:
    """Values from outside of a loop that its body uses, once for each use."""
    inside: set[SSAValue] = set(loop.body.block.args)
    found = []
    for operation in loop.body.block.walk():
        inside |= set(operation.results)
        for region in operation.regions:
            inside |= set(region.block.args)
    for operation in loop.body.block.walk():
        found += [each for each in operation.operands if each not in inside]
    return found


def _are_apart(loop: scf.ForOp) -> bool:
    """Whether iterations use different words of the arrays that they write."""
    induction = loop.body.block.args[0]
    places: dict[SSAValue, set[tuple[SSAValue, ...]]] = {}
    written = set()
    for operation in loop.body.block.ops:
        array = next(
            (each for each in operation.operands if isinstance(each.type, MemRefType)), None
        )
        if array is None:
            if isinstance(operation, GetOp | SetOp):
                return False
            continue
        assert isinstance(array.type, MemRefType)
        first = list(operation.operands).index(array) + 1
        indices = operation.operands[first : first + len(array.type.shape)]
        places.setdefault(array, set()).add(tuple(map(source_of, indices)))
        if isinstance(operation, memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp):
            written.add(array)
    return all(
        len(places[array]) == 1 and next(iter(places[array]))[-1] is induction for array in written
    )


def _kind(type: Attribute) -> str:
    if isinstance(type, VectorType):
        return "m" if type.element_type == i1 else "v"
    return "s"


def _word(value: Attribute) -> int:
    """The word of a constant, in every lane."""
    if isinstance(value, FloatAttr):
        found: int = struct.unpack("<I", struct.pack("<f", value.value.data))[0]
        return found
    if isinstance(value, IntegerAttr):
        return value.value.data & 0xFFFF_FFFF
    assert isinstance(value, DenseIntOrFPElementsAttr)
    first = value.get_values()[0]
    if isinstance(value.get_element_type(), type(f32)):
        return _word(FloatAttr(first, f32))
    return int(first) & 0xFFFF_FFFF


def _refuse(place: str, what: str) -> NoReturn:
    raise WorkloadError(f"{place}: {what}: not supported by target tmu")
