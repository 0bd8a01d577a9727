"""Parameters of a function of C: declarations, arrays' shapes, sizes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pycparser import c_ast

from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import literal
from gnarl.sw.workloads.loops.ir.nest import Binary, BinaryOperator, Constant, Expression, Variable
from gnarl.sw.workloads.loops.ir.scalar_type import INT32

PARAMETER = "a number, as int n, or an array with all sizes, as float a[n][m]"


def declared_parameters(function: c_ast.FuncDef) -> list[Any]:
    given = function.decl.type.args
    return [] if given is None else [each for each in given.params if not _is_void(each)]


def _is_void(parameter: Any) -> bool:
    """Whether a parameter list says that there are no parameters."""
    match parameter:
        case c_ast.Typename(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["void"]))):
            return True
    return False


def dimensions(declaration: Any) -> list[Any]:
    """Sizes of an array, the outermost first; ``None`` for one that is left out."""
    node, found = getattr(declaration, "type", None), []
    while isinstance(node, c_ast.ArrayDecl):
        found.append(node.dim)
        node = node.type
    return found


def element(declaration: c_ast.Decl) -> Any:
    """What an array's elements are."""
    node = declaration.type
    while isinstance(node, c_ast.ArrayDecl):
        node = node.type
    return node


def names_in_sizes(node: c_ast.Node) -> set[str]:
    """Names in the sizes of all arrays that are declared in a function."""
    found: set[str] = set()
    if isinstance(node, c_ast.Decl):
        found |= {each.name for size in dimensions(node) for each in _names(size)}
    return found.union(*(names_in_sizes(child) for _, child in node.children()))


def _names(size: Any) -> list[c_ast.ID]:
    if isinstance(size, c_ast.BinaryOp):
        return _names(size.left) + _names(size.right)
    return [size] if isinstance(size, c_ast.ID) else []


def all_names(node: c_ast.Node) -> set[str]:
    """All names in a function."""
    own = {node.name} if isinstance(node, c_ast.ID | c_ast.Decl) else set()
    return own.union(*(all_names(child) for _, child in node.children()))


def shape_of(
    text: CText, array: c_ast.Decl, sizes: Collection[str], numbers: dict[str, Constant]
) -> tuple[Expression, ...]:
    """``sizes``: names that sizes may have; ``numbers``: names of constants. Raises
    ``WorkloadError``."""
    return tuple(_size(text, each, sizes, numbers, array) for each in dimensions(array))


def _size(
    text: CText,
    node: Any,
    sizes: Collection[str],
    numbers: dict[str, Constant],
    array: c_ast.Decl,
) -> Expression:
    if node is None:
        text.refuse(array, f"{array.name} lacks a size: must be {PARAMETER}")
    place = text.place(node)
    number: Any = None
    match node:
        case c_ast.ID(name=name) if name in sizes:
            return Variable(name, INT32, place)
        case c_ast.ID(name=name) if name in numbers:
            number = numbers[name]
        case c_ast.ID(name=name):
            text.refuse(node, f"{name}: a size must be an int parameter before the array")
        case c_ast.Constant(value=spelled):
            number = literal(spelled, place)
        case c_ast.BinaryOp(op="+" | "-" | "*" as operator, left=left, right=right):
            one, other = (_size(text, each, sizes, numbers, array) for each in (left, right))
            return _folded(Binary(BinaryOperator(operator), one, other, place))
    if isinstance(number, Constant) and number.type == INT32 and number.value >= 0:
        return number
    text.refuse(
        node, f"a size of {array.name}: must be made of int parameters, whole numbers, +, - and *"
    )


def _folded(size: Binary) -> Expression:
    """Sums and products of numbers as numbers, and without what is 0."""
    match size:
        case Binary(operator, Constant(left), Constant(right), place):
            value = {"+": left + right, "-": left - right, "*": left * right}[operator]
            if 0 <= value <= INT32.most:
                return Constant(int(value), INT32, place)
        case Binary("+" | "-", left, Constant(0)):
            return left
        case Binary("+", Constant(0), right):
            return right
    return size
