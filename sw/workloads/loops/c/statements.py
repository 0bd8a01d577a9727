"""Reads statements of C."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pycparser import c_ast

from gnarl.sw.workloads.loops.c.expressions import ARITHMETIC, CExpressionReader
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import convert
from gnarl.sw.workloads.loops.ir.inline import Argument, Inliner
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    For,
    If,
    Load,
    Nest,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32
from gnarl.sw.workloads.place import Location

_STATEMENTS = "statements must be for loops, if, declarations, assignments and calls"
_LOOP = "a loop must be as for (int i = 0; i < n; i++)"
_WRAPPING = ("+", "-", "*")
"""Whose low bits do not depend on the operands' higher ones."""


class Called(NamedTuple):
    """A function as a nest; ``parameters``: their names, in order, sizes among them."""

    nest: Nest
    parameters: tuple[str, ...]


class CStatementReader:
    """Reads the statements of one function, whose parameters ``expressions`` knows.

    functions
        reads another function of the file, for the node that calls it.
    inliner
        of the function.
    """

    def __init__(
        self,
        text: CText,
        expressions: CExpressionReader,
        functions: Callable[[c_ast.FuncCall], Called],
        inliner: Inliner,
    ) -> None:
        self._text = text
        self._expressions = expressions
        self._functions = functions
        self._inliner = inliner
        self._declared: dict[str, Location] = {}

    def block(self, nodes: Iterable[Any]) -> tuple[Statement, ...]:
        """A scope. Raises ``WorkloadError`` for what nests lack."""
        outer, types = dict(self._declared), dict(self._expressions.types)
        statements = tuple(each for node in nodes for each in self._statement(node))
        self._declared = outer
        self._expressions.types.clear()
        self._expressions.types.update(types)
        return statements

    def _statement(self, node: Any) -> tuple[Statement, ...]:
        if node is None or isinstance(node, c_ast.EmptyStatement):
            return ()
        place = self._text.place(node)
        match node:
            case c_ast.Compound():
                return self.block(node.block_items or ())
            case c_ast.DeclList():
                return tuple(each for decl in node.decls for each in self._statement(decl))
            case c_ast.Decl():
                return self._declaration(node, place)
            case c_ast.Assignment():
                return (self._assignment(node.op, node.lvalue, node.rvalue, place, node),)
            case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--"):
                one = c_ast.Constant("int", "1", node.coord)
                return (self._assignment(f"{node.op[-1]}=", node.expr, one, place, node),)
            case c_ast.If():
                condition = self._expressions.condition(node.cond)
                then, other = self.block([node.iftrue]), self.block([node.iffalse])
                return (If(condition, then, other, place),)
            case c_ast.For():
                return (self._loop(node, place),)
            case c_ast.FuncCall():
                return self._call(node, place)
            case c_ast.Return():
                self._text.refuse(node, "return: results must be written to arrays")
        self._text.refuse(node, f"{type(node).__name__}: {_STATEMENTS}")

    def _call(self, node: c_ast.FuncCall, place: Location) -> tuple[Statement, ...]:
        nest, parameters = self._functions(node)
        given = node.args.exprs if node.args else []
        if len(given) != len(parameters):
            self._text.refuse(node, f"{nest.name} takes {len(parameters)} values, not {len(given)}")
        pairs = zip(parameters, given, strict=True)
        arguments = {name: self._argument(nest, name, value) for name, value in pairs}
        return self._inliner.statements(nest, arguments, place)

    def _argument(self, nest: Nest, name: str, value: Any) -> Argument:
        expressions = self._expressions
        if name not in nest.arrays:
            scalar = nest.scalars.get(name)
            return expressions.read_as(value, INT32 if scalar is None else scalar.type)
        if isinstance(value, c_ast.ID) and value.name in expressions.arrays:
            return expressions.arrays[value.name]
        self._text.refuse(value, f"{name} of {nest.name} must be given an array of the function")

    def _declare(self, node: c_ast.Decl) -> None:
        name = node.name
        if name in self._declared or name in self._expressions.arrays:
            at = self._declared.get(name) or self._expressions.arrays[name].place
            self._text.refuse(node, f"{name} is declared at {at} already: must be another name")
        if not isinstance(node.type, c_ast.TypeDecl):
            self._text.refuse(node, f"{name}: a local must be a number; arrays are parameters")
        if "static" in node.storage:
            self._text.refuse(node, f"{name} is static: must live as long as its block")
        self._declared[name] = self._text.place(node)
        self._expressions.types[name] = self._expressions.type_of(node)

    def declare_parameter(self, name: str, place: Location) -> None:
        self._declared[name] = place

    def _declaration(self, node: c_ast.Decl, place: Location) -> tuple[Statement, ...]:
        value = None
        if node.init is not None:
            value = self._expressions.read_as(node.init, self._expressions.type_of(node))
        self._declare(node)
        return () if value is None else (Assign(node.name, value, place),)

    def _assignment(
        self, operator: str, target: Any, value: Any, place: Location, node: Any
    ) -> Statement:
        expressions = self._expressions
        if operator != "=" and operator[:-1] not in ARITHMETIC:
            words = " ".join(f"{each}=" for each in ARITHMETIC)
            self._text.refuse(node, f"{operator}: must be one of = {words}")
        if isinstance(target, c_ast.ID):
            local = expressions.read(target)
            if operator == "=":
                return Assign(target.name, expressions.read_as(value, local.type), place)
            augmented = self._augmented(operator, local, value, place, node)
            return Assign(target.name, convert(augmented, local.type), place)
        if not isinstance(target, c_ast.ArrayRef):
            self._text.refuse(node, "must assign to one local or one array element")
        array, indices = expressions.element(target)
        if operator == "=":
            stored = expressions.read_as(value, array.type)
            return Store(array.name, indices, stored, place)
        element = Load(array.name, indices, array.type, place)
        augmented = self._augmented(operator, element, value, place, node)
        is_same = array.type in (FLOAT32, augmented.type) and operator != "%="
        wraps = operator[:-1] in _WRAPPING and augmented.type.is_integer and array.type.is_integer
        if isinstance(augmented, Binary) and (wraps or is_same and augmented.left == element):
            operand = augmented.right
            if operator[:-1] not in ("<<", ">>"):
                operand = convert(operand, array.type)
            return AugmentedStore(augmented.operator, array.name, indices, operand, place)
        return Store(array.name, indices, convert(augmented, array.type), place)

    def _augmented(
        self, operator: str, left: Expression, value: Any, place: Location, node: Any
    ) -> Expression:
        if left.type == FLOAT32:
            right = self._expressions.read_as(value, FLOAT32)
        else:
            right = self._expressions.read(value)
        return self._expressions.operation(operator[:-1], left, right, place, node)

    def _loop(self, node: c_ast.For, place: Location) -> For:
        outer, types = dict(self._declared), dict(self._expressions.types)
        name, lower = self._start(node)
        upper = self._end(node, name)
        step = self._step(node, name)
        body = self.block([node.stmt])
        self._declared = outer
        self._expressions.types.clear()
        self._expressions.types.update(types)
        changed = {each.name for each in nodes(body) if isinstance(each, Assign)} | {
            each.array for each in nodes(body) if isinstance(each, Store | AugmentedStore)
        }
        for each in nodes(upper):
            used = each.name if isinstance(each, Variable) else getattr(each, "array", None)
            if used in changed:
                self._text.refuse(
                    node.cond, f"{used} changes within the loop that it bounds: must stay the same"
                )
        return For(name, lower, upper, step, body, place)

    def _start(self, node: c_ast.For) -> tuple[str, Expression]:
        match node.init:
            case c_ast.DeclList(decls=[c_ast.Decl(name=name, init=init) as decl]) if init:
                lower = self._expressions.read_as(init, INT32)
                self._declare(decl)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=init):
                lower = self._expressions.read_as(init, INT32)
                self._expressions.read(node.init.lvalue)
            case _:
                self._text.refuse(node, _LOOP)
        if self._expressions.types[name] != INT32:
            type = self._expressions.types[name]
            self._text.refuse(node.init, f"{name} is {type}: a loop's variable must be int")
        return name, lower

    def _end(self, node: c_ast.For, name: str) -> Expression:
        match node.cond:
            case c_ast.BinaryOp(op="<" | "<=" as op, left=c_ast.ID(name=found), right=bound) if (
                found == name
            ):
                pass
            case c_ast.BinaryOp(op=">" | ">=" as op, left=bound, right=c_ast.ID(name=found)) if (
                found == name
            ):
                pass
            case _:
                self._text.refuse(node.cond or node, _LOOP)
        upper = self._expressions.read(bound)
        if not INT32.holds(upper.type):
            self._text.refuse(bound, f"a bound is {upper.type}: must be int")
        upper = convert(upper, INT32)
        if op in ("<", ">"):
            return upper
        if isinstance(upper, Constant):
            return Constant(upper.value + 1, INT32, upper.place)
        return Binary(BinaryOperator.ADD, upper, Constant(1, INT32, upper.place), upper.place)

    def _step(self, node: c_ast.For, name: str) -> int:
        one = c_ast.Constant("int", "1", node.coord)
        match node.next:
            case c_ast.UnaryOp(op="p++" | "++", expr=target):
                names, value = [target], one
            case c_ast.Assignment(op="+=", lvalue=target, rvalue=value):
                names = [target]
            case c_ast.Assignment(
                op="=", lvalue=target, rvalue=c_ast.BinaryOp(op="+", left=left, right=value)
            ):
                names = [target, left]
            case _:
                names, value = [node.next], one
        step = self._expressions.read(value)
        if isinstance(step, Constant) and step.type.is_integer and step.value > 0:
            if all(isinstance(each, c_ast.ID) and each.name == name for each in names):
                return int(step.value)
        self._text.refuse(node.next or node, f"{_LOOP}, its step a number from 1")
