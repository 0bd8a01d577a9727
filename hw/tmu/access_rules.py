"""What an access program has to keep to, which ``check`` decides before it is run.

The access unit and its model rely on it: where a program breaks a rule, the unit would read queues
that nobody writes, cut off addresses, or wait for ever. Programs that do are refused when they are
loaded.

- The layers in use come first. Rows of layers and units that are not in use are 0. A layer has unit
  0 alone or, where it merges, from 1 to ``lanes`` units. ``slots`` and ``stride`` are at least 1.
- Stream 0 of a unit is its ``INDUCTION`` variable, and no other one is, except for coordinates:
  these, stream 1 of units that merge, are ``MEMORY``, ``FORWARD``, ``INDUCTION``, or ``ALU`` other
  than ``DIV`` and ``MOD``.
- An operand that is ``OWN`` names an earlier stream of the unit, neither ``NONE`` nor ``MEMORY``,
  unless it gives coordinates. One that is ``PARENT`` names a stream with a queue of a unit of the
  layer around, in ``LOCKSTEP`` of a lane. Bounds are never ``OWN``. All this is so for operands
  that the stream's kind has no use for, too.
- A ``MEMORY`` stream's ``base`` + ``length`` are at most the words of memory, and it has a queue,
  unless it gives coordinates. A stream of kind ``NONE`` has none.
- A queue's rows, ``slots`` of them from ``queue`` on, are below ``stream_words``, and no other
  queue of the same memory has them. One memory is that of layers of one unit and of what is
  ``ADDRESS`` in ``LOCKSTEP``, another that of everything else. Where a layer merges, a stream's
  queue is at unit 0's row in all units.
- A step of an event names a layer that is in an iteration then, a unit of it, in ``LOCKSTEP`` a
  lane, and a stream that has a queue there: for ``VECTOR`` and ``STORE`` in all units. ``MASK``
  names a layer alone, and ``TOKEN`` an instruction of the program. ``address`` of a ``STORE`` is a
  stream of unit 0, ``ADDRESS`` with a queue and a ``length``, whose ``base`` + ``length``, and as
  many words as the layer merges other units, are at most the words of memory. ``toggle`` has a
  queue in unit 0 if there are steps of ``TOGGLE``. All steps are rows that there are.

What depends on values is found by the run, which ends with an error: indices, bounds, what is taken
from queues and what they have room for.

What depends on time is found by nobody: each unit reads and writes memory at its own pace, and the
access unit reads ahead of what it stores. So a program whose units both use a word, or whose access
unit reads one that it stores to, has a meaning only if one of them is sure to come first: a
``LOAD`` behind the end of the run before, or a ``STORE`` by the execute unit to a word that it has
taken from the queue, if the access unit does not read it once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.tmu.access_isa import (
    MERGES,
    UNBOUNDED,
    AluOperation,
    Event,
    EventKind,
    Mode,
    Source,
    StreamKind,
    stream_row,
    unit_row,
)
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Operand, Stream, Unit
from gnarl.hw.tmu.config import TmuConfig


def check(rows: Mapping[str, npt.NDArray[np.uint32]], config: TmuConfig, tokens: int) -> None:
    """Raises ``ProgramError`` naming the first row that breaks a rule.

    ``rows``: uint32 [rows, words] of ``layers``, ``units``, ``streams``, as many as the
    configuration has, and of ``events``. ``tokens``: instructions that there are.
    """
    try:
        program = AccessProgram.decoded(rows, config)
    except ValueError as error:
        raise ProgramError(str(error)) from error
    for problem in _Rules(program, rows, config, tokens).problems():
        raise ProgramError(problem)


class _Rules:
    def __init__(
        self,
        program: AccessProgram,
        rows: Mapping[str, npt.NDArray[np.uint32]],
        config: TmuConfig,
        tokens: int,
    ) -> None:
        self._layers = program.layers
        self._rows = rows
        self._config = config
        self._tokens = tokens

    def problems(self) -> Iterator[str]:
        for place, layer in enumerate(self._layers):
            for problem in self._of_layer(place, layer):
                yield f"layer {place}: {problem}"
        yield from self._unused()
        yield from self._queues()
        for place, layer in enumerate(self._layers):
            for event, steps in layer.events.items():
                for number, step in enumerate(steps):
                    for problem in self._of_step(place, event, step):
                        yield f"layer {place}, {event.name}, step {number}: {problem}"

    # Rows that no layer has.

    def _unused(self) -> Iterator[str]:
        config = self._config
        units = np.zeros(len(self._rows["units"]), bool)
        streams = np.zeros(len(self._rows["streams"]), bool)
        for place, layer in enumerate(self._layers):
            first, count = unit_row(config, place, 0), len(layer.units)
            units[first : first + count] = True
            first = stream_row(config, place, 0, 0)
            streams[first : first + count * config.streams] = True
        layers = np.arange(len(self._rows["layers"])) < len(self._layers)
        for name, in_use in (("layers", layers), ("units", units), ("streams", streams)):
            left = np.flatnonzero(self._rows[name].any(axis=1) & ~in_use)
            if len(left):
                yield f"{name}[{left[0]}]: must be 0: no layer in use has it"

    # Layers, their units and streams.

    def _of_layer(self, place: int, layer: Layer) -> Iterator[str]:
        count, most = len(layer.units), self._config.lanes if layer.mode in MERGES else 1
        if not 1 <= count <= most:
            yield f"units = {count}: must be {'1' if most == 1 else f'from 1 to {most}'}"
            return
        if layer.slots < 1:
            yield f"slots = {layer.slots}: must be at least 1"
        for lane, unit in enumerate(layer.units):
            for name, bound in (("lower", unit.lower), ("upper", unit.upper)):
                if bound.source == Source.OWN:
                    yield f"unit {lane}: {name}: must be an immediate or the parent's"
                elif problem := self._of_parent(place, bound):
                    yield f"unit {lane}: {name}: {problem}"
            for number in range(max(2, len(unit.streams))):
                for problem in self._of_stream(place, layer, unit, number):
                    yield f"unit {lane}, stream {number}: {problem}"
        if layer.events.get(Event.TOGGLE) and not self._has_queue(layer, 0, layer.toggle):
            yield f"toggle = {layer.toggle}: must be a stream of unit 0 that has a queue"

    def _of_stream(self, place: int, layer: Layer, unit: Unit, number: int) -> Iterator[str]:
        stream = _stream(unit, number)
        is_coordinate = number == 1 and layer.mode in MERGES
        if (stream.kind == StreamKind.INDUCTION) != (number == 0) and not is_coordinate:
            must = "must be" if number == 0 else "cannot be"
            yield f"kind {stream.kind.name}: {must} INDUCTION"
        if is_coordinate and not _gives_coordinates(stream):
            yield f"{_described(stream)}: cannot give coordinates"
        for name, operand in (("a", stream.a), ("b", stream.b)):
            problem = self._of_parent(place, operand)
            if operand.source == Source.OWN:
                problem = _of_own(layer, unit, number, operand.stream)
            if problem:
                yield f"{name}: {problem}"
        if stream.kind == StreamKind.MEMORY:
            yield from self._of_words(stream, 0)
            if not stream.queued and not is_coordinate:
                yield "queued = 0: must be 1: what is read has to be kept"
        if stream.queued and stream.kind == StreamKind.NONE:
            yield "queued = 1: must be 0: it has no kind"

    def _of_words(self, stream: Stream, more: int) -> Iterator[str]:
        end, most = stream.base + stream.length + more, self._config.memory_words
        if end > most:
            behind = f" + {more} of other units" if more else ""
            yield (
                f"base = {stream.base}, length = {stream.length}{behind}: must end within the "
                f"memory's {most} words"
            )

    def _of_parent(self, place: int, operand: Operand) -> str:
        if operand.source != Source.PARENT:
            return ""
        if place == 0:
            return "no layer is around the outermost"
        if not self._has_queue(self._layers[place - 1], operand.lane, operand.stream):
            return (
                f"stream {operand.stream} of unit {operand.lane} of the layer around: "
                "must be one that has a queue"
            )
        return ""

    def _has_queue(self, layer: Layer, lane: int, number: int) -> bool:
        """Whether a lane of a layer has a word of this stream in a queue."""
        if layer.mode == Mode.LOCKSTEP:
            return lane < self._config.lanes and _stream(layer.units[0], number).queued
        return lane < len(layer.units) and _stream(layer.units[lane], number).queued

    # The queues of all streams.

    def _queues(self) -> Iterator[str]:
        """Checks where each queue begins and ends in the memories for words and for vectors."""
        taken: dict[bool, list[tuple[int, int, str]]] = {False: [], True: []}
        for place, layer in enumerate(self._layers):
            for number in range(self._config.streams):
                first = _stream(layer.units[0], number)
                queued = [
                    lane for lane, unit in enumerate(layer.units) if _stream(unit, number).queued
                ]
                for lane in queued:
                    row = _stream(layer.units[lane], number).queue
                    if row != first.queue:
                        yield (
                            f"layer {place}, unit {lane}, stream {number}: queue = {row}: must be "
                            f"{first.queue}, as in unit 0"
                        )
                if queued:
                    is_single = layer.mode == Mode.SINGLE or (
                        layer.mode == Mode.LOCKSTEP and first.kind == StreamKind.ADDRESS
                    )
                    name = f"layer {place}, stream {number}"
                    taken[is_single].append((first.queue, first.queue + layer.slots, name))
        for areas in taken.values():
            before, end_before = "", 0
            for row, end, name in sorted(areas):
                if row < end_before:
                    yield f"{name}: queue = {row}: lies in the queue of {before}"
                if end > self._config.stream_words:
                    yield (
                        f"{name}: queue = {row} and slots = {end - row}: must end within "
                        f"{self._config.stream_words} rows"
                    )
                before, end_before = name, end

    # Events.

    def _of_step(self, place: int, event: Event, step: EventStep) -> Iterator[str]:
        if step.kind == EventKind.TOKEN:
            if step.token >= self._tokens:
                yield f"token = {step.token}: must be below {self._tokens}, the instructions"
            return
        inside = place + (event in (Event.TOGGLE, Event.ITERATION))
        if step.layer >= inside:
            must = f"must be below {inside}, to be" if inside else "no layer is"
            yield f"layer = {step.layer}: {must} in an iteration"
            return
        layer = self._layers[step.layer]
        if step.kind == EventKind.MASK:
            return
        lanes = [step.lane] if step.kind == EventKind.WORD else range(len(layer.units))
        for lane in lanes:
            if not self._has_queue(layer, lane, step.stream):
                yield (
                    f"stream {step.stream} of unit {lane} of layer {step.layer}: must be one that "
                    "has a queue"
                )
        if step.kind == EventKind.STORE:
            address = _stream(layer.units[0], step.address)
            if not address.queued or address.kind != StreamKind.ADDRESS:
                yield f"address = {step.address}: must be a stream of kind ADDRESS with a queue"
            elif address.length == UNBOUNDED:
                yield f"address = {step.address}: must be a stream with a length"
            else:
                for problem in self._of_words(address, len(layer.units) - 1):
                    yield f"address = {step.address}: {problem}"


def _stream(unit: Unit, number: int) -> Stream:
    return unit.streams[number] if number < len(unit.streams) else _NO_STREAM


_NO_STREAM = Stream()


def _gives_coordinates(stream: Stream) -> bool:
    if stream.kind == StreamKind.ALU:
        return stream.operation not in (AluOperation.DIV, AluOperation.MOD)
    return stream.kind in (StreamKind.MEMORY, StreamKind.FORWARD, StreamKind.INDUCTION)


def _described(stream: Stream) -> str:
    is_alu = stream.kind == StreamKind.ALU
    return f"kind {stream.kind.name}{f' of {stream.operation.name}' if is_alu else ''}"


def _of_own(layer: Layer, unit: Unit, number: int, named: int) -> str:
    """What is wrong with an operand of stream ``number`` that is stream ``named`` of the unit."""
    if named >= number:
        return f"stream {named} of its own unit: must be an earlier one"
    kind = _stream(unit, named).kind
    is_coordinate = named == 1 and layer.mode in MERGES
    if not is_coordinate and kind in (StreamKind.NONE, StreamKind.MEMORY):
        return f"stream {named} of its own unit: kind {kind.name} is not known yet"
    return ""
