"""Loops whose iterations overlap: the same values in fewer cycles; and when results are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES, Opcode
from gnarl.hw.lib.execute.decoded import Path
from gnarl.hw.lib.execute.result_bus import written_after
from gnarl.sw.compiler.nests.execute.copies import copy
from gnarl.sw.compiler.nests.execute.latency import cycles
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Taken, WordRange
from gnarl.sw.compiler.nests.execute.overlap import MOST_STEPS, overlap_iterations
from gnarl.sw.compiler.nests.execute.result_bus import LEVELS, bus_cycles
from gnarl.sw.compiler.nests.execute.webs import split_webs

WINDOW = 64
COUNT = Register("s", 0)


def vector(number: int) -> Register:
    return Register("v", number)


def computed(opcode: Opcode, dst: int, *operands: Register | Taken | int) -> Step:
    return Step(opcode, True, vector(dst), *operands)


def loop_of(steps: Sequence[Step], iterations: int) -> list[Block]:
    """A loop of these steps; what it has written is stored behind it."""
    written = sorted({step.dst.number for step in steps if step.dst is not None})
    begin = [copy(vector(number), number) for number in written]
    behind = [
        Step(Opcode.STORE, True, c=vector(number), words=WordRange("end", None, number, 1))
        for number in written
    ]
    enter = [copy(COUNT, iterations), Step(Opcode.LOOP, a=COUNT, target=2)]
    return [
        Block([*begin, *enter], [1, 2]),
        Block(list(steps), [1, 2], closes=True),
        Block([*behind, Step(Opcode.HALT)]),
    ]


Terms = dict[object, int]
"""Numbers of terms, which share most of their parts."""


def stores(blocks: Sequence[Block], terms: Terms) -> dict[str, list[object]]:
    """What the blocks of ``loop_of`` store in each array one after the other, as terms of what they
    load and take."""
    found: dict[str, list[object]] = {}
    for array, *store in _stores(blocks, terms):
        found.setdefault(array, []).append(store)
    return found


def _stores(blocks: Sequence[Block], terms: Terms) -> Iterator[tuple[str, object, object]]:
    values: dict[Register, object] = {}
    taken = 0
    stored: dict[str, int] = {}
    counter = blocks[0].steps[-1].a
    count = next(step.a for step in blocks[0].steps if step.dst == counter)
    assert isinstance(count, int)
    for block in (blocks[0], *[blocks[1]] * count, blocks[2]):
        for step in block.steps:
            operands: list[object] = []
            for each in (step.a, step.b, step.c):
                if isinstance(each, Taken):
                    operands.append(("taken", taken))
                    taken += 1
                else:
                    operands.append(values.get(each, each) if isinstance(each, Register) else each)
            array = step.words.array if step.words is not None else ""
            if step.opcode == Opcode.STORE:
                stored[array] = stored.get(array, 0) + 1
                yield array, step.words, operands
            elif step.dst is not None:
                term = (step.opcode, *operands, step.words, array and stored.get(array, 0))
                values[step.dst] = ("term", terms.setdefault(term, len(terms)))


def random_steps(random: Random) -> list[Step]:
    """Steps of few registers, so that they depend on each other in all ways."""
    registers = random.randint(2, 8)

    def operand() -> Register | Taken | int:
        return random.choice([vector(random.randrange(registers))] * 4 + [Taken("v"), 0])

    steps = []
    for _ in range(random.randint(1, 14)):
        dst = random.randrange(registers)
        kind = random.randrange(6)
        if kind == 0:
            place = WordRange(random.choice("xy"), None, random.randrange(2), 1)
            value = vector(dst)
            is_load = random.random() < 0.5
            opcode = Opcode.LOAD if is_load else Opcode.STORE
            made = Step(opcode, True, value if is_load else None, words=place)
            steps.append(made if is_load else Step(opcode, True, c=value, words=place))
        elif kind == 1:
            steps.append(copy(vector(dst), operand()))
        elif kind == 2:
            operands = [vector(random.randrange(registers)) for _ in range(3)]
            steps.append(computed(Opcode.FMUL_ADD, dst, *operands))
        else:
            opcode = random.choice([Opcode.FADD, Opcode.FSUB, Opcode.FABS, Opcode.FMUL])
            first = operand()
            other = vector(random.randrange(registers)) if first == Taken("v") else operand()
            steps.append(computed(opcode, dst, first, other))
    return steps


@pytest.mark.parametrize("reader", ("before", "body", "behind"))
def test_a_number_of_iterations_that_others_read_stays(reader: str):
    place = WordRange("end", None, 9, 1)
    blocks = loop_of(
        [
            Step(Opcode.LOAD, True, vector(1), words=WordRange("begin", None, 0, 1)),
            computed(Opcode.FADD, 2, vector(1), vector(1)),
            Step(Opcode.STORE, True, c=vector(2), words=WordRange("sums", None, 0, 1)),
        ],
        9,
    )
    store = Step(Opcode.STORE, c=COUNT, words=place)
    assert overlap_iterations(
        [Block([*each.steps], each.following, closes=each.closes) for each in blocks], WINDOW
    ) == {1}
    match reader:
        case "before":
            blocks[0].steps.insert(-1, store)
        case "body":
            blocks[1].steps.append(store)
        case "behind":
            blocks[2].steps.insert(0, store)
    assert overlap_iterations(blocks, WINDOW) == set()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_same_values_in_the_same_order(seed: int, iterations: int):
    steps = random_steps(Random(seed))
    blocks = loop_of(steps, iterations)
    terms: Terms = {}
    before, alone = stores(blocks, terms), cycles(steps)
    overlaps = overlap_iterations(blocks, WINDOW)
    split_webs(blocks)
    assert stores(blocks, terms) == before
    assert not overlaps or cycles(blocks[1].steps) <= alone


SCORE = [
    copy(vector(1), Taken("v")),
    computed(Opcode.FADD, 2, vector(1), Taken("v")),
    computed(Opcode.FSUB, 3, vector(2), Taken("v")),
    computed(Opcode.FABS, 4, vector(3)),
    computed(Opcode.FADD, 5, vector(5), vector(4)),
]


def test_an_iteration_begins_before_the_one_before_has_ended():
    """Alone, an iteration takes the latencies of its chain."""
    blocks = loop_of(SCORE, 10)
    assert overlap_iterations(blocks, WINDOW) == {1}
    assert (cycles(SCORE), cycles(blocks[1].steps)) == (14, 7)
    assert len(blocks[1].steps) == len(SCORE)


@pytest.mark.parametrize(
    "steps, iterations",
    [(SCORE, 1), ((SCORE * MOST_STEPS)[: MOST_STEPS + 1], 10)],
    ids=("one iteration", "a long body"),
)
def test_loops_that_are_left_alone(steps: list[Step], iterations: int):
    blocks = loop_of(steps, iterations)
    assert overlap_iterations(blocks, WINDOW) == set()
    assert blocks == loop_of(steps, iterations)


def test_loops_whose_iterations_are_not_known():
    blocks = loop_of(SCORE, 10)
    blocks[0].steps[-2].a = Register("s", 1)
    assert overlap_iterations(blocks, WINDOW) == set()


@pytest.mark.parametrize(
    "opcode, path",
    [
        (Opcode.ADD, Path.INTEGER),
        (Opcode.FABS, Path.INTEGER),
        (Opcode.SELECT, Path.INTEGER),
        (Opcode.EXTRACT, Path.INTEGER),
        (Opcode.FADD, Path.ADD),
        (Opcode.FSUB, Path.ADD),
        (Opcode.FMUL, Path.MULTIPLY),
        (Opcode.TO_FLOAT, Path.CONVERT),
        (Opcode.MUL, Path.PRODUCT),
        (Opcode.FMUL_ADD, Path.MULTIPLY_ADD),
        (Opcode.REDUCE_ADD, Path.TREE),
    ],
)
def test_results_are_written_when_the_hardware_writes_them(opcode: Opcode, path: Path):
    assert bus_cycles(computed(opcode, 0))[-1] == written_after(path, 2**LEVELS, FLOAT_STAGES)


@pytest.mark.parametrize("opcode", (Opcode.STORE, Opcode.LOAD, Opcode.FDIV, Opcode.FSQRT))
def test_results_that_others_may_go_before(opcode: Opcode):
    assert bus_cycles(computed(opcode, 0)) == ()
