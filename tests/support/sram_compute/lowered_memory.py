"""What a lowered program leaves in main memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.joined import joined, lines_of_commands
from gnarl.sw.compiler.sram_compute.lower.lattice import Stored, padded, stored
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode, generate
from gnarl.sw.compiler.sram_compute.slabs import Slabs
from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step, plan
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.sram_compute.model.system import System
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest

SMALL = SramConfig(
    banks=2, arrays=4, wordlines=256, bitlines=64, memory_bytes=1 << 17, latency=2, bandwidth=32
)


def require_golden(
    nest: Nest,
    values: dict[str, Any],
    config: SramConfig = SMALL,
    steps: tuple[Step, ...] | None = None,
) -> MemoryCode:
    """What a nest becomes, which leaves the golden model's bits; ``steps``: its plan."""
    steps = plan(nest) if steps is None else steps
    binding = bind(nest, values)
    lowered = generate(nest, steps, binding, config)
    found = execute(lowered, binding.arrays, config)
    ordered, _ = compiled_order(nest, steps)
    wanted = GoldenLoops(ordered).run(bind(ordered, values))
    for name in nest.results:
        assert found[name].tobytes() == wanted[name].tobytes(), name
    return lowered


def execute(
    lowered: MemoryCode, arrays: Mapping[str, np.ndarray], config: SramConfig
) -> dict[str, np.ndarray]:
    """All arrays behind a run on the model."""
    return _execute(lowered.units, lowered.arrays, arrays, config)


def execute_slabs(
    slabs: Slabs, nest: Nest, arrays: Mapping[str, np.ndarray], config: SramConfig
) -> dict[str, np.ndarray]:
    """The same, of the arrays of a nest."""
    types = [array.type for array in nest.arrays.values()]
    shapes = [padded(arrays[name].shape[::-1]) for name in nest.arrays]
    channels = config.memory_channels
    found = stored(types, shapes, lines_of_commands([slabs]), channels)
    placed = dict(zip(nest.arrays, found, strict=True))
    lines = {name: each.first_line for name, each in placed.items()}
    end = found[-1].first_line + found[-1].lines
    units = joined(slabs.slabs, lines, end, config)
    return _execute(units, placed, arrays, config)


def _execute(
    units: np.ndarray,
    placed: Mapping[str, Stored],
    arrays: Mapping[str, np.ndarray],
    config: SramConfig,
) -> dict[str, np.ndarray]:
    system = System(config)
    memory = system.memory
    memory.reshape(-1)[: units.size] = units.reshape(-1)
    lines: dict[str, np.ndarray] = {}
    for name, each in placed.items():
        rows = np.ascontiguousarray(arrays[name].reshape(-1, arrays[name].shape[-1]))
        octets = np.zeros((len(rows), each.row_lines * LINE_BYTES), np.uint8)
        octets[:, : rows.shape[1] * rows.itemsize] = rows.view(np.uint8)
        lines[name] = memory[each.first_line : each.first_line + each.lines]
        lines[name][:] = octets.view("<u4").reshape(-1, LINE_WORDS)
    system.run(0)
    found = {}
    for name, octets in lines.items():
        shape, dtype = arrays[name].shape, arrays[name].dtype
        rows = octets.view(dtype).reshape(-1, placed[name].row_lines * LINE_BYTES // dtype.itemsize)
        found[name] = rows[:, : shape[-1]].reshape(shape)
    return found
