"""An element on each bitline of all tiles: from memory, and back to lines behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.run.device import Device
from tests.support.sram_compute.machine import End, ending, program
from tests.support.sram_compute.programs import FIRST_LINE


def run_on_elements(
    device: Device[Any], config: SramConfig, commands: Sequence[Command], row: int, n: int
) -> tuple[np.ndarray, np.ndarray, End]:
    """The rows from ``row`` on that commands make of the ``n`` rows from 0 on: elements before and
    after, uint32 [tiles, bitlines] each."""
    lines = config.tiles * config.bitlines // LINE_WORDS
    layouts = [
        command(
            Opcode.LAYOUT,
            layout=number,
            element=2,
            base=FIRST_LINE + number * lines,
            sizes=(lines, 1, 1),
            tile=((config.bitlines - 1).bit_length(), 0, 0),
        )
        for number in range(2)
    ]
    units = assemble(
        [
            *layouts,
            command(Opcode.LOAD, layout=0, row=0, n=n),
            *commands,
            command(Opcode.STORE, layout=1, row=row, n=n),
            command(Opcode.END),
        ]
    )
    found = ending(device, program(config, units), 1)
    assert found.error == "", found.error
    words = np.frombuffer(found.memory, np.uint32)[: 2 * lines * LINE_WORDS]
    before, after = words.reshape(2, config.tiles, config.bitlines)
    return before & np.uint32((1 << n) - 1), after, found
