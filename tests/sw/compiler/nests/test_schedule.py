"""Tests the order of a block's steps, and when they are issued."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.copies import copy
from gnarl.sw.compiler.nests.execute.machine import Register, Step, Taken, Value, WordRange
from gnarl.sw.compiler.nests.execute.schedule import schedule

WINDOW = 8


def s(number: int) -> Register:
    return Register("s", number)


def add(dst: int, a: int, b: Value = 1) -> Step:
    return Step(Opcode.ADD, dst=s(dst), a=s(a), b=b)


PRODUCT = Step(Opcode.MUL, dst=s(6), a=s(7), b=s(8))
"""It is there some cycles later."""

NEEDS_IT = add(10, 6)
FREE = add(11, 9)

AT_PRODUCT, AT_THREE = WordRange("x", s(6), 0, 1), WordRange("x", None, 3, 1)
LOAD = Step(Opcode.LOAD, dst=s(1), a=s(6), words=AT_PRODUCT)
STORE = Step(Opcode.STORE, a=s(6), c=s(1), words=AT_PRODUCT)
STORE_BEHIND = Step(Opcode.STORE, c=s(2), words=AT_THREE)
LOAD_BEHIND = Step(Opcode.LOAD, dst=s(2), words=AT_THREE)

IN_ORDER = {
    "written behind a read": (add(1, 6, s(0)), copy(s(0), 5)),
    "written twice": (add(0, 6), copy(s(0), 5)),
    "taken twice": (add(0, 6, Taken("s")), copy(s(1), Taken("s"))),
    "stored behind a load": (LOAD, STORE_BEHIND),
    "stored twice": (STORE, STORE_BEHIND),
    "loaded behind a store": (STORE, LOAD_BEHIND),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_steps_that_stay_in_order(name: str):
    """The second comes behind the first one, which waits for a product; right behind it."""
    first, second = IN_ORDER[name]
    steps = [PRODUCT, first, second, NEEDS_IT, FREE]
    assert schedule(steps, WINDOW) == [PRODUCT, FREE, first, second, NEEDS_IT]


def test_steps_that_do_not():
    steps = [PRODUCT, LOAD, LOAD_BEHIND, FREE]
    assert schedule(steps, WINDOW) == [PRODUCT, LOAD_BEHIND, FREE, LOAD]
    fetch = Step(Opcode.PREFETCH, words=AT_THREE)
    assert schedule([PRODUCT, STORE, fetch], WINDOW) == [PRODUCT, fetch, STORE]


def word(offset: int, width: int = 1, base: Register | None = None) -> WordRange:
    return WordRange("x", base, offset, width)


@pytest.mark.parametrize(
    "one, other, may_meet",
    [
        (word(3), word(3), True),
        (word(3), word(4), False),
        (word(4), word(3), False),
        (word(0, 4), word(3), True),
        (word(0, 4), word(4), False),
        (word(3), word(0, 4), True),
        (word(4), word(0, 4), False),
        (word(3, 1, s(7)), word(3, 1, s(7)), True),
        (word(3, 1, s(7)), word(4, 1, s(7)), False),
        (word(3, 1, s(7)), word(4, 1, s(8)), True),
        (word(3, 1, s(7)), word(4), True),
        (WordRange("y", None, 3, 1), word(3), False),
    ],
)
def test_stores_to_what_may_be_one_word(one: WordRange, other: WordRange, may_meet: bool):
    first, second = (
        Step(Opcode.STORE, a=place.base or 0, c=value, words=place)
        for place, value in ((one, s(6)), (other, s(2)))
    )
    found = schedule([PRODUCT, first, second, FREE], WINDOW)
    rest = [FREE, first, second] if may_meet else [second, FREE, first]
    assert found == [PRODUCT, *rest]


def test_what_has_been_begun_before_is_waited_for():
    waits, free = add(1, 9), add(2, 8)
    begun = {s(9): (0, Step(Opcode.LOAD, dst=s(9)))}
    assert schedule([waits, free], WINDOW, earlier=begun) == [free, waits]
    again = copy(s(9), 5)
    assert schedule([again, waits, free], WINDOW, earlier=begun) == [again, waits, free]


def test_branches_come_last():
    branch = Step(Opcode.BRANCH_EQ, a=s(1), b=s(2), target=1)
    found = schedule([PRODUCT, NEEDS_IT, FREE, branch], WINDOW)
    assert found == [PRODUCT, FREE, NEEDS_IT, branch]


def test_none_overtakes_more_than_the_window():
    others = [add(number, 9) for number in (11, 12)]
    assert schedule([PRODUCT, NEEDS_IT, *others], 3) == [PRODUCT, *others, NEEDS_IT]
    assert schedule([PRODUCT, NEEDS_IT, *others], 2) == [PRODUCT, others[0], NEEDS_IT, others[1]]
