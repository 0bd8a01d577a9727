"""Commands of stream engines by hand, and a machine that has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import LINE_UNITS, WORD_BITS, Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.sram_compute.model.system import System


def stream(number: int, base: int, *strides: int, **fields: int) -> Command:
    words = tuple(each % (1 << WORD_BITS) for each in strides)
    return command(
        Opcode.STREAM, stream=number, base=base % (1 << WORD_BITS), strides=words, **fields
    )


def adds(slot: int, **fields: int) -> Command:
    return command(Opcode.OPERATION, slot=slot, operation=ExecuteOpcode.ADD, **fields)


def reads(slot: int, number: int, **fields: int) -> Command:
    return adds(slot, reads=1, stream=number, **fields)


def near(*counts: int, **fields: int) -> Command:
    return command(Opcode.NEAR, counts=counts, **fields)


def system(config: SramConfig, commands: Sequence[Command]) -> System:
    """With commands, and an ``END``, from line 0 on."""
    made = System(config)
    units = assemble([*commands, command(Opcode.END)])
    lines = -(-len(units) // LINE_UNITS)
    rows = np.zeros((lines * LINE_UNITS, units.shape[1]), np.uint32)
    rows[: len(units)] = units
    made.memory[:lines] = rows.reshape(lines, LINE_WORDS)
    return made
