"""Tests the coordinates that loops visit, case by case."""

from __future__ import annotations

from gnarl.sw.compiler.sam.iteration import (
    All,
    Formula,
    Intersection,
    Level,
    Operand,
    Presence,
    Union,
    coordinates,
    is_full,
    never_empty,
    visited,
)
from gnarl.sw.workloads.tensor.expression import Call

b = Operand(1, "b", ("i",), ("compressed",))
c = Operand(2, "c", ("i",), ("compressed",))
d = Operand(3, "d", ("i",), ("dense",))
e = Operand(4, "e", ("i",), ("dense",))
k = Operand(5, "k", (), ())
B = Operand(6, "B", ("i", "j"), ("compressed", "compressed"))
C = Operand(7, "C", ("i", "j"), ("dense", "compressed"))
D = Operand(8, "D", ("i", "j"), ("compressed", "compressed"))

SURE: Presence = frozenset(frozenset({number}) for number in range(1, 9))
NOTHING: Presence = frozenset()


def formula(function: str, *arguments: Formula) -> Call[Formula]:
    return Call(function, arguments)


def along_i(part: Formula, present: Presence = SURE) -> object:
    return coordinates(part, "i", present)


def test_products_visit_what_all_factors_have() -> None:
    assert along_i(formula("mul", b, c)) == Intersection((Level(b, 0), Level(c, 0)))
    assert along_i(formula("mul", b, k)) == Level(b, 0)
    assert along_i(k) is None


def test_sums_visit_what_either_part_has() -> None:
    union = Union((Level(b, 0), Level(c, 0)))
    for op in ("add", "sub", "max", "min"):
        assert along_i(formula(op, b, c)) == union
    assert along_i(formula("neg", formula("relu", b))) == Level(b, 0)
    three = formula("add", formula("add", b, c), formula("mul", b, c))
    assert along_i(three) == Union((*union.parts, Intersection((Level(b, 0), Level(c, 0)))))


def test_what_is_not_zero_somewhere_else_is_everywhere() -> None:
    assert along_i(formula("add", b, k)) == Union((Level(b, 0), All()))
    for function in ("exp", "sigmoid", "reciprocal", "log"):
        assert along_i(formula(function, b)) == Union((Level(b, 0), All()))
        assert along_i(formula(function, k)) is None


def test_dense_factors_are_located() -> None:
    assert along_i(formula("mul", d, b)) == Level(b, 0)
    assert along_i(formula("mul", d, e)) == Level(d, 0)
    assert along_i(formula("mul", formula("add", b, k), d)) == Union((Level(b, 0), All()))


def test_one_dense_part_of_a_sum_is_walked_if_it_is_there() -> None:
    assert along_i(formula("add", formula("add", d, b), e)) == Union((Level(b, 0), Level(d, 0)))
    assert along_i(formula("add", d, e)) == Level(d, 0)
    # Where it may be missing it does not stand for the others.
    assert along_i(formula("add", d, e), NOTHING) == Union((Level(d, 0), Level(e, 0)))
    assert along_i(formula("add", formula("add", d, e), k), NOTHING) == All()


def test_full_sets() -> None:
    assert is_full(All(), NOTHING)
    assert is_full(Level(d, 0), SURE) and not is_full(Level(d, 0), NOTHING)
    assert is_full(Union((Level(b, 0), Level(d, 0))), SURE)
    assert not is_full(Level(b, 0), SURE)


def test_who_is_there_after_a_loop() -> None:
    both = frozenset({frozenset({1}), frozenset({2})})
    assert visited(Intersection((Level(b, 0), Level(c, 0))), SURE) == both
    assert visited(Union((Level(b, 0), Level(c, 0))), SURE) == frozenset({frozenset({1, 2})})
    assert visited(Union((Level(b, 0), All())), SURE) == NOTHING
    # A dense part that is there is there at every coordinate.
    kept = visited(Union((Level(b, 0), Level(d, 0))), SURE)
    assert frozenset({3}) in kept and frozenset({1}) not in kept


def test_fibers_that_are_never_empty() -> None:
    inner = Union((Level(B, 1), Level(D, 1)))
    after_union = visited(Union((Level(B, 0), Level(D, 0))), SURE)
    assert never_empty(inner, after_union)
    assert never_empty(Level(B, 1), SURE)
    # One of the two is there, but not always this one; and dense levels have empty rows below.
    assert not never_empty(Level(B, 1), after_union)
    assert not never_empty(Level(C, 1), SURE)
    assert not never_empty(Intersection((Level(B, 1), Level(D, 1))), SURE)
    assert not never_empty(Level(b, 0), SURE)


def test_what_is_everywhere_is_needed_where_a_stored_factor_is() -> None:
    """The union lacks no coordinate of the factor, and others are dropped."""
    found = Intersection((Level(b, 0), Union((Level(c, 0), Level(b, 0)))))
    assert along_i(formula("mul", b, formula("exp", c))) == found
    assert along_i(formula("mul", b, formula("add", c, d))) == found
    assert along_i(formula("mul", b, formula("exp", formula("add", d, k)))) == Level(b, 0)
    assert not is_full(found, SURE) and not never_empty(found, SURE)
    assert visited(found, SURE) == {frozenset({1}), frozenset({1, 2})}
