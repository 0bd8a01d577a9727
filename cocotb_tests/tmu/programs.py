"""Programs of both units with the memory they run on, at random, and how the models end them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS, Instruction, Opcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import EVENT, EVENT_STEPS, Event, EventKind, Mode
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Unit
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import ErrorCause
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.execute import (
    DeadlockError,
    ExecuteError,
    FaultError,
    LeftError,
)
from gnarl.sw.execute.values.output import Output, Room
from gnarl.sw.runtime.tmu.model import access
from gnarl.sw.runtime.tmu.model.access import BoundsError, StreamError
from tests.support.execute.programs import (
    DEQUEUE,
    HALT,
    IMMEDIATE,
    Raw,
    random_program,
    register,
)
from tests.support.tmu.access_merges import random_nest
from tests.support.tmu.access_programs import INDUCTION, load

Words = npt.NDArray[np.uint32]

RESULTS = 512
"""Before this word lie random nests' arrays and random programs' data, behind it what nests store
and random programs are fed with."""

USED = 1536
"""Words that programs use."""

_MOST_INSTRUCTIONS = 20_000


@dataclass(frozen=True)
class Image:
    """Contents of a core's windows.

    rows
        uint32 [rows, words of a row] by window of the access program.
    instructions
        uint32 [instructions, 3].
    memory
        uint32 [words], whole lines; it is 0 behind.
    """

    rows: dict[str, Words]
    instructions: Words
    memory: Words


@dataclass(frozen=True)
class Ending:
    """How a run ends: ``cause`` and ``detail`` of an error, else 0; none if the models do not say.

    ``memory`` is what a run without an error leaves behind; ``is_clean``: no word that the access
    unit reads is written by the execute unit, so that it does not matter which of them is ahead.
    """

    cause: int | None
    detail: int
    memory: Words
    is_clean: bool


def image(
    config: TmuConfig, program: AccessProgram, instructions: Iterable[Raw], memory: Words
) -> Image:
    rows = program.rows(config)
    events = np.zeros((EVENT_STEPS, EVENT.size // 32), np.uint32)
    events[: len(rows["events"])] = rows["events"]
    words = np.zeros((config.program_words, INSTRUCTION_WORDS), np.uint32)
    for row, one in enumerate(instructions):
        words[row] = one.words() if isinstance(one, Instruction) else one
    return Image({**rows, "events": events}, words, memory)


def memory_of(config: TmuConfig, given: Image) -> Words:
    """All of it: uint32 [words]."""
    memory = np.zeros(config.memory_words, np.uint32)
    memory[: len(given.memory)] = given.memory
    return memory


def ending(config: TmuConfig, given: Image, limit: int = _MOST_INSTRUCTIONS) -> Ending:
    """The models' ending, which do not say how a run of more than ``limit`` instructions ends.

    Raises ``ValueError`` for rows that are none.
    """
    memory = memory_of(config, given)
    program = AccessProgram.decoded(given.rows, config)
    try:
        queued = access.run(program, memory, config.lanes) if program.layers else Output()
    except (StreamError, BoundsError) as error:
        layer, _, stream = error.place
        is_index = isinstance(error, StreamError)
        cause = ErrorCause.INDEX if is_index else ErrorCause.BOUNDS
        return Ending(cause.value, layer * config.streams + stream, memory, True)
    read = {line for _, _, line in queued.requests}
    room = Room(config.data_words, config.control_tokens)
    try:
        done = execute.run(given.instructions, memory, config.lanes, queued, limit, room)
        cause_of, detail = 0, 0
    except FaultError as error:
        done, cause_of, detail = error.run, ErrorCause[error.fault.name].value, error.pc
    except DeadlockError as error:
        done, cause_of, detail = error.run, ErrorCause.DEADLOCK.value, 0
    except LeftError as error:
        done, cause_of, detail = error.run, ErrorCause.LEFT.value, 0
    except ExecuteError as error:
        done, cause_of, detail = error.run, -1, 0
    written = set(done.lines[done.uses == execute.WRITE].tolist())
    is_clean = not read & written
    return Ending(cause_of if cause_of >= 0 else None, detail, memory, is_clean)


def fed_program(config: TmuConfig, rng: random.Random) -> Image:
    """A random program of the execute unit, with an access program that queues what it takes.

    It may end in an error; it ends.
    """
    while True:
        made = random_program(rng.getrandbits(32), lanes=config.lanes, memory_words=RESULTS)
        if len(made.program) > config.program_words:
            continue
        last = made.tokens[-1]
        tokens = [*made.tokens[: rng.randrange(config.control_tokens)], last]
        given = image(config, AccessProgram(()), made.program, made.memory)
        offered = Output(tokens, made.words)
        try:
            done = execute.run(
                given.instructions,
                memory_of(config, given),
                config.lanes,
                offered,
                _MOST_INSTRUCTIONS,
            )
        except ExecuteError as error:
            done = error.run
        written = done.lines[done.uses == execute.WRITE] * LINE_WORDS
        is_inside = written.max(initial=0) < USED and done.words <= USED - RESULTS
        if is_inside and done.instructions < _MOST_INSTRUCTIONS:
            break
    words = made.words[: done.words]
    program = _feed(rng, tokens[: done.tokens], len(words), config)
    memory = np.zeros(USED, np.uint32)
    memory[:RESULTS] = made.memory
    memory[RESULTS : RESULTS + len(words)] = words
    return image(config, program, made.program, memory)


def _feed(rng: random.Random, tokens: list[int], count: int, config: TmuConfig) -> AccessProgram:
    """Queues all tokens, and ``count`` words from ``RESULTS`` on, by words or by vectors."""
    is_wide = count % config.lanes == 0 and rng.random() < 0.5
    kind = EventKind.VECTOR if is_wide else EventKind.WORD
    events = {
        Event.BEGIN: tuple(EventStep(EventKind.TOKEN, token=token) for token in tokens),
        Event.ITERATION: (EventStep(kind, stream=1),),
    }
    unit = Unit(upper_immediate=count, streams=(INDUCTION, load(RESULTS, count)))
    mode = Mode.LOCKSTEP if is_wide else Mode.SINGLE
    return AccessProgram((Layer(mode, (unit,), rng.randint(1, 16), events=events),))


def drained_nest(config: TmuConfig, rng: random.Random) -> Image:
    """A random access program, with a case for each of its events, which stores the words of the
    event behind those before, from ``RESULTS`` on. It ends without an error."""
    while True:
        nest, memory = random_nest(rng, config)
        layers, instructions = _cases(nest, config, rng)
        program = AccessProgram(layers)
        steps = sum(len(each) for layer in layers for each in layer.events.values())
        if steps > EVENT_STEPS or len(instructions) > config.program_words:
            continue
        given = image(config, program, instructions, memory[:USED])
        given.memory[given.memory == 0xDEAD_BEEF] = 0
        queued = access.run(program, given.memory.copy(), config.lanes)
        if len(queued.words) <= USED - RESULTS:
            return given


def copy_of(config: TmuConfig, words: list[int]) -> Image:
    """Reads ``words`` and stores them, one after the other."""
    step = (EventStep(EventKind.WORD, stream=1),)
    unit = Unit(upper_immediate=len(words), streams=(INDUCTION, load(0, len(words))))
    nest = AccessProgram((Layer(Mode.SINGLE, (unit,), 4, events={Event.ITERATION: step}),))
    layers, instructions = _cases(nest, config, random.Random(0))
    memory = np.zeros(USED, np.uint32)
    memory[: len(words)] = words
    return image(config, AccessProgram(layers), instructions, memory)


def _cases(
    nest: AccessProgram, config: TmuConfig, rng: random.Random
) -> tuple[tuple[Layer, ...], list[Raw]]:
    """The layers with a token for each event, before its words or, if the queue has room for them,
    behind; and the program."""
    begin = Instruction(Opcode.ADD, dst=1, a=IMMEDIATE, immediate=RESULTS)
    instructions: list[Raw] = [begin, Instruction(Opcode.JUMP_TOKEN)]
    layers = []
    for layer in nest.layers:
        events: dict[Event, tuple[EventStep, ...]] = {}
        for event, steps in layer.events.items():
            words = tuple(step for step in steps if step.kind != EventKind.TOKEN)
            token = EventStep(EventKind.TOKEN, token=len(instructions))
            widths = [config.lanes if step.kind == EventKind.VECTOR else 1 for step in words]
            is_behind = sum(widths) <= config.data_words and rng.random() < 0.5
            events[event] = (*words, token) if is_behind else (token, *words)
            instructions += [
                Instruction(Opcode.STORE, width > 1, a=register(1), c=DEQUEUE, increment=width)
                for width in widths
            ]
            instructions.append(Instruction(Opcode.JUMP_TOKEN))
        layers.append(replace(layer, events=events))
    end = EventStep(EventKind.TOKEN, token=len(instructions))
    behind = layers[0].events.get(Event.END, ())
    layers[0] = replace(layers[0], events={**layers[0].events, Event.END: (*behind, end)})
    return tuple(layers), [*instructions, HALT]
