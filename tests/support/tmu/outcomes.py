"""How runs of the TMU's programs end: on the model, with all errors that hardware may find first,
and on a simulator."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import Event, EventKind, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, Stream, Unit
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import ErrorCause
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.execute import DeadlockError, FaultError, LeftError
from gnarl.sw.execute.values.output import Output, Room
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.machine.host import AcceleratorError
from gnarl.sw.runtime.machine.host_machine import HostJob, HostMachine
from gnarl.sw.runtime.tmu.model import access
from gnarl.sw.runtime.tmu.model.access import BoundsError, StreamError
from gnarl.sw.runtime.tmu.target import TARGET
from tests.support.tmu.random_programs import Case
from tests.support.tmu.words import UsedWords, used_words

Words = npt.NDArray[np.uint32]
Error = tuple[ErrorCause, int]
"""A cause and its detail."""

MOST_STEPS = 3_000
"""Of a layer, and instructions, of runs that are compared."""

MOST_CYCLES = 120_000
"""Longer than any of these takes, in cycles."""


@dataclass(frozen=True)
class Ending:
    """``memory``: what a run leaves behind; none where it ends with an error. ``errors``: those
    that end it, of which time decides; of hardware the one that has. Neither: it is too long.

    ``is_clean``: no unit reads or writes a word that the other one writes, and the access unit
    reads none that it writes itself, but for what the execute unit writes behind the access unit's
    end: so time does not matter otherwise.
    """

    memory: Words | None
    errors: frozenset[Error]
    is_clean: bool = True

    @property
    def is_too_long(self) -> bool:
        return self.memory is None and not self.errors


def job_of(case: Case) -> HostJob[object]:
    """What machines are given for the first launch. Raises ``GnarlError`` where the program is
    refused."""
    case.program.check()
    return TARGET.executor.job(case.program, case.program.launches[0], case.tensors)


def first_difference(case: Case, ending: Callable[[HostJob[object]], Ending]) -> str:
    """The first difference of ``ending``, which runs launches, from ``on_model``; empty if there is
    none. Left out are launches behind one that does not end, or that writes more than its
    results."""
    tensors = dict(case.tensors)
    for launch in case.program.launches:
        job = TARGET.executor.job(case.program, launch, tensors)
        model, found = on_model(job), ending(job)
        if model.is_too_long and not found.is_too_long:
            # No step takes less than a cycle.
            model = on_model(job, MOST_CYCLES)
        if problem := difference(model, found):
            return f"{launch.name}: {problem}"
        if model.memory is None or found.memory is None or not model.is_clean:
            return ""
        lines = model.memory.reshape(-1, LINE_WORDS)
        results = TARGET.executor.result_rows(launch, {})["memory"]
        others = np.setdiff1d(np.arange(len(lines)), results)
        if (lines[others] != job.image["memory"].words[others]).any():
            return ""
        tensors |= TARGET.executor.outputs(
            launch, job.operands, {"memory": Rows(results, lines[results])}
        )
    return ""


def on_model(job: HostJob[object], most: int = MOST_STEPS) -> Ending:
    """The ending of a run on the models of both units."""
    config = TmuConfig.from_dict(job.launch.config)
    rows = {name: job.image[name].words for name in ("layers", "units", "streams", "events")}
    program = AccessProgram.decoded(rows, config)
    memory = np.zeros(config.memory_words, np.uint32)
    memory.reshape(-1, LINE_WORDS)[job.image["memory"].numbers] = job.image["memory"].words
    before = memory.copy()
    traversal = _Recorded(program, memory, config, most)
    errors: set[Error] = set()
    try:
        queued = traversal.run() if program.layers else Output()
    except (StreamError, BoundsError) as error:
        errors = {_error(error, config)}
        queued = traversal.output
    except CycleLimitError:
        return Ending(None, frozenset(), traversal.is_clean)
    if errors:
        for depth in range(1, len(program.layers) + 1):
            errors |= _errors_of_layer(program, depth, before, config)
    instructions = np.zeros((config.program_words, 3), np.uint32)
    instructions[job.image["instructions"].numbers] = job.image["instructions"].words
    room = Room(config.data_words, config.control_tokens)
    is_faulty, ends = bool(errors), True
    between = memory.copy()
    try:
        done = execute.run(instructions, memory, config.lanes, queued, most, room)
    except execute.ExecuteError as error:
        done = error.run
        match error:
            case FaultError():
                errors.add((ErrorCause[error.fault.name], error.pc))
            # Behind a fault, more words would come; where queues are full, it may not be reached.
            case DeadlockError() if not is_faulty or "no room" in str(error):
                errors.add((ErrorCause.DEADLOCK, 0))
            case LeftError() if not is_faulty:
                errors.add((ErrorCause.LEFT, 0))
            case execute.EndlessError():
                ends = False
    is_clean = traversal.is_clean and (
        not traversal.shares_lines(done)
        or traversal.is_clean_with(used_words(instructions, between, config.lanes, queued, most))
    )
    return Ending(memory if ends and not errors else None, frozenset(errors), is_clean)


def on_target(job: HostJob[object], most: int = MOST_STEPS) -> Ending:
    """As a device runs it on the model, which has one of the errors."""
    config = TmuConfig.from_dict(job.launch.config)
    lines = np.arange(config.memory_lines)
    limited = replace(job, max_cycles=most)
    try:
        run = TARGET.executor.model(config, limited, lambda counters: {"memory": lines})
    except (StreamError, BoundsError) as error:
        return Ending(None, frozenset({_error(error, config)}))
    except FaultError as error:
        return Ending(None, frozenset({(ErrorCause[error.fault.name], error.pc)}))
    except DeadlockError:
        return Ending(None, frozenset({(ErrorCause.DEADLOCK, 0)}))
    except LeftError:
        return Ending(None, frozenset({(ErrorCause.LEFT, 0)}))
    except CycleLimitError:
        return Ending(None, frozenset())
    return Ending(run.memory["memory"].words.reshape(-1), frozenset())


def _error(error: StreamError | BoundsError, config: TmuConfig) -> Error:
    layer, _, stream = error.place
    cause = ErrorCause.INDEX if isinstance(error, StreamError) else ErrorCause.BOUNDS
    return cause, layer * config.streams + stream


class _Recorded(access._Traversal):
    """Also which words are read and stored to."""

    def __init__(self, program: AccessProgram, memory: Words, config: TmuConfig, most: int) -> None:
        super().__init__(program, memory, config.lanes, most)
        self._config = config
        self.reads: set[int] = set()
        self.stores: set[int] = set()

    @property
    def output(self) -> Output:
        return self._output

    @property
    def is_clean(self) -> bool:
        return not self.reads & self.stores

    def shares_lines(self, done: execute.ExecuteRun) -> bool:
        """Whether a unit uses a line that the other one writes."""
        written = set(done.lines[done.uses == execute.WRITE].tolist())
        read = set(done.lines[done.uses == execute.READ].tolist())
        stores = {word // LINE_WORDS for word in self.stores}
        reads = {word // LINE_WORDS for word in self.reads}
        return bool(written & (reads | stores) or read & stores)

    def is_clean_with(self, used: UsedWords) -> bool:
        """Whether time does not matter: what is written behind the access unit's end, which it
        tells, may be what it has read."""
        early, late = used.writes, used.late_writes
        last = self._program.layers[0].events.get(Event.END, ())
        if not any(step.kind != EventKind.STORE for step in last):
            early = early | late
        return not (early & self.reads or (early | late | used.reads) & self.stores)

    def _address(self, place: int, lane: int, number: int, stream: Stream, a: int, b: int) -> int:
        address = super()._address(place, lane, number, stream, a, b)
        if stream.kind == StreamKind.MEMORY:
            self.reads.add(address)
        return address

    def _happens(self, place: int, event: Event) -> None:
        for step in self._program.layers[place].events.get(event, ()):
            if step.kind == EventKind.STORE and (at := self._current[step.layer]) is not None:
                address = at.values[0][step.address]
                lanes = range(self._config.lanes)
                self.stores |= {address + lane for lane in lanes if at.lanes >> lane & 1}
        super()._happens(place, event)


class _Errors(_Recorded):
    """All errors of the innermost layer, each of whose streams goes on behind one of its own."""

    def __init__(self, program: AccessProgram, memory: Words, config: TmuConfig) -> None:
        super().__init__(program, memory, config, MOST_STEPS)
        self.errors: set[Error] = set()

    def _check(self, place: int, lane: int, number: int, stream: Stream, index: int) -> None:
        try:
            super()._check(place, lane, number, stream, index)
        except StreamError as error:
            self._note(error)

    def _address(self, place: int, lane: int, number: int, stream: Stream, a: int, b: int) -> int:
        return super()._address(place, lane, number, stream, a, b) % len(self._memory)

    def _bounds(self, place: int, lane: int, unit: Unit) -> tuple[int, int]:
        try:
            return super()._bounds(place, lane, unit)
        except BoundsError as error:
            self._note(error)
            return 0, 0

    def _note(self, error: StreamError | BoundsError) -> None:
        if error.place[0] + 1 < len(self._program.layers):
            raise error
        self.errors.add(_error(error, self._config))


def _errors_of_layer(
    program: AccessProgram, depth: int, memory: Words, config: TmuConfig
) -> set[Error]:
    """Errors that the last of the first ``depth`` layers may come to before those inside of it."""
    layers = tuple(replace(layer, events={}) for layer in program.layers[:depth])
    traversal = _Errors(AccessProgram(layers), memory.copy(), config)
    with suppress(StreamError, BoundsError, CycleLimitError):
        traversal.run()
    return traversal.errors


def on_rtl(machine: HostMachine[object], job: HostJob[object]) -> Ending:
    """As a device runs it."""
    config = TmuConfig.from_dict(job.launch.config)
    machine.load(replace(job, max_cycles=MOST_CYCLES))
    machine.start()
    try:
        machine.wait()
    except CycleLimitError:
        return Ending(None, frozenset())
    except ProgramError as error:
        assert isinstance(error.__cause__, AcceleratorError)
        assert str(error).startswith(f"{error.__cause__}; "), "the model hides the error"
        status = error.__cause__.status
        return Ending(None, frozenset({(ErrorCause(status.cause), status.detail)}))
    lines = np.arange(config.memory_lines)
    return Ending(machine.rows({"memory": lines})["memory"].words.reshape(-1), frozenset())


def difference(model: Ending, rtl: Ending) -> str:
    """Why ``rtl`` does not end as ``on_model`` says; empty if it does, or if that depends on
    time."""
    if not model.is_clean:
        return ""
    if model.is_too_long:
        return "" if rtl.memory is None else "the model does not end"
    if model.errors:
        if rtl.errors and rtl.errors <= model.errors:
            return ""
        return f"{_text(rtl)}: must be one of {_names(model.errors)}"
    if rtl.memory is None or model.memory is None:
        return f"{_text(rtl)}: must end"
    wrong = np.flatnonzero(rtl.memory != model.memory)
    if len(wrong):
        first = wrong[0]
        return (
            f"memory[{first}] is {rtl.memory[first]:#x}, must be {model.memory[first]:#x}, of "
            f"{len(wrong)}"
        )
    return ""


def _text(ending: Ending) -> str:
    if ending.errors:
        return _names(ending.errors)
    return "it does not end" if ending.memory is None else "it ends"


def _names(errors: frozenset[Error]) -> str:
    return ", ".join(f"{cause.name} {detail}" for cause, detail in sorted(errors))
