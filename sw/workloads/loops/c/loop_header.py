"""Reads conditions and steps of C's for loops."""

from __future__ import annotations

from typing import Any, NamedTuple

from pycparser import c_ast

from gnarl.sw.workloads.loops.c.expressions import CExpressionReader
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import SIZE, convert
from gnarl.sw.workloads.loops.ir.index_expressions import one_more
from gnarl.sw.workloads.loops.ir.nest import Constant, Expression
from gnarl.sw.workloads.loops.ir.scalar_type import INT32

LOOP = "a loop must be as for (int i = 0; i < n; i++) or for (int i = n - 1; i >= 0; i--)"

_TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_ADDING = ("p++", "++", "p--", "--")


class LoopHeader(NamedTuple):
    """The end and the step of a loop.

    end
        where the variable stops: without it, or with it if it ``is_included``, which it may be in
        loops that go down.
    step
        below 0 in a loop that goes down.
    """

    end: Expression
    is_included: bool
    step: int


def read_header(
    text: CText, expressions: CExpressionReader, node: c_ast.For, name: str
) -> LoopHeader:
    """The condition and the step of a loop over ``name``, which is declared. Raises
    ``WorkloadError``."""
    step = _step(text, expressions, node, name)
    operator, bound = _condition(text, node, name)
    if (operator[0] == "<") != (step > 0):
        word, right = ("up", "<") if step > 0 else ("down", ">")
        text.refuse(
            node.cond,
            f"{name} goes {word} and {operator} does not end the loop: must be {right} or {right}=",
        )
    end = expressions.read(bound)
    if end.type != SIZE and not INT32.holds(end.type):
        text.refuse(bound, f"a bound is {end.type}: must be int")
    if operator == ">=" and expressions.types[name] == SIZE:
        text.refuse(node.cond, f"{name} is size_t, which is never below 0: must be > or an int")
    end = convert(end, INT32)
    if operator == "<=":
        end = _one_more(end)
    return LoopHeader(end, operator == ">=", step)


def _one_more(value: Expression) -> Expression:
    if isinstance(value, Constant) and value.value < INT32.most:
        return Constant(int(value.value) + 1, INT32, value.place)
    return one_more(value, value.place)


def _condition(text: CText, node: c_ast.For, name: str) -> tuple[str, Any]:
    """The operator that stands between the variable and the bound, and the bound."""
    match node.cond:
        case c_ast.BinaryOp(op=operator, left=c_ast.ID(name=found), right=bound) if (
            found == name and operator in _TURNED
        ):
            return operator, bound
        case c_ast.BinaryOp(op=operator, left=bound, right=c_ast.ID(name=found)) if (
            found == name and operator in _TURNED
        ):
            return _TURNED[operator], bound
        case c_ast.BinaryOp(
            op=operator,
            left=c_ast.BinaryOp(
                op="+" | "-" as sign,
                left=c_ast.ID(name=found),
                right=c_ast.Constant(type="int") as number,
            ),
            right=bound,
        ) if found == name and operator in _TURNED:
            other = "-" if sign == "+" else "+"
            return operator, c_ast.BinaryOp(other, bound, number, bound.coord)
    text.refuse(node.cond or node, LOOP)


def _step(text: CText, expressions: CExpressionReader, node: c_ast.For, name: str) -> int:
    one = c_ast.Constant("int", "1", node.coord)
    sign, names, value = 1, [node.next], one
    match node.next:
        case c_ast.UnaryOp(op=operator, expr=target) if operator in _ADDING:
            sign, names = -1 if "-" in operator else 1, [target]
        case c_ast.Assignment(op="+=" | "-=" as operator, lvalue=target, rvalue=given):
            sign, names, value = -1 if operator == "-=" else 1, [target], given
        case c_ast.Assignment(
            op="=",
            lvalue=target,
            rvalue=c_ast.BinaryOp(op="+" | "-" as operator, left=left, right=given),
        ):
            sign, names, value = -1 if operator == "-" else 1, [target, left], given
    step = expressions.read(value)
    if isinstance(step, Constant) and step.type.is_integer and step.value != 0:
        if all(isinstance(each, c_ast.ID) and each.name == name for each in names):
            return sign * int(step.value)
    text.refuse(node.next or node, f"{LOOP}, its step a number other than 0")
