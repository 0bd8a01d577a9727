"""Calls of functions that give a value, as expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pycparser import c_ast

from gnarl.sw.workloads.loops.c.evaluate import evaluated
from gnarl.sw.workloads.loops.c.expressions import CExpressionReader
from gnarl.sw.workloads.loops.c.signature import declared_parameters, dimensions, element
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import SIZE, convert
from gnarl.sw.workloads.loops.ir.nest import Expression, Select
from gnarl.sw.workloads.loops.ir.parts import nodes

_MOST_STATEMENTS = 1_000
_MOST_NODES = 10_000
"""What stands in place of one call, at most."""

_FORMS = "statements must be declarations, assignments to locals, if and return"
Make = Callable[[], CExpressionReader]


class ResultReader:
    """Reads calls of functions, each as what it returns; functions have neither loops nor effects.

    functions
        by name.
    new_expressions
        makes a reader that knows what all functions do.
    """

    def __init__(
        self, text: CText, functions: dict[str, c_ast.FuncDef], new_expressions: Make
    ) -> None:
        self._text = text
        self._functions = functions
        self._new_expressions = new_expressions
        self._callers: list[str] = []

    def read(self, call: c_ast.FuncCall, caller: CExpressionReader) -> Expression | None:
        """``None`` where there is no such function. Raises ``WorkloadError``."""
        name = call.name.name if isinstance(call.name, c_ast.ID) else ""
        if name not in self._functions:
            return None
        function = self._functions[name]
        if name in self._callers:
            self._text.refuse(call, f"call of {name}, which calls this function: must not")
        own = self._new_expressions()
        own.inside_of(caller)
        self._bind(function, call, caller, own)
        self._callers.append(name)
        body = _Body(self._text, own, own.type_of(function.decl.type.type), call, name)
        value = body.value(function.body.block_items or ())
        self._callers.pop()
        return value

    def _bind(
        self,
        function: c_ast.FuncDef,
        call: c_ast.FuncCall,
        caller: CExpressionReader,
        own: CExpressionReader,
    ) -> None:
        """What parameters are."""
        parameters = declared_parameters(function)
        given = call.args.exprs if call.args else []
        name = function.decl.name
        if len(given) != len(parameters):
            self._text.refuse(call, f"{name} takes {len(parameters)} values, not {len(given)}")
        for parameter, value in zip(parameters, given, strict=True):
            is_pointer = isinstance(parameter.type, c_ast.PtrDecl)
            if not is_pointer and not dimensions(parameter):
                type = own.type_of(parameter)
                own.types[parameter.name] = type
                own.values[parameter.name] = caller.read_as(value, type)
                continue
            array = caller.arrays.get(value.name) if isinstance(value, c_ast.ID) else None
            type = own.type_of(parameter.type.type if is_pointer else element(parameter))
            if array is None or len(array.shape) != 1 or array.type != type:
                self._text.refuse(
                    value,
                    f"{parameter.name} of {name} must be given an array of one dimension of {type}",
                )
            own.arrays[parameter.name] = array


class _Body:
    """What one call returns."""

    def __init__(
        self, text: CText, expressions: CExpressionReader, type: Any, call: Any, name: str
    ):
        self._text = text
        self._expressions = expressions
        self._type = type
        self._call = call
        self._name = name
        self._statements = 0

    def value(self, statements: Sequence[Any]) -> Expression:
        """What follows ``statements``, each of which may be an ``if`` that returns."""
        if not statements:
            self._text.refuse(self._call, f"{self._name} may end without a return: must have one")
        first, rest = statements[0], statements[1:]
        self._statements += 1
        if self._statements > _MOST_STATEMENTS:
            self._refuse_size()
        expressions, place = self._expressions, self._text.place(first)
        match first:
            case c_ast.Return(expr=given) if given is not None:
                value = expressions.read_as(given, self._type)
                self._require_small(value)
                number = evaluated(value)
                return value if number is None or number.value != number.value else number
            case c_ast.EmptyStatement():
                return self.value(rest)
            case c_ast.Compound():
                return self.value([*(first.block_items or ()), *rest])
            case c_ast.DeclList():
                return self.value([*first.decls, *rest])
            case c_ast.Decl() if isinstance(first.type, c_ast.TypeDecl):
                self._declare(first)
                return self.value(rest)
            case c_ast.Assignment(lvalue=c_ast.ID(name=target)) if target in expressions.values:
                self._assign(first, target)
                return self.value(rest)
            case c_ast.If():
                condition = expressions.condition(first.cond)
                values, types = dict(expressions.values), dict(expressions.types)
                with expressions.under_condition():
                    chosen = self.value([first.iftrue, *rest])
                    expressions.values, expressions.types = values, types
                    if first.iffalse is not None:
                        rest = [first.iffalse, *rest]
                    other = self.value(rest)
                return Select(condition, chosen, other, place)
        self._text.refuse(
            first, f"{type(first).__name__}: in a function that gives a value, {_FORMS}"
        )

    def _declare(self, node: c_ast.Decl) -> None:
        expressions = self._expressions
        name, type = node.name, expressions.type_of(node)
        if name in expressions.types or name in expressions.arrays:
            self._text.refuse(node, f"{name} is declared already: must be another name")
        if type == SIZE or "static" in node.storage:
            self._text.refuse(node, f"{name}: a local must be a number of its call")
        zero = c_ast.Constant("int", "0", node.coord)
        value = expressions.read_as(node.init or zero, type)
        expressions.types[name], expressions.values[name] = type, value

    def _assign(self, node: c_ast.Assignment, target: str) -> None:
        expressions = self._expressions
        type = expressions.types[target]
        if node.op == "=":
            value = expressions.read_as(node.rvalue, type)
        else:
            before = expressions.values[target]
            right = expressions.read(node.rvalue)
            place = self._text.place(node)
            augmented = expressions.operation(node.op[:-1], before, right, place, node)
            value = convert(augmented, type)
        self._require_small(value)
        expressions.values[target] = value

    def _require_small(self, value: Expression) -> None:
        for at, _ in enumerate(nodes(value)):
            if at > _MOST_NODES:
                self._refuse_size()

    def _refuse_size(self) -> None:
        self._text.refuse(
            self._call,
            f"{self._name} is too large to stand in place of its call: must be a void function",
        )
