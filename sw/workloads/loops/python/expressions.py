"""Reads expressions of the Python notation.

Operands of different types take the smallest type that holds both; whole numbers in the text take
the type of the other operand. Whatever loses values must be written: ``float32(n)``, ``int8(x)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from contextlib import suppress
from functools import reduce

import numpy as np

from gnarl.hw.lib.errors import short
from gnarl.sw.workloads.loops.ir.index_expressions import inverted
from gnarl.sw.workloads.loops.ir.nest import (
    COMPARISONS,
    SHIFTS,
    Array,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Load,
    Select,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import (
    BOOL,
    BY_NAME,
    FLOAT32,
    INT32,
    ScalarType,
    common,
)
from gnarl.sw.workloads.loops.python.text import PythonText

OPERATORS: dict[type[ast.AST], BinaryOperator] = {
    ast.Add: BinaryOperator.ADD,
    ast.Sub: BinaryOperator.SUBTRACT,
    ast.Mult: BinaryOperator.MULTIPLY,
    ast.Div: BinaryOperator.DIVIDE,
    ast.FloorDiv: BinaryOperator.FLOOR_DIVIDE,
    ast.Mod: BinaryOperator.REMAINDER,
    ast.LShift: BinaryOperator.SHIFT_LEFT,
    ast.RShift: BinaryOperator.SHIFT_RIGHT,
    ast.BitAnd: BinaryOperator.BIT_AND,
    ast.BitOr: BinaryOperator.BIT_OR,
    ast.BitXor: BinaryOperator.BIT_XOR,
}
_COMPARISONS: dict[type[ast.AST], BinaryOperator] = {
    ast.Lt: BinaryOperator.LESS,
    ast.LtE: BinaryOperator.LESS_EQUAL,
    ast.Gt: BinaryOperator.GREATER,
    ast.GtE: BinaryOperator.GREATER_EQUAL,
    ast.Eq: BinaryOperator.EQUAL,
    ast.NotEq: BinaryOperator.NOT_EQUAL,
}
_CALLS = "abs, min, max, sqrt and the types"


class ExpressionReader:
    """Reads the expressions of one function.

    arrays, types
        what is defined: arrays, and the types of all else, by name; the caller adds to it.
    constants
        numbers that the module gives names.
    """

    def __init__(self, text: PythonText, constants: dict[str, int | float]) -> None:
        self._text = text
        self._constants = constants
        self.arrays: dict[str, Array] = {}
        self.types: dict[str, ScalarType] = {}

    def read(self, node: ast.expr) -> Expression:
        """Raises ``WorkloadError`` for what the notation lacks."""
        value = self.literal(node)
        if value is not None:
            return self._constant(node, value, self._literal_type(node))
        match node:
            case ast.Constant(bool() as truth):
                return Constant(truth, BOOL, self._text.place(node))
            case ast.Name():
                return self._variable(node)
            case ast.Subscript():
                array, indices = self.element(node)
                return Load(array.name, indices, array.type, self._text.place(node))
            case ast.UnaryOp(op, operand):
                return self._unary(node, op, operand)
            case ast.BinOp(left, op, right):
                return self._binary(node, op, left, right)
            case ast.Compare(left, [op], [right]):
                if type(op) not in _COMPARISONS:
                    self._text.refuse(
                        node,
                        f"{self._text.spelled(node)}: must compare by {_listed(COMPARISONS)}",
                    )
                return self._pair(node, _COMPARISONS[type(op)], left, right)
            case ast.Compare():
                self._text.refuse(
                    node,
                    f"{self._text.spelled(node)}: comparisons must not be chained: must be joined "
                    "by and",
                )
            case ast.BoolOp(op, values):
                operator = BinaryOperator.AND if isinstance(op, ast.And) else BinaryOperator.OR
                place = self._text.place(node)
                parts = map(self.read, values)
                return reduce(lambda left, right: Binary(operator, left, right, place), parts)
            case ast.IfExp(test, body, orelse):
                condition = self.read(test)
                chosen, other = self._common(node, "chosen from {} and {}", body, orelse)
                return Select(condition, chosen, other, self._text.place(node))
            case ast.Call():
                return self._call(node)
        self._text.refuse(
            node,
            f"{self._text.spelled(node)}: must be numbers, names, array elements, arithmetic, "
            f"comparisons or calls of {_CALLS}",
        )

    def read_as(self, node: ast.expr, wanted: ScalarType, what: str) -> Expression:
        """Reads as ``read`` does, and converts to the type ``wanted`` if that holds every value;
        ``what`` says what must be of this type."""
        converted = self._converted(node, self._unless_literal(node), wanted)
        if converted is None:
            self._text.refuse(
                node,
                f"{self._text.spelled(node)} is {self.read(node).type}: {what} must be {wanted}",
            )
        return converted

    def element(self, node: ast.Subscript) -> tuple[Array, tuple[Expression, ...]]:
        """An array and indices."""
        array = self.array(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for index in indices:
            if isinstance(index, ast.Slice):
                self._text.refuse(
                    node,
                    f"{self._text.spelled(node)}: slices must be fibers of intersect or union",
                )
        return array, tuple(self.read_as(index, INT32, "an index") for index in indices)

    def array(self, node: ast.expr) -> Array:
        if isinstance(node, ast.Name) and node.id in self.arrays:
            return self.arrays[node.id]
        self._text.refuse(node, f"{self._text.spelled(node)} is not an array of the function")

    def literal(self, node: ast.expr) -> int | float | None:
        """The number that a node spells, if it is one."""
        match node:
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                return self._text.number(node)
            case ast.Name(name) if name in self._constants and name not in self.types:
                return self._constants[name]
            case ast.Name("inf"):
                return float("inf")
            case ast.UnaryOp(ast.USub(), operand):
                magnitude = self.literal(operand)
                return None if magnitude is None else -magnitude
        return None

    def _constant(self, node: ast.expr, value: int | float, type: ScalarType) -> Constant:
        place = self._text.place(node)
        if type.is_integer:
            if not type.least <= value <= type.most:
                self._text.refuse(
                    node,
                    f"{short(value)} is not in {type}: must be from {type.least} to {type.most}",
                )
            return Constant(value, type, place)
        with np.errstate(over="ignore"), suppress(OverflowError):  # whole numbers beyond float64
            rounded = float(np.float32(value))
            if not np.isinf(rounded) or rounded == value:
                return Constant(rounded, FLOAT32, place)
        self._text.refuse(node, f"{short(value)} is beyond float32: must be at most 3.4028235e+38")

    def _variable(self, node: ast.Name) -> Variable:
        if node.id in self.arrays:
            self._text.refuse(node, f"{node.id} is an array: must have indices")
        if node.id not in self.types:
            self._text.refuse(node, f"{node.id} is not defined")
        return Variable(node.id, self.types[node.id], self._text.place(node))

    def _unary(self, node: ast.expr, op: ast.unaryop, operand: ast.expr) -> Expression:
        place = self._text.place(node)
        if isinstance(op, ast.USub):
            return Unary(UnaryOperator.NEGATE, self.read(operand), place)
        if isinstance(op, ast.Invert):
            return inverted(self.read(operand), place)
        if isinstance(op, ast.Not):
            return Unary(UnaryOperator.NOT, self.read(operand), place)
        self._text.refuse(node, f"{self._text.spelled(node)}: signs must be -, ~ or not")

    def _binary(
        self, node: ast.expr, op: ast.operator, left: ast.expr, right: ast.expr
    ) -> Expression:
        if type(op) not in OPERATORS:
            self._text.refuse(
                node,
                f"{self._text.spelled(node)}: arithmetic must be {_listed(OPERATORS.values())}",
            )
        operator = OPERATORS[type(op)]
        if operator in SHIFTS:
            value = self.read(left)
            return Binary(operator, value, self.count(right, value.type), self._text.place(node))
        return self._pair(node, operator, left, right)

    def count(self, node: ast.expr, shifted: ScalarType) -> Expression:
        """How far something is shifted; a number takes the type of what is."""
        value = self.literal(node)
        if isinstance(value, int) and shifted.is_integer:
            return self._constant(node, value, shifted)
        return self.read(node)

    def _pair(
        self, node: ast.expr, operator: BinaryOperator, left: ast.expr, right: ast.expr
    ) -> Expression:
        operands = self._common(node, f"{{}} {operator} {{}}", left, right)
        return Binary(operator, *operands, self._text.place(node))

    def _common(
        self, node: ast.expr, form: str, left: ast.expr, right: ast.expr
    ) -> tuple[Expression, Expression]:
        """Both in one type; ``form`` shows two types that have none."""
        first, second = self._unless_literal(left), self._unless_literal(right)
        types = tuple(
            self._literal_type(side) if read is None else read.type
            for side, read in ((left, first), (right, second))
        )
        if first is None and second is not None:
            wanted: ScalarType | None = types[1]
        elif second is None and first is not None:
            wanted = types[0]
        elif second is None and FLOAT32 in types:
            wanted = FLOAT32
        else:
            wanted = common(*types)
        if wanted is not None:
            converted = self._converted(left, first, wanted), self._converted(right, second, wanted)
            if converted[0] is not None and converted[1] is not None:
                return converted[0], converted[1]
        shown = form.format(*types)
        self._text.refuse(node, f"{shown}: must be of one type: convert as in float32(n)")

    def _unless_literal(self, node: ast.expr) -> Expression | None:
        """A literal's type is that of where it stands."""
        return None if self.literal(node) is not None else self.read(node)

    def _literal_type(self, node: ast.expr) -> ScalarType:
        """The type of a literal where nothing else says it."""
        return INT32 if isinstance(self.literal(node), int) else FLOAT32

    def _converted(
        self, node: ast.expr, expression: Expression | None, wanted: ScalarType
    ) -> Expression | None:
        """``expression`` is that of ``node``, none for a literal. ``None`` where the conversion
        must be written."""
        if expression is None:
            value = self.literal(node)
            fits = wanted.is_number and (isinstance(value, int) or wanted == FLOAT32)
            return self._constant(node, value, wanted) if fits and value is not None else None
        if expression.type == wanted:
            return expression
        if not wanted.holds(expression.type):
            return None
        return Cast(wanted, expression, expression.place)

    def _call(self, node: ast.Call) -> Expression:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        place = self._text.place(node)
        if name is None or name not in ("abs", "sqrt", "min", "max", *BY_NAME) or name == "bool":
            self._text.refuse(
                node, f"call of {self._text.spelled(node.func)}: only {_CALLS} may be called"
            )
        count = 2 if name in ("min", "max") else 1
        if len(node.args) != count or node.keywords:
            wanted = "two values" if count == 2 else "one value"
            self._text.refuse(node, f"{self._text.spelled(node)}: {name} takes {wanted}")
        if name in BY_NAME:
            return self._cast(node.args[0], BY_NAME[name], node)
        if name in ("min", "max"):
            return self._pair(node, BinaryOperator(name), *node.args)
        return Unary(UnaryOperator(name), self.read(node.args[0]), place)

    def _cast(self, operand: ast.expr, type: ScalarType, node: ast.expr) -> Expression:
        value = self.literal(operand)
        if isinstance(value, int) or (value is not None and type == FLOAT32):
            return self._constant(operand, value, type)
        return Cast(type, self.read(operand), self._text.place(node))


def _listed(words: Iterable[str]) -> str:
    return " ".join(sorted(words))
