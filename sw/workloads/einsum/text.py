"""Einsum programs as text: statements with ``;`` between them, then options.

``t(i,m)=sum[k](A(i,k)*F(k,m)); h(i,j)=relu(sum[m](t(i,m)*W(m,j))+b(j)); -f=A:ds -f=h:dd``. An
expression has what those of statements have (``gnarl.sw.workloads.tensor.parser``), and sums and
maxima over indices of any part, and division. A sign before a number is part of it. In a program
of one statement without reductions, each term of the top sum is summed over its indices that the
result lacks.

What moves elements is a statement of its own, see ``rearrangement``:
``r(i,j,k)=reshape[j:2](t(i,a))``, ``c(i,j)=concat(a(k,j),b(l,j))``,
``s(i,j)=slice[k:2:7](t(k,j))``, ``p(i,j)=pattern[ne:0](t(i,j))``.

Formats are as for statements; intermediate tensors have none by default.
``-s=reorder(h:i,m,j)`` is the order of a statement's loops, ``-n=h:3,4`` the shape of a tensor
that is computed, of whose indices some are in no operand. Results are the tensors that no
statement takes, or those of ``-r=h,t``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn, cast

from gnarl.sw.workloads.einsum.check import check, check_statements
from gnarl.sw.workloads.einsum.explicit import with_implied_sums
from gnarl.sw.workloads.einsum.places import in_program, located
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    reductions,
)
from gnarl.sw.workloads.einsum.rearrangement import (
    KINDS,
    Concat,
    Coo,
    How,
    Kept,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
    Stored,
)
from gnarl.sw.workloads.tensor.columns import fail
from gnarl.sw.workloads.tensor.expression import FUNCTIONS, REDUCTIONS, Access
from gnarl.sw.workloads.tensor.expression_parser import MAX_DEPTH, ExpressionParser, Token
from gnarl.sw.workloads.tensor.notation import Written, text_of
from gnarl.sw.workloads.tensor.options import FormatOptions, parse_order, split_options

MAX_LENGTH = 200_000  # in characters
MAX_DIGITS = 18
"""Of sizes and bounds: what int64 holds."""


def parse_program(text: str, name: str = "") -> EinsumProgram:
    """The program that ``text`` writes; without a ``name`` it has those of its results.

    Raises ``WorkloadError`` that names the statement and the column, counted from 1.
    """
    with in_program():
        assignments, options = split_options(text, MAX_LENGTH)
    draft = EinsumProgram(name, tuple(_statements(assignments)), {}, ())
    check_statements(draft)
    chosen = _Options(draft)
    with in_program():
        for option in options:
            chosen.add(option)
    results = chosen.results or unused(draft)
    stored = (*draft.inputs, *results, *chosen.formats.chosen)
    return check(
        EinsumProgram(
            name or ",".join(results),
            tuple(
                replace(each, order=chosen.orders[each.name])
                if isinstance(each, Einsum) and each.name in chosen.orders
                else each
                for each in draft.statements
            ),
            {tensor: chosen.formats.format(tensor) for tensor in stored},
            results,
            chosen.shapes,
        )
    )


def program_text(program: EinsumProgram) -> str:
    """The text that ``parse_program`` reads as the same program, but for its name.

    Constants that are negated there become negative ones.
    """
    statements = map(statement_text, program.statements)
    options = [format.option(tensor) for tensor, format in program.formats.items()]
    options += [
        f"-s=reorder({each.name}:{','.join(each.order)})"
        for each in program.statements
        if each.order
    ]
    options += [f"-n={name}:{','.join(map(str, shape))}" for name, shape in program.shapes.items()]
    if program.results != unused(program):
        options.append(f"-r={','.join(program.results)}")
    return " ".join(["; ".join(statements), *options])


def statement_text(statement: AnyStatement) -> str:
    """A statement as programs write it."""
    if isinstance(statement, Rearrangement):
        return str(statement)
    return f"{statement.result}={text_of(statement.expression)}"


def unused(program: EinsumProgram) -> tuple[str, ...]:
    """Tensors that are computed and that no statement takes, in order."""
    return tuple(each.name for each in program.statements if each.name not in program.consumers)


class _Parser(ExpressionParser):
    operators = ("+", "-", "*", "/")
    max_depth = MAX_DEPTH + 2  # statements' sums are written out, their signs in parentheses

    def statement(self) -> AnyStatement:
        result = self._result()
        if result.tensor in KINDS:
            fail(result.column, f"{result.tensor} moves elements and cannot be the result's name")
        if self._rest[-1].text in KINDS:
            return self._rearrangement(result)
        written = self._sum()
        self._end()
        return Einsum(result, cast(EinsumExpression, written))

    def _rearrangement(self, result: Access) -> Rearrangement:
        kind = self._pop()
        how: How = Concat()
        if kind.text == Reshape.kind:
            how = Reshape(self._sizes())
        elif kind.text == Slice.kind:
            how = self._slice()
        elif kind.text == Coo.kind:
            how = Coo(self._sizes())
        elif kind.text == Stored.kind:
            how = Stored()
        elif kind.text == Kept.kind:
            how = Kept()
        elif kind.text == Pattern.kind:
            how = self._pattern()
        self._expect("(", ("(",))
        operands = [self._operand()]
        while self._rest[-1].text == ",":
            self._pop()
            operands.append(self._operand())
        self._expect(")", (",", ")"))
        if self._rest[-1].kind != "end":
            self._refuse_inside(kind)
        return Rearrangement(result, how, tuple(operands))

    def _operand(self) -> Access:
        token = self._pop()
        if token.kind != "name" or token.text in (*FUNCTIONS, *REDUCTIONS, *KINDS):
            fail(token.column, f"expected a tensor, found {token.shown}")
        return self._access(token)

    def _sizes(self) -> tuple[tuple[str, int], ...]:
        """``[i:2,j:3]``, or nothing."""
        if self._rest[-1].text != "[":
            return ()
        sizes: list[tuple[str, int]] = []
        while not sizes or self._rest[-1].text == ",":
            self._pop()
            index = self._index()
            sizes.append((index, self._bound()))
        self._expect("]", (",", "]"))
        return tuple(sizes)

    def _slice(self) -> Slice:
        """``[k:2:7]``."""
        self._expect("[", ("[",))
        index = self._index()
        bounds = [self._bound(), self._bound()]
        if self._rest[-1].text == ":":
            bounds.append(self._bound())
        self._expect("]", (":", "]"))
        return Slice(index, *bounds)

    def _pattern(self) -> Pattern:
        """``[ge:-0.5]``."""
        self._expect("[", ("[",))
        comparison = self._pop().text
        self._expect(":", (":",))
        token = self._pop()
        sign = 1.0
        if token.text == "-":
            sign, token = -1.0, self._pop()
        if token.kind != "number":
            fail(token.column, f"expected a number, found {token.shown}")
        number = sign * self._number(token).value
        self._expect("]", ("]",))
        return Pattern(comparison, number)

    def _bound(self) -> int:
        """``:2``."""
        self._expect(":", (":",))
        token = self._pop()
        if not token.text.isdecimal() or len(token.text) > MAX_DIGITS:
            fail(token.column, f"expected a whole number, found {token.shown}")
        return int(token.text)

    def _atom(self) -> Written:
        if self._rest[-1].text in KINDS:
            self._refuse_inside(self._rest[-1])
        return super()._atom()

    def _refuse_inside(self, kind: Token) -> NoReturn:
        fail(kind.column, f"{kind.text} is a statement of its own: give what it makes a name")

    def _over(self, name: Token) -> Written:
        fail(name.column, "a sum must be sum[k](…) in a program, over just what is in it")


def _statements(text: str) -> Iterator[AnyStatement]:
    texts = text.split(";")
    if len(texts) > 1 and not texts[-1].strip():
        texts.pop()
    column = 1
    for number, each in enumerate(texts, 1):
        name = re.match(r"\s*([A-Za-z_]\w*)", each)
        with located(name[1] if name else number):
            statement = _Parser(each, column).statement()
            if (
                isinstance(statement, Einsum)
                and len(texts) == 1
                and not any(reductions(statement.expression))
            ):
                expression = with_implied_sums(statement.result, statement.expression)
                statement = replace(statement, expression=expression)
        yield statement
        column += len(each) + 1


class _Options:
    """What options say of a program."""

    def __init__(self, program: EinsumProgram) -> None:
        self._program = program
        used = [access for each in program.statements for access in (each.result, *each.operands)]
        self.formats = FormatOptions({access.tensor: len(access.indices) for access in used})
        self.orders: dict[str, tuple[str, ...]] = {}
        self.results: tuple[str, ...] = ()
        self.shapes: dict[str, tuple[int, ...]] = {}

    def add(self, option: re.Match[str]) -> None:
        value, column = option["value"], option.start("value") + 1
        match option["kind"]:
            case "f":
                self.formats.add(value, column)
            case "s":
                self._add_order(value, column)
            case "n":
                self._add_shape(value, column)
            case "r":
                if self.results:
                    fail(column, "there are results already; give one -r")
                self.results = self._results(value, column)
            case kind:
                fail(
                    option.start() + 1, f"unknown option -{kind}; the options are -f, -s, -n and -r"
                )

    def _add_shape(self, value: str, column: int) -> None:
        name, colon, sizes = value.partition(":")
        self._require_computed(name, column, "-n")
        if name in self.shapes:
            fail(column, f"there is a shape of {name} already; give each tensor one -n")
        texts = sizes.split(",") if sizes else []
        if not colon or not all(each.isdecimal() and len(each) <= MAX_DIGITS for each in texts):
            fail(column, f"-n={value} must be T:N,M with the size of each index of a tensor")
        self.shapes[name] = tuple(map(int, texts))

    def _add_order(self, value: str, column: int) -> None:
        match = re.fullmatch(r"reorder\((?:([^:]*):)?([^:]*)\)", value)
        if match is None or (match[1] is None and len(self._program.statements) > 1):
            fail(
                column,
                f"-s={value} must be reorder(T:…) with a statement's tensor and every index of it, "
                "outermost first",
            )
        first = match[1] is None
        name = self._program.statements[0].name if first else match[1].strip()
        self._require_computed(name, column + len("reorder("), "-s")
        if self._program.einsum(name) is None:
            fail(column, f"-s names {name}, which has no loops: its elements are moved")
        if name in self.orders:
            fail(column, f"there is a loop order of {name} already; give each statement one -s")
        indices = self._program[name].indices
        self.orders[name] = parse_order(match[2], column + match.start(2), indices)

    def _results(self, value: str, column: int) -> tuple[str, ...]:
        names = value.split(",")
        for place, name in enumerate(names):
            self._require_computed(name, column, "-r")
            if name in names[:place]:
                fail(column, f"result {name} is there twice")
            column += len(name) + 1
        return tuple(names)

    def _require_computed(self, name: str, column: int, option: str) -> None:
        if name not in self._program:
            there = ", ".join(each.name for each in self._program.statements)
            shown = f"tensor {name}" if name else "an empty name"
            fail(
                column,
                f"{option} names {shown}, which no statement computes; they compute {there}",
            )
