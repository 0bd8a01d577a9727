"""What a lowered program leaves in main memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from hw.sram_compute.config import SramConfig
from sw.compiler.sram_compute.lower.lower import Lowered
from sw.runtime.sram_compute.model.system import System


def execute(
    lowered: Lowered, arrays: Mapping[str, np.ndarray], config: SramConfig
) -> dict[str, np.ndarray]:
    """All arrays behind a run on the model."""
    system = System(config)
    memory = system.memory
    memory.reshape(-1)[: lowered.units.size] = lowered.units.reshape(-1)
    lines: dict[str, np.ndarray] = {}
    for name, stored in lowered.arrays.items():
        rows = np.ascontiguousarray(arrays[name].reshape(-1, arrays[name].shape[-1]))
        octets = np.zeros((len(rows), stored.row_lines * LINE_BYTES), np.uint8)
        octets[:, : rows.shape[1] * rows.itemsize] = rows.view(np.uint8)
        lines[name] = memory[stored.first_line : stored.first_line + stored.lines]
        lines[name][:] = octets.view("<u4").reshape(-1, LINE_WORDS)
    system.run(0)
    found = {}
    for name, each in lines.items():
        shape, dtype = arrays[name].shape, arrays[name].dtype
        rows = each.view(dtype).reshape(
            -1, lowered.arrays[name].row_lines * LINE_BYTES // dtype.itemsize
        )
        found[name] = rows[:, : shape[-1]].reshape(shape)
    return found
