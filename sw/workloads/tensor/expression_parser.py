"""What the notations of statements and of programs share: tokens, results and expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gnarl.hw.lib.errors import quoted
from gnarl.sw.workloads.refusals import NOT_BELOW
from gnarl.sw.workloads.tensor.columns import counted, fail
from gnarl.sw.workloads.tensor.expression import (
    FUNCTIONS,
    REDUCTIONS,
    Access,
    Call,
    Constant,
    Reduction,
)
from gnarl.sw.workloads.tensor.notation import SUM, Sum, Written
from gnarl.sw.workloads.text_file import is_not_zero

# Trees are built and walked by recursion.
MAX_OPERANDS = 300
MAX_DEPTH = 60  # of parentheses, calls and signs

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>[-+*/=(),:\[\]])"
)


@dataclass(frozen=True)
class Token:
    """A word of a text; ``kind`` is number, name, sign or end."""

    kind: str
    text: str
    column: int

    @property
    def shown(self) -> str:
        """What errors call it."""
        return self.text if self.kind == "end" else f"{quoted(self.text)}"


def _tokens(text: str, column: int) -> list[Token]:
    """The words of a text whose first character is in this column."""
    tokens = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            fail(column + position, f"unexpected character {quoted(text[position])}")
        tokens.append(Token(match.lastgroup or "", match[0], column + position))
        position = match.end()
    tokens.append(Token("end", "the end", column + len(text.rstrip())))
    return tokens


class ExpressionParser:
    """Recursive descent: sums of products of signed atoms.

    This is the notation of statements; notations with more have more ``operators``.
    """

    operators: Sequence[str] = ("+", "-", "*")
    max_depth = MAX_DEPTH

    def __init__(self, text: str, column: int = 1) -> None:
        self._rest = _tokens(text, column)[::-1]
        self._operands = 0
        self._depth = 0

    def assignment(self) -> tuple[Access, Written]:
        """``result = expression``."""
        result = self._result()
        expression = self._sum()
        self._end()
        return result, expression

    def _result(self) -> Access:
        """``result =``."""
        token = self._rest[-1]
        if token.kind != "name":
            fail(token.column, f"expected a result such as X(i,j), found {token.shown}")
        if token.text in (*FUNCTIONS, SUM):
            fail(token.column, f"{token.text} is a function and cannot be the result's name")
        result = self._access(self._rest.pop())
        self._expect("=", ("=",))
        return result

    def _end(self) -> None:
        token = self._rest[-1]
        if token.kind != "end":
            fail(token.column, f"expected an operator or the end, found {token.shown}")

    def _sum(self) -> Written:
        value = self._product()
        while self._rest[-1].text in ("+", "-"):
            function = "add" if self._pop().text == "+" else "sub"
            value = Call(function, (value, self._product()))
        return value

    def _product(self) -> Written:
        value = self._signed()
        while self._rest[-1].text in ("*", "/"):
            sign = self._pop()
            if sign.text not in self.operators:
                fail(sign.column, "division is not supported; multiply by reciprocal(…)")
            value = Call("mul" if sign.text == "*" else "div", (value, self._signed()))
        return value

    def _signed(self) -> Written:
        self._depth += 1
        if self._depth > self.max_depth:
            fail(self._rest[-1].column, f"parts are nested deeper than {self.max_depth}")
        if self._rest[-1].text == "-":
            self._pop()
            value = self._signed()
            if isinstance(value, Constant) and math.copysign(1, value.value) > 0:
                value = Constant(-value.value)
            else:
                value = Call("neg", (value,))
        else:
            value = self._atom()
        self._depth -= 1
        return value

    def _atom(self) -> Written:
        token = self._pop()
        if token.text == "(":
            value = self._sum()
            self._close()
            return value
        if token.text in REDUCTIONS and self._rest[-1].text == "[":
            return self._reduction(token)
        self._operands += 1
        if self._operands > MAX_OPERANDS:
            fail(token.column, f"there are more than {MAX_OPERANDS} operands")
        if token.kind == "number":
            return self._number(token)
        if token.kind != "name":
            fail(token.column, f"expected an operand, found {token.shown}")
        if token.text == SUM:
            return self._over(token)
        if token.text in FUNCTIONS:
            return self._call(token)
        return self._access(token)

    def _number(self, token: Token) -> Constant:
        number = float(token.text)
        if math.isinf(number):
            fail(token.column, "a number is too large; it must be finite in float64")
        if number == 0 and is_not_zero(token.text):
            fail(token.column, f"a number is too small; it {NOT_BELOW}")
        return Constant(number)

    def _reduction(self, name: Token) -> Written:
        self._pop()
        indices = [self._index()]
        while self._rest[-1].text == ",":
            self._pop()
            indices.append(self._index())
        self._expect("]", (",", "]"))
        self._expect("(", ("(",))
        part = self._sum()
        self._close()
        return Reduction(name.text, tuple(indices), part, name.column)

    def _over(self, name: Token) -> Written:
        self._expect("(", ("(",))
        index = self._index()
        self._expect(",", (",",))
        part = self._sum()
        self._close()
        return Sum(index, part, name.column)

    def _call(self, name: Token) -> Written:
        self._expect("(", ("(",))
        arguments = [self._sum()]
        while self._rest[-1].text == ",":
            self._pop()
            arguments.append(self._sum())
        self._expect(")", (",", ")"))
        wanted = FUNCTIONS[name.text]
        if len(arguments) != wanted:
            fail(
                name.column,
                f"{name.text} has {counted(len(arguments), 'argument')} and must have {wanted}",
            )
        return Call(name.text, tuple(arguments))

    def _access(self, name: Token) -> Access:
        if self._rest[-1].text != "(":
            return Access(name.text, (), name.column)
        self._pop()
        indices: list[str] = []
        while self._rest[-1].text != ")" or indices:
            indices.append(self._index())
            if self._rest[-1].text != ",":
                break
            self._pop()
        self._expect(")", (",", ")"))
        return Access(name.text, tuple(indices), name.column)

    def _index(self) -> str:
        token = self._pop()
        if token.kind != "name":
            fail(token.column, f"expected an index, found {token.shown}")
        return token.text

    def _close(self) -> None:
        self._expect(")", (*self.operators, ")"))

    def _pop(self) -> Token:
        token = self._rest[-1]
        if token.kind == "end":
            fail(token.column, "the expression ends too early")
        return self._rest.pop()

    def _expect(self, text: str, allowed: Sequence[str]) -> None:
        token = self._rest[-1]
        if token.text != text:
            wanted = " or ".join(allowed)
            fail(token.column, f"expected {wanted}, found {token.shown}")
        self._rest.pop()
