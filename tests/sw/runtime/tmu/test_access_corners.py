"""Programs at the edges of what the access unit can do: both model and RTL end as is said here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS, Instruction, Opcode
from gnarl.hw.tmu.access_isa import LAYER, STEPS, AluOperation, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Stream, Unit, own
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import ErrorCause
from gnarl.sw.runtime.machine.host_machine import HostMachine
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.tmu.target import TARGET
from tests.support.execute.programs import HALT, WORD
from tests.support.tmu.access_programs import INDUCTION
from tests.support.tmu.outcomes import Ending, job_of, on_model, on_rtl, on_target
from tests.support.tmu.random_programs import Case, right_case, right_program, with_sections

HARDWARE = load_configuration("tmu_l2")
CONFIG = HARDWARE.config
assert isinstance(CONFIG, TmuConfig)

QUEUED = Stream(StreamKind.INDUCTION, queued=True)
TOKEN = EventStep(EventKind.TOKEN, token=2)
LAST = {Event.END: (TOKEN,)}
WAIT = Instruction(Opcode.JUMP_TOKEN)
TAKE = Instruction(Opcode.STORE, c=WORD)
"""To word 0."""

NOTHING = Instruction(Opcode.ADD)


def case(layers: tuple[Layer, ...], *instructions: Instruction) -> Case:
    words = np.array([each.words() for each in instructions], np.uint32)
    sections = {
        **AccessProgram(layers).rows(CONFIG),
        "instructions": words.reshape(-1, INSTRUCTION_WORDS),
    }
    return Case(with_sections(right_program(CONFIG), sections), right_case(CONFIG, 0).tensors)


def silent(mode: Mode, *units: Unit) -> Case:
    """A loop that gives nothing but a token at its end."""
    return case((Layer(mode, units, 4, events=LAST),), NOTHING, WAIT, HALT)


def counted(upper: int, **fields: int) -> Unit:
    return Unit(upper_immediate=upper, streams=(INDUCTION,), **fields)  # type: ignore[arg-type]


def coordinates(first: int) -> Unit:
    """6,000 of them, from ``first`` on."""
    stream = Stream(StreamKind.ALU, AluOperation.ADD, own(0), immediate=first)
    return Unit(upper_immediate=6000, streams=(INDUCTION, stream))


def last_inductions(mode: Mode, count: int) -> Case:
    """The last inductions before 2^31 - 1, by a stride behind which there is no other."""
    unit = Unit(
        lower_immediate=2**31 - 5,
        upper_immediate=2**31 - 1,
        stride=4095,
        streams=(QUEUED, Stream(StreamKind.FORWARD, a=own(0), queued=True, queue=4)),
    )
    steps = (EventStep(EventKind.WORD, stream=0),)
    layer = Layer(mode, (unit,) * count, 4, events={Event.ITERATION: steps, **LAST})
    return case((layer,), TAKE, WAIT, HALT)


def words(count: int, *instructions: Instruction, **events: tuple[EventStep, ...]) -> Case:
    steps = {Event[name]: each for name, each in events.items()}
    unit = Unit(upper_immediate=count, streams=(QUEUED,))
    return case((Layer(Mode.SINGLE, (unit,), 4, events=steps),), *instructions)


def behind_no_step() -> Case:
    """Nothing at iterations, which name a row that would be a word's, and a token at the end."""
    found = words(2, NOTHING, WAIT, WAIT, HALT, BEGIN=(TOKEN,), END=(replace(TOKEN, token=3),))
    (launch,) = found.program.launches
    layers, events = launch.sections["layers"].copy(), launch.sections["events"]
    place = LAYER["steps"].offset + Event.ITERATION.value * STEPS.size
    layers[0, place // 32] += np.uint32(len(events) - 1 << place % 32)
    sections = {"layers": layers, "events": np.concatenate([events, np.zeros_like(events)])}
    return Case(with_sections(found.program, sections), found.tensors)


STEP = (EventStep(EventKind.WORD),)
MANY = CONFIG.data_words + 1
DONE = None

CASES: dict[str, tuple[Case, ErrorCause | None]] = {
    "a long loop without events": (silent(Mode.SINGLE, counted(9000)), DONE),
    "long loops in a loop": (
        case(
            (
                Layer(Mode.SINGLE, (counted(100),), 4, events=LAST),
                Layer(Mode.LOCKSTEP, (counted(200),), 4),
            ),
            NOTHING,
            WAIT,
            HALT,
        ),
        DONE,
    ),
    "fibers that never meet": (
        silent(Mode.CONJUNCTIVE, coordinates(0), coordinates(9000)),
        DONE,
    ),
    "fibers that are behind each other": (
        silent(Mode.DISJUNCTIVE, coordinates(0), coordinates(9000)),
        DONE,
    ),
    "the last induction variable": (last_inductions(Mode.SINGLE, 1), DONE),
    "a vector of the last induction variable": (last_inductions(Mode.LOCKSTEP, 1), DONE),
    "fibers of the last induction variable": (last_inductions(Mode.DISJUNCTIVE, 2), DONE),
    "a token behind no step": (behind_no_step(), DONE),
    "a word is left": (
        words(2, TAKE, WAIT, HALT, ITERATION=STEP, END=(TOKEN,)),
        ErrorCause.LEFT,
    ),
    "a token is left": (words(0, NOTHING, NOTHING, HALT, END=(TOKEN,)), ErrorCause.LEFT),
    "all words that there is room for": (
        words(MANY - 1, WAIT, NOTHING, HALT, ITERATION=STEP, END=(TOKEN,)),
        ErrorCause.LEFT,
    ),
    "a token behind more words than there is room for": (
        words(MANY, WAIT, NOTHING, HALT, ITERATION=STEP, END=(TOKEN,)),
        ErrorCause.DEADLOCK,
    ),
    "more words than there is room for at the end": (
        words(MANY, HALT, ITERATION=STEP),
        ErrorCause.DEADLOCK,
    ),
    "more tokens than there is room for": (
        words(CONFIG.control_tokens + 1, HALT, NOTHING, HALT, ITERATION=(TOKEN,)),
        ErrorCause.DEADLOCK,
    ),
    "a word that never comes": (words(1, TAKE, TAKE, HALT, ITERATION=STEP), ErrorCause.DEADLOCK),
}


@pytest.fixture(scope="module")
def machine() -> Iterator[HostMachine]:
    found = TARGET.executor.machine(HARDWARE, "rtl", waves=None, port=None, stages=quiet)
    assert isinstance(found, HostMachine)
    yield found
    found.close()


def check(ending: Ending, cause: ErrorCause | None) -> None:
    assert {found for found, _ in ending.errors} == ({cause} if cause else set())
    assert (ending.memory is None) == (cause is not None)


@pytest.mark.parametrize("name", CASES)
def test_on_the_model(name: str):
    made, cause = CASES[name]
    check(on_model(job_of(made), 20_000), cause)
    check(on_target(job_of(made), 20_000), cause)


@pytest.mark.parametrize("name", CASES)
def test_on_rtl(machine: HostMachine, name: str):
    made, cause = CASES[name]
    check(on_rtl(machine, job_of(made)), cause)
