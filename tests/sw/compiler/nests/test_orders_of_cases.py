"""Steps of cases: what is taken behind branches, late, or put into registers once."""

from __future__ import annotations

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.copies import copy
from gnarl.sw.compiler.nests.execute.keep_constants import keep_constants
from gnarl.sw.compiler.nests.execute.late_takes import late_takes
from gnarl.sw.compiler.nests.execute.latency import cycles
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Taken, WordRange
from gnarl.sw.compiler.nests.execute.order import best_order
from gnarl.sw.compiler.nests.execute.sink_takes import sink_takes

WORD = Taken("s")
WINDOW = 64


def s(number: int) -> Register:
    return Register("s", number)


def take(number: int) -> Step:
    return copy(s(number), WORD)


def number(register: int, value: int) -> Step:
    return copy(s(register), value)


def store(value: int, address: int) -> Step:
    return Step(Opcode.STORE, a=s(address), c=s(value), words=WordRange("out", s(address), 0, 1))


def jump() -> Step:
    return Step(Opcode.JUMP_TOKEN)


def branch(*registers: int, target: int = 2) -> Step:
    a, b = map(s, registers)
    return Step(Opcode.BRANCH_NE, a=a, b=b, target=target)


def ways(before: list[Step], *, others: list[Block] | None = None) -> list[Block]:
    """A branch with two ways, each of which adds up registers 2 and 3."""
    arms = [Block([Step(Opcode.ADD, dst=s(4), a=s(2), b=s(3)), jump()]) for _ in range(2)]
    return [Block([*before, branch(0, 1)], [1, 2]), *arms, *(others or [])]


# What both ways take.


def test_either_way_takes_what_the_branch_does_not_need():
    half = Step(Opcode.SHIFT_RIGHT, dst=s(3), a=s(5), b=1)
    blocks = ways([take(0), take(2), number(6, 7), take(5), half])
    sink_takes(blocks)
    assert blocks[0].steps == [take(0), number(6, 7), branch(0, 1)]
    for way in blocks[1:]:
        assert way.steps[:3] == [take(2), take(5), half]
    assert blocks[1].steps[0] is not blocks[2].steps[0]


def test_words_stay_in_their_order():
    blocks = ways([take(2), take(0)])
    sink_takes(blocks)
    assert blocks[0].steps == [take(2), take(0), branch(0, 1)]


def test_what_is_stored_or_overwritten_before_the_branch_is_taken_before_it():
    for behind in (store(2, 6), number(2, 7)):
        blocks = ways([take(2), behind])
        sink_takes(blocks)
        assert blocks[0].steps == [take(2), behind, branch(0, 1)]


def test_ways_that_are_reached_from_elsewhere_take_nothing():
    blocks = ways([take(2)], others=[Block([jump()], [2])])
    sink_takes(blocks)
    assert blocks[0].steps == [take(2), branch(0, 1)]


# Numbers that stay in registers.


def test_numbers_of_cases_are_put_into_registers_once():
    first = Step(Opcode.FIRST_LANES, dst=Register("m", 1), a=1)
    second = Step(Opcode.FIRST_LANES, dst=Register("m", 2), a=1)
    masked = Step(Opcode.STORE, True, a=s(9), c=Register("v", 3), mask=Register("m", 2))
    blocks = [
        Block([first, jump()], [1, 2]),
        Block([number(1, 5), branch(0, 1), second, masked, jump()], [1, 2]),
        Block([number(2, 5), branch(0, 2), jump()], [1, 2]),
    ]
    assert keep_constants(blocks)
    assert blocks[0].steps == [first, number(1, 5), jump()]
    assert blocks[1].steps[0] == branch(0, 1)
    assert masked.mask == Register("m", 1)
    assert blocks[2].steps == [branch(0, 1), jump()]


def test_registers_that_change_and_counts_of_loops_stay():
    loop = Step(Opcode.LOOP, a=s(1), target=3)
    blocks = [
        Block([jump()], [1]),
        Block([number(1, 5), number(2, 0), Step(Opcode.ADD, dst=s(2), a=s(2), b=1), loop, jump()]),
    ]
    assert not keep_constants(blocks)
    assert blocks[1].steps[:2] == [number(1, 5), number(2, 0)]


def test_programs_without_tokens_keep_nothing():
    blocks = [Block([Step(Opcode.HALT)]), Block([number(1, 5), branch(0, 1)])]
    assert not keep_constants(blocks)


# Late takes.


def test_a_place_is_taken_when_the_one_before_it_has_been_used():
    """The place of the last store is needed no longer, so that the next one takes its register."""
    either = Step(Opcode.OR, dst=s(3), a=s(1), b=s(2))
    steps = [take(1), take(2), either, store(8, 0), copy(s(0), s(3)), jump()]
    assert late_takes(steps, {s(0)}) == [
        store(8, 0),
        take(1),
        take(2),
        Step(Opcode.OR, dst=s(0), a=s(1), b=s(2)),
        jump(),
    ]


def test_late_words_stay_in_their_order():
    steps = [take(1), take(2), store(2, 0), store(1, 0)]
    assert late_takes(steps, set()) == steps


def test_orders_allow_for_what_the_block_has_begun_when_it_comes_again():
    """A product is stored an iteration later; so late that it need not wait for it."""
    product, place = Register("v", 1), WordRange("out", s(0), 0, 1)
    keep = Step(Opcode.STORE, True, a=s(0), c=product, mask=Register("m", 2), words=place)
    counts = [Step(Opcode.ADD, dst=s(each), a=s(each), b=1) for each in (0, 6, 7)]
    steps = [keep, take(2), Step(Opcode.FMUL, True, product, a=s(2), b=s(5)), *counts, jump()]
    found = best_order(Block(steps, [0]), {product, s(0), s(6), s(7)}, WINDOW)
    assert cycles(found) == len(steps) - 1 < cycles(steps)
