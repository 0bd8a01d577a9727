"""Programs with some bits the other way round."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from cocotb_tests.tmu.programs import RESULTS, Image
from gnarl.hw.tmu.access_isa import EVENT_STEPS, Event, EventKind
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import MAX_LAYERS, TmuConfig


def damaged_memory(image: Image, rng: random.Random) -> Image:
    """In the words that random nests read: coordinates out of order, bounds beyond arrays."""
    memory = image.memory.copy()
    used = np.flatnonzero(memory[:RESULTS]).tolist()
    for _ in range(rng.randint(1, 3)):
        memory[rng.choice(used)] ^= 1 << rng.randrange(4)
    return replace(image, memory=memory)


def damaged_program(image: Image, rng: random.Random) -> Image:
    """In the execute unit's instructions."""
    instructions = image.instructions.copy()
    used = np.flatnonzero(instructions.any(axis=1)).tolist()
    for _ in range(rng.randint(1, 2)):
        instructions[rng.choice(used), rng.randrange(3)] ^= 1 << rng.randrange(32)
    return replace(image, instructions=instructions)


def misplaced_step(config: TmuConfig, image: Image, rng: random.Random) -> Image:
    """A step of an event, of those that name one, names a layer that is not in an iteration."""
    layers = list(AccessProgram.decoded(image.rows, config).layers)
    places = [
        (place, event, number)
        for place, layer in enumerate(layers)
        for event, steps in layer.events.items()
        for number, step in enumerate(steps)
        if step.kind != EventKind.TOKEN
    ]
    if not places:
        return image
    place, event, number = rng.choice(places)
    first = place + (event in (Event.TOGGLE, Event.ITERATION))
    steps = list(layers[place].events[event])
    steps[number] = replace(steps[number], layer=rng.randrange(first, MAX_LAYERS))
    events = {**layers[place].events, event: tuple(steps)}
    layers[place] = replace(layers[place], events=events)
    rows = AccessProgram(tuple(layers)).rows(config)
    found = np.zeros((EVENT_STEPS, rows["events"].shape[1]), np.uint32)
    found[: len(rows["events"])] = rows["events"]
    return replace(image, rows={**image.rows, "layers": rows["layers"], "events": found})


def damaged_rows(image: Image, rng: random.Random) -> Image:
    """Anywhere in the access unit's rows that say something."""
    rows = {name: words.copy() for name, words in image.rows.items()}
    for _ in range(rng.randint(1, 4)):
        words = rows[rng.choice(list(rows))]
        used = np.argwhere(words)
        if len(used):
            row, word = used[rng.randrange(len(used))]
            words[row, word] ^= np.uint32(1 << rng.randrange(32))
    return replace(image, rows=rows)
