"""Reads loop nests from functions of C.

    #include <stdint.h>
    #define C0 0.25f

    void blur(int n, int m, const float a[n][m], float b[n][m]) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 0; j < m; j++)
                b[i][j] = C0 * (a[i - 1][j] + a[i + 1][j]);
    }

A parameter is an array with all of its sizes, or a number; an ``int`` that is in an array's sizes
is a size of the nest. Arithmetic has C's conversions, and means what the abstract machine does: no
product is fused with a sum. A function may call others of the file, which give no value: their
statements are in place of the call. A file may hold other declarations, which are not looked at.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pycparser import c_ast

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.sw.workloads.loops.c.expressions import CExpressionReader
from gnarl.sw.workloads.loops.c.statements import Called, CStatementReader
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import SIZE, literal
from gnarl.sw.workloads.loops.ir.inline import Inliner
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    Nest,
    Scalar,
    Size,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.nest import statements as all_statements
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.text_file import read_text

_PARAMETER = "a number, as int n, or an array with all sizes, as float a[n][m]"


def read_file(path: str | Path, name: str | None = None) -> Nest:
    """The nest of a file: the function ``name``, or its only one. Raises ``WorkloadError`` naming
    file, line and column for anything that nests lack."""
    return read_source(read_text(path), str(path), name, Path(path).parent)


def read_source(
    source: str, file: str, name: str | None = None, folder: Path | None = None
) -> Nest:
    """Reads text as ``read_file`` does; ``file`` is its name in places, and ``folder`` has the
    headers that it may include: none if there is none."""
    text = CText(source, file, folder)
    function = _only_function(text, file, name)
    nest = _nest(text, function, ())
    text.warn()
    return nest


def _only_function(text: CText, file: str, name: str | None) -> c_ast.FuncDef:
    functions = _functions(text)
    candidates = functions
    if name is not None:
        candidates = [node for node in functions if node.decl.name == name]
        if not candidates:
            raise WorkloadError(f"{file}: has no function {name}")
    if not candidates:
        raise WorkloadError(f"{file}: has no function: must have one")
    if len(candidates) > 1:
        names = ", ".join(node.decl.name for node in candidates)
        raise WorkloadError(f"{file}: has {len(candidates)} functions, {names}: one must be named")
    return candidates[0]


def _functions(text: CText) -> list[c_ast.FuncDef]:
    return [node for node in text.tree.ext if isinstance(node, c_ast.FuncDef)]


def _nest(text: CText, function: c_ast.FuncDef, callers: tuple[str, ...]) -> Nest:
    """The nest of a function. ``callers``: names of functions that call it, one another."""
    with damaged_as(WorkloadError, text.place(function)):
        nest = _read(text, function, callers)
    verify(nest)
    return nest


def _called(text: CText, call: c_ast.FuncCall, callers: tuple[str, ...]) -> Called:
    name = call.name.name if isinstance(call.name, c_ast.ID) else "an expression"
    functions = [each for each in _functions(text) if each.decl.name == name]
    if not functions:
        text.refuse(call, f"call of {name}: must be of a function of this file")
    if name in callers:
        text.refuse(call, f"call of {name}, which calls this function: must not")
    return Called(_nest(text, functions[0], callers), _parameter_names(functions[0]))


def _parameters(function: c_ast.FuncDef) -> list[Any]:
    given = function.decl.type.args
    return [] if given is None else [each for each in given.params if not _is_void(each)]


def _parameter_names(function: c_ast.FuncDef) -> tuple[str, ...]:
    return tuple(each.name for each in _parameters(function))


def _read(text: CText, function: c_ast.FuncDef, callers: tuple[str, ...]) -> Nest:
    declared = function.decl.type
    returned = declared.type
    if not (
        isinstance(returned, c_ast.TypeDecl)
        and isinstance(returned.type, c_ast.IdentifierType)
        and returned.type.names == ["void"]
    ):
        text.refuse(function, f"{function.decl.name} gives a value: must be void")
    parameters = _parameters(function)
    used = {node.name for each in parameters for size in _dimensions(each) for node in _names(size)}
    expressions = CExpressionReader(text)
    called = partial(_called, text, callers=(*callers, function.decl.name))
    statements = CStatementReader(text, expressions, called, Inliner(_all_names(function)))
    sizes: list[Size] = []
    found: list[Array | Scalar] = []
    for each in parameters:
        if not isinstance(each, c_ast.Decl) or isinstance(each.type, c_ast.PtrDecl):
            text.refuse(each, f"a parameter must be {_PARAMETER}")
        place = text.place(each)
        if isinstance(each.type, c_ast.ArrayDecl):
            shape = tuple(_size(text, size, sizes, each) for size in _dimensions(each))
            array = Array(each.name, expressions.type_of(_element(each)), shape, place)
            expressions.arrays[each.name] = array
            found.append(array)
            continue
        type = expressions.types[each.name] = expressions.type_of(each)
        statements.declare_parameter(each.name, place)
        if each.name not in used and type != SIZE:
            found.append(Scalar(each.name, type, place))
        elif type in (INT32, SIZE):
            sizes.append(Size(each.name, place))
            expressions.sizes.add(each.name)
        else:
            text.refuse(each, f"{each.name} is {type}: an array's size must be int")
    body = statements.block(function.body.block_items or ())
    _require_const(body, parameters)
    place = text.place(function)
    return Nest(function.decl.name, tuple(sizes), tuple(found), body, place)


def _require_const(body: tuple[Statement, ...], parameters: list[Any]) -> None:
    """Raises ``WorkloadError`` where an array that is declared const is written."""
    const = {each.name for each in parameters if "const" in _element(each).quals}
    for each in all_statements(body):
        if isinstance(each, Store | AugmentedStore) and each.array in const:
            raise WorkloadError(f"{each.place}: {each.array} is const: must not be written")


def _all_names(node: c_ast.Node) -> set[str]:
    """All names in a function."""
    own = {node.name} if isinstance(node, c_ast.ID | c_ast.Decl) else set()
    return own.union(*(_all_names(child) for _, child in node.children()))


def _is_void(parameter: Any) -> bool:
    """Whether a parameter list says that there are no parameters."""
    match parameter:
        case c_ast.Typename(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["void"]))):
            return True
    return False


def _dimensions(parameter: Any) -> list[Any]:
    """Sizes of an array, the outermost first; ``None`` for one that is left out."""
    node, dimensions = getattr(parameter, "type", None), []
    while isinstance(node, c_ast.ArrayDecl):
        dimensions.append(node.dim)
        node = node.type
    return dimensions


def _element(parameter: c_ast.Decl) -> Any:
    node = parameter.type
    while isinstance(node, c_ast.ArrayDecl):
        node = node.type
    return node


def _names(size: Any) -> list[c_ast.ID]:
    if isinstance(size, c_ast.BinaryOp):
        return _names(size.left) + _names(size.right)
    return [size] if isinstance(size, c_ast.ID) else []


def _size(text: CText, node: Any, sizes: list[Size], array: c_ast.Decl) -> Expression:
    if node is None:
        text.refuse(array, f"{array.name} lacks a size: must be {_PARAMETER}")
    place = text.place(node)
    match node:
        case c_ast.ID(name=name) if name in {size.name for size in sizes}:
            return Variable(name, INT32, place)
        case c_ast.ID(name=name):
            text.refuse(node, f"{name}: a size must be an int parameter before the array")
        case c_ast.Constant(value=spelled):
            number = literal(spelled, place)
            if isinstance(number, Constant) and number.type == INT32 and number.value >= 0:
                return number
        case c_ast.BinaryOp(op="+" | "-" | "*" as operator, left=left, right=right):
            one, other = (_size(text, each, sizes, array) for each in (left, right))
            return Binary(BinaryOperator(operator), one, other, place)
    text.refuse(
        node, f"a size of {array.name}: must be made of int parameters, whole numbers, +, - and *"
    )
