"""Programs with some bits the other way round."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from cocotb_tests.tmu.programs import RESULTS, Image


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
