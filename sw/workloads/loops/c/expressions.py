"""Reads expressions of C, whose conversions become ``Cast`` nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from pycparser import c_ast

from gnarl.hw.lib.errors import short
from gnarl.sw.workloads.loops.c.elementary import TEXTS
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import (
    SIZE,
    TYPES,
    UINT32,
    Double,
    convert,
    is_long,
    literal,
    narrowed,
    negative,
    promote,
    require_plain,
    truth,
    usual,
)
from gnarl.sw.workloads.loops.ir.index_expressions import inverted
from gnarl.sw.workloads.loops.ir.nest import (
    COMPARISONS,
    Array,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    Load,
    Select,
    Statement,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

ARITHMETIC = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^")
_INTEGERS_ONLY = ("%", "&", "|", "^")
_CALLS = {
    "fabsf": 1,
    "sqrtf": 1,
    "abs": 1,
    "fminf": 2,
    "fmaxf": 2,
    "fminimumf": 2,
    "fmaximumf": 2,
    "__builtin_popcount": 1,
}
_INFINITY = "__builtin_inff"
_POPCOUNT = "__builtin_popcount"
ELEMENTARY = {name: len(parameters) for name, (parameters, _) in TEXTS.items()}
_LOGICAL = {"&&": BinaryOperator.AND, "||": BinaryOperator.OR}


class CExpressionReader:
    """Reads the expressions of one function.

    arrays, types
        what is defined: arrays, and the types of all else, by name; the caller adds to it.
    sizes
        names of sizes of the nest, which are never negative.
    numbers, tables
        constants by name; tables by the names of their arrays.
    values
        what stands for a name, of parameters and locals of a function that gives a value.
    results
        reads calls of such functions.
    before
        statements that come before the one whose expressions are read.
    elementary
        puts a call of ``expf`` or ``powf`` there, and gives its result.
    """

    def __init__(self, text: CText, results: Any = None) -> None:
        self._text = text
        self._results = results
        self.arrays: dict[str, Array] = {}
        self.types: dict[str, ScalarType] = {}
        self.sizes: set[str] = set()
        self.numbers: dict[str, Constant] = {}
        self.values: dict[str, Expression] = {}
        self.tables: dict[str, Any] = {}
        self.before: list[Statement] = []
        self.elementary: Callable[[Any, list[Expression]], Expression] | None = None
        self._conditions = 0

    def add_table(self, name: str, array: Array, table: Any) -> None:
        """An array of constants, of the name ``name`` in the text."""
        self.arrays[name] = array
        self.tables[array.name] = table

    def read(self, node: Any) -> Expression:
        """Raises ``WorkloadError`` for what nests lack."""
        number = self._literal(node)
        if is_long(number):
            self._text.refuse(node, f"{INT32.least} is a long: must be (int){INT32.least}")
        if isinstance(number, Constant):
            return number
        if isinstance(number, Double):
            return self._as_float(node, number)
        place = self._text.place(node)
        match node:
            case c_ast.ID():
                return self._variable(node)
            case c_ast.ArrayRef():
                array, indices = self.element(node)
                return Load(array.name, indices, array.type, place)
            case c_ast.UnaryOp():
                return self._unary(node, place)
            case c_ast.BinaryOp():
                return self._binary(node, place)
            case c_ast.TernaryOp():
                with self.under_condition():
                    chosen, other = self._pair(node.iftrue, node.iffalse)
                return Select(self.condition(node.cond), chosen, other, place)
            case c_ast.Cast():
                return self.read_as(node.expr, self.type_of(node.to_type))
            case c_ast.FuncCall():
                return self._call(node, place)
        self._text.refuse(
            node,
            f"{type(node).__name__}: must be numbers, names, array elements, arithmetic, "
            "comparisons, casts, ?: or calls",
        )

    def read_as(self, node: Any, type: ScalarType) -> Expression:
        """Reads an expression as C converts it to a type; doubles may be numbers alone."""
        number = self._literal(node)
        if isinstance(number, Double) and type == FLOAT32 and number.nearest is not None:
            return number.nearest
        if isinstance(number, Constant):
            return convert(number, type)
        return convert(self.read(node), type)

    @contextmanager
    def under_condition(self) -> Iterator[None]:
        """What is read may not be evaluated."""
        self._conditions += 1
        yield
        self._conditions -= 1

    def inside_of(self, caller: CExpressionReader) -> None:
        """Reads a function in place of a call that ``caller`` reads."""
        self.before, self.elementary = caller.before, caller.elementary
        self._conditions = caller._conditions

    def condition(self, node: Any) -> Expression:
        return truth(self.read(node))

    def type_of(self, node: Any) -> ScalarType:
        """The type of a declaration or a cast."""
        while True:
            while isinstance(node, c_ast.Typename | c_ast.Decl | c_ast.TypeDecl):
                node = node.type
            names = " ".join(node.names) if isinstance(node, c_ast.IdentifierType) else ""
            if names in TYPES:
                return TYPES[names]
            if names not in self._text.typedefs:
                spelt = names or type(node).__name__
                self._text.refuse(
                    node,
                    f"{spelt}: a type must be float, int, unsigned, short, char, signed char, "
                    "unsigned char, bool, int8_t to uint32_t, or size_t of loops and sizes",
                )
            node = self._text.typedefs[names]

    def element(self, node: Any) -> tuple[Array, tuple[Expression, ...]]:
        """An array and indices."""
        indices: list[Expression] = []
        base = node
        while isinstance(base, c_ast.ArrayRef):
            index = self.read(base.subscript)
            if not index.type.is_integer:
                self._text.refuse(base.subscript, f"an index is {index.type}: must be an integer")
            indices.insert(0, convert(index, INT32))
            base = base.name
        if not isinstance(base, c_ast.ID) or base.name not in self.arrays:
            name = base.name if isinstance(base, c_ast.ID) else type(base).__name__
            self._text.refuse(base, f"{name} is not an array of the function")
        array = self.arrays[base.name]
        if len(indices) != len(array.shape):
            wanted = f"must have {len(array.shape)}"
            self._text.refuse(base, f"{array.name} has {len(indices)} indices: {wanted}")
        return array, tuple(indices)

    def operation(
        self, operator: str, left: Expression, right: Expression, place: Location, node: Any
    ) -> Expression:
        """``left operator right``, one of ``ARITHMETIC``, with C's conversions."""
        if operator in ("<<", ">>"):
            self._require_integers(operator, left, right, node)
            if left.type == SIZE and operator == ">>":
                require_plain(left, self.sizes)
            return Binary(BinaryOperator(operator), promote(left), promote(right), place)
        if operator in _INTEGERS_ONLY:
            self._require_integers(operator, left, right, node)
        left, right = usual(left, right)
        if left.type == SIZE and operator in "/%":
            require_plain(left, self.sizes)
            require_plain(right, self.sizes)
            whole = BinaryOperator.FLOOR_DIVIDE if operator == "/" else BinaryOperator.REMAINDER
            return Binary(whole, left, right, place)
        if operator == "%":
            product = Binary(BinaryOperator.MULTIPLY, _quotient(left, right, place), right, place)
            return Binary(BinaryOperator.SUBTRACT, left, product, place)
        if operator == "/" and left.type.is_integer:
            return _quotient(left, right, place)
        return Binary(BinaryOperator(operator), left, right, place)

    def _require_integers(
        self, operator: str, left: Expression, right: Expression, node: Any
    ) -> None:
        if FLOAT32 in (left.type, right.type):
            given = f"{left.type} {operator} {right.type}"
            self._text.refuse(node, f"{given}: must be integers")

    def _literal(self, node: Any) -> Constant | Double | None:
        """The number that a node is."""
        match node:
            case c_ast.Constant():
                return self._number(node.value, node)
            case c_ast.UnaryOp(op="-", expr=c_ast.Constant(value=digits)):
                return self._number(f"-{digits}", node)
            case c_ast.UnaryOp(op="-", expr=operand):
                number = self._literal(operand)
                if isinstance(number, Constant) and not is_long(number):
                    return replace(negative(number), place=self._text.place(node))
                return -number if isinstance(number, Double) else None
        return None

    def _number(self, spelled: str, node: Any) -> Constant | Double:
        number = literal(spelled, self._text.place(node))
        if number is None:
            self._text.refuse(
                node, f"{short(spelled)}: must be an int, an unsigned or a float, as 1, 1u, 1.0f"
            )
        return number

    def _as_float(self, node: Any, number: Double) -> Constant:
        """A double in arithmetic, which is taken as a float."""
        if number.nearest is None:
            self._text.refuse(node, f"{number.value} is beyond float: must be at most 3.4e38")
        self._text.note_double(self._text.place(node))
        return number.nearest

    def _variable(self, node: c_ast.ID) -> Expression:
        if node.name in self.arrays:
            self._text.refuse(node, f"{node.name} is an array: must have indices")
        if node.name in self.values:
            value = self.values[node.name]
            is_name = isinstance(value, Variable)
            return replace(value, place=self._text.place(node)) if is_name else value
        if node.name not in self.types and node.name in self.numbers:
            return replace(self.numbers[node.name], place=self._text.place(node))
        if node.name not in self.types:
            self._text.refuse(node, f"{node.name} is not defined")
        return Variable(node.name, self.types[node.name], self._text.place(node))

    def _unary(self, node: c_ast.UnaryOp, place: Location) -> Expression:
        if node.op == "!":
            return Unary(UnaryOperator.NOT, self.condition(node.expr), place)
        if node.op == "-":
            return Unary(UnaryOperator.NEGATE, promote(self.read(node.expr)), place)
        if node.op == "+":
            return promote(self.read(node.expr))
        if node.op == "~":
            value = promote(self.read(node.expr))
            if value.type not in (INT32, UINT32):
                self._text.refuse(node, f"~ of {value.type}: must be an int or an unsigned")
            return inverted(value, place)
        self._text.refuse(node, f"{node.op}: in an expression, signs must be + - ~ or !")

    def _pair(self, left: Any, right: Any) -> tuple[Expression, Expression]:
        return usual(self.read(left), self.read(right))

    def _binary(self, node: c_ast.BinaryOp, place: Location) -> Expression:
        operator = node.op
        if operator in _LOGICAL:
            left = self.condition(node.left)
            with self.under_condition():
                right = self.condition(node.right)
            return Binary(_LOGICAL[operator], left, right, place)
        if operator in COMPARISONS:
            return self._comparison(node, BinaryOperator(operator), place)
        if operator in ARITHMETIC:
            return self.operation(
                operator, self.read(node.left), self.read(node.right), place, node
            )
        self._text.refuse(
            node, f"{operator}: arithmetic must be {' '.join(ARITHMETIC)}, a comparison, && or ||"
        )

    def _comparison(
        self, node: c_ast.BinaryOp, operator: BinaryOperator, place: Location
    ) -> Expression:
        """A double that float32 has compares with a float as that."""
        operands = (node.left, node.right)
        doubles = [self._literal(each) for each in operands]
        sides = [
            None if isinstance(number, Double) else number or self.read(each)
            for number, each in zip(doubles, operands, strict=True)
        ]
        if FLOAT32 in [each.type for each in sides if each is not None]:
            sides = [
                number.exact if isinstance(number, Double) else side
                for number, side in zip(doubles, sides, strict=True)
            ]
        left, right = (
            self.read(each) if side is None else side
            for side, each in zip(sides, operands, strict=True)
        )
        if UINT32 in (left.type, right.type) and (is_long(left) or is_long(right)):
            self._text.refuse(node, f"{INT32.least} is a long: must be compared with an int")
        left, right = usual(left, right)
        if left.type == SIZE:
            for each in (left, right):
                require_plain(each, self.sizes)
            left, right = narrowed(left), narrowed(right)
        return Binary(operator, left, right, place)

    def _call(self, node: c_ast.FuncCall, place: Location) -> Expression:
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        result = self._results and self._results(node, self)
        if result:
            return cast(Expression, result)
        if name == _INFINITY and node.args is None:
            return Constant(math.inf, FLOAT32, place)
        if name in ELEMENTARY and self.elementary is not None:
            return self._elementary(node, name, self.elementary)
        if name not in _CALLS:
            self._text.refuse(
                node,
                f"call of {name or 'an expression'}: only {', '.join((*_CALLS, *ELEMENTARY))} may "
                "be called",
            )
        arguments = node.args.exprs if node.args else []
        if len(arguments) != _CALLS[name]:
            self._text.refuse(node, f"{name} takes {_CALLS[name]} values, not {len(arguments)}")
        if name == "abs":
            return Unary(UnaryOperator.ABS, self.read_as(arguments[0], INT32), place)
        if name == _POPCOUNT:
            return convert(_popcount(self.read_as(arguments[0], UINT32), place), INT32)
        values = [self.read_as(each, FLOAT32) for each in arguments]
        if name in ("fabsf", "sqrtf"):
            operator = UnaryOperator.ABS if name == "fabsf" else UnaryOperator.SQRT
            return Unary(operator, values[0], place)
        left, right = values
        wanted = BinaryOperator.MINIMUM if "min" in name else BinaryOperator.MAXIMUM
        extremum: Expression = Binary(wanted, left, right, place)
        if name.endswith("imumf"):
            return extremum
        # Of a NaN and a number, fminf and fmaxf give the number.
        for value, other in ((right, left), (left, right)):
            if isinstance(value, Constant):
                continue
            is_nan = Binary(BinaryOperator.NOT_EQUAL, value, value, place)
            extremum = Select(is_nan, other, extremum, place)
        return extremum

    def _elementary(self, node: c_ast.FuncCall, name: str, put: Any) -> Expression:
        arguments = node.args.exprs if node.args else []
        if len(arguments) != ELEMENTARY[name]:
            self._text.refuse(node, f"{name} takes {ELEMENTARY[name]} values, not {len(arguments)}")
        values = [self.read_as(each, FLOAT32) for each in arguments]
        if self._conditions and any(isinstance(each, Load) for each in nodes(values)):
            self._text.refuse(
                node, f"{name} of an element under a condition: must be assigned to a local before"
            )
        found: Expression = put(node, values)
        return found


