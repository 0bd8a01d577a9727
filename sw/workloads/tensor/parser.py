"""The notation of the TACO and SAM command lines: an expression, its formats and its loop order.

``X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss:0,1 -f=C:ss:1,0 -s=reorder(i,k,j)``. Each term of the top sum
is summed over its indices that the result lacks; ``sum(k,…)`` says so where a function might be
taken to be that of the sum (see ``sums``). Formats name the kind of
each level, outermost first (d dense, s compressed, b bitvector), then the mode that each level
stores. Tensors without ``-f`` are dense, in the order of their modes. Without ``-s`` loops run in
order of appearance, the result's indices first. ``-s=parallelize(i,4)`` deals the loop over i to
four copies of what lies inside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnarl.hw.lib.errors import quoted
from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.refusals import NOT_BELOW
from gnarl.sw.workloads.tensor.columns import counted, fail
from gnarl.sw.workloads.tensor.expression import (
    FUNCTIONS,
    Access,
    Call,
    Constant,
    Expression,
    Statement,
    accesses,
)
from gnarl.sw.workloads.tensor.notation import SUM, Sum, Written
from gnarl.sw.workloads.tensor.options import parse_format, parse_parallelize, parse_reorder
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.sums import without_sums
from gnarl.sw.workloads.text_file import is_not_zero

# Trees are built and walked by recursion.
MAX_OPERANDS = 300
MAX_LENGTH = 20_000  # in characters
MAX_DEPTH = 60  # of parentheses, calls and signs

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>[-+*/=(),])"
)
_OPTION = re.compile(  # blanks are allowed in brackets
    r"(?:^|(?<=\s))-(?P<kind>[a-z]+)="
    r"(?P<quote>[\"']?)(?P<value>(?:[^\"'\s()]|\([^()]*\))*)(?P=quote)"
)


def parse(text: str) -> Statement:
    """The statement that ``text`` writes. ``WorkloadError`` names the column, counted from 1."""
    if len(text) > MAX_LENGTH:
        fail(MAX_LENGTH + 1, f"{len(text):,} characters are too many; at most {MAX_LENGTH:,}")
    options = list(_OPTION.finditer(text))
    end = options[0].start() if options else len(text)
    _refuse_between(text, options)
    result, written = _Parser(text[:end]).statement()
    expression = without_sums(result, written)
    _check_names(result, expression)
    used = [result, *accesses(expression)]
    indices = tuple(dict.fromkeys(index for access in used for index in access.indices))
    orders = {access.tensor: len(access.indices) for access in used}
    chosen = _Options(indices, orders)
    for option in options:
        chosen.add(option)
    return Statement(result, expression, chosen.formats(), chosen.order or indices, chosen.lanes)


def _refuse_between(text: str, options: Sequence[re.Match[str]]) -> None:
    """Refuses what stands behind options and is none."""
    ends = [*(option.start() for option in options[1:]), len(text)]
    for option, stop in zip(options, ends, strict=False):
        rest = text[option.end() : stop]
        if rest.strip():
            column = option.end() + 1 + len(rest) - len(rest.lstrip())
            fail(column, "options come last and have the form -f=TENSOR:LEVELS or -s=reorder(i,j)")


class _Options:
    """What options say of an expression with such indices and orders of tensors."""

    def __init__(self, indices: tuple[str, ...], orders: Mapping[str, int]) -> None:
        self._indices = indices
        self._orders = orders
        self._formats: dict[str, TensorFormat] = {}
        self.order: tuple[str, ...] | None = None
        self.lanes: tuple[str, int] | None = None

    def add(self, option: re.Match[str]) -> None:
        value, column = option["value"], option.start("value") + 1
        match option["kind"]:
            case "f":
                tensor, levels = parse_format(value, column, self._orders)
                if tensor in self._formats:
                    fail(column, f"tensor {tensor} has a format already; give each tensor one -f")
                self._formats[tensor] = levels
            case "s" if value.startswith("parallelize("):
                if self.lanes is not None:
                    fail(column, "an index is parallelized already; give one parallelize")
                self.lanes = parse_parallelize(value, column, self._indices)
            case "s":
                if self.order is not None:
                    fail(column, "there is a loop order already; give one -s")
                self.order = parse_reorder(value, column, self._indices)
            case kind:
                fail(option.start() + 1, f"unknown option -{kind}; the options are -f and -s")

    def formats(self) -> dict[str, TensorFormat]:
        """The format of each tensor; dense, in the order of its modes, where there is no option."""
        return {
            tensor: self._formats.get(tensor, TensorFormat((DENSE,) * count, tuple(range(count))))
            for tensor, count in self._orders.items()
        }


def _check_names(result: Access, expression: Expression) -> None:
    """Names that contradict each other, in order of their columns."""
    operands = list(accesses(expression))
    indices = {index for access in (result, *operands) for index in access.indices}
    first: dict[str, Access] = {}
    for access in (result, *operands):
        shown = str(access)
        for index in access.indices:
            if access.indices.count(index) > 1:
                fail(
                    access.column,
                    f"index {index} appears twice in {shown}; a diagonal cannot be read or "
                    "written, use an index for each mode",
                )
        if access.tensor in indices:
            fail(access.column, f"{access.tensor} is an index and cannot also be a tensor")
        if access is not result and access.tensor == result.tensor:
            fail(
                access.column,
                f"result {access.tensor} cannot also be an operand; give the result its own name",
            )
        known = first.setdefault(access.tensor, access)
        if len(known.indices) != len(access.indices):
            fail(
                access.column,
                f"tensor {access.tensor} has {counted(len(access.indices), 'index', 'indices')} "
                f"here and {len(known.indices)} in column {known.column}; "
                "a tensor has one order",
            )


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "sign" or "end"
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            fail(position + 1, f"unexpected character {quoted(text[position])}")
        tokens.append(_Token(match.lastgroup or "", match[0], position + 1))
        position = match.end()
    tokens.append(_Token("end", "the end", len(text.rstrip()) + 1))
    return tokens


class _Parser:
    """Recursive descent: sums of products of signed atoms."""

    def __init__(self, text: str) -> None:
        self._rest = _tokens(text)[::-1]
        self._operands = 0
        self._depth = 0

    def statement(self) -> tuple[Access, Written]:
        token = self._rest[-1]
        if token.kind != "name":
            fail(token.column, f"expected a result such as X(i,j), found {_shown(token)}")
        if token.text in (*FUNCTIONS, SUM):
            fail(token.column, f"{token.text} is a function and cannot be the result's name")
        result = self._access(self._rest.pop())
        self._expect("=", ("=",))
        expression = self._sum()
        token = self._rest[-1]
        if token.kind != "end":
            fail(token.column, f"expected an operator or the end, found {_shown(token)}")
        return result, expression

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
            if sign.text == "/":
                fail(sign.column, "division is not supported; multiply by reciprocal(…)")
            value = Call("mul", (value, self._signed()))
        return value

    def _signed(self) -> Written:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            fail(self._rest[-1].column, f"parts are nested deeper than {MAX_DEPTH}")
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
        self._operands += 1
        if self._operands > MAX_OPERANDS:
            fail(token.column, f"there are more than {MAX_OPERANDS} operands")
        if token.kind == "number":
            number = float(token.text)
            if math.isinf(number):
                fail(token.column, "a number is too large; it must be finite in float64")
            if number == 0 and is_not_zero(token.text):
                fail(token.column, f"a number is too small; it {NOT_BELOW}")
            return Constant(number)
        if token.text == "(":
            value = self._sum()
            self._expect(")", ("+", "-", "*", ")"))
            return value
        if token.kind != "name":
            fail(token.column, f"expected an operand, found {_shown(token)}")
        if token.text == SUM:
            return self._over(token)
        if token.text in FUNCTIONS:
            return self._call(token)
        return self._access(token)

    def _over(self, name: _Token) -> Written:
        self._expect("(", ("(",))
        index = self._pop()
        if index.kind != "name":
            fail(index.column, f"expected an index, found {_shown(index)}")
        self._expect(",", (",",))
        part = self._sum()
        self._expect(")", ("+", "-", "*", ")"))
        return Sum(index.text, part, name.column)

    def _call(self, name: _Token) -> Written:
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

    def _access(self, name: _Token) -> Access:
        if self._rest[-1].text != "(":
            return Access(name.text, (), name.column)
        self._pop()
        indices: list[str] = []
        while self._rest[-1].text != ")" or indices:
            token = self._pop()
            if token.kind != "name":
                fail(token.column, f"expected an index, found {_shown(token)}")
            indices.append(token.text)
            if self._rest[-1].text != ",":
                break
            self._pop()
        self._expect(")", (",", ")"))
        return Access(name.text, tuple(indices), name.column)

    def _pop(self) -> _Token:
        token = self._rest[-1]
        if token.kind == "end":
            fail(token.column, "the expression ends too early")
        return self._rest.pop()

    def _expect(self, text: str, allowed: Sequence[str]) -> None:
        token = self._rest[-1]
        if token.text != text:
            wanted = " or ".join(allowed)
            fail(token.column, f"expected {wanted}, found {_shown(token)}")
        self._rest.pop()


def _shown(token: _Token) -> str:
    return token.text if token.kind == "end" else f"{quoted(token.text)}"
