"""Layers that merge: against sets, and against the interpreter of access programs."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import AluOperation, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Stream, Unit, own, parent
from gnarl.sw.runtime.tmu.model import access
from gnarl.sw.runtime.tmu.model.access import StreamError
from tests.support.tmu.access_machine import CONFIG, Memory, Result, run
from tests.support.tmu.access_merges import LAST, MERGES, STEP, Image, merge, random_nest
from tests.support.tmu.access_programs import INDUCTION, load

LANES = CONFIG.lanes


def check(program: AccessProgram, memory: Memory, **options: object) -> Result:
    """RTL and interpreter give the same, and leave the same in memory."""
    after = memory.words.copy()
    expected = access.run(program, after, LANES)
    result = run(program, memory, **options)  # type: ignore[arg-type]
    assert result.fault is result.disorder is None
    assert not result.is_stuck
    assert result.output == expected
    assert np.array_equal(memory.words, after)
    return result


def merged(mode: Mode, fibers: list[list[int]]) -> list[int]:
    """What ``merge`` gives, from sets."""
    sets = [set(fiber) for fiber in fibers]
    found = set.intersection(*sets) if mode == Mode.CONJUNCTIVE else set.union(*sets)
    words = []
    for coordinate in sorted(found):
        has = [coordinate in one for one in sets] + [False] * (LANES - len(sets))
        words.append(sum(there << lane for lane, there in enumerate(has)))
        words += [coordinate if there else 0 for there in has]
        words += [coordinate * 10 + lane if there else 0 for lane, there in enumerate(has)]
    return words


EVERY = list(range(40))
FIBERS = {
    "empty": [[], []],
    "one is empty": [[3, 5], [], [4]],
    "equal": [EVERY[:20]] * LANES,
    "disjoint": [EVERY[0:24:3], EVERY[1:24:3], EVERY[2:24:3]],
    "one behind the other": [EVERY[:9], EVERY[9:18]],
    "one much longer": [EVERY + list(range(50, 110)), [2, 39, 77]],
    "one much longer, which ends last": [[0, 1], EVERY, [1]],
    "greatest coordinate": [[0, 429496729], [429496729]],
}


@pytest.mark.parametrize("mode", MERGES)
@pytest.mark.parametrize("fibers", FIBERS.values(), ids=FIBERS)
def test_merge(mode, fibers):
    program, words = merge(mode, fibers, CONFIG.memory_words)
    result = check(program, Memory(words))
    assert result.output.words == merged(mode, fibers)
    assert result.output.tokens == [STEP] * (len(result.output.words) // (1 + 2 * LANES)) + [LAST]


@settings(max_examples=5, deadline=None)
@given(
    mode=st.sampled_from(MERGES),
    fibers=st.lists(st.sets(st.integers(0, 30)).map(sorted), min_size=2, max_size=LANES),
    slots=st.sampled_from([1, 2, 8]),
    latency=st.integers(1, 40),
    pace=st.sampled_from([0.4, 1.0]),
    seed=st.integers(0, 99),
)
def test_any_fibers_at_any_pace(mode, fibers, slots, latency, pace, seed):
    """Lines out of order, pauses on every side, the smallest queues."""
    program, words = merge(mode, fibers, CONFIG.memory_words, slots)
    memory = Memory(words, latency, reorders=1 - pace, pauses=1 - pace)
    result = check(program, memory, seed=seed, takes=pace, room=2 * LANES)
    assert result.output.words == merged(mode, fibers)


@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    latency=st.integers(1, 30),
    pace=st.sampled_from([0.4, 1.0]),
    room=st.sampled_from([2 * LANES, 64]),
)
def test_nests_of_any_modes(seed, latency, pace, room):
    """Merges inside of merges, and of vectors; toggles, events and operands of all kinds."""
    program, words = random_nest(random.Random(seed), CONFIG)
    expected = access.run(program, words.copy(), LANES)
    if len(expected.words) + len(expected.tokens) < 500:
        memory = Memory(words, latency, reorders=1 - pace, pauses=1 - pace)
        check(program, memory, seed=seed, takes=pace, room=room)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_many_nests(first):
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        program, words = random_nest(rng, CONFIG)
        memory = Memory(words, rng.randint(1, 30), rng.choice((0, 0.5)), rng.choice((0, 0.3)))
        check(program, memory, seed=seed, takes=rng.choice((0.3, 1)), room=rng.choice((8, 64)))


def test_the_smallest_stores():
    """16 words of queues: coordinates of half a line are asked for at a time."""
    config = replace(CONFIG, layers=1, stream_words=16, requests=1)
    for mode in MERGES:
        fibers = [EVERY[::2], EVERY[::3]]
        program, words = merge(mode, fibers, config.memory_words, slots=1)
        result = run(program, Memory(words), config=config, room=2 * LANES)
        assert result.output.words == merged(mode, fibers)


def test_neighbouring_coordinates_are_one_request():
    """Two lines of coordinates each, and a value of each that both have."""
    image = Image(CONFIG.memory_words)
    units = []
    for first in (0, 1):
        base = 64 * (first + 1)
        image.words[base : base + 32] = np.arange(first, 64, 2)
        units.append(Unit(upper_immediate=32, streams=(INDUCTION, load(base, 32))))
    layer = Layer(Mode.CONJUNCTIVE, tuple(units), 4)
    memory = Memory(image.words)
    check(AccessProgram((layer,)), memory)
    assert sorted(memory.lines) == [4, 5, 8, 9]


def counting(mode: Mode, fibers: list[range]) -> tuple[AccessProgram, np.ndarray]:
    """Fibers whose coordinates alone are merged, in lines of their own."""
    words = np.zeros(CONFIG.memory_words, np.uint32)
    units = []
    for number, fiber in enumerate(fibers):
        base = 512 * (number + 1)
        words[base : base + len(fiber)] = fiber
        units.append(Unit(upper_immediate=len(fiber), streams=(INDUCTION, load(base, len(fiber)))))
    step = EventStep(EventKind.TOKEN, token=STEP)
    layer = Layer(mode, tuple(units), 16, events={Event.ITERATION: (step,)})
    return AccessProgram((layer,)), words


def cycles(mode: Mode, *fibers: range) -> int:
    program, words = counting(mode, list(fibers))
    return check(program, Memory(words, latency=2)).cycles


def test_a_coordinate_a_cycle():
    """Two fibers take turns; each brings a word a cycle to its queue, and no more."""
    longer = cycles(Mode.DISJUNCTIVE, range(0, 256, 2), range(1, 256, 2))
    shorter = cycles(Mode.DISJUNCTIVE, range(0, 128, 2), range(1, 128, 2))
    assert longer - shorter == 128


def nested(inner: Mode) -> tuple[AccessProgram, np.ndarray]:
    """Rows that two compressed matrices have, or either, and of those the columns."""
    image = Image(CONFIG.memory_words)
    rows = ([1, 2, 5, 7], [0, 2, 5])
    columns = ([[3, 4], [0, 2, 9], [], [8]], [[1], [2, 3, 9], [4]])
    outer_units, inner_units = [], []
    for lane in range(2):
        lengths = [len(row) for row in columns[lane]]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.concatenate([np.array(row, np.int64) for row in columns[lane]])
        coordinates, pointers = image.put(np.array(rows[lane])), image.put(ends)
        base, count = image.put(flat), len(rows[lane])
        streams = (
            INDUCTION,
            load(coordinates, count, queue=0),
            load(pointers, count + 1, queue=4),
            load(pointers, count + 1, immediate=1, queue=8),
        )
        outer_units.append(Unit(upper_immediate=count, streams=streams))
        bounds = parent(2, lane), parent(3, lane)
        inner_units.append(Unit(*bounds, streams=(INDUCTION, load(base, len(flat), queue=12))))
    words = EventStep(EventKind.VECTOR, stream=1), EventStep(EventKind.VECTOR, 1, stream=1)
    layers = (
        Layer(Mode.DISJUNCTIVE, tuple(outer_units), 4),
        Layer(inner, tuple(inner_units), 4, events={Event.ITERATION: words}),
    )
    return AccessProgram(layers), image.words


def test_a_merge_inside_of_a_merge():
    program, words = nested(Mode.CONJUNCTIVE)
    result = check(program, Memory(words))
    assert result.output.words == [*(2, 2, 0, 0, 2, 2, 0, 0), *(2, 2, 0, 0, 9, 9, 0, 0)]
    program, words = nested(Mode.DISJUNCTIVE)
    result = check(program, Memory(words))
    # Row and column by unit: 0 is none, or row or column 0.
    found = np.array(result.output.words).reshape(-1, 2, 4)[:, :, :2].tolist()
    assert found == [
        [[0, 0], [0, 1]],
        *([[1, 0], [column, 0]] for column in (3, 4)),
        *([[2, 2], pair] for pair in ([0, 0], [2, 2], [0, 3], [9, 9])),
        [[5, 5], [0, 4]],
        [[7, 0], [8, 0]],
    ]


def test_vectors_inside_of_a_merge():
    """Rows of two tables, six words each, at coordinates that both have; toggles of columns."""
    image = Image(CONFIG.memory_words)
    tables = [rng_table(seed) for seed in (1, 2)]
    bases = [image.put(table.reshape(-1)) for table in tables]
    fibers = [1, 4, 5], [0, 1, 5]
    units = tuple(
        Unit(upper_immediate=3, streams=(INDUCTION, load(image.put(np.array(one)), 3)))
        for one in fibers
    )
    rows = [
        load(bases[lane], 36, parent(1, lane), b=own(0), scale=6, queue=8 + 8 * lane)
        for lane in (0, 1)
    ]
    vectors = tuple(EventStep(EventKind.VECTOR, 1, stream=stream) for stream in (1, 2))
    layers = (
        Layer(Mode.CONJUNCTIVE, units, 4),
        Layer(
            Mode.LOCKSTEP,
            (Unit(upper_immediate=6, streams=(INDUCTION, *rows)),),
            8,
            events={Event.ITERATION: vectors},
        ),
    )
    result = check(AccessProgram(layers), Memory(image.words))
    expected = [
        np.concatenate([table[row], [0, 0]]).reshape(2, 4) for row in (1, 5) for table in tables
    ]
    pairs = [np.stack(expected[n : n + 2], axis=1).reshape(-1) for n in (0, 2)]
    assert result.output.words == np.concatenate(pairs).tolist()


def rng_table(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (6, 6))


def test_lengths_become_bounds():
    """Both units' fibers lie one behind the other, in each run of the loop around anew."""
    image = Image(CONFIG.memory_words)
    lengths = [np.array(one) for one in ([2, 0, 3], [1, 2, 2])]
    fibers = [np.array(one) for one in ([1, 3, 2, 4, 6], [3, 0, 5, 4, 7])]
    bases = [image.put(one) for one in lengths]
    again = Unit(upper_immediate=2, streams=(INDUCTION,))
    outer = Unit(
        upper_immediate=3,
        streams=(INDUCTION, *(load(base, 3, queue=4 * lane) for lane, base in enumerate(bases))),
    )
    inner = tuple(
        Unit(
            upper=parent(1 + lane),
            accumulates=True,
            streams=(INDUCTION, load(image.put(fibers[lane]), 5, queue=8)),
        )
        for lane in (0, 1)
    )
    step = EventStep(EventKind.VECTOR, 2, stream=1)
    layers = (
        Layer(Mode.SINGLE, (again,), 4),
        Layer(Mode.SINGLE, (outer,), 4),
        Layer(Mode.DISJUNCTIVE, inner, 4, events={Event.ITERATION: (step,)}),
    )
    result = check(AccessProgram(layers), Memory(image.words))
    pairs = [(1, 0), (3, 3), (0, 0), (0, 5), (2, 0), (4, 4), (6, 0), (0, 7)]
    assert np.array(result.output.words).reshape(-1, 4)[:, :2].tolist() == [*map(list, pairs * 2)]


