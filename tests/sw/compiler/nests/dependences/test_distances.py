"""Distances are exact where they are known, and have all that enumeration finds."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from random import Random

import pytest

from gnarl.sw.compiler.nests.dependences.distances import (
    NONE,
    UNKNOWN,
    Counter,
    Distances,
    Words,
    distances,
)
from gnarl.sw.compiler.nests.dependences.linear import Linear, Range, span

RANGES = {
    "n": Range(Linear(1), Linear(1000), 0),
    "i": Range(Linear(0), Linear(-1, {"n": 1}), 1),
    "ten": Range(Linear(0), Linear(9), 1),
    "j": Range(Linear(0), Linear(-1, {"i": 1}), 2),
    "p": Range(None, None, 1),
}
"""``j`` counts up to ``i``; of ``p`` and all others nothing is known."""


def ranges(variable: Hashable) -> Range:
    return RANGES.get(variable, Range())


def words(*indices: Linear, width: int = 1) -> Words:
    return Words(indices, width)


def line(constant: int = 0, **terms: int) -> Linear:
    return Linear(constant, terms)


def between(one: Words, other: Words, counter: str = "i", step: int = 1) -> Distances:
    inside = {"i": "ij", "ten": ["ten"], "j": "j", "p": "p"}[counter]
    return distances(
        one, other, Counter(counter, step), ranges, lambda each: each in {*inside, "x"}
    )


CASES = {
    "the same place": (words(line(i=1)), words(line(i=1)), Distances(0, 0)),
    "one ahead": (words(line(1, i=1)), words(line(i=1)), Distances(1, 1)),
    "two behind": (words(line(-2, i=1)), words(line(i=1)), Distances(-2, -2)),
    "even and odd": (words(line(i=2)), words(line(1, i=2)), NONE),
    "a factor": (words(line(4, i=2)), words(line(i=2)), Distances(2, 2)),
    "backwards": (words(line(5, i=-1)), words(line(i=-1)), Distances(-5, -5)),
    "two constants": (words(line(1)), words(line(2)), NONE),
    "one constant": (words(line(1)), words(line(1)), Distances(-999, 999)),
    "a size apart": (words(line(i=1)), words(line(i=1, n=1)), NONE),
    "a size that is alike": (words(line(1, i=1, n=1)), words(line(i=1, n=1)), Distances(1, 1)),
    "the second of two dimensions": (
        words(line(i=1), line(3)),
        words(line(i=1), line(4)),
        NONE,
    ),
    "two dimensions that contradict": (
        words(line(1, i=1), line(i=1)),
        words(line(i=1), line(i=1)),
        NONE,
    ),
    "rows, and columns of all kinds": (
        words(line(2, i=1), line(x=1)),
        words(line(i=1), line(j=1)),
        Distances(2, 2),
    ),
    "transposed": (words(line(i=1), line(j=1)), words(line(j=1), line(i=1)), NONE),
    "something loaded": (words(line(x=1)), words(line(i=1)), Distances(-999, 999)),
    "a vector of four": (words(line(i=1), width=4), words(line(i=1)), Distances(0, 3)),
    "two vectors": (words(line(i=1), width=4), words(line(i=1), width=4), Distances(-3, 3)),
    "of no dimensions": (words(), words(), Distances(-999, 999)),
}


@pytest.mark.parametrize("name", CASES)
def test_of_one_loop(name: str):
    one, other, expected = CASES[name]
    assert between(one, other) == expected
    back = between(other, one)
    assert (back.least, back.most) == (-expected.most, -expected.least) or not (back or expected)


def test_a_constant_that_the_loop_reaches_first():
    assert between(words(line(0)), words(line(ten=1)), "ten") == Distances(-9, 0)
    assert between(words(line(9)), words(line(ten=1)), "ten") == Distances(0, 9)
    assert between(words(line(10)), words(line(ten=1)), "ten") == NONE


def test_a_triangle():
    """Nothing that an inner loop reads below ``i`` is at ``i``."""
    assert between(words(line(i=1)), words(line(j=1)), "j") == NONE
    assert between(words(line(-1, i=1)), words(line(j=1)), "j").most > 0


def test_steps():
    assert between(words(line(2, ten=1)), words(line(ten=1)), "ten", step=2) == Distances(1, 1)
    assert between(words(line(1, ten=1)), words(line(ten=1)), "ten", step=2) == NONE
    assert between(words(line(ten=1)), words(line(ten=1)), "ten", step=3) == Distances(0, 0)


def test_a_loop_of_unknown_bounds():
    assert between(words(line(p=1)), words(line(p=1)), "p") == Distances(0, 0)
    assert between(words(line(1, p=1)), words(line(p=1)), "p") == Distances(1, 1)
    assert between(words(line(p=2)), words(line(p=2)), "p") == Distances(0, 0)
    assert between(words(line(p=3)), words(line(p=3)), "p") == UNKNOWN  # 3p may wrap around
    assert between(words(line(x=1)), words(line(p=1)), "p") == UNKNOWN


def test_without_a_counter():
    def meet(one: Words, other: Words, *differs: str) -> Distances:
        return distances(one, other, None, ranges, lambda each: each in differs)

    assert meet(words(line(x=1)), words(line(1, x=1))) == NONE
    assert meet(words(line(x=1)), words(line(1, x=1)), "x") == UNKNOWN
    assert meet(words(line(x=1), width=4), words(line(3, x=1))) == UNKNOWN
    assert meet(words(line(x=1), width=4), words(line(4, x=1))) == NONE
    assert meet(words(line(ten=1)), words(line(10, ten=1)), "ten") == NONE
    assert meet(words(line(ten=1)), words(line(9, ten=1)), "ten") == UNKNOWN


def test_spans():
    assert span(line(3, i=1, n=-1), ranges) == (-997, 2)
    assert span(line(i=1, j=-1), ranges) == (1, 999)
    assert span(line(ten=-2), ranges) == (-18, 0)


def test_all_that_enumeration_finds():
    """Three loops, the inner two of which may be bounded by those around, random sums, and rows of
    up to two dimensions; and what is found is exact often enough."""
    random = Random(36)
    exact = 0
    for case in range(400):
        found, expected = _enumerated(random)
        assert all(found.meet(each, each) for each in expected), f"case {case}"
        exact += {*expected} == set(range(found.least, found.most + 1))
    assert exact > 200


def _enumerated(random: Random) -> tuple[Distances, set[int]]:
    """Distances of the middle loop, in one iteration of the outer one."""
    names = ["k", "i", "j"]
    steps = {name: random.choice((1, 1, 2)) for name in names}
    bounds: dict[str, Range] = {}
    for depth, name in enumerate(names):
        lower, upper = line(random.randint(-1, 2)), line(random.randint(2, 5))
        if depth and random.random() < 0.4:
            upper = line(random.randint(0, 2), **{names[depth - 1]: 1})
        if depth and random.random() < 0.2:
            lower = line(random.randint(0, 1), **{names[depth - 1]: 1})
        bounds[name] = Range(lower, upper, depth)

    def index() -> Linear:
        terms = {name: random.choice((0, 0, 1, 1, -1, 2, 3)) for name in names}
        return Linear(random.randint(-2, 3)).plus(
            Linear(0, {name: factor for name, factor in terms.items() if factor})
        )

    dimensions = random.randint(1, 2)
    one, other = (
        Words([index() for _ in range(dimensions)], random.choice((1, 1, 1, 3))) for _ in range(2)
    )
    if random.random() < 0.4:
        other = Words([each.plus(Linear(random.randint(-2, 2))) for each in one.indices], 1)
    found = distances(
        one,
        other,
        Counter("i", steps["i"]),
        lambda name: bounds[str(name)],
        lambda name: name in ("i", "j"),
    )
    points = [
        {"k": k, "i": i, "j": j}
        for k in _counted("k", {}, bounds, steps)
        for i in _counted("i", {"k": k}, bounds, steps)
        for j in _counted("j", {"k": k, "i": i}, bounds, steps)
    ]
    expected = {
        (right["i"] - left["i"]) // steps["i"]
        for left, right in product(points, points)
        if left["k"] == right["k"] and _meet(one, left, other, right)
    }
    return found, expected


def _value(form: Linear, point: dict[str, int]) -> int:
    return form.constant + sum(point[str(name)] * count for name, count in form.terms.items())


def _counted(
    name: str, point: dict[str, int], bounds: dict[str, Range], steps: dict[str, int]
) -> range:
    lower, most = bounds[name].least, bounds[name].most
    assert lower is not None and most is not None
    return range(_value(lower, point), _value(most, point) + 1, steps[name])


def _meet(one: Words, left: dict[str, int], other: Words, right: dict[str, int]) -> bool:
    first = [_value(each, left) for each in one.indices]
    second = [_value(each, right) for each in other.indices]
    if first[:-1] != second[:-1]:
        return False
    return first[-1] < second[-1] + other.width and second[-1] < first[-1] + one.width
