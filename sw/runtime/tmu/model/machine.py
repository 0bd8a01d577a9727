"""Both units, one after the other, on the image that a machine is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import ACCESS_SECTIONS
from gnarl.sw.execute import trace
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.execute import InstructionKinds
from gnarl.sw.execute.values.output import Output, Room
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.tmu.model import access


def run(
    config: TmuConfig, image: Mapping[str, Rows], wanted: Wanted, max_cycles: int = NO_LIMIT
) -> MachineRun:
    """Gives no cycles, and of the counters those that do not depend on time; a vector that is put
    into the data queue counts as its words.

    Raises ``GnarlError`` where the hardware would stop with an error; ``CycleLimitError`` where
    one of the units takes more than ``max_cycles`` even if it never waits.
    """
    loaded = _load(config, image, max_cycles)
    room = Room(config.data_words, config.control_tokens)
    try:
        done = execute.run(
            loaded.instructions, loaded.memory, config.lanes, loaded.queued, max_cycles, room
        )
    except execute.EndlessError as error:
        raise CycleLimitError(max_cycles) from error
    counters = {
        "instructions": done.instructions,
        "words_queued": len(loaded.queued.words),
        "tokens_queued": len(loaded.queued.tokens),
    }
    lines = loaded.memory.reshape(config.memory_lines, -1)
    rows = wanted(counters)
    return MachineRun({name: Rows(at, lines[at]) for name, at in rows.items()}, None, counters)


def executed(
    config: TmuConfig, image: Mapping[str, Rows], max_cycles: int = NO_LIMIT
) -> tuple[InstructionKinds, Iterator[np.ndarray]]:
    """The kinds of the program's instructions, and those that ``run`` does, one after the other, by
    their numbers: parts, int64 [n]. Parts raise as ``run`` does."""
    loaded = _load(config, image, max_cycles)
    kinds = execute.instruction_kinds(loaded.instructions, config.lanes)
    parts = execute.traced(
        loaded.instructions, loaded.memory, config.lanes, max_cycles, loaded.queued
    )
    return kinds, (part[:, trace.INSTRUCTION] // trace.FLAGS for part in parts)


class _Loaded(NamedTuple):
    """Memories before the execute unit begins, and all that the access unit has queued for it."""

    memory: np.ndarray
    instructions: np.ndarray
    queued: Output


def _load(config: TmuConfig, image: Mapping[str, Rows], max_cycles: int) -> _Loaded:
    memory = np.zeros(config.memory_words, np.uint32)
    lines = memory.reshape(config.memory_lines, -1)
    lines[image["memory"].numbers] = image["memory"].words
    program = AccessProgram.decoded({name: image[name].words for name in ACCESS_SECTIONS}, config)
    queued = Output()
    if program.layers:
        queued = access.run(program, memory, config.lanes, max_cycles)
    instructions = np.zeros((config.program_words, image["instructions"].words.shape[1]), np.uint32)
    instructions[image["instructions"].numbers] = image["instructions"].words
    return _Loaded(memory, instructions, queued)
