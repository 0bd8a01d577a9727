"""The access unit against the interpreter of its programs, and what it takes in cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.tmu.access_isa import UNBOUNDED, AluOperation, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import (
    IMMEDIATE,
    AccessProgram,
    EventStep,
    Layer,
    Stream,
    Unit,
    own,
    parent,
)
from gnarl.sw.runtime.tmu.model import access
from gnarl.sw.runtime.tmu.model.access import BoundsError, StreamError
from tests.support.tmu.access_machine import CONFIG, Memory, Result, run
from tests.support.tmu.access_merges import LAST, STEP, merge
from tests.support.tmu.access_programs import (
    ALL_END,
    INDUCTION,
    SEGMENT_END,
    Bags,
    embedding_bag,
    load,
)


def bags_of(segments: int, most: int, dimension: int, seed: int = 1) -> Bags:
    return Bags.random(np.random.default_rng(seed), segments, most, rows=9, dimension=dimension)


def check(program: AccessProgram, memory: Memory, **options: object) -> Result:
    """RTL and interpreter give the same, leave the same in memory, and ask for the same lines."""
    asked = len(memory.lines)
    after = memory.words.copy()
    expected = access.run(program, after, CONFIG.lanes)
    result = run(program, memory, **options)  # type: ignore[arg-type]
    assert result.fault is result.disorder is None
    assert not result.is_stuck
    assert result.output == expected
    assert np.array_equal(memory.words, after)
    assert sorted(memory.lines[asked:]) == sorted(line for _, _, line in expected.requests)
    return result


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("dimension", [1, 6, 17])
def test_embedding_bag(level, dimension):
    bags = bags_of(4, 3, dimension)
    words, bases = bags.memory(CONFIG.memory_words, skew=dimension % 3)
    check(embedding_bag(bags, bases, level, slots=8), Memory(words))


@settings(max_examples=5, deadline=None)
@given(
    level=st.sampled_from([0, 1, 3]),
    segments=st.integers(0, 3),
    most=st.integers(0, 3),
    dimension=st.integers(1, 20),
    skew=st.integers(0, 15),
    slots=st.sampled_from([1, 2, 5, 16]),
    latency=st.integers(1, 30),
    pace=st.sampled_from([0.3, 1.0]),
    seed=st.integers(0, 99),
)
def test_any_pace_of_memory_and_queues(
    level, segments, most, dimension, skew, slots, latency, pace, seed
):
    """Lines out of order, pauses on every side, the smallest queues."""
    bags = bags_of(segments, most, dimension, seed)
    words, bases = bags.memory(CONFIG.memory_words, skew)
    memory = Memory(words, latency, reorders=1 - pace, pauses=1 - pace)
    program = embedding_bag(bags, bases, level, slots)
    check(program, memory, seed=seed, takes=pace, room=2 * CONFIG.lanes if pace < 1 else 64)


@pytest.mark.parametrize("skew", [3, 12, 14])
def test_slots_of_whole_vectors_had_parts_of_others(skew):
    """Rows of a vector and a half, in three slots: what lanes have from a slot's use before the
    last is not what a vector waits for that comes in two lines."""
    bags = bags_of(2, 3, 6, seed=0)
    words, bases = bags.memory(CONFIG.memory_words, skew)
    check(embedding_bag(bags, bases, 3, slots=3), Memory(words, latency=8, reorders=0.8))


def outside(step: EventStep) -> AccessProgram:
    """Two vectors, the second of one lane, and fibers as long as their last lane says."""
    vectors = Unit(upper_immediate=5, streams=(queued_induction(0), load(0, 5, queue=4)))
    inner = Unit(upper=parent(1, 3), streams=(queued_induction(8),))
    layers = (Layer(Mode.LOCKSTEP, (vectors,), 4), one_loop(inner, step))
    return AccessProgram(layers)


def test_lanes_beyond_the_end_give_0():
    """To events and to bounds."""
    words = np.arange(CONFIG.memory_words, dtype=np.uint32)
    result = check(outside(EventStep(EventKind.WORD, 1)), Memory(words))
    assert result.output.words == [0, 1, 2]
    vectors = outside(EventStep(EventKind.WORD, 1)).layers[0]
    words_of_lanes = tuple(EventStep(EventKind.WORD, lane=lane, stream=1) for lane in (0, 3))
    layer = replace(vectors, events={Event.ITERATION: words_of_lanes})
    assert check(AccessProgram((layer,)), Memory(words)).output.words == [0, 3, 4, 0]


def test_the_outermost_loop_begins():
    begins = {Event.BEGIN: (EventStep(EventKind.TOKEN, token=5),)}
    layer = Layer(Mode.SINGLE, (Unit(upper_immediate=2, streams=(INDUCTION,)),), 2, events=begins)
    words = np.zeros(CONFIG.memory_words, np.uint32)
    assert check(AccessProgram((layer,)), Memory(words)).output.tokens == [5]


def test_no_segments_give_the_last_token_alone():
    words = np.zeros(CONFIG.memory_words, np.uint32)
    bags = Bags(np.zeros(0, np.uint32), np.zeros(1, np.uint32), np.zeros((1, 4), np.uint32))
    assert check(embedding_bag(bags, [0, 16, 32], 3), Memory(words)).output.tokens == [ALL_END]


def test_empty_segments_have_an_end():
    words = np.zeros(CONFIG.memory_words, np.uint32)
    bags = Bags(np.zeros(0, np.uint32), np.zeros(4, np.uint32), np.zeros((1, 4), np.uint32))
    result = check(embedding_bag(bags, [0, 16, 32], 3), Memory(words))
    assert result.output.tokens == [SEGMENT_END] * 3 + [ALL_END]


def test_neighbours_are_one_request():
    """Two rows of 16 words on a line each, and three lines of offsets and indices."""
    table = np.arange(32, dtype=np.uint32).reshape(2, 16)
    bags = Bags(np.array([1, 0], np.uint32), np.array([0, 2], np.uint32), table)
    words, bases = bags.memory(CONFIG.memory_words)
    memory = Memory(words)
    check(embedding_bag(bags, bases, 3), memory)
    # Both bounds of a segment are streams of their own, on the same line.
    assert sorted(memory.lines) == [0, 0, 1, 2, 3]


def one_loop(unit: Unit, *steps: EventStep, mode: Mode = Mode.SINGLE, **fields: int) -> Layer:
    return Layer(mode, (unit,), 4, events={Event.ITERATION: steps}, **fields)


@pytest.mark.parametrize("operation", AluOperation)
def test_integer_streams(operation):
    """Streams of an induction variable that begins below zero, and of each other, in all lanes."""
    streams = (
        INDUCTION,
        Stream(StreamKind.ALU, operation, own(0), immediate=3, queued=True, queue=0),
        Stream(StreamKind.ALU, operation, own(1), own(0), queued=True, queue=4),
        Stream(StreamKind.FORWARD, a=own(2), queued=True, queue=8),
    )
    unit = Unit(lower_immediate=-7 & 0xFFFF_FFFF, upper_immediate=12, stride=2, streams=streams)
    steps = [EventStep(EventKind.VECTOR, stream=number) for number in (1, 2, 3)]
    words = np.zeros(CONFIG.memory_words, np.uint32)
    check(AccessProgram((one_loop(unit, *steps, mode=Mode.LOCKSTEP),)), Memory(words))


def test_words_that_do_not_lie_together():
    """Every third word of a table, in lockstep; then those that a row names, one by one."""
    words = np.arange(CONFIG.memory_words, dtype=np.uint32) * 7
    words[:6] = [9, 2, 40, 2, 0, 11]
    strided = Unit(upper_immediate=7, streams=(INDUCTION, load(5, 100, scale=3)))
    every = one_loop(strided, EventStep(EventKind.VECTOR, stream=1), mode=Mode.LOCKSTEP)
    check(AccessProgram((every,)), Memory(words, reorders=0.5))

    named = Unit(upper_immediate=6, streams=(INDUCTION, load(0, 6)))
    once = Unit(upper_immediate=1, streams=(INDUCTION, load(16, 41, parent(1), queue=4)))
    steps = (EventStep(EventKind.WORD, layer=1, stream=1),)
    program = AccessProgram((Layer(Mode.SINGLE, (named,), 4), one_loop(once, *steps)))
    result = check(program, Memory(words, reorders=0.5))
    assert result.output.words == [7 * (16 + place) for place in (9, 2, 40, 2, 0, 11)]


@pytest.mark.parametrize("scale", [1, 2])
def test_lanes_behind_the_end_of_a_fiber(scale):
    """A fiber of one word, then one of four in the same slot, whose lanes come from two lines and
    more; a lane that is not in use gives 0 as a word, too."""
    words = np.arange(CONFIG.memory_words, dtype=np.uint32) * 5
    words[:3] = [0, 1, 5]
    bounds = (load(0, 3), load(0, 3, immediate=1, queue=4))
    outer = Unit(upper_immediate=2, streams=(INDUCTION, *bounds))
    streams = (
        queued_induction(8),
        load(78, 10, queue=12, scale=scale),
        Stream(StreamKind.ALU, AluOperation.MUL, own(0), immediate=3, queued=True, queue=16),
    )
    steps = [EventStep(EventKind.VECTOR, layer=1, stream=number) for number in (1, 2)]
    steps += [EventStep(EventKind.WORD, layer=1, lane=2, stream=number) for number in range(3)]
    inner = Layer(
        Mode.LOCKSTEP,
        (Unit(parent(1), parent(2), streams=streams),),
        1,
        events={Event.ITERATION: tuple(steps)},
    )
    result = check(AccessProgram((Layer(Mode.SINGLE, (outer,), 4), inner)), Memory(words))
    expected = [[390, 0, 0, 0], [0] * 4, [0] * 3]
    expected += [[5 * (78 + scale * place) for place in range(1, 5)], [3, 6, 9, 12]]
    expected += [[3, 5 * (78 + 3 * scale), 9]]
    assert result.output.words == [word for part in expected for word in part]


def test_lengths_become_bounds():
    words = np.zeros(CONFIG.memory_words, np.uint32)
    words[:4] = [2, 0, 3, 1]
    again = Unit(upper_immediate=2, streams=(INDUCTION,))
    outer = Unit(upper_immediate=4, streams=(INDUCTION, load(0, 4)))
    inner = Unit(upper=parent(1), accumulates=True, streams=(queued_induction(8),))
    step = EventStep(EventKind.WORD, layer=2)
    layers = (
        Layer(Mode.SINGLE, (again,), 4),
        Layer(Mode.SINGLE, (outer,), 4),
        one_loop(inner, step),
    )
    result = check(AccessProgram(layers), Memory(words))
    assert result.output.words == [0, 1, 2, 3, 4, 5] * 2


def test_toggles_and_begins():
    """A token where a coordinate differs from the one before, in each run of the loop anew."""
    words = np.zeros(CONFIG.memory_words, np.uint32)
    words[:6] = [3, 3, 0, 2, 2, 3]
    outer = Unit(upper_immediate=2, streams=(INDUCTION,))
    inner = Unit(upper_immediate=6, streams=(INDUCTION, load(0, 6, queue=4)))
    events = {
        Event.BEGIN: (EventStep(EventKind.TOKEN, token=1),),
        Event.TOGGLE: (
            EventStep(EventKind.WORD, layer=1, stream=1),
            EventStep(EventKind.TOKEN, token=2),
        ),
        Event.ITERATION: (EventStep(EventKind.TOKEN, token=3),),
        Event.END: (EventStep(EventKind.TOKEN, token=4),),
    }
    layers = (Layer(Mode.SINGLE, (outer,), 4), Layer(Mode.SINGLE, (inner,), 4, 1, events))
    result = check(AccessProgram(layers), Memory(words))
    assert result.output.words == [3, 0, 2, 3] * 2
    assert result.output.tokens == [1, 2, 3, 3, 2, 3, 2, 3, 3, 2, 3, 4] * 2


@pytest.mark.parametrize("pauses", [0.0, 0.6])
def test_stores_past_the_queues(pauses):
    """Rows that are named, of six words each, one behind the other to where nobody reads."""
    words = np.arange(CONFIG.memory_words, dtype=np.uint32) * 3
    words[:5] = [3, 0, 7, 7, 1]
    outer = Unit(upper_immediate=5, streams=(queued_induction(0), load(0, 5, queue=4)))
    target = (
        Stream(StreamKind.ALU, AluOperation.MUL, parent(0), immediate=6),
        Stream(StreamKind.ALU, AluOperation.ADD, own(2), immediate=1000),
        Stream(StreamKind.ALU, AluOperation.ADD, own(3), own(0), queued=True, queue=8),
    )
    row = load(64, 48, parent(1), b=own(0), scale=6, queue=16)
    inner = Unit(upper_immediate=6, streams=(INDUCTION, row, *target))
    step = EventStep(EventKind.STORE, layer=1, stream=1, address=4)
    layers = (Layer(Mode.SINGLE, (outer,), 4), one_loop(inner, step, mode=Mode.LOCKSTEP))
    check(AccessProgram(layers), Memory(words, pauses=pauses))
    table = (np.arange(64, 112, dtype=np.uint32) * 3).reshape(8, 6)
    assert words[1000:1030].tolist() == table[[3, 0, 7, 7, 1]].reshape(-1).tolist()
    assert words[1030] == 3 * 1030


def test_behind_the_last_iteration_none_is_waited_for():
    """While a store has not been taken yet."""
    words = np.zeros(CONFIG.memory_words, np.uint32)
    address = Stream(StreamKind.ADDRESS, base=1000, length=1, queued=True, queue=4)
    unit = Unit(upper_immediate=1, streams=(queued_induction(0), address))
    loop = one_loop(unit, EventStep(EventKind.STORE, stream=0, address=1), mode=Mode.LOCKSTEP)
    at_once, late = (
        check(AccessProgram((loop,)), Memory(words.copy(), pauses=pauses)) for pauses in (0, 0.9)
    )
    assert late.cycles > at_once.cycles
    assert late.waits["waits_iteration"] == at_once.waits["waits_iteration"]


def target(length: int, **fields: int) -> Stream:
    """Addresses of rows of six words from word 1000 on, for the layer inside."""
    return Stream(
        StreamKind.ADDRESS, a=parent(0), b=own(0), base=1000, length=length, queued=True, **fields
    )


@pytest.mark.parametrize("length", [12, 11, 7, 6])
def test_stores_keep_inside_of_their_array(length):
    """Two rows of a vector and a half, of which an array has all words, or not those of the last
    lane, of the last vector, or of the last row."""
    words = np.arange(CONFIG.memory_words, dtype=np.uint32) * 3
    before = words.copy()
    outer = Unit(upper_immediate=2, streams=(queued_induction(0),))
    streams = (INDUCTION, load(16, 6, queue=16), target(length, scale=6, queue=8))
    inner = Unit(upper_immediate=6, streams=streams)
    step = EventStep(EventKind.STORE, layer=1, stream=1, address=2)
    layers = (Layer(Mode.SINGLE, (outer,), 4), one_loop(inner, step, mode=Mode.LOCKSTEP))
    program = AccessProgram(layers)
    if length == 12:
        check(program, Memory(words))
        assert words[1000:1012].tolist() == 2 * before[16:22].tolist()
        return
    with pytest.raises(StreamError) as caught:
        access.run(program, words.copy(), CONFIG.lanes)
    assert (caught.value.place[0], caught.value.place[2]) == (1, 2)
    assert run(program, Memory(words)).fault == (1, 2)
    outside = np.r_[:1000, 1000 + length : len(words)]
    assert np.array_equal(words[outside], before[outside])


def test_addresses_without_a_bound():
    """The greatest index there is."""
    address = Stream(
        StreamKind.ADDRESS, a=own(0), immediate=-2, base=5, length=UNBOUNDED, queued=True
    )
    unit = Unit(upper_immediate=3, streams=(INDUCTION, address))
    loop = one_loop(unit, EventStep(EventKind.WORD, stream=1))
    words = np.zeros(CONFIG.memory_words, np.uint32)
    assert check(AccessProgram((loop,)), Memory(words)).output.words == [3, 4, 5]


def test_addresses_are_the_same_in_all_lanes():
    unit = Unit(
        upper_immediate=6,
        streams=(INDUCTION, replace(load(50, 9, scale=1), kind=StreamKind.ADDRESS)),
    )
    vectors = one_loop(unit, EventStep(EventKind.VECTOR, stream=1), mode=Mode.LOCKSTEP)
    words = np.zeros(CONFIG.memory_words, np.uint32)
    result = check(AccessProgram((vectors,)), Memory(words))
    assert result.output.words == [50] * 4 + [54] * 2 + [0] * 2


def queued_induction(row: int) -> Stream:
    return Stream(StreamKind.INDUCTION, queued=True, queue=row)


def test_an_index_beyond_its_array_is_a_fault():
    bags = bags_of(4, 3, 6)
    bags.indices[2] = 9
    words, bases = bags.memory(CONFIG.memory_words)
    program = embedding_bag(bags, bases, 3, slots=8)
    with pytest.raises(StreamError) as caught:
        access.run(program, words.copy(), CONFIG.lanes)
    layer, _, stream = caught.value.place
    result = run(program, Memory(words))
    assert result.fault == (layer, stream) == (2, 1)
    bags.indices[2] = 0
    right = access.run(program, bags.memory(CONFIG.memory_words)[0], CONFIG.lanes)
    assert result.output.words == right.words[: len(result.output.words)]


@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("accumulates", [False, True])
def test_bounds_that_decrease(is_ordered, accumulates):
    """Fibers of 2 and -3, or from 0 to 2 and from 7 to 4: an error, or the last one is empty."""
    words = np.zeros(CONFIG.memory_words, np.uint32)
    words[:4] = [0, 2, 7, 4]
    words[4:6] = [2, 2**32 - 3]
    pairs = (load(0, 4, scale=2), load(0, 4, scale=2, immediate=1, queue=4))
    streams = (load(4, 2), load(4, 2, queue=4)) if accumulates else pairs
    outer = Unit(upper_immediate=2, streams=(INDUCTION, *streams))
    lower = IMMEDIATE if accumulates else parent(1)
    inner = Unit(
        lower,
        parent(2),
        accumulates=accumulates,
        ordered=is_ordered,
        streams=(queued_induction(8),),
    )
    step = EventStep(EventKind.WORD, layer=1)
    program = AccessProgram((Layer(Mode.SINGLE, (outer,), 4), one_loop(inner, step)))
    if not is_ordered:
        assert check(program, Memory(words)).output.words == [0, 1]
        return
    with pytest.raises(BoundsError) as caught:
        access.run(program, words.copy(), CONFIG.lanes)
    bounds = "0 to -3" if accumulates else "7 to 4"
    assert str(caught.value) == f"layer 1, unit 0: from {bounds}: must not decrease"
    result = run(program, Memory(words))
    assert (result.fault, result.disorder) == (None, 1)
    assert result.output.words == [0, 1][: len(result.output.words)]


def test_an_intersection_of_fewer_fibers_than_lanes():
    program, words = merge(Mode.CONJUNCTIVE, [[1, 4, 6], [4, 6, 7]], CONFIG.memory_words)
    result = run(program, Memory(words))
    assert result.output == access.run(program, words.copy(), CONFIG.lanes)
    assert result.output.tokens == [STEP] * 2 + [LAST]


@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("lower, upper", [(3, 1), (3, -1), (-1, -1)])
def test_bounds_of_a_merged_fiber_that_decrease(lower, upper, is_ordered):
    """Bounds of unit 1 that decrease are an error, or its fiber is empty."""
    program, words = merge(Mode.DISJUNCTIVE, [[1, 4, 6], [1, 4, 6]], CONFIG.memory_words)
    layer = program.layers[0]
    bounds = {"lower_immediate": lower % 2**32, "upper_immediate": upper % 2**32}
    unit = replace(layer.units[1], **bounds, ordered=is_ordered)
    program = AccessProgram((replace(layer, units=(layer.units[0], unit)),))
    result = run(program, Memory(words))
    if not is_ordered or lower == upper:
        assert result.output == access.run(program, words.copy(), CONFIG.lanes)
        assert result.output.tokens == [STEP] * 3 + [LAST]
        return
    with pytest.raises(BoundsError) as caught:
        access.run(program, words.copy(), CONFIG.lanes)
    assert str(caught.value) == f"layer 0, unit 1: from {lower} to {upper}: must not decrease"
    assert (result.fault, result.disorder, result.output.words) == (None, 0, [])


NO_ITERATION = [
    (Event.BEGIN, 0, EventStep(EventKind.WORD, 0, stream=1)),
    (Event.BEGIN, 0, EventStep(EventKind.MASK, 0)),
    (Event.BEGIN, 1, EventStep(EventKind.VECTOR, 1, stream=1)),
    (Event.TOGGLE, 0, EventStep(EventKind.WORD, 1)),
    (Event.ITERATION, 0, EventStep(EventKind.VECTOR, 1, stream=1)),
    (Event.ITERATION, 0, EventStep(EventKind.MASK, 2)),
    (Event.END, 1, EventStep(EventKind.WORD, 1, stream=1)),
    (Event.END, 1, EventStep(EventKind.MASK, 1)),
    (Event.END, 1, EventStep(EventKind.STORE, 1, stream=1, address=0)),
    (Event.END, 0, EventStep(EventKind.WORD, 0, stream=1)),
    (Event.END, 0, EventStep(EventKind.STORE, 1, stream=1, address=0)),
]


@pytest.mark.parametrize("case", range(len(NO_ITERATION)))
def test_events_wait_for_ever_for_layers_that_are_not_in_an_iteration(case):
    """Loops that begin or end, with others of their own behind, and the loops inside of them."""
    event, layer, step = NO_ITERATION[case]
    mode = (Mode.LOCKSTEP, Mode.DISJUNCTIVE)[case % 2]
    words = np.arange(CONFIG.memory_words, dtype=np.uint32)
    outer = Unit(upper_immediate=2, streams=(queued_induction(0), load(0, 8, queue=4)))
    inner = Unit(upper_immediate=2, streams=(queued_induction(8), load(0, 8, queue=12)))
    events = [{Event.ITERATION: (EventStep(EventKind.WORD, 0),)}, {}]
    events[layer] = {**events[layer], event: (step, EventStep(EventKind.TOKEN))}
    units = (inner, inner) if mode == Mode.DISJUNCTIVE else (inner,)
    program = AccessProgram(
        (Layer(Mode.SINGLE, (outer,), 4, events=events[0]), Layer(mode, units, 4, events=events[1]))
    )
    assert run(program, Memory(words)).is_stuck
    assert np.array_equal(words, np.arange(CONFIG.memory_words))
