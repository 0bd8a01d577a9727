"""Nests that mean nothing, made by hand: what no frontend would make of a source text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Fiber,
    For,
    If,
    Load,
    Merge,
    MergeKind,
    Nest,
    Scalar,
    Select,
    Size,
    Statement,
    Store,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, BY_NAME, FLOAT32, INT32
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.place import Location
from tests.support.errors import refused

AT = Location("f", 1, 1)
HERE = Location("f", 2, 5)
N = Variable("n", INT32, AT)
ONE = Constant(1, INT32, AT)
REAL = Constant(1.0, FLOAT32, AT)
TRUE = Constant(True, BOOL, AT)
INT8 = BY_NAME["int8"]

NEST = Nest(
    "f",
    (Size("n", AT),),
    (
        Array("x", FLOAT32, (N,), AT),
        Array("i", INT32, (N,), AT),
        Scalar("s", FLOAT32, AT),
    ),
    (),
    AT,
)


def store(value: Expression) -> Store:
    return Store("x", (ONE,), value, AT)


def merge(kind: MergeKind, present: tuple[str, ...], body: tuple[Statement, ...] = ()) -> Merge:
    fiber = Fiber("i", ONE, N, AT)
    return Merge(kind, "k", ("p", "q"), present, (fiber, fiber), body, HERE)


def test_nests_that_mean_something() -> None:
    flags = ("a", "b")
    loop = merge(MergeKind.UNION, flags, (If(Variable("a", BOOL, AT), (), (), AT),))
    verify(replace(NEST, body=(store(REAL), For("k", ONE, N, 2, (), AT), loop)))


@pytest.mark.parametrize(
    "statement, text",
    [
        (For("k", ONE, N, 0, (), HERE), "step = 0: must be at least 1"),
        (
            AugmentedStore(BinaryOperator.LESS, "x", (ONE,), REAL, HERE),
            "< cannot augment a store: must be arithmetic",
        ),
        (Store("y", (ONE,), REAL, HERE), "y is not defined: must be an array"),
        (Store("s", (ONE,), REAL, HERE), "s is a scalar parameter: must be an array"),
        (Store("x", (), REAL, HERE), "x has 1 dimension, not 0"),
        (Assign("x", REAL, HERE), "x is an array already: must be another name"),
        (Assign("1a", REAL, HERE), "'1a' is not a name: must be letters, digits and _ of ASCII"),
        (merge(MergeKind.UNION, ()), "union gives 0 flags: must be 2"),
        (merge(MergeKind.INTERSECT, ("a", "b")), "intersect gives 2 flags: must be 0"),
        (
            store(Constant(1.0, INT32, HERE)),
            "1.0 is not in int32: must be from -2147483648 to 2147483647",
        ),
        (store(Constant(128, INT8, HERE)), "128 is not in int8: must be from -128 to 127"),
        (store(Constant(0.1, FLOAT32, HERE)), "0.1 is not in float32: must be rounded to it"),
        (store(Constant(1e39, FLOAT32, HERE)), "1e+39 is not in float32: must be rounded to it"),
        (store(Constant(1, BOOL, HERE)), "1 is not in bool: must be True or False"),
        (store(Load("x", (ONE,), INT32, HERE)), "x is float32: must not be int32 here"),
        (store(Variable("s", INT32, HERE)), "s is float32: must not be int32 here"),
        (store(Variable("q", FLOAT32, HERE)), "q is not defined"),
        (store(Variable("x", FLOAT32, HERE)), "x is an array: must have indices"),
        (
            If(TRUE, (Assign("a", REAL, AT),), (store(Variable("a", FLOAT32, HERE)),), AT),
            "a may have no value here: must be assigned on every way to it",
        ),
        (store(Unary(UnaryOperator.NOT, REAL, HERE)), "not float32: must be bool"),
        (store(Unary(UnaryOperator.SQRT, ONE, HERE)), "sqrt of int32: must be float32"),
        (store(Unary(UnaryOperator.ABS, TRUE, HERE)), "abs of bool: must be a number"),
        (
            store(Binary(BinaryOperator.ADD, REAL, ONE, HERE)),
            "float32 + int32: must be of one type",
        ),
        (store(Binary(BinaryOperator.ADD, TRUE, TRUE, HERE)), "bool + bool: must be numbers"),
        (store(Binary(BinaryOperator.AND, ONE, ONE, HERE)), "int32 and int32: must be bool"),
        (
            store(Binary(BinaryOperator.REMAINDER, REAL, REAL, HERE)),
            "float32 % float32: must be integers",
        ),
        (
            store(Binary(BinaryOperator.SHIFT_LEFT, ONE, REAL, HERE)),
            "int32 << float32: must be integers",
        ),
        (
            store(Binary(BinaryOperator.DIVIDE, ONE, ONE, HERE)),
            "int32 / int32: must be float32, or // for integers",
        ),
        (
            store(Select(TRUE, REAL, ONE, HERE)),
            "chosen from float32 and int32: must be of one type",
        ),
        (
            store(Select(Constant(1, INT32, HERE), REAL, REAL, AT)),
            "a condition is int32: must be bool",
        ),
        (store(Cast(FLOAT32, TRUE, HERE)), "bool to float32: must be from number to number"),
        (store(Constant(1, INT32, HERE)), "what x stores is int32: must be float32"),
        (If(Constant(1, INT32, HERE), (), (), AT), "a condition is int32: must be bool"),
    ],
)
def test_statements_that_mean_nothing(statement: Statement, text: str) -> None:
    with refused(f"f:2:5: {text}"):
        verify(replace(NEST, body=(statement,)))


@pytest.mark.parametrize(
    "array, text",
    [
        (Array("b", BOOL, (N,), HERE), "b is an array of bool: must be of numbers"),
        (Array("b", INT32, (), HERE), "b has no dimension: must be a scalar instead"),
        (Array("x", INT32, (N,), HERE), "x is an array already: must be another name"),
        (
            Array("b c", INT32, (N,), HERE),
            "'b c' is not a name: must be letters, digits and _ of ASCII",
        ),
        (
            Array("b", INT32, (Variable("m", INT32, HERE),), AT),
            "shape of b: must be made of sizes, whole numbers, +, - and *",
        ),
        (
            Array("b", INT32, (Binary(BinaryOperator.FLOOR_DIVIDE, N, N, HERE),), AT),
            "shape of b: must be made of sizes, whole numbers, +, - and *",
        ),
    ],
)
def test_arrays_that_mean_nothing(array: Array, text: str) -> None:
    with refused(f"f:2:5: {text}"):
        verify(replace(NEST, parameters=(*NEST.parameters, array)))