def _popcount(value: Expression, place: Location) -> Expression:
    """Bits that are set: those of four, of eight, and of all. Source: Knuth, The Art of Computer
    Programming, section 7.1.3."""

    def binary(operator: BinaryOperator, left: Expression, right: int) -> Binary:
        return Binary(operator, left, Constant(right, UINT32, place), place)

    def some(each: Expression, places: int, mask: int) -> Binary:
        return binary(
            BinaryOperator.BIT_AND, binary(BinaryOperator.SHIFT_RIGHT, each, places), mask
        )

    fours = value
    for places, mask in ((1, 0x77777777), (2, 0x33333333), (3, 0x11111111)):
        fours = Binary(BinaryOperator.SUBTRACT, fours, some(value, places, mask), place)
    low = binary(BinaryOperator.BIT_AND, fours, 0x0F0F0F0F)
    eights = Binary(BinaryOperator.ADD, low, some(fours, 4, 0x0F0F0F0F), place)
    whole = binary(BinaryOperator.MULTIPLY, eights, 0x01010101)
    return binary(BinaryOperator.SHIFT_RIGHT, whole, 24)


def _quotient(left: Expression, right: Expression, place: Location) -> Expression:
    """The quotient of integers of one type, rounded towards zero; nests round down."""

    def number(value: int) -> Constant:
        return Constant(value, left.type, place)

    def binary(operator: BinaryOperator, one: Expression, other: Expression) -> Expression:
        return Binary(operator, one, other, place)

    down = binary(BinaryOperator.FLOOR_DIVIDE, left, right)
    if left.type.kind == "u":
        return down
    less, more = BinaryOperator.LESS, BinaryOperator.GREATER
    if isinstance(right, Constant) and right.value > 0:
        if right.value == 1:
            return left
        added = Select(
            binary(less, left, number(0)), number(int(right.value) - 1), number(0), place
        )
        return binary(BinaryOperator.FLOOR_DIVIDE, binary(BinaryOperator.ADD, left, added), right)
    rest = binary(
        BinaryOperator.NOT_EQUAL, binary(BinaryOperator.REMAINDER, left, right), number(0)
    )
    signs = [
        binary(BinaryOperator.AND, binary(one, left, number(0)), binary(other, right, number(0)))
        for one, other in ((less, more), (more, less))
    ]
    is_cut = binary(BinaryOperator.AND, rest, binary(BinaryOperator.OR, *signs))
    return binary(BinaryOperator.ADD, down, Select(is_cut, number(1), number(0), place))
