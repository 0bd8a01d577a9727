"""Values of ``#if``. Source: ISO/IEC 9899:2018, section 6.10.1: 64 bits, signed or unsigned."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_BITS = 64
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators, those that bind least first."""

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")
_MOST_DIGITS = 30
_CHARACTER = re.compile(r"'([^\\'])'")
_NAME = re.compile(r"[A-Za-z_]\w*")

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class Number(NamedTuple):
    value: int
    is_unsigned: bool = False


def is_true(words: Sequence[str]) -> bool:
    """Whether a condition holds, whose macros are expanded. Raises ``ValueError`` that says what is
    wrong."""
    reader = _Reader([*words])
    number = reader.ternary(is_needed=True)
    if reader.words:
        raise ValueError(f"{reader.words[0]}: must be an operator or the end of the condition")
    return number.value != 0


class _Reader:
    """``is_needed``: whether what is wrong with the operand counts."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def _next(self) -> str:
        return self.words[0] if self.words else ""

    def _take(self, wanted: str) -> None:
        if self._next() != wanted:
            raise ValueError(f"must have {wanted} before {self._next() or 'the end'}")
        del self.words[0]

    def ternary(self, *, is_needed: bool) -> Number:
        condition = self._binary(0, is_needed)
        if self._next() != "?":
            return condition
        self._take("?")
        chosen = self.ternary(is_needed=is_needed and condition.value != 0)
        self._take(":")
        other = self.ternary(is_needed=is_needed and condition.value == 0)
        is_unsigned = chosen.is_unsigned or other.is_unsigned
        return _within((chosen if condition.value else other).value, is_unsigned)

    def _binary(self, level: int, is_needed: bool) -> Number:
        if level == len(_LEVELS):
            return self._unary(is_needed)
        left = self._binary(level + 1, is_needed)
        while self._next() in _LEVELS[level]:
            operator = self.words.pop(0)
            decides = {"&&": left.value == 0, "||": left.value != 0}.get(operator, False)
            right = self._binary(level + 1, is_needed and not decides)
            left = _applied(operator, left, right, is_needed)
        return left

    def _unary(self, is_needed: bool) -> Number:
        word = self._next()
        if word in ("+", "-", "~", "!"):
            del self.words[0]
            operand = self._unary(is_needed)
            value = {
                "+": operand.value,
                "-": -operand.value,
                "~": ~operand.value,
                "!": int(operand.value == 0),
            }[word]
            return _within(value, operand.is_unsigned and word != "!")
        if word == "(":
            self._take("(")
            inner = self.ternary(is_needed=is_needed)
            self._take(")")
            return inner
        if not word:
            raise ValueError("must have a number before the end")
        del self.words[0]
        return _number(word, self._next())


def _number(word: str, following: str) -> Number:
    if found := _NUMBER.fullmatch(word):
        digits, suffix = found.groups()
        if len(digits) <= _MOST_DIGITS:
            is_octal = digits.startswith("0") and digits.isdigit()
            value = int(digits, 8 if is_octal else 0)
            is_unsigned = "u" in suffix.lower() or value >= 1 << _BITS - 1
            if value < 1 << _BITS:
                return Number(value, is_unsigned)
    if found := _CHARACTER.fullmatch(word):
        return Number(ord(found[1]))
    if _NAME.fullmatch(word) and following != "(":
        return Number(0)
    raise ValueError(f"{word}: must be a whole number of at most {_BITS} bits or a name")


def _within(value: int, is_unsigned: bool) -> Number:
    value &= (1 << _BITS) - 1
    if not is_unsigned and value >> _BITS - 1:
        value -= 1 << _BITS
    return Number(value, is_unsigned)


def _applied(operator: str, left: Number, right: Number, is_needed: bool) -> Number:
    if operator == "&&":
        return Number(int(left.value != 0 and right.value != 0))
    if operator == "||":
        return Number(int(left.value != 0 or right.value != 0))
    if operator in ("<<", ">>"):
        return _shifted(operator, left, right.value, is_needed)
    is_unsigned = left.is_unsigned or right.is_unsigned
    one, other = (_within(each.value, is_unsigned).value for each in (left, right))
    if operator in _COMPARISONS:
        return Number(int(_COMPARISONS[operator](one, other)))
    if operator in ("/", "%"):
        return _divided(operator, one, other, is_unsigned, is_needed)
    value = {
        "|": one | other,
        "^": one ^ other,
        "&": one & other,
        "+": one + other,
        "-": one - other,
        "*": one * other,
    }[operator]
    return _within(value, is_unsigned)


def _shifted(operator: str, left: Number, count: int, is_needed: bool) -> Number:
    if not 0 <= count < _BITS:
        if is_needed:
            raise ValueError(f"shift by {count}: must be at least 0 and less than {_BITS}")
        return Number(0, left.is_unsigned)
    value = left.value << count if operator == "<<" else left.value >> count
    return _within(value, left.is_unsigned)


def _divided(operator: str, one: int, other: int, is_unsigned: bool, is_needed: bool) -> Number:
    if other == 0:
        if is_needed:
            raise ValueError(f"{operator} 0: must not be 0")
        return Number(0, is_unsigned)
    quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
    value = quotient if operator == "/" else one - quotient * other
    return _within(value, is_unsigned)
