"""The IR of loop nests.

    nest       = name, sizes, parameters (arrays and scalars), statements
    statement  = for variable in range(lower, upper, step): statements
               | for coordinate over the merged fibers, with their positions: statements
               | array[indices] = value          | array[indices] op= value
               | local = value                   | if condition: statements else: statements
    expression = constant | variable | array[indices] | op a | a op b | a if condition else b
               | type(a)

A nest means what its statements do one after the other, expressions evaluated left to right: no
multiplication is fused with an addition, and no sum reordered. ``gnarl.sw.golden.loops`` runs them.

- Every expression has a type, and operands are of the type that an operator wants: conversions
  stand in the tree as ``Cast``, so that C's rules can stand there as Python's do.
- Integers wrap in their type. ``//`` and ``%`` round down. A shift's count has any integer type.
  Division by zero, and shifts by less than 0 or by the type's bits or more, are errors.
- float32 is rounded to nearest even after every operation, with subnormals; minimum and maximum
  are those of IEEE 754-2019, clause 9.6; what an operation gives as a NaN is 0x7fc00000, while
  loads, stores and choices keep a NaN's bits, and negation and ``abs`` change its sign bit alone
  (clause 5.5.1), as that of all numbers.
- ``and``, ``or`` and ``a if condition else b`` evaluate only what they need.
- Bounds of loops are evaluated once, before the first iteration. No loop variable is assigned.
  A loop whose upper bound is below its lower one is empty; but from an element of an array, or 0,
  to an element, and from a variable to itself plus an element, it is an error: offsets do not
  decrease, and no length is below 0.
- float32 to an integer cuts towards zero, and is an error where the type does not hold the result;
  integers to float32 are rounded to nearest even; to narrower integers they wrap.
- An index outside its array is an error; negative ones do not count from the end.

A node's ``place`` is where it stands in the source; nodes that differ only in it are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, INT32, ScalarType
from gnarl.sw.workloads.place import Location


class UnaryOperator(StrEnum):
    NEGATE = "-"
    NOT = "not"
    ABS = "abs"
    SQRT = "sqrt"
    """The square root, of float32 only."""


class BinaryOperator(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    """The quotient, of float32 only."""
    FLOOR_DIVIDE = "//"
    """The quotient rounded down, of integers only, as ``%`` and shifts."""
    REMAINDER = "%"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    """Keeps the sign of signed types."""
    BIT_AND = "&"
    """Of all bits of integers, as ``|`` and ``^``."""
    BIT_OR = "|"
    BIT_XOR = "^"
    MINIMUM = "min"
    MAXIMUM = "max"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "and"
    OR = "or"


ARITHMETIC = frozenset("+ - * min max".split())
"""Binary operators on all numbers; the result has their type."""
BITWISE = frozenset("& | ^".split())
INTEGER_ONLY = frozenset("// %".split()) | BITWISE
SHIFTS = frozenset("<< >>".split())
COMPARISONS = frozenset("< <= > >= == !=".split())
LOGICAL = frozenset("and or".split())

AUGMENTING = frozenset("+ - * / // % << >> & | ^".split())
"""Binary operators of augmented stores."""


@dataclass(frozen=True)
class Constant:
    """``value`` is an ``int`` for integers, a ``float`` that float32 has, or a ``bool``."""

    value: int | float
    type: ScalarType
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Variable:
    """A size, a scalar parameter, a loop's variable or a local."""

    name: str
    type: ScalarType
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Load:
    """``array[indices]``; ``type`` is the array's."""

    array: str
    indices: tuple[Expression, ...]
    type: ScalarType
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Unary:
    operator: UnaryOperator
    operand: Expression
    place: Location = field(compare=False)

    @property
    def type(self) -> ScalarType:
        return self.operand.type


@dataclass(frozen=True)
class Binary:
    """Both operands have one type, but for a shift's count."""

    operator: BinaryOperator
    left: Expression
    right: Expression
    place: Location = field(compare=False)

    @property
    def type(self) -> ScalarType:
        return BOOL if self.operator in COMPARISONS else self.left.type


@dataclass(frozen=True)
class Select:
    """``chosen if condition else other``, which have one type."""

    condition: Expression
    chosen: Expression
    other: Expression
    place: Location = field(compare=False)

    @property
    def type(self) -> ScalarType:
        return self.chosen.type


