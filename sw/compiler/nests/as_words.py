"""Integers of all types as int32, for units that have words alone.

An array of narrow integers becomes one of the words that it lies in; an element is taken out of its
word, and put into it, by shifts. Integers of less than 32 bits are the int32 of the same value,
those of uint32 the int32 of the same bits. Quotients by numbers become products and shifts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gnarl.hw.lib.lines.line_size import WORD_BYTES
from gnarl.sw.compiler.nests.division import quotient
from gnarl.sw.compiler.nests.execute.words import refuse
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.index_expressions import integer
from gnarl.sw.workloads.loops.ir.nest import (
    COMPARISONS,
    Array,
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Fiber,
    Load,
    Nest,
    Scalar,
    Select,
    Store,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import with_parts
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

_WORD = 32


def as_words(nest: Nest) -> Nest:
    """The same statements, one for one, of float32 and int32 alone.

    Shapes of arrays stay, and are those of words only in what ``words_of`` makes of a binding.
    Raises ``WorkloadError`` for what takes more than integer arithmetic on words. O(nodes).
    """
    return _Words(nest).nest()


def words_of(binding: Binding) -> Binding:
    """The binding of ``as_words``: shapes of arrays as words, without their elements; scalars."""
    return Binding(
        binding.sizes,
        {name: _scalar(value) for name, value in binding.scalars.items()},
        {name: _word_array(array) for name, array in binding.arrays.items()},
    )


def _scalar(value: np.ndarray) -> np.ndarray:
    return value.view(np.int32) if value.dtype == np.uint32 else _widened(value)


def _widened(value: np.ndarray) -> np.ndarray:
    return value if value.dtype.kind == "f" else value.astype(np.int32)


def _word_array(array: np.ndarray) -> np.ndarray:
    if array.itemsize == WORD_BYTES:
        return array.view(np.int32) if array.dtype == np.uint32 else array
    words = -(-array.shape[-1] * array.itemsize // WORD_BYTES)
    return np.broadcast_to(np.int32(0), (*array.shape[:-1], words))


class _Words:
    def __init__(self, nest: Nest) -> None:
        self._nest = nest
        self._types: Mapping[str, ScalarType] = {
            each.name: each.type for each in nest.arrays.values()
        }

    def nest(self) -> Nest:
        parameters = tuple(
            replace(each, type=_word_type(each.type)) if isinstance(each, Array | Scalar) else each
            for each in self._nest.parameters
        )
        return replace(self._nest, parameters=parameters, body=self._part(self._nest.body))

    def _part(self, part: Any) -> Any:
        match part:
            case Store(array, indices, value, place):
                return self._store(array, indices, value, place)
            case AugmentedStore(operator, array, indices, value, place):
                type = self._types[array]
                if type in (FLOAT32, INT32) and not (type == INT32 and operator in ("//", "%")):
                    return with_parts(part, self._part)
                element = Load(array, indices, type, place)
                return self._store(array, indices, Binary(operator, element, value, place), place)
            case Assign(name, value, place):
                return Assign(name, self._part(value), place)
            case Fiber(array, place=place) if self._types[array] not in (FLOAT32, INT32):
                refuse(str(place), f"{array}: {self._types[array]}")
            case Constant(value, type, place) if type.is_integer:
                return Constant(_signed(int(value)), INT32, place)
            case Variable():
                return replace(part, type=_word_type(part.type))
            case Load():
                return self._load(part)
            case Unary(operator, operand, place) if operand.type.is_integer:
                return self._unary(operator, self._part(operand), operand.type, place)
            case Binary(_, left) if left.type.is_integer:
                return self._binary(part)
            case Cast(type, operand, place):
                return self._cast(type, operand, place)
        return with_parts(part, self._part)

    # Elements in words.

    def _place_in_word(
        self, array: str, indices: tuple[Expression, ...], place: Location
    ) -> tuple[tuple[Expression, ...], Expression]:
        """Indices of an element's word, and its lowest bit there."""
        bits = self._types[array].bits
        whole, last = self._part(indices[:-1]), self._part(indices[-1])
        each = _WORD // bits
        word = _binary(BinaryOperator.SHIFT_RIGHT, last, each.bit_length() - 1, place)
        within = _binary(BinaryOperator.BIT_AND, last, each - 1, place)
        shift = _binary(BinaryOperator.SHIFT_LEFT, within, bits.bit_length() - 1, place)
        return (*whole, word), shift

    def _load(self, load: Load) -> Expression:
        type, place = load.type, load.place
        if type.bits == _WORD:
            return Load(load.array, self._part(load.indices), _word_type(type), place)
        indices, shift = self._place_in_word(load.array, load.indices, place)
        word = Load(load.array, indices, INT32, place)
        return _within(type, Binary(BinaryOperator.SHIFT_RIGHT, word, shift, place), place)

    def _store(
        self, array: str, indices: tuple[Expression, ...], value: Expression, place: Location
    ) -> Store:
        type, stored = self._types[array], self._part(value)
        if type.bits == _WORD:
            return Store(array, self._part(indices), stored, place)
        at, shift = self._place_in_word(array, indices, place)
        ones = (1 << type.bits) - 1
        mask = Binary(BinaryOperator.SHIFT_LEFT, integer(ones, place), shift, place)
        others = _binary(BinaryOperator.BIT_XOR, mask, -1, place)
        kept = Binary(BinaryOperator.BIT_AND, Load(array, at, INT32, place), others, place)
        low = _binary(BinaryOperator.BIT_AND, stored, ones, place)
        put = Binary(BinaryOperator.SHIFT_LEFT, low, shift, place)
        return Store(array, at, Binary(BinaryOperator.BIT_OR, kept, put, place), place)

    # Arithmetic.

    def _unary(
        self, operator: UnaryOperator, value: Expression, type: ScalarType, place: Location
    ) -> Expression:
        negative = Unary(UnaryOperator.NEGATE, value, place)
        if operator == UnaryOperator.NEGATE:
            return _within(type, negative, place)
        if operator == UnaryOperator.ABS and type.kind == "i":
            return _within(type, Binary(BinaryOperator.MAXIMUM, value, negative, place), place)
        if operator == UnaryOperator.ABS:
            return value
        refuse(str(place), f"{operator} of {type}")

    def _binary(self, node: Binary) -> Expression:
        operator, type, place = node.operator, node.left.type, node.place
        is_unsigned = type.kind == "u" and type.bits == _WORD
        if operator in ("//", "%"):
            return self._divided(node)
        left, right = self._part(node.left), self._part(node.right)
        if operator == BinaryOperator.SHIFT_RIGHT and is_unsigned:
            return _logical_shift(left, right, place)
        if is_unsigned and (operator in COMPARISONS - {"==", "!="}):
            return Binary(operator, _in_order(left, place), _in_order(right, place), place)
        if is_unsigned and operator in ("min", "max"):
            ordered = Binary(operator, _in_order(left, place), _in_order(right, place), place)
            return _in_order(ordered, place)
        result = Binary(operator, left, right, place)
        leaves = operator in ("+", "-", "*", "<<")
        return _within(type, result, place) if leaves else result

    def _divided(self, node: Binary) -> Expression:
        operator, type, place = node.operator, node.left.type, node.place
        divisor = node.right
        if not isinstance(divisor, Constant) or divisor.value < 1:
            refuse(str(place), f"{operator} of {type} but by a number above 0")
        value, by = self._part(node.left), int(divisor.value)
        is_power = by & (by - 1) == 0
        if operator == "%" and is_power:
            return _binary(BinaryOperator.BIT_AND, value, _signed(by - 1), place)
        if is_power and type.kind == "u" and type.bits == _WORD:
            return _logical_shift(value, integer(by.bit_length() - 1, place), place)
        if is_power:
            return _binary(BinaryOperator.SHIFT_RIGHT, value, by.bit_length() - 1, place)
        if type.kind == "u" and type.bits == _WORD:
            refuse(str(place), f"{operator} of {type} but by a power of two")
        divided = quotient(value, by, place, may_be_negative=_may_be_negative(node.left))
        if operator == "//":
            return divided
        whole = _binary(BinaryOperator.MULTIPLY, divided, by, place)
        return Binary(BinaryOperator.SUBTRACT, value, whole, place)

    def _cast(self, type: ScalarType, operand: Expression, place: Location) -> Expression:
        given, value = operand.type, self._part(operand)
        if given.is_integer and type.is_integer:
            return value if type.bits == _WORD or type.holds(given) else _within(type, value, place)
        is_beyond = given.kind == "u" and given.bits == _WORD
        if given != type and (is_beyond or type.is_integer and type != INT32):
            refuse(str(place), f"{given} as {type}")
        return Cast(type, value, place)


