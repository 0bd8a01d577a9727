"""Rules that access programs keep to, and how programs that break one are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.tmu import access_rules
from gnarl.hw.tmu.access_isa import (
    AluOperation,
    Event,
    EventKind,
    Mode,
    StreamKind,
    stream_row,
    unit_row,
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
from tests.support.tmu.access_merges import random_nest
from tests.support.tmu.access_programs import INDUCTION, load
from tests.support.tmu.random_access import Areas, random_access
from tests.support.tmu.small_tmu import CONFIG

WORDS = CONFIG.memory_words
ADDRESS = Stream(StreamKind.ADDRESS, a=own(0), base=64, length=8, queued=True)


def right() -> AccessProgram:
    """Rows of two units that merge, around vectors that are stored."""
    outer = tuple(
        Unit(upper_immediate=3, streams=(INDUCTION, load(0, 3), load(16, 3, queue=4)))
        for _ in range(2)
    )
    inner = Unit(
        upper=parent(2, 1),
        streams=(INDUCTION, load(32, 8, queue=8), ADDRESS, Stream(StreamKind.FORWARD, a=own(0))),
    )
    return AccessProgram(
        (
            Layer(
                Mode.CONJUNCTIVE,
                outer,
                4,
                toggle=1,
                events={
                    Event.TOGGLE: (EventStep(EventKind.TOKEN, token=5),),
                    Event.ITERATION: (EventStep(EventKind.WORD, lane=1, stream=2),),
                },
            ),
            Layer(
                Mode.LOCKSTEP,
                (inner,),
                8,
                events={
                    Event.ITERATION: (
                        EventStep(EventKind.STORE, 1, stream=1, address=2),
                        EventStep(EventKind.MASK, 1),
                    ),
                    Event.END: (EventStep(EventKind.VECTOR, 0, stream=1),),
                },
            ),
        )
    )


def check(program: AccessProgram) -> None:
    access_rules.check(program.rows(CONFIG), CONFIG, 6)


def with_layer(place: int, **fields: object) -> AccessProgram:
    layers = list(right().layers)
    layers[place] = replace(layers[place], **fields)  # type: ignore[arg-type]
    return AccessProgram(tuple(layers))


def with_unit(place: int, lane: int, **fields: object) -> AccessProgram:
    units = list(right().layers[place].units)
    units[lane] = replace(units[lane], **fields)  # type: ignore[arg-type]
    return with_layer(place, units=tuple(units))


def with_stream(place: int, lane: int, number: int, **fields: object) -> AccessProgram:
    streams = list(right().layers[place].units[lane].streams)
    streams[number] = replace(streams[number], **fields)  # type: ignore[arg-type]
    return with_unit(place, lane, streams=tuple(streams))


def with_step(place: int, event: Event, *steps: EventStep) -> AccessProgram:
    return with_layer(place, events={**right().layers[place].events, event: steps})


BROKEN: dict[str, tuple[Callable[[], AccessProgram], str]] = {
    "no unit": (lambda: with_layer(1, units=()), "layer 1: units = 0: must be 1"),
    "two units of vectors": (
        lambda: with_layer(1, units=right().layers[1].units * 2),
        "layer 1: units = 2: must be 1",
    ),
    "no slot": (lambda: with_layer(0, slots=0), "layer 0: slots = 0: must be at least 1"),
    "no stride": (
        lambda: with_unit(1, 0, stride=0),
        "layer 1, unit 0: stride = 0: must be at least 1",
    ),
    "no streams": (
        lambda: with_unit(1, 0, streams=()),
        "layer 1: unit 0, stream 0: kind NONE: must be INDUCTION",
    ),
    "another induction variable": (
        lambda: with_stream(1, 0, 3, kind=StreamKind.INDUCTION),
        "layer 1: unit 0, stream 3: kind INDUCTION: cannot be INDUCTION",
    ),
    "no coordinates": (
        lambda: with_unit(0, 1, streams=(INDUCTION,)),
        "layer 0: unit 1, stream 1: kind NONE: cannot give coordinates",
    ),
    "divided coordinates": (
        lambda: with_stream(0, 1, 1, kind=StreamKind.ALU, operation=AluOperation.MOD),
        "layer 0: unit 1, stream 1: kind ALU of MOD: cannot give coordinates",
    ),
    "itself": (
        lambda: with_stream(1, 0, 3, a=own(3)),
        "layer 1: unit 0, stream 3: a: stream 3 of its own unit: must be an earlier one",
    ),
    "a word that is on its way": (
        lambda: with_stream(1, 0, 3, b=own(1)),
        "layer 1: unit 0, stream 3: b: stream 1 of its own unit: kind MEMORY is not known yet",
    ),
    "an operand of nothing": (
        lambda: with_stream(1, 0, 3, kind=StreamKind.NONE, b=own(1)),
        "layer 1: unit 0, stream 3: b: stream 1 of its own unit: kind MEMORY is not known yet",
    ),
    "nothing around": (
        lambda: with_stream(0, 0, 2, b=parent(0)),
        "layer 0: unit 0, stream 2: b: no layer is around the outermost",
    ),
    "no queue around": (
        lambda: with_stream(1, 0, 1, b=parent(0, 1)),
        "layer 1: unit 0, stream 1: b: stream 0 of unit 1 of the layer around: must be one that "
        "has a queue",
    ),
    "no unit around": (
        lambda: with_stream(1, 0, 1, b=parent(1, 2)),
        "layer 1: unit 0, stream 1: b: stream 1 of unit 2 of the layer around: must be one that "
        "has a queue",
    ),
    "bounds of its own": (
        lambda: with_unit(1, 0, lower=own(0)),
        "layer 1: unit 0: lower: must be an immediate or the parent's",
    ),
    "bounds of nothing": (
        lambda: with_unit(0, 0, upper=Operand(parent(0).source)),
        "layer 0: unit 0: upper: no layer is around the outermost",
    ),
    "words behind the end of memory": (
        lambda: with_stream(1, 0, 1, base=WORDS - 7),
        f"layer 1: unit 0, stream 1: base = {WORDS - 7}, length = 8: must end within the memory's "
        f"{WORDS} words",
    ),
    "words without a queue": (
        lambda: with_stream(0, 0, 2, queued=False),
        "layer 0: unit 0, stream 2: queued = 0: must be 1: what is read has to be kept",
    ),
    "a queue of nothing": (
        lambda: with_stream(1, 0, 3, kind=StreamKind.NONE, queued=True, queue=16),
        "layer 1: unit 0, stream 3: queued = 1: must be 0: it has no kind",
    ),
    "queues upon each other": (
        lambda: with_stream(1, 0, 1, queue=7),
        "layer 1, stream 1: queue = 7: lies in the queue of layer 0, stream 2",
    ),
    "a queue beyond the rows": (
        lambda: with_stream(1, 0, 1, queue=CONFIG.stream_words - 7),
        f"layer 1, stream 1: queue = {CONFIG.stream_words - 7} and slots = 8: must end within "
        f"{CONFIG.stream_words} rows",
    ),
    "queues of a stream apart": (
        lambda: with_stream(0, 1, 2, queue=16),
        "layer 0, unit 1, stream 2: queue = 16: must be 4, as in unit 0",
    ),
    "a token that is no instruction": (
        lambda: with_step(0, Event.END, EventStep(EventKind.TOKEN, token=6)),
        "layer 0, END, step 0: token = 6: must be below 6, the instructions",
    ),
    "a layer that has not begun": (
        lambda: with_step(1, Event.BEGIN, EventStep(EventKind.MASK, 1)),
        "layer 1, BEGIN, step 0: layer = 1: must be below 1, to be in an iteration",
    ),
    "no layer": (
        lambda: with_step(0, Event.BEGIN, EventStep(EventKind.WORD)),
        "layer 0, BEGIN, step 0: layer = 0: no layer is in an iteration",
    ),
    "a stream without a queue": (
        lambda: with_step(1, Event.ITERATION, EventStep(EventKind.WORD, 1, stream=3)),
        "layer 1, ITERATION, step 0: stream 3 of unit 0 of layer 1: must be one that has a queue",
    ),
    "a lane that there is not": (
        lambda: with_step(1, Event.ITERATION, EventStep(EventKind.WORD, 1, 2, 1)),
        "layer 1, ITERATION, step 0: stream 1 of unit 2 of layer 1: must be one that has a queue",
    ),
    "a vector that not all units have": (
        lambda: AccessProgram(
            (
                with_stream(0, 1, 2, kind=StreamKind.FORWARD, queued=False).layers[0],
                replace(
                    with_unit(1, 0, upper=parent(2, 0)).layers[1],
                    events={Event.END: (EventStep(EventKind.VECTOR, 0, stream=2),)},
                ),
            )
        ),
        "layer 0, ITERATION, step 0: stream 2 of unit 1 of layer 0: must be one that has a queue",
    ),
    "an address that is none": (
        lambda: with_step(1, Event.ITERATION, EventStep(EventKind.STORE, 1, stream=1, address=1)),
        "layer 1, ITERATION, step 0: address = 1: must be a stream of kind ADDRESS with a queue",
    ),
    "an address anywhere": (
        lambda: with_stream(1, 0, 2, length=0xFFFF_FFFF),
        "layer 1, ITERATION, step 0: address = 2: must be a stream with a length",
    ),
    "stores behind the end of memory": (
        lambda: with_stream(1, 0, 2, base=WORDS - 7),
        f"layer 1, ITERATION, step 0: address = 2: base = {WORDS - 7}, length = 8: must end within "
        f"the memory's {WORDS} words",
    ),
    "changes of what has no queue": (
        lambda: with_layer(0, toggle=0),
        "layer 0: toggle = 0: must be a stream of unit 0 that has a queue",
    ),
}


def test_a_program_that_keeps_to_all_rules():
    check(right())


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules(name: str):
    broken, message = BROKEN[name]
    with pytest.raises(ProgramError) as caught:
        check(broken())
    assert str(caught.value) == message


def test_stores_of_units_that_merge_end_in_memory():
    """A word of each unit, from where unit 0's goes."""
    streams = (INDUCTION, load(0, 3, queue=4), replace(ADDRESS, base=WORDS - 8))
    units = (Unit(upper_immediate=3, streams=streams),) * 2
    step = EventStep(EventKind.STORE, 0, stream=1, address=2)
    with pytest.raises(ProgramError) as caught:
        check(
            AccessProgram((Layer(Mode.DISJUNCTIVE, units, 4, events={Event.ITERATION: (step,)}),))
        )
    assert str(caught.value) == (
        f"layer 0, ITERATION, step 0: address = 2: base = {WORDS - 8}, length = 8 + 1 of other "
        f"units: must end within the memory's {WORDS} words"
    )