@dataclass(frozen=True)
class Cast:
    """``type(operand)``, between numbers."""

    type: ScalarType
    operand: Expression
    place: Location = field(compare=False)


Expression: TypeAlias = Constant | Variable | Load | Unary | Binary | Select | Cast


@dataclass(frozen=True)
class For:
    """``for variable in range(lower, upper, step)``; bounds are int32, the step is positive."""

    variable: str
    lower: Expression
    upper: Expression
    step: int
    body: tuple[Statement, ...]
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Fiber:
    """``array[lower:upper]``: coordinates in strictly ascending order, of a type int32 holds."""

    array: str
    lower: Expression
    upper: Expression
    place: Location = field(compare=False)


class MergeKind(StrEnum):
    INTERSECT = "intersect"
    """Coordinates that both fibers have."""
    UNION = "union"
    """Coordinates that at least one has."""


@dataclass(frozen=True)
class Merge:
    """``for coordinate, positions, present in kind(fibers)``: by ascending coordinates.

    positions
        where each fiber has the coordinate, as index of its array; where it has not, the position
        of its next larger one, or its upper bound, or of an empty fiber its lower bound.
    present
        of a union: whether each has it, bool; of an intersection empty.

    It is an error if a fiber does not ascend or leaves its array, unless it is empty (upper bound
    at most the lower one); all of it is looked at before the first iteration.
    """

    kind: MergeKind
    coordinate: str
    positions: tuple[str, str]
    present: tuple[str, ...]
    fibers: tuple[Fiber, Fiber]
    body: tuple[Statement, ...]
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Store:
    """``array[indices] = value``: first the value is evaluated, then the indices."""

    array: str
    indices: tuple[Expression, ...]
    value: Expression
    place: Location = field(compare=False)


@dataclass(frozen=True)
class AugmentedStore:
    """``array[indices] operator= value``: indices once, then the element, then the value."""

    operator: BinaryOperator
    array: str
    indices: tuple[Expression, ...]
    value: Expression
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Assign:
    """``name = value``: a scalar local; a name has one type throughout the nest."""

    name: str
    value: Expression
    place: Location = field(compare=False)


@dataclass(frozen=True)
class If:
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    place: Location = field(compare=False)


Statement: TypeAlias = For | Merge | Store | AugmentedStore | Assign | If


@dataclass(frozen=True)
class Array:
    """An array parameter. ``shape``: an expression of constants, sizes, +, - and * for each
    dimension."""

    name: str
    type: ScalarType
    shape: tuple[Expression, ...]
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Scalar:
    name: str
    type: ScalarType
    place: Location = field(compare=False)


@dataclass(frozen=True)
class Size:
    """A whole number from 0 to 2^31 - 1, int32 in expressions."""

    name: str
    place: Location = field(compare=False)

    @property
    def type(self) -> ScalarType:
        return INT32


@dataclass(frozen=True)
class Nest:
    """``temporaries``: names of arrays among the parameters that are the nest's own: they begin as
    zeros, no run gives them, and none gets them."""

    name: str
    sizes: tuple[Size, ...]
    parameters: tuple[Array | Scalar, ...]
    body: tuple[Statement, ...]
    place: Location = field(compare=False)
    temporaries: tuple[str, ...] = ()

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """Arrays by name, in the order of parameters."""
        return {each.name: each for each in self.parameters if isinstance(each, Array)}

    @cached_property
    def scalars(self) -> dict[str, Scalar]:
        """Scalars by name, in the order of parameters."""
        return {each.name: each for each in self.parameters if isinstance(each, Scalar)}

    @cached_property
    def results(self) -> tuple[str, ...]:
        """Names of the arrays that are written, in the order of parameters."""
        stored = {
            each.array for each in statements(self.body) if isinstance(each, Store | AugmentedStore)
        }
        return tuple(name for name in self.arrays if name in stored)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Results that runs get."""
        return tuple(name for name in self.results if name not in self.temporaries)


def statements(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """All of a body, each before those that it contains."""
    contained: list[Statement] = []
    for statement in body:
        contained.append(statement)
        match statement:
            case For() | Merge():
                contained += statements(statement.body)
            case If():
                contained += statements(statement.then) + statements(statement.otherwise)
    return tuple(contained)
