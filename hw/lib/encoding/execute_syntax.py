"""Lines of the execute unit's assembly as tokens, and what stands for numbers in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import NoReturn

import numpy as np
from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.hw.lib.formats import FLOAT_FORMATS

Number = int | float

_TOKEN = re.compile(
    r"(?P<space>[ \t]+|[;#].*)"
    r"|(?P<word>[A-Za-z_.][\w.]*)"
    r"|(?P<number>0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<sign>\+=|[\[\],:+-])"
)
REGISTER = re.compile(r"([svm])([0-9]+)(\.s)?")
_NOT_NAMES = ("deq", "deq.s", "zero", "inf", "nan")
_END = "the line's end"
_FLOATS = {"inf": float("inf"), "nan": float("nan")}


@dataclass(frozen=True)
class Token:
    kind: str  # "word", "number", "sign" or "end"
    text: str


class Line:
    """A line of the file ``file``, its ``number`` from 1, from one token to the next."""

    def __init__(self, text: str, file: str, number: int) -> None:
        self.file = file
        self.number = number
        self._tokens: list[Token] = []
        self._place = 0
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                self.fail(f"unexpected character {quoted(text[position])}")
            if match.lastgroup != "space":
                self._tokens.append(Token(match.lastgroup or "", match[0]))
            position = match.end()

    def fail(self, problem: str) -> NoReturn:
        raise WorkloadError(f"{self.file}:{self.number}: {problem}")

    def fail_at(self, token: Token, expected: str) -> NoReturn:
        """Fails at ``token``, where ``expected`` would be right."""
        found = quoted(token.text) if token.kind == "sign" else short(token.text)
        self.fail(f"expected {expected}, found {found}")

    def peek(self, ahead: int = 0) -> Token:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else Token("end", _END)

    def next(self) -> Token:
        token = self.peek()
        self._place += 1
        return token

    def takes(self, sign: str) -> bool:
        """Whether ``sign`` is next; goes on behind it then."""
        found = self.peek().text == sign
        self._place += found
        return found

    def expect(self, sign: str) -> None:
        token = self.next()
        if token.text != sign:
            self.fail_at(token, quoted(sign))

    def name(self) -> str:
        """A name that may be given a meaning."""
        token = self.next()
        if token.kind != "word" or token.text.startswith("."):
            self.fail_at(token, "a name")
        if REGISTER.fullmatch(token.text) or token.text in _NOT_NAMES:
            self.fail(f"{token.text}: has a meaning already; take another name")
        return token.text

    def sum(self, names: Mapping[str, Number]) -> Number:
        """Numbers and names, with + and - between them."""
        total = -self._value(names) if self.takes("-") else self._value(names)
        while True:
            if self.takes("+"):
                total += self._value(names)
            elif self.takes("-"):
                total -= self._value(names)
            else:
                return total

    def whole(self, names: Mapping[str, Number], what: str, least: int, most: int) -> int:
        """A sum that is a whole number in a range; errors call it ``what``."""
        value = self.sum(names)
        if isinstance(value, float):
            self.fail(f"{value}: {what} must be a whole number")
        if not least <= value <= most:
            self.fail(f"{value}: {what} must be from {least} to {most}")
        return value

    def _value(self, names: Mapping[str, Number]) -> Number:
        token = self.next()
        if token.kind == "number":
            if token.text[:2] in ("0x", "0X"):
                return int(token.text, 16)
            if token.text.isdigit():
                return int(token.text)
            value = float(token.text)
            if isinf(value):
                self.fail(f"{short(token.text)}: too large for float32")
            return value
        if token.text in _FLOATS:
            return _FLOATS[token.text]
        if token.kind != "word" or REGISTER.fullmatch(token.text) or token.text in _NOT_NAMES:
            self.fail_at(token, "a number or a name")
        if token.text not in names:
            self.fail(f"{short(token.text)}: no such constant or label")
        return names[token.text]


def float_word(value: float) -> int:
    """The float32 nearest to ``value``, as a word; NaN is the canonical one."""
    if np.isnan(value):
        return FLOAT_FORMATS["float32"].canonical_nan
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def float_text(word: int) -> str:
    """The shortest number that ``float_word`` makes ``word`` of, or a whole number that is it."""
    text = str(np.uint32(word).view(np.float32))
    return text if float_word(float(text)) == word else hex(word)
