"""Addresses, loads and stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import SSAValue

from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import ALL_LANES, Instruction, Opcode, Operand, Source
from sw.compiler.tmu.execute.locations import Integer, Kept
from sw.compiler.tmu.execute.values import Values
from sw.compiler.tmu.values import source_of


class Memory(Values):
    """Addresses are row-major sums; what they have in common is computed once a case."""

    def __init__(self, config: TmuConfig, arrays: Mapping[SSAValue, int]) -> None:
        super().__init__(config, arrays)
        # Values that went from the queue into addresses alone.
        self._folded: set[SSAValue] = set()
        self._addresses: dict[tuple[tuple[SSAValue | int, int], ...], int] = {}

    def _state(self) -> tuple[dict[Any, Any], ...]:
        """What a part that may not run must leave as it was."""
        free = {kind: list(registers) for kind, registers in self._free.items()}
        return dict(self._values), dict(self._uses), free, dict(self._addresses)

    def _return_to(self, state: tuple[dict[Any, Any], ...]) -> None:
        """Without the addresses of a variable that may have another value now."""
        values, uses, free, addresses = state
        self._values, self._uses = dict(values), dict(uses)
        self._free = {kind: list(registers) for kind, registers in free.items()}
        self._addresses = {key: found for key, found in addresses.items() if key in self._addresses}

    def _forget(self, register: int) -> None:
        """Addresses of what the register had."""
        self._addresses = {
            key: found
            for key, found in self._addresses.items()
            if all(term != register for term, _ in key)
        }

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
            if isinstance(found, Kept):
                found = Integer(found.register, 0)
            assert isinstance(found, Integer)
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
                assert isinstance(found, Kept)
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
        assert isinstance(found, Kept)
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
            kept = self._sum(Integer(None, constant))
            operand = Operand(Source.SCALAR if is_vector else Source.REGISTER, kept.register)
        self._used(source_of(value))
        self._emit(
            Instruction(
                Opcode.STORE, is_vector, mask=chosen, a=address, c=operand, immediate=offset
            )
        )
