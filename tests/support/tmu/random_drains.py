"""Programs of the execute unit at random that take what an access program queues, and store it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from gnarl.hw.tmu.access_isa import EVENT_STEPS, UNBOUNDED, Event, EventKind, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Stream
from gnarl.hw.tmu.config import TmuConfig
from tests.support.execute.programs import DEQUEUE, HALT, IMMEDIATE, Raw, register

_PLACE, _MASK, _LOADED = 1, 1, 2
"""Registers."""

_MOST_ODD = 8
"""Words that a store moves on by at most, if not by what it stores."""


def drained(
    config: TmuConfig,
    access: AccessProgram,
    rng: random.Random,
    first: int,
    *,
    stays: bool = False,
) -> tuple[AccessProgram, list[Raw]]:
    """With a case of the execute unit for each event, which stores its words, mostly from word
    ``first`` on; some of these, and words that are loaded and stored at the end, share lines with
    what the access unit reads or stores. Not where it ``stays`` in words from ``first`` on."""
    return _Drain(config, rng, _ends(access), stays).program(access, first)


def _ends(access: AccessProgram) -> list[int]:
    """Words behind arrays, and in them."""
    found = []
    for layer in access.layers:
        for unit in layer.units:
            for stream in unit.streams:
                if _is_array(stream):
                    end = stream.base + stream.length + len(layer.units) - 1
                    found += [end, end, stream.base + stream.length // 2]
    return found


def _is_array(stream: Stream) -> bool:
    return stream.kind in (StreamKind.MEMORY, StreamKind.ADDRESS) and stream.length != UNBOUNDED


class _Drain:
    def __init__(
        self, config: TmuConfig, rng: random.Random, ends: Sequence[int], stays: bool
    ) -> None:
        self._config = config
        self._rng = rng
        self._ends = ends
        self._stays = stays
        self._mask = 0

    def program(self, access: AccessProgram, first: int) -> tuple[AccessProgram, list[Raw]]:
        rng, config = self._rng, self._config
        if not self._stays and rng.random() < 0.15:
            first = self._word()
        instructions: list[Raw] = [
            Instruction(Opcode.ADD, dst=_PLACE, a=IMMEDIATE, immediate=first),
            Instruction(Opcode.JUMP_TOKEN),
        ]
        epilogue = [] if self._stays or rng.random() < 0.7 else self._epilogue()
        room = config.program_words - len(epilogue) - 1
        layers = []
        for layer in access.layers:
            events: dict[Event, tuple[EventStep, ...]] = {}
            for event, steps in layer.events.items():
                words = [step for step in steps if step.kind != EventKind.TOKEN]
                body = self._body([step for step in words if step.kind != EventKind.STORE])
                if len(instructions) + len(body) + 1 > room:
                    continue
                token = EventStep(EventKind.TOKEN, token=len(instructions))
                events[event] = (*words, token) if rng.random() < 0.3 else (token, *words)
                instructions += [*body, Instruction(Opcode.JUMP_TOKEN)]
            layers.append(replace(layer, events=events))
        while sum(len(each) for layer in layers for each in layer.events.values()) >= EVENT_STEPS:
            layers = [replace(layer, events={}) for layer in layers]
        end = EventStep(EventKind.TOKEN, token=len(instructions))
        behind = layers[0].events.get(Event.END, ())
        layers[0] = replace(layers[0], events={**layers[0].events, Event.END: (*behind, end)})
        return AccessProgram(tuple(layers)), [*instructions, *epilogue, HALT]

    def _body(self, steps: Sequence[EventStep]) -> list[Raw]:
        """Takes what they queue."""
        rng, lanes = self._rng, self._config.lanes
        found: list[Raw] = []
        self._mask = 0
        for step in steps:
            if step.kind == EventKind.MASK and rng.random() < 0.5:
                found.append(Instruction(Opcode.LANES, dst=_MASK, a=DEQUEUE))
                self._mask = _MASK
            else:
                found.append(self._store(lanes if step.kind == EventKind.VECTOR else 1))
        if rng.random() < 0.04:
            return found[1:] if rng.random() < 0.5 else [*found, self._store(1)]
        return found

    def _store(self, width: int) -> Instruction:
        increment = width
        if self._rng.random() < 0.1:
            increment = self._rng.randint(0, _MOST_ODD)
        is_vector, mask = width > 1, self._mask if width > 1 else 0
        return Instruction(
            Opcode.STORE,
            is_vector,
            mask=mask,
            a=register(_PLACE),
            c=DEQUEUE,
            increment=increment,
        )

    def _epilogue(self) -> list[Raw]:
        """Loads and stores behind all that is queued."""
        found: list[Raw] = []
        for _ in range(self._rng.randint(1, 4)):
            is_vector = self._rng.random() < 0.5
            to, at = register(_LOADED), self._word()
            if self._rng.random() < 0.5:
                found.append(Instruction(Opcode.LOAD, is_vector, _LOADED, immediate=at))
                at = self._word()
            found.append(Instruction(Opcode.STORE, is_vector, c=to, immediate=at))
        return found

    def _word(self) -> int:
        """Near an array's end, near the end of memory, or any."""
        rng, words = self._rng, self._config.memory_words
        near = [rng.choice(self._ends) + rng.randint(-2, 2)] * 3 if self._ends else []
        return rng.choice((*near, rng.randrange(words), words - rng.randint(0, 40))) & 0xFFFF_FFFF