def test_a_dense_fiber_with_a_compressed_one():
    """Positions that are coordinates, three at a time, against some in memory."""
    image = Image(CONFIG.memory_words)
    base = image.put(np.array([10, 11, 13, 19, 25]))
    thirds = Stream(StreamKind.ALU, AluOperation.ADD, own(0), immediate=10, queued=True)
    units = (
        Unit(upper_immediate=12, stride=3, streams=(INDUCTION, thirds)),
        Unit(upper_immediate=5, streams=(INDUCTION, load(base, 5))),
    )
    step = EventStep(EventKind.WORD, stream=1)
    layer = Layer(Mode.CONJUNCTIVE, units, 4, events={Event.ITERATION: (step,)})
    result = check(AccessProgram((layer,)), Memory(image.words))
    assert result.output.words == [10, 13, 19]


def test_eight_streams():
    """The last stream of each unit sums up those before it, and has a queue."""
    image = Image(CONFIG.memory_words)
    units = []
    for fiber in ([1, 3, 4], [3, 4, 8]):
        coordinates = load(image.put(np.array(fiber)), len(fiber))
        sums = [Stream(StreamKind.ALU, AluOperation.ADD, own(n), own(n - 1)) for n in range(1, 7)]
        sums[-1] = replace(sums[-1], queued=True, queue=4)
        units.append(Unit(upper_immediate=len(fiber), streams=(INDUCTION, coordinates, *sums)))
    step = EventStep(EventKind.VECTOR, stream=7)
    layer = Layer(Mode.DISJUNCTIVE, tuple(units), 4, events={Event.ITERATION: (step,)})
    result = check(AccessProgram((layer,)), Memory(image.words))
    # 13 times the coordinate, and 8 times the position.
    found = np.array(result.output.words).reshape(-1, LANES)[:, :2].tolist()
    assert found == [[13, 0], [39 + 8, 39], [52 + 16, 52 + 8], [0, 104 + 16]]


