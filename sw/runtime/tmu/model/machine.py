"""Both units, one after the other, on the image that a machine is given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import ACCESS_SECTIONS
from gnarl.sw.execute.values import execute
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
    memory = np.zeros(config.memory_words, np.uint32)
    lines = memory.reshape(config.memory_lines, -1)
    lines[image["memory"].numbers] = image["memory"].words
    program = AccessProgram.decoded({name: image[name].words for name in ACCESS_SECTIONS}, config)
    queued = Output()
    if program.layers:
        queued = access.run(program, memory, config.lanes, max_cycles)
    instructions = np.zeros((config.program_words, image["instructions"].words.shape[1]), np.uint32)
    instructions[image["instructions"].numbers] = image["instructions"].words
    room = Room(config.data_words, config.control_tokens)
    try:
        done = execute.run(instructions, memory, config.lanes, queued, max_cycles, room)
    except execute.EndlessError as error:
        raise CycleLimitError(max_cycles) from error
    counters = {
        "instructions": done.instructions,
        "words_queued": len(queued.words),
        "tokens_queued": len(queued.tokens),
    }
    rows = wanted(counters)
    return MachineRun({name: Rows(at, lines[at]) for name, at in rows.items()}, None, counters)
