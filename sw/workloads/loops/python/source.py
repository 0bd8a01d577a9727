"""Reads loop nests from Python functions: their syntax, they are never executed.

``notation`` shows the notation. Parameters are arrays, ``float32[rows, dim]``, and scalars,
``int32``; a name in a shape is a size. Numbers to which the module gives a name, ``WIDTH = 8``,
are constants. A function may call others of the file, without their sizes: their statements are in
place of the call. A file may hold any other code, which is not looked at.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.sw.workloads.loops.ir.inline import Inliner
from gnarl.sw.workloads.loops.ir.names import unspelled
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Binary,
    Constant,
    Expression,
    Nest,
    Scalar,
    Size,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import ELEMENT_TYPES, INT32
from gnarl.sw.workloads.loops.ir.substitute import renamed
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.loops.python.expressions import OPERATORS, ExpressionReader
from gnarl.sw.workloads.loops.python.statements import StatementReader
from gnarl.sw.workloads.loops.python.text import PythonText
from gnarl.sw.workloads.text_file import read_text

_TYPES = {type.name: type for type in ELEMENT_TYPES}
_PARAMETER = f"an array, as float32[rows, dim], or a scalar, of {', '.join(_TYPES)}"


def read_file(path: str | Path, name: str | None = None) -> Nest:
    """The nest of a file: the function ``name``, or the only one that has ``@nest``, or the only
    one. Raises ``WorkloadError`` naming file, line and column for anything the notation lacks."""
    return read_source(read_text(path), str(path), name)


def read_source(source: str, file: str, name: str | None = None) -> Nest:
    """Reads text as ``read_file`` does; ``file`` is its name in places."""
    text = PythonText(source, file)
    return _nest(text, _only_function(text, file, name), ())


def read_printed(text: str, file: str) -> Nest:
    """Inverse of ``print_nest``, but for places."""
    return renamed(read_source(text, file), unspelled)


def read_function(function: Callable[..., Any]) -> Nest:
    """The nest of a Python function, whose source must be at hand."""
    code = function.__code__
    try:
        lines, _ = inspect.findsource(code)
    except OSError:
        raise WorkloadError(f"{function.__name__}: its source is not at hand") from None
    text = PythonText("".join(lines), code.co_filename)
    first = code.co_firstlineno  # its first decorator's, if there is one
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef):
            if first in (node.lineno, *(each.lineno for each in node.decorator_list)):
                return _nest(text, node, ())
    raise WorkloadError(f"{code.co_filename}:{first}: {function.__name__} must be a def")


def _only_function(text: PythonText, file: str, name: str | None) -> ast.FunctionDef:
    functions = _functions(text)
    marked = [node for node in functions if any(map(_is_mark, node.decorator_list))]
    candidates = marked or functions
    if name is not None:
        candidates = [node for node in functions if node.name == name]
        if not candidates:
            raise WorkloadError(f"{file}: has no function {name}")
    if not candidates:
        raise WorkloadError(f"{file}: has no function: must have one, with @nest above it")
    if len(candidates) > 1:
        names = ", ".join(node.name for node in candidates)
        raise WorkloadError(f"{file}: has {len(candidates)} functions, {names}: one must be named")
    return candidates[0]


def _is_own_array(statement: ast.stmt) -> bool:
    match statement:
        case ast.AnnAssign(ast.Name(), ast.Subscript(ast.Name()), None):
            return True
    return False


def _is_mark(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Name("nest") | ast.Attribute(_, "nest"):
            return True
    return False


def _functions(text: PythonText) -> list[ast.FunctionDef]:
    return [node for node in text.tree.body if isinstance(node, ast.FunctionDef)]


def _nest(text: PythonText, function: ast.FunctionDef, callers: tuple[str, ...]) -> Nest:
    """The nest of a function. ``callers``: names of functions that call it, one another."""
    with damaged_as(WorkloadError, text.place(function)):
        nest = _Signature(text, function, callers).nest()
    verify(nest, in_notation=True)
    return nest


class _Signature:
    """The signature of one function: parameters and sizes."""

    def __init__(
        self, text: PythonText, function: ast.FunctionDef, callers: tuple[str, ...]
    ) -> None:
        self._text = text
        self._function = function
        self._callers = (*callers, function.name)
        self._constants, self._unknown = _module_names(text)
        self._sizes: dict[str, Size] = {}

    def nest(self) -> Nest:
        function = self._function
        self._require_plain()
        body = function.body[ast.get_docstring(function, clean=False) is not None :]
        own = tuple(self._own_array(each) for each in body if _is_own_array(each))
        parameters = (*map(self._parameter, function.args.args), *own)
        expressions = ExpressionReader(self._text, self._constants)
        expressions.types.update((size, INT32) for size in self._sizes)
        for parameter in parameters:
            if isinstance(parameter, Array):
                expressions.arrays[parameter.name] = parameter
            else:
                expressions.types[parameter.name] = parameter.type
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        inliner = Inliner({*used, *(each.name for each in parameters)})
        reader = StatementReader(self._text, expressions, self._called, inliner)
        statements = reader.block(each for each in body if not _is_own_array(each))
        place, sizes = self._text.place(function), tuple(self._sizes.values())
        names = tuple(each.name for each in (*own, *reader.own_arrays))
        parameters = (*parameters, *reader.own_arrays)
        return Nest(function.name, sizes, parameters, statements, place, names)

    def _own_array(self, node: ast.stmt) -> Array:
        """An array of the function itself, ``t: float32[n]`` in a line of its body."""
        assert isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        declared = ast.copy_location(ast.arg(node.target.id, node.annotation), node)
        array = self._parameter(declared)
        assert isinstance(array, Array)
        return array

    def _called(self, call: ast.Call) -> Nest:
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        functions = [each for each in _functions(self._text) if each.name == name]
        if not functions:
            self._text.refuse(call, f"call of {name}: must be of a function of this file")
        if name in self._callers:
            self._text.refuse(call, f"call of {name}, which calls this function: must not")
        return _nest(self._text, functions[0], self._callers)

    def _require_plain(self) -> None:
        arguments = self._function.args
        others = [*arguments.posonlyargs, *arguments.kwonlyargs]
        others += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
        for other in others:
            self._text.refuse(other, f"parameter {other.arg}: must be a plain one, without / or *")
        for default in arguments.defaults:
            self._text.refuse(default, "a parameter has no default: must be left out")
        for decorator in self._function.decorator_list:
            if not _is_mark(decorator):
                self._text.refuse(
                    decorator, f"@{self._text.spelled(decorator)}: the only decorator must be @nest"
                )

    def _parameter(self, parameter: ast.arg) -> Array | Scalar:
        name, annotation = parameter.arg, parameter.annotation
        place = self._text.place(parameter)
        match annotation:
            case ast.Name(type) if type in _TYPES:
                return Scalar(name, _TYPES[type], place)
            case ast.Subscript(ast.Name(type), shape) if type in _TYPES:
                sizes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
                return Array(name, _TYPES[type], tuple(map(self._size, sizes)), place)
            case None:
                self._text.refuse(parameter, f"parameter {name} has no type: must be {_PARAMETER}")
        self._text.refuse(
            annotation, f"{self._text.spelled(annotation)}: parameter {name} must be {_PARAMETER}"
        )

    def _size(self, node: ast.expr) -> Expression:
        place = self._text.place(node)
        match node:
            case ast.Constant(int() as value) if (
                not isinstance(value, bool) and 0 <= value <= INT32.most
            ):
                return Constant(value, INT32, place)
            case ast.Name(name) if name in self._unknown:
                other = self._text.place(self._unknown[name])
                self._text.refuse(
                    node, f"{name} is assigned at {other}: must be a number or of sizes(...)"
                )
            case ast.Name(name) if name in self._constants:
                number = self._constants[name]
                if isinstance(number, int) and 0 <= number <= INT32.most:
                    return Constant(number, INT32, place)
            case ast.Name(name):
                self._sizes.setdefault(name, Size(name, place))
                return Variable(name, INT32, place)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as op, right):
                return Binary(OPERATORS[type(op)], self._size(left), self._size(right), place)
        self._text.refuse(
            node,
            f"{self._text.spelled(node)}: a size must be made of names, whole numbers, +, - and *",
        )


def _module_names(text: PythonText) -> tuple[dict[str, int | float], dict[str, ast.stmt]]:
    """Numbers that the module gives names, and names that it gives other values but sizes."""
    numbers: dict[str, int | float] = {}
    others: dict[str, ast.stmt] = {}
    for node in text.tree.body:
        match node:
            case ast.Assign(
                [ast.Name(name)], ast.Constant(int() | float() as value) as constant
            ) if not isinstance(value, bool):
                numbers[name] = text.number(constant)
            case ast.Assign(_, ast.Call(ast.Name("sizes") | ast.Attribute(_, "sizes"))):
                pass
            case ast.Assign(targets):
                for target in targets:
                    names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
                    others.update(dict.fromkeys(names, node))
    return numbers, others
