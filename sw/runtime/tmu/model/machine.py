"""Both units, one after the other, on the image that a machine is given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.sections import ACCESS_SECTIONS
from sw.program.rows import MachineRun, Rows, Wanted
from sw.runtime.execute_model import execute
from sw.runtime.tmu.model import access


def run(config: TmuConfig, image: Mapping[str, Rows], wanted: Wanted) -> MachineRun:
    """Gives no cycles, and of the counters those that do not depend on time; a vector that is put
    into the data queue counts as its words.

    Raises ``GnarlError`` where the hardware would stop with an error.
    """
    memory = np.zeros(config.memory_words, np.uint32)
    lines = memory.reshape(config.memory_lines, -1)
    lines[image["memory"].numbers] = image["memory"].words
    program = AccessProgram.decoded({name: image[name].words for name in ACCESS_SECTIONS}, config)
    queued = access.run(program, memory, config.lanes) if program.layers else access.Output()
    instructions = np.zeros((config.program_words, image["instructions"].words.shape[1]), np.uint32)
    instructions[image["instructions"].numbers] = image["instructions"].words
    done = execute.run(instructions, memory, config.lanes, queued)
    counters = {
        "instructions": done.instructions,
        "words_queued": len(queued.words),
        "tokens_queued": len(queued.tokens),
    }
    rows = wanted(counters)
    return MachineRun({name: Rows(at, lines[at]) for name, at in rows.items()}, None, counters)
