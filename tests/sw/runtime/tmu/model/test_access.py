"""The access unit's interpreter, on programs by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.tmu.access_isa import (
    UNBOUNDED,
    UNIT,
    AluOperation,
    Event,
    EventKind,
    Mode,
    StreamKind,
)
from gnarl.hw.tmu.access_program import (
    AccessProgram,
    EventStep,
    Layer,
    Operand,
    Stream,
    Unit,
    own,
    parent,
)
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.tmu.model import access
from gnarl.sw.runtime.tmu.model.access import StreamError, run
from tests.support.tmu.access_programs import (
    ALL_END,
    ELEMENT,
    INDUCTION,
    SEGMENT_END,
    VECTOR_END,
    Bags,
    embedding_bag,
    load,
)

LANES = 4


@pytest.fixture
def bags() -> Bags:
    return Bags.random(np.random.default_rng(1), segments=6, most=5, rows=9, dimension=6)


def rows_of(bags: Bags) -> list[np.ndarray]:
    starts = bags.offsets
    return [bags.table[bags.indices[a:b]] for a, b in zip(starts[:-1], starts[1:], strict=True)]


def test_level_0_gives_each_element_with_its_place(bags):
    memory, bases = bags.memory(1 << 10)
    output = run(embedding_bag(bags, bases, 0), memory, LANES)
    words = [
        [segment, place, value]
        for segment, rows in enumerate(rows_of(bags))
        for row in rows
        for place, value in enumerate(row)
    ]
    assert output.words == np.reshape(words, -1).tolist()
    assert output.tokens == [ELEMENT] * len(words) + [ALL_END]


def test_level_1_gives_vectors_with_masks(bags):
    memory, bases = bags.memory(1 << 10)
    output = run(embedding_bag(bags, bases, 1), memory, LANES)
    words: list[int] = []
    for segment, rows in enumerate(rows_of(bags)):
        for row in rows.tolist():
            words += [segment, 0, 0b1111, *row[:4]]
            words += [segment, 4, 0b0011, *row[4:], 0, 0]
    assert output.words == words
    assert output.tokens == [ELEMENT] * (len(words) // 7) + [ALL_END]


def test_level_3_gives_rows_alone(bags):
    memory, bases = bags.memory(1 << 10)
    output = run(embedding_bag(bags, bases, 3), memory, LANES)
    words, tokens = [], []
    for rows in rows_of(bags):
        words += np.pad(rows, ((0, 0), (0, 2))).reshape(-1).tolist()
        tokens += [VECTOR_END] * len(rows) + [SEGMENT_END]
    assert output.words == words
    assert output.tokens == [*tokens, ALL_END]


def one_loop(unit: Unit, *kinds: EventKind, stream: int = 1, toggle: int = 0) -> AccessProgram:
    """A loop that gives a stream in every iteration, and a token in each ``TOGGLE``."""
    events = {
        Event.TOGGLE: (EventStep(EventKind.TOKEN, token=7),),
        Event.ITERATION: tuple(EventStep(kind, stream=stream) for kind in kinds),
    }
    return AccessProgram((Layer(Mode.SINGLE, (unit,), 4, toggle, events),))


@pytest.mark.parametrize(
    "operation, expected",
    [
        (AluOperation.ADD, [5, 6, 7, 8]),
        (AluOperation.SUB, [-3 & 0xFFFF_FFFF, -2 & 0xFFFF_FFFF, 0xFFFF_FFFF, 0]),
        (AluOperation.MUL, [4, 8, 12, 16]),
        (AluOperation.DIV, [0, 0, 0, 1]),
        (AluOperation.MOD, [1, 2, 3, 0]),
        (AluOperation.SHIFT_LEFT, [16, 32, 48, 64]),
        (AluOperation.SHIFT_RIGHT, [0, 0, 0, 0]),
    ],
)
def test_integer_streams(operation, expected):
    stream = Stream(StreamKind.ALU, operation, own(0), immediate=4)
    unit = Unit(lower_immediate=1, upper_immediate=5, streams=(INDUCTION, stream))
    assert run(one_loop(unit, EventKind.WORD), np.zeros(1, np.uint32), 4).words == expected


def test_toggles():
    """A token in the first iteration, and where a coordinate differs from the last."""
    memory = np.array([3, 3, 0, 2, 2], np.uint32)
    unit = Unit(upper_immediate=5, streams=(INDUCTION, load(0, 5)))
    output = run(one_loop(unit, EventKind.WORD, toggle=1), memory, 4)
    assert output.words == [3, 3, 0, 2, 2]
    assert output.tokens == [7, 7, 7]


def test_loops_begin_and_end_once_for_each_iteration_around():
    def layer(count: int, begin: int, end: int) -> Layer:
        events = {
            Event.BEGIN: (EventStep(EventKind.TOKEN, token=begin),),
            Event.END: (EventStep(EventKind.TOKEN, token=end),),
        }
        unit = Unit(upper_immediate=count, streams=(INDUCTION,))
        return Layer(Mode.SINGLE, (unit,), 4, events=events)

    output = run(AccessProgram((layer(2, 1, 2), layer(3, 3, 4))), np.zeros(16, np.uint32), LANES)
    assert output.tokens == [1, 3, 4, 3, 4, 2]


@pytest.mark.parametrize("count, is_held", [(3, True), (4, False)])
def test_words_and_tokens_are_held_together(monkeypatch, count: int, is_held: bool):
    monkeypatch.setattr(access, "MOST_HELD", 5)
    steps = EventStep(EventKind.WORD), EventStep(EventKind.TOKEN, token=1)
    unit = Unit(upper_immediate=count, streams=(replace(INDUCTION, queued=True),))
    layer = Layer(Mode.SINGLE, (unit,), 4, events={Event.ITERATION: steps})
    program, memory = AccessProgram((layer,)), np.zeros(16, np.uint32)
    if is_held:
        assert run(program, memory, LANES).words == [*range(count)]
        return
    with pytest.raises(GnarlError, match="gives more than 5 words, tokens and requests"):
        run(program, memory, LANES)


def test_puts_are_in_the_order_of_the_steps():
    """A token is a put of 0 words; what stands behind it in an event happens, too."""
    steps = (
        EventStep(EventKind.WORD),
        EventStep(EventKind.TOKEN, token=1),
        EventStep(EventKind.VECTOR),
        EventStep(EventKind.TOKEN, token=2),
        EventStep(EventKind.MASK),
    )
    unit = Unit(upper_immediate=5, streams=(replace(INDUCTION, queued=True),))
    layer = Layer(Mode.LOCKSTEP, (unit,), 4, events={Event.ITERATION: steps})
    output = run(AccessProgram((layer,)), np.zeros(16, np.uint32), LANES)
    assert output.words == [0, 0, 1, 2, 3, 0b1111, 4, 4, 0, 0, 0, 0b0001]
    assert output.tokens == [1, 2, 1, 2]
    assert output.puts == [1, 0, LANES, 0, 1] * 2


def test_limits_count_steps_of_a_layer_and_puts_of_a_queue():
    """Seven iterations, then two words in each: with a cycle less the last is too many."""
    words = EventStep(EventKind.WORD), EventStep(EventKind.WORD)
    unit = Unit(upper_immediate=7, streams=(replace(INDUCTION, queued=True),))
    memory = np.zeros(16, np.uint32)
    for steps, needed in ((), 7), (words, 14):
        layer = Layer(Mode.SINGLE, (unit,), 4, events={Event.ITERATION: steps})
        program = AccessProgram((layer,))
        assert len(run(program, memory, LANES, needed).words) == len(steps) * 7
        with pytest.raises(CycleLimitError):
            run(program, memory, LANES, needed - 1)


def test_lanes_that_are_not_in_use_store_nothing_and_give_0():
    """An address gives 0, too, which the lanes have."""
    address = Stream(StreamKind.ADDRESS, a=own(0), base=8, length=3, queued=True, queue=8)
    unit = Unit(upper_immediate=3, streams=(replace(INDUCTION, queued=True), address))
    steps = EventStep(EventKind.STORE, stream=0, address=1), EventStep(EventKind.VECTOR, stream=1)
    layer = Layer(Mode.LOCKSTEP, (unit,), 4, events={Event.ITERATION: steps})
    memory = np.full(16, 99, np.uint32)
    assert run(AccessProgram((layer,)), memory, LANES).words == [8, 8, 8, 0]
    assert memory[7:12].tolist() == [99, 0, 1, 2, 99]


def test_an_address_without_a_length_has_any_index():
    """-1, too."""
    address = Stream(StreamKind.ADDRESS, a=own(0), scale=UNBOUNDED, length=UNBOUNDED, queued=True)
    unit = Unit(upper_immediate=3, streams=(INDUCTION, replace(address, base=5)))
    step = EventStep(EventKind.WORD, stream=1)
    layer = Layer(Mode.SINGLE, (unit,), 4, events={Event.ITERATION: (step,)})
    assert run(AccessProgram((layer,)), np.zeros(16, np.uint32), LANES).words == [5, 4, 3]


def test_bounds_are_signed():
    streams = (replace(INDUCTION, queued=True),)
    unit = Unit(lower_immediate=2**32 - 2, upper_immediate=1, streams=streams)
    layer = Layer(Mode.SINGLE, (unit,), 4, events={Event.ITERATION: (EventStep(EventKind.WORD),)})
    output = run(AccessProgram((layer,)), np.zeros(16, np.uint32), LANES)
    assert output.words == [2**32 - 2, 2**32 - 1, 0]


def test_lengths_become_bounds():
    memory = np.array([2, 0, 3], np.uint32)
    outer = Unit(upper_immediate=3, streams=(INDUCTION, load(0, 3)))
    inner = Unit(upper=parent(1), accumulates=True, streams=(INDUCTION,))
    steps = (EventStep(EventKind.WORD), EventStep(EventKind.WORD, layer=1))
    layers = (
        Layer(Mode.SINGLE, (outer,), 4),
        Layer(Mode.SINGLE, (inner,), 4, events={Event.ITERATION: steps}),
    )
    output = run(AccessProgram(layers), memory, 4)
    assert output.words == [0, 0, 0, 1, 2, 2, 2, 3, 2, 4]


def test_stores_past_the_queues():
    """Rows 2 and 0 of three words each, copied by vectors of two lanes."""
    memory = np.array([2, 0, *range(10, 19), *[99] * 8], np.uint32)
    outer = Unit(upper_immediate=2, streams=(INDUCTION, load(0, 2)))
    addresses = (
        Stream(StreamKind.ALU, AluOperation.MUL, parent(0), immediate=3),
        Stream(StreamKind.ALU, AluOperation.ADD, own(2), immediate=11),
        Stream(StreamKind.ALU, AluOperation.ADD, own(3), own(0), queued=True),
    )
    inner = Unit(
        upper_immediate=3,
        streams=(INDUCTION, load(2, 9, parent(1), b=own(0), scale=3), *addresses),
    )
    step = EventStep(EventKind.STORE, layer=1, stream=1, address=4)
    layers = (
        Layer(Mode.SINGLE, (outer,), 4),
        Layer(Mode.LOCKSTEP, (inner,), 4, events={Event.ITERATION: (step,)}),
    )
    assert run(AccessProgram(layers), memory, 2).words == []
    assert memory[11:].tolist() == [16, 17, 18, 10, 11, 12, 99, 99]


def merged(mode: Mode) -> list[int]:
    """Words of two fibers, 1 4 9 and 4 5 9 12, with values ten times as large."""
    memory = np.array([1, 4, 9, 10, 40, 90, 4, 5, 9, 12, 40, 50, 90, 120], np.uint32)
    units = tuple(
        Unit(
            upper_immediate=length,
            streams=(INDUCTION, load(base, length), load(base + length, length)),
        )
        for base, length in ((0, 3), (6, 4))
    )
    steps = (
        EventStep(EventKind.MASK),
        EventStep(EventKind.WORD, lane=0, stream=2),
        EventStep(EventKind.WORD, lane=1, stream=2),
    )
    layer = Layer(mode, units, 4, events={Event.ITERATION: steps})
    return run(AccessProgram((layer,)), memory, 4).words


def test_conjunctive_merge():
    assert merged(Mode.CONJUNCTIVE) == [3, 40, 40, 3, 90, 90]


def test_disjunctive_merge():
    assert merged(Mode.DISJUNCTIVE) == [
        *(1, 10, 0),
        *(3, 40, 40),
        *(2, 0, 50),
        *(3, 90, 90),
        *(2, 0, 120),
    ]


def test_index_beyond_an_array(bags):
    memory, bases = bags.memory(1 << 10)
    bags.indices[3] = 9
    memory[bases[1] + 3] = 9
    with pytest.raises(StreamError) as caught:
        run(embedding_bag(bags, bases, 3), memory, LANES)
    assert str(caught.value) == "layer 2, unit 0, stream 1: index 54: must be below 54"


@pytest.mark.parametrize("level", [0, 1, 3])
def test_rows_mean_the_program(bags, level):
    config = TmuConfig()
    program = embedding_bag(bags, [0, 16, 64], level)
    assert AccessProgram.decoded(program.rows(config), config) == program


def test_strides_of_zero_are_refused(bags):
    config = TmuConfig()
    rows = embedding_bag(bags, [0, 16, 64], 0).rows(config)
    stride = UNIT["stride"]
    rows["units"][0, 0] &= ~np.uint32((1 << stride.width) - 1 << stride.offset)
    with pytest.raises(ValueError, match="layer 0, unit 0: stride = 0: must be at least 1"):
        AccessProgram.decoded(rows, config)


def requests(program: AccessProgram, words: int = 256) -> list[tuple[int, int, int]]:
    return run(program, np.zeros(words, np.uint32), LANES).requests


def vectors(stream: Stream, slots: int, **fields: int) -> AccessProgram:
    unit = Unit(streams=(INDUCTION, stream), **fields)
    return AccessProgram((Layer(Mode.LOCKSTEP, (unit,), slots),))


def test_words_that_lie_together_are_one_request_a_line():
    """Whole lines of each row, whose first and last words share theirs with other rows."""
    bags = Bags(
        np.array([1, 0], np.uint32), np.array([0, 2], np.uint32), np.zeros((2, 24), np.uint32)
    )
    memory, bases = bags.memory(256)
    output = run(embedding_bag(bags, bases, 3), memory, LANES)
    assert bases == [0, 16, 32]
    # Both bounds of the segment; an index and its row, 24 words from 56 or 32 on.
    assert output.requests == [
        *((0, 1, 0), (0, 2, 0)),
        *((1, 1, 1), (2, 1, 3), (2, 1, 4)),
        *((2, 1, 2), (2, 1, 3)),
    ]


def test_what_the_queues_have_no_room_for_is_asked_for_again():
    """40 words from word 6 on: by 8, 2, 6, 8, 2, 6 and 8 words for queues of two vectors; by 10, 16
    and 14 words for larger ones."""
    stream = load(6, 40)
    for slots, expected in ((2, [0, 0, 1, 1, 1, 2, 2]), (16, [0, 1, 2])):
        found = requests(vectors(stream, slots, upper_immediate=40))
        assert found == [(0, 1, line) for line in expected]


def test_words_that_lie_apart_are_a_request_each():
    """Words lie apart by a stride of the unit, or of the stream; or all are the same word."""
    for stream, stride in (
        (load(0, 64), 2),
        (load(0, 64, scale=2), 1),
        (load(0, 64, own(0), b=own(0)), 1),
    ):
        program = vectors(stream, 16, upper_immediate=12 * stride, stride=stride)
        assert requests(program) == [(0, 1, 2 * place // 16) for place in range(12)]
    same = vectors(load(20, 64, immediate=0, a=Operand()), 16, upper_immediate=5)
    assert requests(same) == [(0, 1, 1)] * 5
