"""Which steps of a block may go before which, and when."""

from __future__ import annotations

import pytest

from hw.lib.execute_isa import Opcode
from sw.compiler.nests.execute.copies import copy
from sw.compiler.nests.execute.machine import Place, Register, Step, Taken, Value
from sw.compiler.nests.execute.schedule import schedule

WINDOW = 8


def s(number: int) -> Register:
    return Register("s", number)


def add(dst: int, a: int, b: Value = 1) -> Step:
    return Step(Opcode.ADD, dst=s(dst), a=s(a), b=b)


PRODUCT = Step(Opcode.MUL, dst=s(6), a=s(7), b=s(8))
"""It is there some cycles later."""

NEEDS_IT = add(10, 6)
FREE = add(11, 9)

AT_PRODUCT, AT_THREE = Place("x", s(6), 0, 1), Place("x", None, 3, 1)
LOAD = Step(Opcode.LOAD, dst=s(1), a=s(6), place=AT_PRODUCT)
STORE = Step(Opcode.STORE, a=s(6), c=s(1), place=AT_PRODUCT)
STORE_BEHIND = Step(Opcode.STORE, c=s(2), place=AT_THREE)
LOAD_BEHIND = Step(Opcode.LOAD, dst=s(2), place=AT_THREE)

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
    fetch = Step(Opcode.PREFETCH, place=AT_THREE)
    assert schedule([PRODUCT, STORE, fetch], WINDOW) == [PRODUCT, fetch, STORE]


def test_branches_come_last():
    branch = Step(Opcode.BRANCH_EQ, a=s(1), b=s(2), target=1)
    found = schedule([PRODUCT, NEEDS_IT, FREE, branch], WINDOW)
    assert found == [PRODUCT, FREE, NEEDS_IT, branch]


def test_none_overtakes_more_than_the_window():
    others = [add(number, 9) for number in (11, 12)]
    assert schedule([PRODUCT, NEEDS_IT, *others], 3) == [PRODUCT, *others, NEEDS_IT]
    assert schedule([PRODUCT, NEEDS_IT, *others], 2) == [PRODUCT, others[0], NEEDS_IT, others[1]]