def _may_be_negative(value: Expression) -> bool:
    match value:
        case Constant(number):
            return number < 0
        case Cast(_, operand):
            return operand.type.kind != "u" or operand.type.bits == _WORD
    return True


def _binary(operator: BinaryOperator, left: Expression, right: int, place: Location) -> Binary:
    return Binary(operator, left, integer(right, place), place)


def _word_type(type: ScalarType) -> ScalarType:
    return INT32 if type.is_integer else type


def _signed(value: int) -> int:
    """The int32 of the same 32 bits."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _within(type: ScalarType, value: Expression, place: Location) -> Expression:
    """The low bits of a word as a value of a type."""
    if type.bits == _WORD:
        return value
    if type.kind == "u":
        return _binary(BinaryOperator.BIT_AND, value, type.most, place)
    up = _binary(BinaryOperator.SHIFT_LEFT, value, _WORD - type.bits, place)
    return _binary(BinaryOperator.SHIFT_RIGHT, up, _WORD - type.bits, place)


def _in_order(value: Expression, place: Location) -> Expression:
    """The int32 that are in the order of uint32, and back."""
    return _binary(BinaryOperator.BIT_XOR, value, INT32.least, place)


def _logical_shift(value: Expression, count: Expression, place: Location) -> Expression:
    """A shift to the right that fills with 0."""
    if isinstance(count, Constant):
        number = int(count.value)
        moved = Binary(BinaryOperator.SHIFT_RIGHT, value, count, place)
        ones = (1 << _WORD - number) - 1
        return moved if number == 0 else _binary(BinaryOperator.BIT_AND, moved, ones, place)
    half = _binary(BinaryOperator.SHIFT_RIGHT, value, 1, place)
    half = _binary(BinaryOperator.BIT_AND, half, INT32.most, place)
    less = _binary(BinaryOperator.SUBTRACT, count, 1, place)
    moved = Binary(BinaryOperator.SHIFT_RIGHT, half, less, place)
    return Select(_binary(BinaryOperator.EQUAL, count, 0, place), value, moved, place)