@pytest.mark.parametrize("mode", MERGES)
def test_streams_that_one_unit_has(mode):
    """Unit 1's last ones; unit 0's rows have their queues all the same."""
    image = Image(CONFIG.memory_words)
    fibers = [np.array(one) for one in ([1, 3, 4], [3, 4, 8])]
    coordinates = [load(image.put(fiber), 3) for fiber in fibers]
    tens = [load(image.put(fiber * 10), 3, queue=4) for fiber in fibers]
    more = [load(image.put(fibers[1] * 10 + k), 3, queue=4 + 4 * k) for k in (1, 2)]
    rows = [Stream(queue=each.queue) for each in more]
    units = tuple(
        Unit(upper_immediate=3, streams=(INDUCTION, coordinates[lane], tens[lane], *others))
        for lane, others in enumerate((rows, more))
    )
    steps = [EventStep(EventKind.VECTOR, stream=2)]
    steps += [EventStep(EventKind.WORD, lane=1, stream=stream) for stream in (3, 4)]
    layer = Layer(mode, units, 4, events={Event.ITERATION: tuple(steps)})
    result = check(AccessProgram((layer,)), Memory(image.words))
    found = np.array(result.output.words).reshape(-1, LANES + 2)[:, [0, 1, -2, -1]].tolist()
    both = [[30, 30, 31, 32], [40, 40, 41, 42]]
    either = [[10, 0, 0, 0], *both, [0, 80, 81, 82]]
    assert found == (both if mode == Mode.CONJUNCTIVE else either)