@pytest.mark.parametrize(
    ("name", "row"),
    [("layers", 2), ("units", unit_row(CONFIG, 1, 1)), ("streams", stream_row(CONFIG, 1, 1, 0))],
)
def test_rows_that_no_layer_has_are_0(name: str, row: int):
    rows = right().rows(CONFIG)
    rows[name][row, 1] = 1
    with pytest.raises(ProgramError) as caught:
        access_rules.check(rows, CONFIG, 6)
    assert str(caught.value) == f"{name}[{row}]: must be 0: no layer in use has it"


def test_steps_are_rows_that_there_are():
    rows = right().rows(CONFIG)
    rows["events"] = rows["events"][:4]
    with pytest.raises(ProgramError) as caught:
        access_rules.check(rows, CONFIG, 6)
    assert str(caught.value) == "layer 1, END: steps 4 to 4: must be below 4, the rows"


def test_more_units_than_lanes():
    rows = right().rows(CONFIG)
    rows["layers"][0, 0] |= np.uint32(1 << 7)
    with pytest.raises(ProgramError) as caught:
        access_rules.check(rows, CONFIG, 6)
    assert str(caught.value) == "layer 0: units = 18: must be at most 2"


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_to_all_rules(seed: int):
    rng = random.Random(seed)
    check(random_access(rng, CONFIG, Areas(range(64), range(64, 128)), 6))
    wider = replace(CONFIG, streams=6)
    nest, _ = random_nest(rng, wider)
    access_rules.check(nest.rows(wider), wider, 64)
