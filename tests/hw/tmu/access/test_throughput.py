"""What the access unit takes in cycles, and what it says that it waited for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.tmu.access.access_unit import WAITS
from gnarl.hw.tmu.access_isa import AluOperation, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Stream, Unit, own
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.runtime.tmu.model import access
from tests.support.tmu.access_machine import CONFIG, Memory, Result, run
from tests.support.tmu.access_programs import INDUCTION, Bags, embedding_bag, load

QUEUING = WAITS[:5]


def look_up(
    count: int,
    *,
    slots: int = 32,
    dimension: int = 16,
    latency: int = 5,
    pauses: float = 0.0,
    requests: int = 8,
    **options: object,
) -> Result:
    """Rows of a segment of ``count`` look-ups: of 16 words, a line, which are four vectors."""
    table = np.arange(8 * dimension, dtype=np.uint32).reshape(8, dimension)
    indices = np.arange(count, dtype=np.uint32) % 8
    bags = Bags(indices, np.array([0, count], np.uint32), table)
    words, bases = bags.memory(CONFIG.memory_words)
    memory = Memory(words, latency, pauses=pauses)
    program = embedding_bag(bags, bases, 3, slots)
    options = {"room": 256, "config": machine(requests)} | options
    result = run(program, memory, **options)  # type: ignore[arg-type]
    assert result.output == access.run(program, words, CONFIG.lanes)
    return result


def machine(requests: int = 8) -> TmuConfig:
    return replace(CONFIG, requests=requests)


def one_loop(mode: Mode, unit: Unit, step: EventStep, slots: int = 4, **options: object) -> Result:
    """A loop that does the step in each iteration."""
    layer = Layer(mode, (unit,), slots, events={Event.ITERATION: (step,)})
    memory = Memory(np.zeros(CONFIG.memory_words, np.uint32), pauses=options.pop("pauses", 0.0))
    return run(AccessProgram((layer,)), memory, config=machine(), **options)


def tokens(count: int, **options: object) -> Result:
    unit = Unit(upper_immediate=count, streams=(INDUCTION,))
    return one_loop(Mode.SINGLE, unit, EventStep(EventKind.TOKEN, token=5), **options)


def test_latency_is_hidden_by_requests_under_way():
    """Offsets, indices and rows are requested in turn; the rows' own latency is that of the
    first."""
    assert look_up(8, latency=60).cycles - look_up(8, latency=20).cycles == 3 * 40


def test_one_request_at_a_time_costs_a_latency_a_line():
    far, near = (look_up(8, latency=latency, requests=1).cycles for latency in (60, 20))
    assert far - near == (2 + 1 + 8) * 40


@pytest.mark.parametrize("dimension, cycles", [(16, 4), (4, 3)])
def test_a_look_up_takes_a_cycle_a_vector(dimension, cycles):
    """Where neither memory nor queues hold it up: and no cycle for its end, its token, or the next
    one's begin; but at least the three in which the next one's operand is read."""
    found = [look_up(count, dimension=dimension).cycles for count in (16, 32)]
    # The second line of indices takes the place of a vector on its way.
    assert found[1] - found[0] <= 16 * cycles + 1


def test_tokens_alone_take_a_cycle_each():
    assert tokens(30).cycles - tokens(10).cycles == 20


@pytest.mark.parametrize(
    "waits, options",
    [
        ("waits_data_room", {"takes": 0.2, "room": 16}),
        ("waits_slot", {"slots": 1}),
        ("waits_request", {"requests": 1, "latency": 10}),
        ("waits_memory", {"pauses": 0.8}),
    ],
)
def test_what_is_waited_for(waits, options):
    found, at_ease = look_up(12, **options), look_up(12)
    assert found.waits[waits] - at_ease.waits[waits] > (found.cycles - at_ease.cycles) / 3
    assert sum(found.waits[name] for name in QUEUING) < found.cycles - len(found.output.words) / 4


def test_words_and_iterations_are_waited_for_a_latency():
    """Offsets and indices are iterations that are not known yet; the first row is only words."""
    near, far = (look_up(4, latency=latency).waits for latency in (10, 50))
    assert far["waits_iteration"] - near["waits_iteration"] == 2 * 40
    assert far["waits_words"] - near["waits_words"] == 40
    assert far["waits_data_room"] == far["waits_token_room"] == far["waits_store"] == 0


def test_room_for_tokens_is_waited_for():
    slow, fast = (tokens(20, takes=pace, room=4) for pace in (0.2, 1.0))
    waited = slow.waits["waits_token_room"] - fast.waits["waits_token_room"]
    assert waited > (slow.cycles - fast.cycles) / 2
    assert not any(slow.waits[f"waits_{name}"] for name in ("words", "data_room", "store"))


def test_words_that_were_asked_for_take_no_cycle():
    """Three streams of neighbours: an iteration a cycle, and two more for each further line."""

    def cycles(count: int) -> int:
        loads = (load(512 * number, 512, queue=64 * number) for number in range(3))
        unit = Unit(upper_immediate=count, streams=(INDUCTION, *loads))
        step = EventStep(EventKind.TOKEN, token=5)
        return one_loop(Mode.SINGLE, unit, step, slots=64).cycles

    assert cycles(32) - cycles(16) == 16 + 2


def test_vectors_are_stored_as_they_come():
    def cycles(vectors: int) -> int:
        address = replace(load(1000, 512), kind=StreamKind.ADDRESS, queue=64)
        unit = Unit(upper_immediate=4 * vectors, streams=(INDUCTION, load(0, 512), address))
        step = EventStep(EventKind.STORE, stream=1, address=2)
        return one_loop(Mode.LOCKSTEP, unit, step, slots=32).cycles

    assert cycles(40) - cycles(20) == 2 * 20


def test_memory_that_takes_no_store_is_waited_for():
    target = Stream(StreamKind.ALU, AluOperation.ADD, own(0), immediate=1000, queued=True, queue=8)
    unit = Unit(upper_immediate=32, streams=(INDUCTION, load(0, 32), target))
    step = EventStep(EventKind.STORE, stream=1, address=2)
    slow, fast = (one_loop(Mode.LOCKSTEP, unit, step, pauses=pauses) for pauses in (0.8, 0.0))
    assert slow.waits["waits_store"] > 8 > fast.waits["waits_store"]
