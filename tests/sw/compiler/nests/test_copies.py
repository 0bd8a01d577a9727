"""Copies from register to register go, and no value that is needed changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.copies import compute_in_place, copy, fill_gaps, remove_copies
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Taken

KEPT, MADE, OTHER, FURTHER = (Register("s", number) for number in range(4))
VECTOR, OTHER_VECTOR = Register("v", 4), Register("v", 5)


def add(dst: Register, a: Register, b: Register | int = 1) -> Step:
    return Step(Opcode.ADD, dst=dst, a=a, b=b)


def before(steps: Sequence[Step], live: set[Register]) -> list[Block]:
    """The steps, and a block behind them that stores what is ``live``."""
    stores = [Step(Opcode.STORE, c=each) for each in sorted(live, key=lambda each: each.number)]
    return [Block(list(steps), [1]), Block([*stores, Step(Opcode.HALT)])]


def test_copies_into_vectors_are_of_all_lanes():
    assert copy(VECTOR, 3) == Step(Opcode.ADD, True, VECTOR, a=3)
    assert copy(KEPT, 3) == Step(Opcode.ADD, False, KEPT, a=3)


# What is computed for a copy alone.


def test_a_value_is_computed_where_it_is_copied():
    block = Block([add(MADE, OTHER), add(FURTHER, MADE), copy(KEPT, MADE)])
    compute_in_place(block, {KEPT, FURTHER})
    assert block.steps == [add(KEPT, OTHER), add(FURTHER, KEPT)]
    block = Block([add(MADE, KEPT), copy(KEPT, MADE)])
    compute_in_place(block, {KEPT})
    assert block.steps == [add(KEPT, KEPT)]


@pytest.mark.parametrize(
    "steps, live",
    [
        ([add(MADE, OTHER), copy(KEPT, MADE)], {KEPT, MADE}),
        ([add(MADE, OTHER), add(FURTHER, KEPT), copy(KEPT, MADE)], {KEPT, FURTHER}),
        ([add(MADE, OTHER), add(KEPT, OTHER, 2), copy(KEPT, MADE)], {KEPT}),
        ([add(MADE, OTHER), copy(KEPT, MADE), add(KEPT, KEPT), add(OTHER, MADE)], {KEPT, OTHER}),
        ([add(FURTHER, MADE), add(MADE, OTHER), copy(KEPT, MADE)], {KEPT, FURTHER}),
        ([add(MADE, OTHER), copy(KEPT, MADE), add(MADE, KEPT), add(OTHER, MADE)], {KEPT, OTHER}),
        ([add(MADE, OTHER), copy(VECTOR, MADE)], {VECTOR}),
    ],
    ids=[
        "needed behind the block",
        "the copy's register is read",
        "the copy's register is written",
        "needed behind the copy",
        "another value before",
        "another value behind",
        "in every lane",
    ],
)
def test_values_that_are_not_computed_where_they_are_copied(steps: list[Step], live: set[Register]):
    block = Block([*steps])
    compute_in_place(block, live)
    assert block.steps == steps


# What is read of a copy, and what nobody reads.


@pytest.mark.parametrize(
    "steps, live, wanted",
    [
        (
            [copy(MADE, OTHER), add(FURTHER, MADE), add(KEPT, MADE)],
            {FURTHER, KEPT},
            [add(FURTHER, OTHER), add(KEPT, OTHER)],
        ),
        (
            [copy(MADE, OTHER), add(OTHER, KEPT), add(FURTHER, MADE)],
            {OTHER, FURTHER},
            [copy(MADE, OTHER), add(OTHER, KEPT), add(FURTHER, MADE)],
        ),
        (
            [copy(VECTOR, OTHER), Step(Opcode.FABS, True, OTHER_VECTOR, VECTOR)],
            {OTHER_VECTOR},
            [copy(VECTOR, OTHER), Step(Opcode.FABS, True, OTHER_VECTOR, VECTOR)],
        ),
        ([add(KEPT, OTHER), add(KEPT, FURTHER)], {KEPT}, [add(KEPT, FURTHER)]),
        ([copy(MADE, Taken("s")), copy(KEPT, KEPT)], {KEPT}, [copy(MADE, Taken("s"))]),
    ],
    ids=["a copy", "of what changes", "in every lane", "overwritten", "taken from the queue"],
)
def test_copies_are_not_read(steps: list[Step], live: set[Register], wanted: list[Step]):
    blocks = before(steps, live)
    remove_copies(blocks)
    assert blocks[0].steps == wanted


# Registers without a value.


def test_a_register_without_a_value_takes_the_one_between():
    blocks = before([add(MADE, KEPT), add(OTHER, MADE, 2), add(KEPT, MADE, 3)], {KEPT, OTHER})
    fill_gaps(blocks)
    assert blocks[0].steps == [add(KEPT, KEPT), add(OTHER, KEPT, 2), add(KEPT, KEPT, 3)]


@pytest.mark.parametrize(
    "steps, live",
    [
        ([add(MADE, KEPT), add(KEPT, MADE)], {KEPT, MADE}),
        ([add(MADE, KEPT), add(KEPT, MADE), add(OTHER, MADE)], {KEPT, OTHER}),
        ([add(MADE, KEPT), add(KEPT, KEPT, MADE)], {KEPT}),
        ([add(MADE, KEPT), add(OTHER, MADE)], {KEPT, OTHER}),
        ([add(OTHER, MADE), add(MADE, KEPT), add(KEPT, MADE)], {KEPT, OTHER}),
    ],
    ids=[
        "needed behind the block",
        "needed behind the next value",
        "the value is needed for the next one",
        "no other value",
        "another value before",
    ],
)
def test_registers_that_have_a_value(steps: list[Step], live: set[Register]):
    blocks = before(steps, live)
    fill_gaps(blocks)
    assert blocks[0].steps == steps


# All of it.


def stored(blocks: Sequence[Block]) -> list[object]:
    """What the blocks store, one after the other, as terms of what registers hold at first."""
    values: dict[Register, object] = {}
    found = []
    for step in (step for block in blocks for step in block.steps):
        a, b, c = (
            values.get(each, each) if isinstance(each, Register) else each
            for each in (step.a, step.b, step.c)
        )
        if step.opcode == Opcode.STORE:
            found.append(c)
        elif step.dst is not None:
            values[step.dst] = a if b == 0 else (a, b)
    return found


def random_blocks(random: Random) -> list[Block]:
    registers = [Register("s", number) for number in range(random.randint(3, 5))]
    steps = []
    for number in range(random.randint(1, 10)):
        dst, a = random.choices(registers, k=2)
        operands: list[Register | int] = [*registers, number + 1]
        is_copy = random.random() < 0.4
        steps.append(copy(dst, a) if is_copy else add(dst, a, random.choice(operands)))
    live = {each for each in registers if random.random() < 0.5}
    return before(steps, live)


def in_place(blocks: Sequence[Block]) -> None:
    block, behind = blocks
    compute_in_place(block, {step.c for step in behind.steps if isinstance(step.c, Register)})


@pytest.mark.parametrize("change", [remove_copies, fill_gaps, in_place])
@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_random_blocks_store_the_same(change: Callable[[Sequence[Block]], None], seed: int):
    blocks = random_blocks(Random(seed))
    wanted = stored(blocks)
    change(blocks)
    assert stored(blocks) == wanted