def test_stores_and_toggles():
    """A product into a dense vector: where unit 0 is, at its coordinate; a token where a
    quarter of its coordinate differs from the last."""
    image = Image(CONFIG.memory_words)
    target = (
        Stream(StreamKind.ALU, AluOperation.MUL, own(1), immediate=4),
        Stream(StreamKind.ALU, AluOperation.ADD, own(2), immediate=1000, queued=True, queue=8),
        Stream(StreamKind.ALU, AluOperation.SHIFT_RIGHT, own(1), immediate=2, queued=True, queue=4),
    )
    units = tuple(
        Unit(
            upper_immediate=len(fiber),
            streams=(INDUCTION, load(image.put(np.array(fiber)), len(fiber)), *target),
        )
        for fiber in ([0, 1, 3, 4, 6, 9], [1, 3, 4, 8, 9])
    )
    events = {
        Event.TOGGLE: (EventStep(EventKind.TOKEN, token=STEP),),
        Event.ITERATION: (EventStep(EventKind.STORE, stream=1, address=3),),
        Event.END: (EventStep(EventKind.TOKEN, token=LAST),),
    }
    for mode, toggles in ((Mode.CONJUNCTIVE, 3), (Mode.DISJUNCTIVE, 4)):
        memory = Memory(image.words.copy(), pauses=0.5)
        layer = Layer(mode, units, 4, toggle=4, events=events)
        result = check(AccessProgram((layer,)), memory)
        assert result.output.tokens == [STEP] * toggles + [LAST]
        assert memory.words[1036:1038].tolist() == [9, 9]


@pytest.mark.parametrize("mode", MERGES)
@pytest.mark.parametrize(("stream", "short"), [(1, 0), (1, 2), (2, 1), (2, 2)])
def test_an_index_beyond_its_array_is_a_fault(mode, stream, short):
    """Unit 1 alone has arrays that are too short."""
    program, words = merge(mode, [[1, 4, 6], [1, 4, 6]], CONFIG.memory_words)
    layer = program.layers[0]
    unit = layer.units[1]
    streams = list(unit.streams)
    streams[stream] = replace(streams[stream], length=short)
    broken = AccessProgram(
        (replace(layer, units=(layer.units[0], replace(unit, streams=tuple(streams)))),)
    )
    with pytest.raises(StreamError) as caught:
        access.run(broken, words.copy(), LANES)
    assert caught.value.place == (0, 1, stream)
    result = run(broken, Memory(words))
    assert result.fault == (0, stream)
    right = access.run(program, words.copy(), LANES)
    assert result.output.words == right.words[: len(result.output.words)]


def test_what_is_not_reached_is_no_fault():
    """The longer fiber's array ends too early, but behind the last coordinate of the other."""
    program, words = merge(Mode.CONJUNCTIVE, [EVERY, [1, 4]], CONFIG.memory_words)
    layer = program.layers[0]
    unit = layer.units[0]
    coordinates = replace(unit.streams[1], length=LINE_WORDS)
    short = replace(unit, streams=(unit.streams[0], coordinates, unit.streams[2]))
    check(AccessProgram((replace(layer, units=(short, layer.units[1])),)), Memory(words))
